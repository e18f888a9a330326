"""`Pace`: keeps calls to somebody else's server under its rate limits, so that they are not refused in the first place.

Each call books the earliest moment at which both budgets allow it, in the order of asking, and sleeps until then
(the generic cell rate algorithm of ITU-T I.371, once for requests and once for tokens). Threads and tasks of any event
loop share the budgets; nobody polls.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable

from tiebreak.errors import EngineOverloaded, InvalidRequest

__all__ = ["Pace"]

BURST = 1.0  # seconds of unused budget that may be spent at once


class Pace:
    """Two budgets: requests per minute and tokens per second.

    Args:
        engine: name for messages.
        requests_per_minute: calls that may start within a minute, None for no limit.
        tokens_per_second: tokens that the calls may carry, None for no limit.
        clock: seconds that never go back; for tests.

    Raises:
        InvalidRequest: a limit is not a positive number.
    """

    def __init__(
        self,
        engine: str,
        *,
        requests_per_minute: float | None = None,
        tokens_per_second: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        for name, value in (("requests_per_minute", requests_per_minute), ("tokens_per_second", tokens_per_second)):
            if value is not None and not value > 0:
                raise InvalidRequest(f"{name} is {value!r}; it is a positive number, or None for no limit.")
        self._engine = engine
        self._clock = clock
        self._lock = threading.Lock()
        self._requests = _Budget(60 / requests_per_minute if requests_per_minute else 0.0)
        self._tokens = _Budget(1 / tokens_per_second if tokens_per_second else 0.0)

    def hold(self, tokens: int, deadline: float) -> float:
        """Sleep until a call may be made.

        Args:
            tokens: what the call is expected to cost.
            deadline: `time.monotonic()` by which the call must have been answered.

        Returns:
            seconds slept.

        Raises:
            EngineOverloaded: its turn would come after the deadline; nothing was booked.
        """
        seconds = self.book(tokens, deadline)
        if seconds:
            try:
                time.sleep(seconds)
            except BaseException:
                self.cancel(tokens)
                raise
        return seconds

    async def ahold(self, tokens: int, deadline: float) -> float:
        """The same from a task; a cancelled task gives its turn back. See `hold`."""
        seconds = self.book(tokens, deadline)
        if seconds:
            try:
                await asyncio.sleep(seconds)
            except BaseException:
                self.cancel(tokens)
                raise
        return seconds

    def book(self, tokens: int, deadline: float) -> float:
        """Seconds until a call may be made, which is counted from now on; see `hold`."""
        with self._lock:
            now = self._clock()
            seconds = max(self._requests.delay(now, 1), self._tokens.delay(now, tokens))
            if seconds and now + seconds >= deadline:
                raise EngineOverloaded(
                    f"The rate limits that were set leave no room for {seconds:.1f} s, which is past the deadline.",
                    retry_after=seconds,
                    remedy="Send less at once, raise timeout, or raise requests_per_minute and tokens_per_second.",
                    engine=self._engine,
                )
            self._requests.spend(now, 1)
            self._tokens.spend(now, tokens)
            return seconds

    def cancel(self, tokens: int) -> None:
        """Give back what a call that was never made had booked."""
        with self._lock:
            self._requests.free_at -= self._requests.cost
            self._tokens.free_at -= self._tokens.cost * tokens


class _Budget:
    """One budget: `free_at` is when all that was booked will have been paid for."""

    __slots__ = ("cost", "free_at")

    def __init__(self, cost: float) -> None:
        self.cost = cost
        """Seconds of budget that one unit takes, 0 where there is no limit."""
        self.free_at = float("-inf")

    def delay(self, now: float, units: int) -> float:
        """Seconds until `units` may be spent: at once within the burst, and one unit whenever nothing is owed."""
        spare = max(0.0, BURST - self.cost * units)
        return max(0.0, self.free_at - spare - now)

    def spend(self, now: float, units: int) -> None:
        self.free_at = max(self.free_at, now) + self.cost * units
