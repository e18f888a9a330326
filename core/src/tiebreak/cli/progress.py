"""`ProgressBar`: how far a model has been fetched, on standard error; `bar`: the bar that every command draws."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING

from tiebreak.cli.streams import complain

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn, TaskID

__all__ = ["ProgressBar", "bar"]


class ProgressBar:
    """Called with (bytes done, bytes in all or None, what); shows nothing until it is.

    A terminal gets a bar; a log file gets one line per thing that is done.
    """

    def __init__(self) -> None:
        self._drawn: Progress | None = None
        self._tasks: dict[str, TaskID | None] = {}

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._drawn is not None:
            self._drawn.stop()

    def __call__(self, done: int, total: int | None, what: str) -> None:
        if what not in self._tasks:
            self._tasks[what] = self._begin(total, what)
        task = self._tasks[what]
        if self._drawn is not None and task is not None:
            self._drawn.update(task, completed=done, total=total)

    def _begin(self, total: int | None, what: str) -> TaskID | None:
        if sys.stderr is None or not sys.stderr.isatty():
            size = "" if total is None else f" ({total:,} bytes)"
            complain(f"{what}{size}")
            return None
        if self._drawn is None:
            self._drawn = _bytes()
            self._drawn.start()
        return self._drawn.add_task(what, total=total)


def bar(*columns: ProgressColumn) -> Progress:
    """A bar on standard error: what, the bar itself, and these columns behind it; nothing else is redirected."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        *columns,
        console=Console(stderr=True),
        redirect_stdout=False,
        redirect_stderr=False,
    )


def _bytes() -> Progress:
    from rich.progress import DownloadColumn, TimeRemainingColumn, TransferSpeedColumn

    return bar(DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
