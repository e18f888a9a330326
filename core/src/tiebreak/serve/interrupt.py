"""`Interrupt`: ends what the current task waits for, and tells that from a cancellation of the task itself."""

from __future__ import annotations

import asyncio
import sys
from types import TracebackType

__all__ = ["Interrupt"]


class Interrupt:
    """A context in which a callback may end whatever the task awaits.

    Called, it ends the waiting, and the context raises what it was made with; outside the context, or a second time,
    nothing happens. It needs neither a task nor a timer of its own, as `asyncio.wait_for` and cancel scopes do.

    Args:
        error: what is raised where it was called.
    """

    def __init__(self, error: BaseException) -> None:
        self._error = error
        self._task: asyncio.Task[object] | None = None
        self._called = False

    def __call__(self, *_: object) -> None:
        """End the waiting."""
        if self._task is not None and not self._called:
            self._called = True
            self._task.cancel()

    def __enter__(self) -> Interrupt:
        self._task = asyncio.current_task()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        task, self._task = self._task, None
        if not self._called or task is None:
            return
        if sys.version_info >= (3, 11) and task.uncancel() > 0:
            return  # the task itself is to end, too
        if kind is asyncio.CancelledError:
            raise self._error from None
