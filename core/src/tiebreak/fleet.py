"""`Fleet`: several servers of one wire engine behind one session.

A request goes to the server that is likeliest to hold its reusable prefix: servers are ranked by rendezvous hashing
(Thaler and Ravishankar, 1998) of that prefix and their URLs, so one that joins or leaves moves only the prefixes that
were its own. A server that has no free place passes the request on to the next in its ranking, so that a prefix which
everybody asks about keeps all of them busy. One that fails is left out until it answers again, and what was put to it
is put to the next: a decision only reads, so asking twice does no harm.
"""

from __future__ import annotations

import hashlib
import threading
import time
import warnings
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from tiebreak.engine import Call, Reply, Spent, WireEngine
from tiebreak.errors import (
    EngineDied,
    EngineHung,
    EngineOverloaded,
    EngineStartError,
    RateLimited,
    TiebreakError,
)
from tiebreak.ledger import prefix_key
from tiebreak.plan import Plan
from tiebreak.session import DecisionWarning
from tiebreak.transport import ConnectionLost

if TYPE_CHECKING:
    from tiebreak.evidence import Outcome
    from tiebreak.process import EngineProcess
    from tiebreak.server import Server

__all__ = ["Fleet", "Health"]

T = TypeVar("T")

AWAY = (ConnectionLost, EngineDied, EngineHung, EngineStartError)
"""After one of these a server is left out until it answers again."""
BUSY = (EngineOverloaded,)
"""After one of these only this request goes elsewhere."""
FIRST_LOOK, LONGEST_LOOK = 0.5, 30.0  # seconds until a server that is away is looked at again


@attrs.frozen(kw_only=True)
class Health:
    """How one server of a fleet is doing.

    Attributes:
        url: where it is.
        up: requests go to it.
        reason: why not, "" where they do.
        busy: requests that it works on now.
        answered: requests that it answered.
    """

    url: str
    up: bool
    reason: str
    busy: int
    answered: int


