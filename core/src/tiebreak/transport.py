"""`Transport`: how a wire engine's calls reach it.

Engines yield `Call`s and are sent `Reply`s; here they become HTTP over pooled keep-alive connections, with deadlines,
retries and a pace. What carries them is a wire: `LoopbackWire` for threads and this machine, httpx for all else.

Tests and recordings replace the wire with any `httpx.BaseTransport` (or async one): `Transport(..., mount=...)`.
"""

from __future__ import annotations

import asyncio
import ipaddress
import math
import os
import random
import threading
import time
from collections.abc import Generator, Mapping
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from tiebreak.engine import Call, Reply, Spent
from tiebreak.errors import EngineError, EngineHung, InvalidRequest
from tiebreak.loopback import LoopbackWire
from tiebreak.pace import Pace
from tiebreak.wire import Answered, AsyncHttpxWire, Broken, HttpxWire, NoReply, TimedOut

__all__ = [
    "ConnectionLost",
    "Transport",
    "adrive",
    "check_url",
    "drive",
    "is_loopback",
    "retry_after",
]

RETRIED = frozenset({408, 429, 500, 502, 503, 504, 529})
FIRST_WAIT, LONGEST_WAIT = 0.5, 8.0


class ConnectionLost(EngineError):
    """The connection could not be made or broke; the session says what became of the engine."""


class Transport:
    """Sends calls to one engine, from any thread and any event loop.

    Connections are pooled: one pool for threads, one per event loop. How many calls are under way at once
    is not decided here (see `Admission`), so the pools have no limit to run into.

    Args:
        engine: name for messages.
        mount: replaces the wire, for tests and recordings: an `httpx.BaseTransport` for sync use, an
            `httpx.AsyncBaseTransport` for async use, or one object that is both.
        pace: the rate that the engine allows; every attempt counts.
    """

    def __init__(self, engine: str, mount: Any = None, pace: Pace | None = None) -> None:
        self.engine = engine
        self.pace = pace
        self.replaced = 0
        """Stale keep-alive connections that were replaced."""
        self._mount = mount
        self._lock = threading.Lock()
        # By process, too: a forked child must not write into its parent's connections.
        self._sync: dict[tuple[int, bool, bool], HttpxWire | LoopbackWire] = {}
        self._async: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[bool, AsyncHttpxWire]] = WeakKeyDictionary()
        self._closed = False

    def send(self, call: Call, url: str, headers: Mapping[str, str], deadline: float) -> Reply:
        """Make a call and wait for its reply.

        Args:
            call: what to send.
            url: the engine's base URL.
            headers: the engine's own headers.
            deadline: `time.monotonic()` by which the reply must be here.

        Raises:
            ConnectionLost: no connection, or it broke (after one replacement of a stale one).
            EngineHung: the deadline passed.
        """
        wire = self._wire(is_loopback(url), plain=url.startswith("http:"))
        policy = _Policy(self, call, deadline)
        carried = policy.headers(headers)
        while True:
            if self.pace is not None:
                policy.waited += self.pace.hold(call.tokens, deadline)
            started = time.perf_counter()
            try:
                answered = wire.exchange(call, url, carried, policy.left())
            except NoReply as lost:
                wait: float | None = policy.lost(lost)
            else:
                reply = _reply(answered, started, policy.waited)
                wait = policy.refused(reply)
                if wait is None:
                    return reply
            time.sleep(wait or 0)

    async def asend(self, call: Call, url: str, headers: Mapping[str, str], deadline: float) -> Reply:
        """The same from a task; see `send`."""
        wire = await self._awire(is_loopback(url))
        policy = _Policy(self, call, deadline)
        carried = policy.headers(headers)
        while True:
            if self.pace is not None:
                policy.waited += await self.pace.ahold(call.tokens, deadline)
            started = time.perf_counter()
            try:
                answered = await wire.exchange(call, url, carried, policy.left())
            except NoReply as lost:
                wait: float | None = policy.lost(lost)
            else:
                reply = _reply(answered, started, policy.waited)
                wait = policy.refused(reply)
                if wait is None:
                    return reply
            await asyncio.sleep(wait or 0)

    def close(self) -> None:
        """Close the pool of threads; those of event loops close with their loop. A second call does nothing."""
        with self._lock:
            self._closed = True
            wires, self._sync = list(self._sync.values()), {}
        for wire in wires:
            wire.close()

    def _wire(self, loopback: bool, *, plain: bool) -> HttpxWire | LoopbackWire:
        with self._lock:
            if self._closed:
                raise EngineError("It was closed.", remedy="Make a new Decider.", engine=self.engine)
            key = (os.getpid(), loopback, plain)
            if key not in self._sync:
                near = loopback and plain and self._mount is None
                self._sync[key] = LoopbackWire() if near else HttpxWire(loopback, self._mount)
            return self._sync[key]

    async def _awire(self, loopback: bool) -> AsyncHttpxWire:
        loop = asyncio.get_running_loop()
        with self._lock:
            if self._closed:
                raise EngineError("It was closed.", remedy="Make a new Decider.", engine=self.engine)
            wires = self._async.setdefault(loop, {})
            if loopback in wires:
                return wires[loopback]
            wire = wires[loopback] = AsyncHttpxWire(loopback, self._mount)
        await wire.attach()
        return wire


class _Headers(dict[str, str]):
    """Headers, a key perhaps among them; a repr, also one in a traceback with locals, names them only."""

    def __repr__(self) -> str:
        return f"<headers {', '.join(self)}>"


