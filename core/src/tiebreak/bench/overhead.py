"""`overhead`: what a client costs per decision, beside other clients on one running server.

All ask the same server the same things, in turns in a new order each round, so that the machine's mood falls on all
alike; every request has a state of its own, of one length. The bytes that tiebreak sends are recorded first and then
sent by the others. After some hundred milliseconds of inference a client's code is cold in every cache; so the same is
measured against a server that answers at once with what the real one answered: the client when nothing else runs.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Literal

import attrs

from tiebreak.answers import Decision
from tiebreak.bench.clients import Httpx, Kept, Socket, ornotto, reported
from tiebreak.bench.machine import describe, now
from tiebreak.bench.methods import Field, Loaded, Wish, computed, load, model_of, quietly
from tiebreak.bench.omissions import Omissions
from tiebreak.bench.progress import Progress
from tiebreak.bench.records import Method
from tiebreak.bench.relay import Exchange, Instant, Relay
from tiebreak.bench.results import Client, OverheadSection
from tiebreak.bench.statistics import measured
from tiebreak.decider import Decider
from tiebreak.engine import WireEngine
from tiebreak.errors import InvalidRequest, Unsupported
from tiebreak.pool import Pool
from tiebreak.questions import choice
from tiebreak.server import Server

__all__ = ["OverheadPlan", "overhead"]

OPTIONS = ("roads", "waste", "noise")
QUESTION = "Which team should handle this?"
ASKED = {"answer": choice(QUESTION, OPTIONS)}
MARK = "STATE-MARK"
OURS, BARE = "tiebreak", "bare socket"
INSTANT_TIMES = 10
"""Rounds against the server that answers at once, for each against the real one: they cost nothing."""


@attrs.frozen(kw_only=True)
class OverheadPlan:
    """What to measure: which wire engines, in how many rounds."""

    field: Field
    rounds: int = 100
    command: str = ""


def overhead(plan: OverheadPlan, progress: Progress, keep: Callable[[OverheadSection], object]) -> OverheadSection:
    """Measure; engines that compute in this process have no wire and are left out.

    Args:
        plan: what to measure.
        progress: told about every step.
        keep: called once with what was measured, also where it was interrupted.

    Raises:
        InvalidRequest, EngineUnavailable: the plan is wrong; nothing was started.
        TiebreakError: no method could be measured at all; the last one's reason.
    """
    if plan.rounds < 1:
        raise InvalidRequest(f"--repeat is {plan.rounds}; it is at least 1.")
    wishes, skipped = plan.field.wishes()
    progress.plan({wish.name: plan.rounds for wish in wishes}, {wish.name: 1 for wish in wishes})
    machine, started, began = describe(), now(), time.monotonic()
    heard: dict[str, None] = {}
    methods: list[Method] = []
    clients: list[Client] = []
    omissions = Omissions(skipped, progress)
    try:
        for wish in wishes:
            with omissions.around(wish), quietly(heard), ExitStack() as stack:
                model_of(wish, plan.field.registry)
                loaded = stack.enter_context(load(wish, plan.field.registry))
                progress.loaded(wish.name, loaded.ready_ms / 1e3)
                clients += _Bench(plan, wish, loaded, progress).measure(stack)
                methods.append(loaded.method)
    finally:
        section = OverheadSection(
            machine=machine,
            command=plan.command,
            started=started,
            seconds=time.monotonic() - began,
            notes=list(heard),
            methods=methods,
            skipped=skipped,
            rounds=plan.rounds,
            clients=clients,
        )
        if clients:
            keep(section)
    omissions.refuse_nothing(clients)
    return section


class _Bench:
    """The clients of one engine."""

    def __init__(self, plan: OverheadPlan, wish: Wish, loaded: Loaded, progress: Progress) -> None:
        server = loaded.decider.session.opened.server
        if not isinstance(server, Server) or not isinstance(loaded.decider.session.engine, WireEngine):
            raise Unsupported("It computes in this process, so there is no wire to measure.", engine=wish.engine)
        self.plan = plan
        self.wish = wish
        self.loaded = loaded
        self.progress = progress
        self.url = server.url

    def measure(self, stack: ExitStack) -> list[Client]:
        seen = self._recorded()
        last = seen[-1]
        if MARK.encode() not in last.body:
            raise Unsupported(
                "It does not send the state as text, so it cannot be sent again.", engine=self.wish.engine
            )
        found = self._against("engine", self.url, self.loaded.decider, last, stack)
        instant = Instant(seen)
        stack.callback(instant.close)
        return [*found, *self._against("instant", instant.url, self._attached(instant.url, stack), last, stack)]

    def _recorded(self) -> list[Exchange]:
        """What tiebreak says to the server, from the greeting to one decision."""
        relay = Relay(self.url)
        try:
            with ExitStack() as stack:
                self._attached(relay.url, stack).decide(MARK, ASKED)
        finally:
            relay.close()
        return relay.seen

    def _attached(self, url: str, stack: ExitStack) -> Decider:
        """A Decider in a pool of its own that attaches to a server; closed with the stack."""
        pool = Pool()
        stack.callback(pool.close)
        wish = self.wish
        model = self.loaded.decider.session.opened.model or None
        return Decider(
            wish.engine, model, layout=wish.layout, url=url, registry=self.plan.field.registry, pool=pool
        ).start()

    def _against(
        self, where: Literal["engine", "instant"], url: str, decider: Decider, last: Exchange, stack: ExitStack
    ) -> list[Client]:
        """All clients against one server, in turns."""
        dice = random.Random(1)  # noqa: S311  repeatable on purpose
        fresh = _states(dice)
        asks: dict[str, Callable[[], object]] = {OURS: lambda: decider.decide(fresh(), ASKED)}
        for name, kind in ((BARE, Socket), ("http.client", Kept), ("httpx", Httpx)):
            client = kind(url, last.path)
            stack.callback(client.close)
            asks[name] = _posting(client.post, last.body, fresh)
        library = ornotto(self.wish.engine, url, OPTIONS, QUESTION) if where == "engine" else None
        if library is not None:
            asks["ornotto"] = lambda: library(fresh())
        rounds = self.plan.rounds * (1 if where == "engine" else INSTANT_TIMES)
        total: dict[str, list[float]] = {name: [] for name in asks}
        over: dict[str, list[float | None]] = {name: [] for name in asks}
        for name in asks:  # connections and code are made before it counts
            asks[name]()
        for _ in range(rounds):
            began = time.perf_counter()
            for name in dice.sample(list(asks), len(asks)):
                started = time.perf_counter()
                result = asks[name]()
                wall = (time.perf_counter() - started) * 1e3
                theirs = _computed(result) if where == "engine" else 0.0
                total[name].append(wall)
                over[name].append(None if theirs is None else wall - theirs)
            if where == "engine":
                self.progress.asked(self.wish.name, time.perf_counter() - began)
        return [self._client(where, name, total, over) for name in asks]

    def _client(
        self,
        where: Literal["engine", "instant"],
        name: str,
        total: dict[str, list[float]],
        over: dict[str, list[float | None]],
    ) -> Client:
        known = [value for value in over[name] if value is not None]
        whole = len(known) == len(total[name])
        own = [a - b for a, b in zip(over[name], over[BARE], strict=True) if a is not None and b is not None]
        return Client(
            method=self.loaded.method.id,
            server=where,
            client=name,
            total=measured([total[name]]),
            over=measured([known]) if whole and where == "engine" else None,
            own=measured([own]) if len(own) == len(total[name]) and name != BARE else None,
            behind=None if name == OURS else measured([[a - b for a, b in zip(total[name], total[OURS], strict=True)]]),
        )


def _states(dice: random.Random) -> Callable[[], str]:
    """States of one length that were never asked before."""
    return lambda: f"Complaint {dice.randrange(10**8):08d}: the bar downstairs plays techno until four"


def _posting(post: Callable[[bytes], bytes], template: bytes, fresh: Callable[[], str]) -> Callable[[], bytes]:
    mark = MARK.encode()
    return lambda: post(template.replace(mark, fresh().encode()))


def _computed(result: object) -> float | None:
    """What the engine says that it computed for a result, in milliseconds; None where nobody says."""
    if isinstance(result, bytes):
        return reported(result)
    return computed(result) if isinstance(result, Decision) else None
