"""`Session`: one engine, one model and its stages, bound together; the one place where a request runs."""

from __future__ import annotations

import hashlib
import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import attrs

from tiebreak.answers import Answer, Decision, Receipt, Timings
from tiebreak.engine import Engine, LocalEngine, Spent, WireEngine
from tiebreak.errors import EngineHung, InvalidRequest, TiebreakError, Unsupported
from tiebreak.evidence import Outcome
from tiebreak.ledger import Ledger
from tiebreak.observers import Harmless, Observer
from tiebreak.plan import Plan
from tiebreak.questions import JSON, Question, Request, yes_no
from tiebreak.stages.cache import CachePolicy
from tiebreak.stages.layout import Layout
from tiebreak.stages.readout import Reading, Readout

if TYPE_CHECKING:
    from tiebreak.admission import Admission
    from tiebreak.fleet import Fleet
    from tiebreak.memory import MemoryGuard
    from tiebreak.server import Server

__all__ = ["DecisionWarning", "Explanation", "Observer", "Opened", "Session", "Stages"]


class DecisionWarning(UserWarning):
    """Something about decisions that the caller should know; given once per session and kind."""


@attrs.frozen(kw_only=True)
class Stages:
    """The three stages that a session binds to its engine, and how evidence is read."""

    layout: Layout
    readout: Readout
    cache: CachePolicy
    reading: Reading = attrs.field(factory=Reading)

    def check(self, engine: Engine) -> None:
        """Refuse stages that do not fit each other, by type, with the reason.

        Raises:
            Unsupported: naming the two stages and what each wants.
        """
        found = engine.capabilities.evidence
        name = engine.info.name
        for stage, kind, wants in (
            ("layout", self.layout.name, self.layout.evidence),
            ("readout", self.readout.name, self.readout.evidence),
        ):
            if wants != found:
                raise Unsupported(
                    f"The {stage} {kind!r} needs {_EVIDENCE[wants]}, but this engine returns {_EVIDENCE[found]}.",
                    remedy=f"Leave {stage} to the engine, or choose another engine.",
                    engine=name,
                )


_EVIDENCE = {"tokens": "token log-probabilities", "distribution": "finished distributions"}


@attrs.frozen(kw_only=True)
class Opened:
    """An engine that requests can be put to, with what stands between them and it; shared by sessions.

    Attributes:
        engine: what looks at plans.
        admission: the gate in front of it.
        guard: the memory guard that it is loaded under.
        server: what runs and reaches a wire engine (a fleet where there are several), None for a local one.
        plugin: distribution and version of its plugin.
        model: the model reference as it was typed.
        options: every option with its value.
    """

    engine: Engine
    admission: Admission
    guard: MemoryGuard
    server: Server | Fleet | None = None
    plugin: str = ""
    model: str = ""
    options: Mapping[str, Any] = attrs.field(factory=dict)


@attrs.frozen(kw_only=True)
class Explanation:
    """What would be sent for a request, and nothing sent.

    Attributes:
        plan: rows with their segments and cuts.
        tokens: per row and piece the token ids, None where the engine does not show them.
        receipt: the stages and the fingerprint that an answer would carry.
    """

    plan: Plan
    tokens: Sequence[Sequence[Sequence[int]]] | None
    receipt: Receipt


