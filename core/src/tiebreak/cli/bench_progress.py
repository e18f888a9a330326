"""`Drawn`: how far a benchmark is and how long it will still take, on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from tiebreak.bench.progress import Pace
from tiebreak.cli.progress import bar
from tiebreak.cli.streams import complain, plain

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

__all__ = ["Drawn"]

EVERY = 30.0  # seconds between two lines where nobody looks at a bar


class Drawn:
    """A `Progress` for people: a bar on a terminal, a line now and then in a log file."""

    def __init__(self) -> None:
        self._pace = Pace()
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._said = 0.0

    def __enter__(self) -> Drawn:
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def plan(self, steps: Mapping[str, int], loads: Mapping[str, int]) -> None:
        """See `tiebreak.bench.progress.Progress`."""
        self._pace.plan(steps, loads)
        if self._bar is None and sys.stderr is not None and sys.stderr.isatty():
            self._bar = _bar()
            self._task = self._bar.add_task("", total=self._pace.total, left="")
            self._bar.start()

    def asked(self, name: str, seconds: float) -> None:
        """See `tiebreak.bench.progress.Progress`."""
        self._step("ask", name, seconds)

    def loaded(self, name: str, seconds: float) -> None:
        """See `tiebreak.bench.progress.Progress`."""
        self._step("load", name, seconds)

    def dropped(self, name: str) -> None:
        """See `tiebreak.bench.progress.Progress`."""
        self._pace.drop(name)

    def say(self, text: str) -> None:
        """See `tiebreak.bench.progress.Progress`."""
        if self._bar is not None:
            self._bar.console.print(plain(text), markup=False, highlight=False)
        else:
            complain(plain(text))

    def _step(self, what: str, name: str, seconds: float) -> None:
        pace = self._pace
        pace.took(what, name, seconds)
        left = pace.seconds_left
        if self._bar is not None and self._task is not None:
            self._bar.update(
                self._task, completed=pace.done, total=pace.total, description=plain(name), left=_text(left)
            )
        elif time.monotonic() - self._said >= EVERY:
            self._said = time.monotonic()
            complain(f"{pace.done} of {pace.total}, {plain(name)}; {_text(left)}")


def _text(seconds: float | None) -> str:
    """The rest as people say it; rough, because the pace of the past is all that is known."""
    if seconds is None:
        return "no estimate yet"
    if not seconds:
        return "done"
    if seconds < 90:
        return f"about {max(1, round(seconds))} s left"
    return f"about {round(seconds / 60)} min left"


def _bar() -> Progress:
    from rich.progress import MofNCompleteColumn, TextColumn

    return bar(MofNCompleteColumn(), TextColumn("{task.fields[left]}", markup=False))
