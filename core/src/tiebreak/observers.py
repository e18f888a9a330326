"""`Observer`: what an extension puts around every request; it can look, and never change what happens."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from tiebreak.questions import Request

__all__ = ["Harmless", "Observer"]

Observer = Callable[[Request], AbstractContextManager[object]]


class Harmless(AbstractContextManager[None]):
    """An observer's context manager whose failures become warnings and which cannot swallow errors."""

    def __init__(self, inner: AbstractContextManager[object], warn: Callable[[str, str], None]) -> None:
        self._inner = inner
        self._warn = warn

    def __enter__(self) -> None:
        self._inner.__enter__()

    def __exit__(self, *error: Any) -> None:
        try:
            self._inner.__exit__(*error)
        except Exception as failure:  # noqa: BLE001  see above
            self._warn(
                "observer",
                f"An observer failed after a request: {type(failure).__name__}: {failure}.",
            )
