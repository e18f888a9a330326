"""`Crew`: threads that work off jobs in the order in which they were given."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Generic, TypeVar

__all__ = ["Crew", "Job"]

A = TypeVar("A")
R = TypeVar("R")


class Job(Generic[A, R]):
    """A call that is to be made, is being made, or was.

    It does what a future of the standard library does here, with one lock instead of a condition and a list of those
    who wait: at a thousand rows a second that is seen.
    """

    __slots__ = ("_argument", "_error", "_running", "_value", "_withdrawn")

    def __init__(self, argument: A) -> None:
        self._argument: A | None = argument
        self._value: R | None = None
        self._error: BaseException | None = None
        self._withdrawn = False
        self._running = threading.Lock()
        self._running.acquire()

    def run(self, call: Callable[[A], R]) -> None:
        """Make the call, unless nobody wants it any more."""
        try:
            if not self._withdrawn:
                self._value = call(self._argument)  # type: ignore[arg-type]  # it is let go of only below
        except BaseException as error:  # noqa: BLE001  it is raised where the result is asked for
            self._error = error
        self._argument = None
        self._running.release()

    def done(self) -> bool:
        """Whether the call is over."""
        return not self._running.locked()

    def cancel(self) -> bool:
        """Do not make the call, if it has not begun."""
        self._withdrawn = True
        return True

    def cancelled(self) -> bool:
        """Whether nobody wants the result any more."""
        return self._withdrawn

    def exception(self) -> BaseException | None:
        """What the call raised."""
        self._wait()
        return self._error

    def result(self) -> R:
        """What the call returned, once it did.

        Raises:
            BaseException: what it raised.
        """
        self._wait()
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[return-value]

    def _wait(self) -> None:
        if self._running.locked():
            with self._running:
                pass


class Crew(Generic[A, R]):
    """Makes one call with many arguments, so many at a time.

    Args:
        pool: whose threads do it.
        hands: how many of them.
        call: what is done with each argument.
    """

    def __init__(self, pool: Executor, hands: int, call: Callable[[A], R]) -> None:
        self._pool = pool
        self._call = call
        self._lock = threading.Lock()
        self._waiting: deque[Job[A, R]] = deque()
        self._idle = hands

    def give(self, argument: A) -> Job[A, R]:
        """Put a job behind those that wait; `start` has it begun."""
        job: Job[A, R] = Job(argument)
        self._waiting.append(job)
        return job

    def start(self) -> None:
        """See to it that as many are at work as there is work for."""
        with self._lock:
            called = min(self._idle, len(self._waiting))
            self._idle -= called
        for _ in range(called):
            self._pool.submit(self._work)

    def _work(self) -> None:
        while True:
            try:
                job = self._waiting.popleft()
            except IndexError:
                with self._lock:
                    if self._waiting:
                        continue
                    self._idle += 1
                    return
            job.run(self._call)
