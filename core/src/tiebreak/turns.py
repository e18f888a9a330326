"""`Turns`: threads that wait for one context have their work done together.

Whoever comes first works; those who come meanwhile queue up. When a batch is done, the thread at the
head of the queue works off the next one: its own job and those behind it, as far as they fit. Nobody
waits for work that is not in the same batch or before it, and there is no thread but the callers'.
"""

from __future__ import annotations

import copy
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import attrs

from tiebreak.errors import EngineHung, TiebreakError

__all__ = ["Job", "Turns"]

W = TypeVar("W")
_LOOKS_EVERY = 0.05  # seconds between two looks at whether a waiting caller still wants its answer


@attrs.define(eq=False)
class Job(Generic[W]):
    """One caller's work.

    Attributes:
        work: what is to be done; the function that does it leaves the result there.
        size: how much of a batch it takes.
        cancelled: true once nobody waits for it any more.
        waited_ms: from the call to the moment at which its batch began.
        error: why it failed.
    """

    work: W
    size: int
    cancelled: Callable[[], bool]
    waited_ms: float = 0.0
    error: BaseException | None = None
    done: bool = False
    leads: bool = False
    woken: threading.Event = attrs.field(factory=threading.Event)
    began: float = attrs.field(factory=time.perf_counter)


class Turns(Generic[W]):
    """Runs jobs in the order in which they came, several in one batch.

    Args:
        run: does the work of a batch; called by one thread at a time.
        room: size of a batch; a larger job is a batch of its own.
        name: of the engine, for messages.
    """

    def __init__(self, run: Callable[[Sequence[W]], None], room: int, name: str) -> None:
        self._run = run
        self._room = room
        self._name = name
        self._lock = threading.Lock()
        self._queue: deque[Job[W]] = deque()
        self._busy = False

    def take(self, work: W, size: int, cancelled: Callable[[], bool]) -> float:
        """Have some work done.

        Args:
            work: what is to be done.
            size: how much of a batch it takes.
            cancelled: asked while it waits; work that has begun is finished.

        Returns:
            milliseconds that it waited for others.

        Raises:
            EngineHung: it was cancelled before it began.
            BaseException: what the work itself raised.
        """
        job = Job(work, size, cancelled)
        with self._lock:
            self._queue.append(job)
            job.leads, self._busy = not self._busy, True
        try:
            self._wait(job)
        except BaseException:
            self._leave(job)
            raise
        if job.leads:
            self._lead()
        if job.error is not None:
            raise job.error
        return job.waited_ms

    def _wait(self, job: Job[W]) -> None:
        while not (job.leads or job.done):
            if not job.woken.wait(_LOOKS_EVERY) and job.cancelled():
                with self._lock:
                    if job in self._queue and not job.leads:
                        self._queue.remove(job)
                        raise self._late()

    def _leave(self, job: Job[W]) -> None:
        """The caller goes away (an interrupt, say): it neither works nor holds up those behind it."""
        with self._lock:
            if job in self._queue:
                self._queue.remove(job)
            if job.leads:
                self._hand_on()

    def _lead(self) -> None:
        with self._lock:
            batch = self._next()
        try:
            wanted = [job for job in batch if not self._cancel(job)]
            if wanted:
                self._work(wanted)
        finally:
            with self._lock:
                for job in batch:
                    job.done = True
                    job.woken.set()
                self._hand_on()

    def _next(self) -> list[Job[W]]:
        batch = [self._queue.popleft()]
        size = batch[0].size
        while self._queue and size + self._queue[0].size <= self._room:
            batch.append(self._queue.popleft())
            size += batch[-1].size
        return batch

    def _cancel(self, job: Job[W]) -> bool:
        if job.cancelled():
            job.error = self._late()
            return True
        job.waited_ms = (time.perf_counter() - job.began) * 1e3
        return False

    def _work(self, jobs: Sequence[Job[W]]) -> None:
        try:
            self._run([job.work for job in jobs])
        except Exception as error:  # noqa: BLE001  it is raised in every thread whose work it was
            for job in jobs:  # to each its own: a raised error carries its thread's traceback
                job.error = copy.copy(error) if isinstance(error, TiebreakError) else error
        except BaseException:
            for job in jobs:
                job.error = EngineHung("The thread that did this work was interrupted.", engine=self._name)
            raise

    def _hand_on(self) -> None:
        """Let the head of the queue work, if there is one; under the lock."""
        if self._queue:
            head = self._queue[0]
            head.leads = True
            head.woken.set()
        else:
            self._busy = False

    def _late(self) -> EngineHung:
        return EngineHung(
            "The time for this answer was over before its work could begin; nothing was computed.",
            remedy="Raise timeout, or send fewer requests at once.",
            engine=self._name,
        )
