"""`Omissions`: methods that could not be measured, and why, while the others go on."""

from __future__ import annotations

from collections.abc import Iterator, Sized
from contextlib import contextmanager

from tiebreak.bench.methods import Wish
from tiebreak.bench.progress import Progress
from tiebreak.bench.records import Skipped
from tiebreak.errors import TiebreakError

__all__ = ["Omissions"]


class Omissions:
    """Collects what fails.

    Args:
        skipped: what was left out before anything was tried; the same list goes into the results.
        progress: told about every method that is dropped.
    """

    def __init__(self, skipped: list[Skipped], progress: Progress) -> None:
        self.skipped = skipped
        self._progress = progress
        self._last: TiebreakError | None = None

    @contextmanager
    def around(self, wish: Wish) -> Iterator[None]:
        """Measure a method inside: if that fails, it is left out with the reason."""
        try:
            yield
        except TiebreakError as error:
            self._last = error
            self.skipped.append(Skipped(method=wish.name, reason=str(error)))
            self._progress.dropped(wish.name)

    def refuse_nothing(self, found: Sized) -> None:
        """Raise the last failure where nothing was found at all."""
        if self._last is not None and not found:
            raise self._last
