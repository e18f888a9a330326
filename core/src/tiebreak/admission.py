"""`Admission`: a counted gate in front of an engine, shared by threads and event loops alike."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

from tiebreak.errors import EngineHung, EngineOverloaded

__all__ = ["Admission"]


class Admission:
    """Lets at most `places` requests through at a time, in the order they came, and refuses beyond a queue.

    Threads and tasks of any event loop wait in one queue, so the limit holds over all of them.

    Args:
        places: requests that the engine works on at the same time.
        queue_limit: how many may wait before the next is refused at once.
        engine: name for messages.
    """

    def __init__(self, places: int, queue_limit: int, engine: str) -> None:
        self.places = places
        self.queue_limit = queue_limit
        self.engine = engine
        self.abandoned = 0
        """Requests that timed out here while the engine, which does not notice, may still work on them."""
        self._free = places
        self._lock = threading.Lock()
        self._waiting: deque[_Waiter] = deque()

    @contextmanager
    def enter(self, timeout: float) -> Iterator[float]:
        """Hold a place; yields the milliseconds spent waiting for it.

        Raises:
            EngineOverloaded: the queue is full.
            EngineHung: no place became free within `timeout` seconds.
        """
        started = time.perf_counter()
        if not self._take():
            event = threading.Event()
            waiter = self._join(event.set)
            try:
                if waiter is not None and not event.wait(timeout):
                    self._give_up(waiter, timeout)
            except KeyboardInterrupt:
                if waiter is None or not self._withdraw(waiter):
                    self._leave()
                raise
        try:
            yield (time.perf_counter() - started) * 1e3
        finally:
            self._leave()

    @asynccontextmanager
    async def aenter(self, timeout: float) -> AsyncIterator[float]:
        """The same for a task: the event loop is never blocked."""
        started = time.perf_counter()
        if not self._take():
            await self._wait(timeout)
        try:
            yield (time.perf_counter() - started) * 1e3
        finally:
            self._leave()

    async def _wait(self, timeout: float) -> None:
        """Wait for a place without blocking the event loop."""
        import asyncio

        loop = asyncio.get_running_loop()
        event = asyncio.Event()

        def wake() -> None:
            loop.call_soon_threadsafe(event.set)

        waiter = self._join(wake)
        if waiter is None:
            return
        try:
            await asyncio.wait_for(event.wait(), timeout)
        except asyncio.TimeoutError:
            self._give_up(waiter, timeout)
        except asyncio.CancelledError:
            if not self._withdraw(waiter):
                self._leave()
            raise

    def _take(self) -> bool:
        """Take a place if one is free and nobody waits for it."""
        with self._lock:
            free = self._free > 0
            self._free -= free
            return free

    def _join(self, wake: Callable[[], object]) -> _Waiter | None:
        """Take a free place (None) or a place in the queue."""
        with self._lock:
            if self._free > 0:
                self._free -= 1
                return None
            if len(self._waiting) >= self.queue_limit:
                raise EngineOverloaded(
                    f"{len(self._waiting)} requests are already waiting for {self.places} at work.",
                    remedy="Send fewer at once, or raise queue_limit.",
                    engine=self.engine,
                )
            waiter = _Waiter(wake)
            self._waiting.append(waiter)
            return waiter

    def resize(self, places: int) -> None:
        """Let more or fewer through from now on: some engines say only when they run how many they work on."""
        with self._lock:
            self._free += places - self.places
            self.places = places
            self._admit()

    def _leave(self) -> None:
        """Hand the place to the next that still waits, or free it."""
        with self._lock:
            self._free += 1
            self._admit()

    def _admit(self) -> None:
        while self._free > 0 and self._waiting:
            waiter = self._waiting.popleft()
            waiter.admitted = True
            try:
                waiter.wake()
            except RuntimeError:  # its event loop is closed: nobody waits there any more
                continue
            self._free -= 1

    def _withdraw(self, waiter: _Waiter) -> bool:
        """Leave the queue; False where a place was handed over in the meantime."""
        with self._lock:
            if waiter.admitted:
                return False
            self._waiting.remove(waiter)
            return True

    def _give_up(self, waiter: _Waiter, timeout: float) -> None:
        if not self._withdraw(waiter):
            return
        raise EngineHung(
            f"No free place within {timeout:g} s; {self.places} requests are at work"
            + (f" and {self.abandoned} that timed out may still be running." if self.abandoned else "."),
            remedy="Raise timeout, or send fewer requests at once.",
            engine=self.engine,
        )


class _Waiter:
    __slots__ = ("admitted", "wake")

    def __init__(self, wake: Callable[[], object]) -> None:
        self.wake = wake
        self.admitted = False