class _Policy:
    """What to do about one call that was lost or refused: again, after how long, or not."""

    def __init__(self, transport: Transport, call: Call, deadline: float) -> None:
        self._transport = transport
        self._call = call
        self._deadline = deadline
        self._started = time.monotonic()
        self._stale = 1
        self._retries = call.retries
        self._wait = FIRST_WAIT
        self.waited = 0.0
        """Seconds spent on our side: for the pace, and between attempts."""

    def headers(self, engine: Mapping[str, str]) -> _Headers:
        """All headers of the call: the usual ones, the engine's, its own."""
        own = {"content-type": "application/json"} if self._call.body else {}
        return _Headers({"accept": "application/json", **own, **engine, **self._call.headers})

    def lost(self, lost: NoReply) -> float:
        """Seconds to wait before another try, or an error."""
        if isinstance(lost, TimedOut):
            raise self._hung() from None
        if isinstance(lost, Broken) and self._stale:
            # Deciding only reads, so asking twice does no harm: the usual cause is a keep-alive
            # connection that the server closed while it was idle.
            self._stale = 0
            self._transport.replaced += 1
            return 0.0
        wait = self._pause(None)
        if wait is None:
            raise ConnectionLost(
                f"The connection failed: {lost}.",
                engine=self._transport.engine,
            ) from None
        return wait

    def refused(self, reply: Reply) -> float | None:
        """Seconds to wait before another try, None to hand the reply over."""
        return self._pause(retry_after(reply.headers)) if reply.status in RETRIED else None

    def _pause(self, asked: float | None) -> float | None:
        """Seconds to wait, None where no retry is left or the wait would outlast the deadline."""
        if not self._retries:
            return None
        # Random, and never before the time asked for, so that clients refused together do not return together.
        own = self._wait * random.uniform(0.5, 1.0)  # noqa: S311  spreading load needs no secrecy
        wait = own if asked is None else asked + own * 0.25
        if time.monotonic() + wait >= self._deadline:
            return None
        self._retries -= 1
        self._wait = min(2 * self._wait, LONGEST_WAIT)
        self.waited += wait
        return wait

    def left(self) -> float:
        """Seconds until the deadline.

        Raises:
            EngineHung: it passed.
        """
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise self._hung()
        return left

    def _hung(self) -> EngineHung:
        return EngineHung(
            f"No answer after {time.monotonic() - self._started:.1f} s.",
            remedy="Raise timeout, or see whether the engine is busy.",
            engine=self._transport.engine,
        )


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that a server asks to wait: `retry-after-ms`, or `Retry-After` in seconds or as a date.

    Returns:
        None where it does not ask, or asks in a way that nobody can read.
    """
    for name, unit in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        asked = headers.get(name, "").strip()
        if not asked:
            continue
        try:
            seconds = float(asked) * unit
        except ValueError:
            seconds = _until(asked)
        if math.isfinite(seconds):
            return max(0.0, seconds)
    return None


def _until(date: str) -> float:
    """Seconds until an HTTP date (RFC 9110, 5.6.7), NaN where it is none."""
    try:
        return parsedate_to_datetime(date).timestamp() - time.time()
    except (ValueError, OverflowError):
        return math.nan


def check_url(url: str, engine: str = "") -> str:
    """An engine's base URL, without a trailing slash.

    Raises:
        InvalidRequest: it is not http(s), has no host, or carries a password or query (keys do not
            belong in URLs: they end up in logs).
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        # The text is not repeated: without a scheme nobody can tell where in it a key or a password stands.
        raise InvalidRequest(
            "The url is not an http(s) URL with a host.", remedy="Write it like http://127.0.0.1:8080.", engine=engine
        )
    if parts.username or parts.password or parts.query or parts.fragment:
        raise InvalidRequest(
            f"The URL of {parts.hostname} carries a user, password, query or fragment.",
            remedy="Pass keys through the environment: what is in a URL ends up in logs.",
            engine=engine,
        )
    return url.rstrip("/")


@lru_cache(maxsize=64)
def is_loopback(url: str) -> bool:
    """Whether a URL points at this machine."""
    host = urlsplit(url).hostname or ""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def drive(
    steps: Generator[Call, Reply, Any],
    transport: Transport,
    url: str,
    headers: Mapping[str, str],
    deadline: float,
) -> tuple[Any, Spent]:
    """Run an engine's exchange to its end; returns its result and what its calls took."""
    spent = Spent()
    try:
        call = next(steps)
        while True:
            reply = transport.send(call, url, headers, deadline)
            spent = spent.plus(reply)
            call = steps.send(reply)
    except StopIteration as done:
        return done.value, spent


async def adrive(
    steps: Generator[Call, Reply, Any],
    transport: Transport,
    url: str,
    headers: Mapping[str, str],
    deadline: float,
) -> tuple[Any, Spent]:
    """The same from a task; see `drive`."""
    spent = Spent()
    try:
        call = next(steps)
        while True:
            reply = await transport.asend(call, url, headers, deadline)
            spent = spent.plus(reply)
            call = steps.send(reply)
    except StopIteration as done:
        return done.value, spent


def _reply(answered: Answered, started: float, waited: float) -> Reply:
    return Reply(
        status=answered.status,
        headers=answered.headers,
        body=answered.body,
        wall_ms=(time.perf_counter() - started) * 1e3,
        waited_ms=waited * 1e3,
    )