class Session:
    """Runs requests against one engine with fixed stages, from any thread and any event loop."""

    def __init__(self, opened: Opened, stages: Stages, observers: Sequence[Observer] = ()) -> None:
        stages.check(opened.engine)
        self.opened = opened
        self.stages = stages
        self.observers = tuple(observers)
        self.ledger = Ledger(opened.engine.cache_budget)
        self._warned: set[str] = set()
        self._fingerprints: dict[tuple[str, str], str] = {}

    @property
    def engine(self) -> Engine:
        """The engine that answers; of several servers the one that plans are made for."""
        server = self.opened.server
        return self.opened.engine if server is None else server.engine

    @property
    def capacity(self) -> int:
        """The most requests that are ever worked on at the same time; while a server is away it is fewer."""
        server = self.opened.server
        return self.engine.capabilities.concurrency if server is None else server.capacity

    @property
    def ready(self) -> bool:
        """Whether a request would be answered without starting anything first."""
        return self._runs.ready

    def start(self) -> None:
        """Make the engine ready; returns at once where it is."""
        runs = self._runs
        if isinstance(runs, LocalEngine) and not runs.ready:
            self._load(runs)
        else:
            runs.start()
        places = runs.capabilities.concurrency if isinstance(runs, LocalEngine) else runs.places
        if places != self.opened.admission.places:
            self.opened.admission.resize(places)

    def receipt(self) -> Receipt:
        """What every answer will carry about who gives it; the engine is started, but not asked."""
        self.start()
        return self._receipt(None, ())

    def _load(self, engine: LocalEngine) -> None:
        """Start a local engine under the memory guard, which watches a child process but not this one."""
        footprint = engine.footprint()
        self.opened.guard.preflight(footprint, engine.info.name)
        engine.start()
        if engine.process is not None:
            self.opened.guard.watch(engine.process, footprint)

    def pin(self, state: JSON, questions: Mapping[str, Question] | None, *, keep: bool) -> None:
        """Keep a state or questions warm, or no longer; see `Decider.pin`."""
        name, layout = self.engine.info.name, self.stages.layout
        if (state is None) == (questions is None):
            raise InvalidRequest("Pin a state or questions: exactly one of the two.", engine=name)
        if not self.engine.capabilities.pins or not isinstance(self.engine, LocalEngine):
            raise Unsupported("It does not pin prefixes.", engine=name)
        if layout.direction != ("schema-first" if state is None else "state-first"):
            raise Unsupported(
                f"The layout {layout.name!r} is {layout.direction}: that prefix cannot be kept.",
                remedy="Pin what comes first in it, or choose another layout.",
                engine=name,
            )
        # What stands behind the prefix does not matter, but a request has both.
        request = Request.of("" if state is None else state, questions or {"pinned": yes_no("Does it fit?")})
        self._check(request)
        self.start()
        plan = self._plan(request, _Clock())
        (self.engine.pin if keep else self.engine.unpin)(plan)

    def decide(self, request: Request, timeout: float, patience: float = 0.0) -> Decision:
        """Answer a request; see `Decider.decide`.

        Args:
            request: checked state and questions.
            timeout: seconds for the answer; starting the engine has its own budget.
            patience: seconds besides that it may wait for its turn, behind others of the same stream.
        """
        self._check(request)
        self.start()
        clock = _Clock()  # loading belongs to the session, never to a request
        with ExitStack() as around:
            self._observe(around, request)
            plan = self._plan(request, clock)
            deadline = time.monotonic() + timeout
            with self.opened.admission.enter(timeout + patience) as queued:
                clock.queue = queued
                outcome, spent = self._ask(plan, deadline + min(queued / 1e3, patience))
            return self._decision(plan, outcome, spent, clock)

    async def adecide(self, request: Request, timeout: float) -> Decision:
        """The same from a task: the event loop is never blocked; see `decide`."""
        self._check(request)
        if not self._runs.ready:
            import asyncio

            await asyncio.to_thread(self.start)
        clock = _Clock()
        with ExitStack() as around:
            self._observe(around, request)
            plan = self._plan(request, clock)
            deadline = time.monotonic() + timeout
            async with self.opened.admission.aenter(timeout) as queued:
                clock.queue = queued
                outcome, spent = await self._aask(plan, deadline)
            return self._decision(plan, outcome, spent, clock)

    def explain(self, request: Request) -> Explanation:
        """Lay out a request and show it; the engine is started if its vocabulary is needed, but not asked."""
        self._check(request)
        self.start()
        plan = self._plan(request, _Clock())
        try:
            tokens = self._tokens(plan)
        except Unsupported:
            tokens = None
        return Explanation(plan=plan, tokens=tokens, receipt=self._receipt(None, ()))

    def _check(self, request: Request) -> None:
        self.engine.capabilities.check(request, self.engine.info.name)
        self.engine.limits.check(request, self.engine.info.name)

    def _plan(self, request: Request, clock: _Clock) -> Plan:
        started = time.perf_counter()
        plan = self.stages.cache.cut(self.stages.layout.plan(request, self.engine.vocabulary))
        clock.layout = (time.perf_counter() - started) * 1e3
        return plan

    @property
    def _runs(self) -> Server | Fleet | LocalEngine:
        """What has to run before a request: the server of a wire engine or several, or the local engine itself."""
        if self.opened.server is not None:
            return self.opened.server
        assert isinstance(self.engine, LocalEngine)
        return self.engine

    def _ask(self, plan: Plan, deadline: float) -> tuple[Outcome, Spent]:
        """Evidence for a plan, and what asking for it took."""
        engine, server = self.engine, self.opened.server
        if isinstance(engine, LocalEngine):
            return self._compute(engine, plan, deadline)
        assert isinstance(engine, WireEngine) and server is not None
        try:
            return server.ask(plan, deadline)
        except EngineHung:
            self._abandon()
            raise

    async def _aask(self, plan: Plan, deadline: float) -> tuple[Outcome, Spent]:
        """The same from a task."""
        import asyncio

        engine, server = self.engine, self.opened.server
        if isinstance(engine, LocalEngine):
            return await asyncio.to_thread(self._compute, engine, plan, deadline)
        assert isinstance(engine, WireEngine) and server is not None
        try:
            return await server.aask(plan, deadline)
        except (EngineHung, asyncio.CancelledError):
            self._abandon()
            raise

    def _abandon(self) -> None:
        if not self.engine.capabilities.cancels:
            self.opened.admission.abandoned += 1

    def _compute(self, engine: LocalEngine, plan: Plan, deadline: float) -> tuple[Outcome, Spent]:
        started = time.perf_counter()
        (outcome,) = engine.evidence([plan], lambda: time.monotonic() >= deadline)
        wall = (time.perf_counter() - started) * 1e3
        return outcome, Spent(wall_ms=wall - outcome.waited_ms, waited_ms=outcome.waited_ms)

    def _tokens(self, plan: Plan) -> Sequence[Sequence[Sequence[int]]]:
        engine, server = self.engine, self.opened.server
        if isinstance(engine, LocalEngine):
            return engine.tokens(plan)
        assert isinstance(engine, WireEngine) and server is not None
        tokens, _ = server.run(engine.tokens(plan), time.monotonic() + 60.0)
        return tokens

    def _observe(self, around: ExitStack, request: Request) -> None:
        for observer in self.observers:
            try:
                around.enter_context(Harmless(observer(request), self._warn))
            except Exception as error:  # noqa: BLE001  an observer may not change what happens, not by failing either
                self._warn(
                    "observer",
                    f"An observer failed before a request: {type(error).__name__}: {error}.",
                )

    def _decision(self, plan: Plan, outcome: Outcome, spent: Spent, clock: _Clock) -> Decision:
        started = time.perf_counter()
        try:
            answers = self.stages.readout.read(plan, outcome.evidence, self.stages.reading)
        except TiebreakError as error:
            error.engine = error.engine or self.engine.info.name
            raise
        notes = [*outcome.warnings, *self._low(answers.values())]
        advice = self.ledger.note(plan, outcome.cache)
        if advice is not None:
            notes.append(advice)
        if self.opened.admission.abandoned:
            waited = self.opened.admission.abandoned
            notes.append(f"abandoned: {waited} earlier requests timed out here; the engine worked them off first")
            self.opened.admission.abandoned = 0
        for note in notes:
            self._warn(note.split(":")[0], note)
        finished = time.perf_counter()
        computed = outcome.engine_ms
        timings = Timings(
            queue=clock.queue + spent.waited_ms,
            layout=clock.layout,
            transport=None if computed is None else max(0.0, spent.wall_ms - computed),
            prefill=outcome.prefill_ms,
            restore=outcome.restore_ms,
            readout=(finished - started) * 1e3,
            total=(finished - clock.started) * 1e3,
            engine=outcome.phases,
        )
        cache = outcome.cache
        if cache.scope == "none" and cache.status != "off":
            cache = attrs.evolve(cache, scope=self.stages.cache.scope(plan))
        return Decision(
            answers=answers,
            timings=timings,
            cache=cache,
            receipt=self._receipt(outcome, tuple(notes)),
        )

    def _low(self, answers: Iterable[Answer]) -> Sequence[str]:
        least = self.stages.reading.min_coverage
        low = [answer.coverage for answer in answers if answer.coverage is not None and answer.coverage < least]
        if not low:
            return ()
        return (f"low coverage: the allowed labels hold only {min(low):.2%} of the model's mass",)

    def _warn(self, kind: str, text: str) -> None:
        if kind not in self._warned:
            self._warned.add(kind)
            warnings.warn(f"{self.engine.info.name}: {text}", DecisionWarning, stacklevel=2)

    def _receipt(self, outcome: Outcome | None, notes: tuple[str, ...]) -> Receipt:
        engine, stages = self.engine, self.stages
        resolved = outcome.resolved_model if outcome else None
        return Receipt(
            engine=engine.info.name,
            engine_version=engine.version,
            plugin=self.opened.plugin,
            model=self.opened.model,
            model_sha256=engine.model_sha256,
            resolved_model=resolved,
            layout=stages.layout.name,
            readout=stages.readout.name,
            cache=stages.cache.name,
            temperature=stages.reading.temperature,
            prompt_tokens=outcome.prompt_tokens if outcome else None,
            request_id=outcome.request_id if outcome else None,
            usage=outcome.usage if outcome else {},
            warnings=notes,
            fingerprint=self._fingerprint(engine.version, engine.model_sha256 or resolved or self.opened.model),
        )

    def _fingerprint(self, version: str, model: str) -> str:
        """Equal where nothing that can change an answer differs; hashed once for each build and model."""
        known = self._fingerprints.get((version, model))
        if known is not None:
            return known
        engine, stages, plugin = self.engine.info, self.stages, self.opened.plugin
        named = sorted(spec.name for spec in engine.options if spec.affects_answers)
        options = [(name, self.opened.options.get(name)) for name in named]
        temperature = sorted(stages.reading.temperature.items())
        names = (stages.layout.name, stages.readout.name, stages.cache.name)
        parts = (engine.name, version, plugin, model, *names, temperature, options)
        made = hashlib.sha256(repr(parts).encode()).hexdigest()[:12]
        self._fingerprints[(version, model)] = made
        return made


class _Clock:
    """The times of one request that are taken on the way."""

    __slots__ = ("layout", "queue", "started")

    def __init__(self) -> None:
        self.started = time.perf_counter()
        self.queue = 0.0
        self.layout = 0.0