class Fleet:
    """Servers of one engine with one model; does for a session what one `Server` does.

    Args:
        servers: at least one, attached to by URL.
    """

    process: EngineProcess | None = None
    """None: these are somebody else's servers, and no process of ours."""

    def __init__(self, servers: Sequence[Server]) -> None:
        self._members = [_Member(server) for server in servers]
        self._first = self._members[0]
        self._lock = threading.Lock()
        self._starting = threading.Lock()
        self._started = False
        self._closed = threading.Event()

    @property
    def engine(self) -> WireEngine:
        """The engine that plans are made for: that of the first server that answered."""
        return self._first.server.engine

    @property
    def ready(self) -> bool:
        """Whether the servers were greeted."""
        return self._started

    @property
    def places(self) -> int:
        """Requests that the servers which are up work on at the same time."""
        return sum(member.server.places for member in self._members if member.up) or self.capacity

    @property
    def capacity(self) -> int:
        """The same if all of them are."""
        return sum(member.server.capacity for member in self._members)

    def health(self) -> Sequence[Health]:
        """How each server is doing, in the order of their URLs."""
        with self._lock:
            return [
                Health(url=each.url, up=each.up, reason=each.reason, busy=each.busy, answered=each.answered)
                for each in self._members
            ]

    def start(self) -> None:
        """Reach and greet all servers side by side; those that are not there are left out, with a warning.

        Raises:
            EngineStartError: none is there, or they are not servers of the same engine, build and vocabulary.
        """
        if self.ready:
            return
        with self._starting:
            if self._started:  # another thread was faster
                return
            with ThreadPoolExecutor(len(self._members), thread_name_prefix="tiebreak-fleet") as pool:
                failures = list(pool.map(_greet, self._members))
            there = [member for member, failure in zip(self._members, failures, strict=True) if failure is None]
            if not there:
                raise self._nobody([failure for failure in failures if failure is not None])
            self._first = there[0]
            for member in there:
                self._compare(member)
            for member, failure in zip(self._members, failures, strict=True):
                if failure is not None:
                    self._leave_out(member, failure)
                    text = f"{self.engine.info.name}: {member.url} is left out: {failure.message}"
                    warnings.warn(text, DecisionWarning, stacklevel=2)
            self._started = True

    def ask(self, plan: Plan, deadline: float) -> tuple[Outcome, Spent]:
        """Evidence for a plan from the first server that gives it; see `Server.ask`.

        While another server is left to ask, one gets half of the time that is left.
        """
        route = _Route(self, plan, deadline)
        for attempt in route:
            with attempt:
                return attempt.member.server.ask(plan, attempt.deadline)
        raise self._nobody(route.failures)

    async def aask(self, plan: Plan, deadline: float) -> tuple[Outcome, Spent]:
        """The same from a task; see `ask`."""
        route = _Route(self, plan, deadline)
        for attempt in route:
            with attempt:
                return await attempt.member.server.aask(plan, attempt.deadline)
        raise self._nobody(route.failures)

    def run(self, steps: Generator[Call, Reply, T], deadline: float) -> tuple[T, Spent]:
        """Drive an exchange of `engine` with its server; see `Server.run`."""
        return self._first.server.run(steps, deadline)

    def close(self) -> None:
        """Close the connections. A second call does nothing."""
        self._closed.set()
        for member in self._members:
            member.server.close()

    def take(self, ranked: Sequence[_Member], tried: Sequence[_Member]) -> _Member | None:
        """Count a request at the best server that was not tried, None where all were.

        The first in the ranking that is up and has a free place; else the least busy one; one that is away only where
        no other is left.
        """
        with self._lock:
            left = [member for member in ranked if member not in tried]
            up = [member for member in left if member.up]
            chosen = next((member for member in up if member.busy < member.server.places), None)
            if chosen is None:
                chosen = min(up or left, key=lambda member: member.busy / member.server.places, default=None)
            if chosen is not None:
                chosen.busy += 1
            return chosen

    def give_back(self, member: _Member, failure: BaseException | None) -> bool:
        """Count a request less; whether it may be put to another server."""
        with self._lock:
            member.busy -= 1
            member.answered += failure is None
        if isinstance(failure, AWAY):
            self._leave_out(member, failure)
            return True
        return isinstance(failure, BUSY) and not isinstance(failure, RateLimited)

    def others(self, tried: Sequence[_Member]) -> bool:
        """Whether a server is up that was not tried."""
        return any(member.up and member not in tried for member in self._members)

    def ranking(self, plan: Plan) -> Sequence[_Member]:
        """All servers, the likeliest to hold the plan's reusable prefix first."""
        if not any(row.cut for row in plan.rows):
            # Nothing that we know of is reused. An engine that lays out the prompt itself may yet: by state and schema.
            key = plan.request.state_text.encode() if plan.direction == "opaque" else b""
        else:
            key = prefix_key(plan)
        if not key:
            return sorted(self._members, key=lambda member: member.busy)
        return sorted(self._members, key=lambda member: _weight(key, member.url), reverse=True)

    def _compare(self, member: _Member) -> None:
        """Refuse a server whose answers would differ from those of the first."""
        first, other = self._first.server.engine, member.server.engine
        for what in ("version", "model_sha256", "vocabulary"):
            if getattr(first, what) != getattr(other, what):
                raise EngineStartError(
                    f"{member.url} and {self._first.url} differ in {_WORDS[what]}, so answers would depend on who "
                    "gives them.",
                    remedy="Serve the same model with the same build from all of them.",
                    engine=self.engine.info.name,
                )

    def _leave_out(self, member: _Member, failure: TiebreakError) -> None:
        """No more requests for a server until it answers; somebody looks after it meanwhile."""
        with self._lock:
            if not member.up or self._closed.is_set():
                return
            member.up, member.reason = False, failure.message
        name = f"tiebreak-fleet {member.url}"
        threading.Thread(target=self._look_after, args=(member,), name=name, daemon=True).start()

    def _look_after(self, member: _Member) -> None:
        """Greet a server again and again until it is there, and the same as before."""
        wait = FIRST_LOOK
        while not self._closed.wait(wait):
            wait = min(2 * wait, LONGEST_LOOK)
            try:
                member.server.greet_again()
                self._compare(member)
            except TiebreakError as error:
                with self._lock:
                    member.reason = error.message
            else:
                with self._lock:
                    member.up, member.reason = True, ""
                return

    def _nobody(self, failures: Sequence[TiebreakError]) -> TiebreakError:
        """The last failure, with what became of each server."""
        last = failures[-1]
        if len(self._members) > 1:
            reasons = "; ".join(f"{each.url}: {each.reason or 'up'}" for each in self._members if each.reason)
            last.message = f"{last.message} No server is left to ask{f' ({reasons})' if reasons else ''}."
        return last


_WORDS = {"version": "build", "model_sha256": "model", "vocabulary": "vocabulary or chat template"}


class _Member:
    """One server, and how it is doing. What changes here changes under the fleet's lock."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.url = server.url
        self.up = True
        self.reason = ""
        self.busy = 0
        self.answered = 0


def _greet(member: _Member) -> TiebreakError | None:
    try:
        member.server.start()
    except TiebreakError as error:
        return error
    return None


def _weight(key: bytes, url: str) -> bytes:
    return hashlib.blake2b(key + url.encode(), digest_size=8).digest()


class _Route:
    """The servers that one request is put to, one after another, until one answers."""

    def __init__(self, fleet: Fleet, plan: Plan, deadline: float) -> None:
        self._fleet = fleet
        self._ranked = fleet.ranking(plan)
        self._deadline = deadline
        self._tried: list[_Member] = []
        self.failures: list[TiebreakError] = []

    def __iter__(self) -> Iterator[_Attempt]:
        while not self.failures or time.monotonic() < self._deadline:
            member = self._fleet.take(self._ranked, self._tried)
            if member is None:
                return
            self._tried.append(member)
            now, deadline = time.monotonic(), self._deadline
            if self._fleet.others(self._tried):
                deadline = now + (deadline - now) / 2
            yield _Attempt(self, member, deadline)

    def settle(self, member: _Member, failure: BaseException | None) -> bool:
        """Enter how an attempt ended; whether another server may be asked."""
        again = self._fleet.give_back(member, failure)
        if again and isinstance(failure, TiebreakError):
            self.failures.append(failure)
        return again


class _Attempt:
    """One request at one server: a context that swallows failures after which another may be asked."""

    def __init__(self, route: _Route, member: _Member, deadline: float) -> None:
        self.member = member
        self.deadline = deadline
        self._route = route

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, trace: TracebackType | None) -> bool:
        return self._route.settle(self.member, error)
