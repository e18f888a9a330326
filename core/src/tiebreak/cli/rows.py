"""`RowsBar`: how far a table has been worked through, on standard error, with a rate and an estimate."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

from tiebreak.cli.progress import bar
from tiebreak.cli.streams import complain

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

__all__ = ["RowsBar"]

LINE_SECONDS = 30.0
REDRAW_SECONDS = 0.1


class RowsBar:
    """Called with (rows done, rows done by an earlier run); shows nothing until it is.

    A terminal gets a bar; a log file gets a line every thirty seconds.

    Args:
        total: rows in all.
    """

    def __init__(self, total: int) -> None:
        self.total = total
        self.started = time.monotonic()
        self._next = 0.0
        self._drawn: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> RowsBar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._drawn is not None:
            self._drawn.stop()

    def __call__(self, done: int, before: int) -> None:
        now = time.monotonic()
        if not self._next and before:
            complain(f"going on after {before:,} of {self.total:,} rows.")
        if now < self._next and done != self.total:
            return
        if sys.stderr is None or not sys.stderr.isatty():
            if self._next:
                complain(self._line(done, before, now - self.started))
            self._next = now + LINE_SECONDS
            return
        self._next = now + REDRAW_SECONDS
        if self._drawn is None or self._task is None:
            self._drawn = _bar()
            self._task = self._drawn.add_task("rows", total=self.total, completed=done)
            self._drawn.start()
        self._drawn.update(self._task, completed=done)

    def _line(self, done: int, before: int, seconds: float) -> str:
        rate = (done - before) / seconds if seconds else 0.0
        left = f", {_clock((self.total - done) / rate)} left" if rate and done < self.total else ""
        return f"{done:,} of {self.total:,} rows, {rate:,.1f} rows/s{left}"


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}"


def _bar() -> Progress:
    from rich.progress import MofNCompleteColumn, ProgressColumn, Task, TimeRemainingColumn
    from rich.text import Text

    class Rate(ProgressColumn):
        """Rows per second, as they come in."""

        def render(self, task: Task) -> Text:
            return Text("" if task.speed is None else f"{task.speed:,.1f} rows/s")

    return bar(MofNCompleteColumn(), Rate(), TimeRemainingColumn())
