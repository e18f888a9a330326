"""`Subject`: the engine under test while the suite runs; opens Deciders for checks and keeps what they found."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cached_property
from typing import Any, TypeVar

from tiebreak.answers import Answer, Decision
from tiebreak.decider import Decider
from tiebreak.engine import Capabilities, Engine, EngineInfo, LocalEngine, WireEngine
from tiebreak.errors import TiebreakError
from tiebreak.evidence import Evidence
from tiebreak.models import Model, resolve
from tiebreak.plan import Plan
from tiebreak.pool import Pool
from tiebreak.questions import Question, Request
from tiebreak.registry import ENGINES, Entry, Plugin, Registry, manager
from tiebreak.server import Server
from tiebreak.session import DecisionWarning
from tiebreak_conformance.cassette import Cassette, Mount, Player, Recorder
from tiebreak_conformance.claims import Claim
from tiebreak_conformance.result import Outcome, Result
from tiebreak_conformance.samples import DESK, state
from tiebreak_conformance.target import Target

__all__ = ["AT_ONCE", "CANARY", "REPLAY_URL", "Subject", "attempt", "distance", "overshoot", "refused", "server_of"]

CANARY = "canary-5d1f0c7e9b"
"""A made-up key: wherever it turns up, a real one would, too."""
AT_ONCE = 50
"""Requests that are asked at once, each about a state of its own."""
REPLAY_URL = "http://127.0.0.1:1"
"""Where nothing listens: in replay nobody connects to it."""

T = TypeVar("T")
M = TypeVar("M", bound=Mount)
E = TypeVar("E", bound=TiebreakError)


class Subject:
    """One engine under test; a context manager that closes whatever it opened.

    Args:
        target: the engine and how it is reached.
    """

    def __init__(self, target: Target) -> None:
        self.target = target
        self.results: dict[str, Result] = {}
        self.pool = Pool()
        self._stack = ExitStack()
        self._mount: Any = None
        self._url = target.url
        self.header: Mapping[str, Any] = {}
        """What the cassette that is replayed says about itself."""

    def __enter__(self) -> Subject:
        self._stack.enter_context(_environment(self.target.env))
        self._stack.callback(_quietly, self.pool.close)
        try:
            self._wire()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        try:
            if isinstance(self._mount, Recorder) and self.target.cassette is not None:
                secrets = [os.environ.get(name, "") for name in self.target.secrets]
                self._mount.cassette(self._header()).write(self.target.cassette, [CANARY, *secrets])
        finally:
            self._stack.close()

    def judge(self, claim: Claim, act: Callable[[], str | None]) -> None:
        """Run one check and keep what came of it.

        Raises:
            AssertionError: the claim is broken, or a known failure is none any more.
        """
        known = self.target.known_failures.get(claim.id)
        self._scene(claim.id)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DecisionWarning)
                silent = act()
        except Exception as error:
            text = str(error) or type(error).__name__
            self._keep(claim, "known" if known else "failed", known or text)
            if known:
                return
            raise AssertionError(f"{claim.id}: {claim.claim}\n{text}\nWhere to look: {claim.note}") from error
        finally:
            self._scene("")
        if known:
            self._keep(claim, "failed", f"a known failure ({known}) that {'says nothing' if silent else 'passes'}")
            raise AssertionError(f"{claim.id} passes, but is declared a known failure: {known}. Remove it there.")
        self._keep(claim, "silent" if silent else "passed", silent or "")

    @cached_property
    def registry(self) -> Registry:
        """Where the engine's plugin is found: the installation, or the one plugin that was handed over."""
        return Registry() if self.target.plugin is None else _One(self.target.engine, self.target.plugin)

    @cached_property
    def info(self) -> EngineInfo:
        """What the plugin says about its engine."""
        return self.registry.plugin(self.target.engine).engine()

    @cached_property
    def decider(self) -> Decider:
        """A started Decider that the checks share."""
        return self.open().start()

    @property
    def switches_off(self) -> bool:
        """Whether the engine can be told to reuse nothing."""
        return "off" in self.info.caches

    @cached_property
    def cold(self) -> Decider:
        """A Decider that reuses nothing; the shared one where the engine always may: its first answer is cold."""
        return self.open(cache="off") if self.switches_off else self.decider

    @cached_property
    def alone(self) -> Mapping[str, Answer]:
        """State -> its answer, asked one after another: what threads and tasks are compared with."""
        return {text: self.ask(text) for text in (state(f"at once {number}") for number in range(AT_ONCE))}

    @property
    def engine(self) -> Engine:
        """The engine behind the shared Decider."""
        return self.decider.session.engine

    @property
    def capabilities(self) -> Capabilities:
        """What is true of the loaded engine."""
        return self.engine.capabilities

    @property
    def tolerance(self) -> float:
        """How far two probabilities of the same question may differ; float error where it claims exactness."""
        return self.capabilities.tolerance + 1e-9

    @property
    def layouts(self) -> Sequence[Any]:
        """The layouts under test: the one that the target names, or all that the engine declares."""
        return [self.target.stages["layout"]] if "layout" in self.target.stages else self.info.layouts

    @property
    def is_wire(self) -> bool:
        """Whether the engine is reached over HTTP."""
        return isinstance(self.engine, WireEngine)

    @property
    def is_live(self) -> bool:
        """Whether the engine really runs."""
        return self.target.wire == "live"

    @property
    def is_ours(self) -> bool:
        """Whether its process is one that tiebreak started."""
        server = self.decider.session.opened.server
        return self.is_live and server is not None and server.process is not None

    def open(self, *, apart: bool = False, **more: Any) -> Decider:
        """A Decider for the engine under test, closed with the subject at the latest.

        Args:
            apart: in a pool of its own, so that it does not share the engine with anybody.
            more: arguments of `Decider`, over the target's own.
        """
        pool = self.pool
        if apart:
            pool = Pool()
            self._stack.callback(_quietly, pool.close)
        arguments = {"url": self._url, "mount": self._mount, "pool": pool, "registry": self.registry}
        arguments |= {**self.target.stages, **more}
        attached = arguments["url"] is not None and not self.info.capabilities.hosted
        model = None if attached else self.target.model
        decider = Decider(self.target.engine, model, **{**self.target.options, **arguments})
        self._stack.callback(_quietly, decider.close)
        return decider

    def through(self, make: Callable[[Any], M]) -> tuple[Decider, M]:
        """A Decider whose wire is wrapped: `make` gets the wire (None for real connections) and returns a transport."""
        server = server_of(self.decider)
        wrapped = make(self._mount)
        self._stack.callback(wrapped.finish)
        url = self._url or (server.url if server and server.process else None)
        return self.open(apart=True, url=url, mount=wrapped), wrapped

    def ask(self, state: Any, question: Question = DESK, decider: Decider | None = None) -> Answer:
        """The answer to one question."""
        return self.decide(state, {"answer": question}, decider)["answer"]

    def decide(self, state: Any, questions: Mapping[str, Question], decider: Decider | None = None) -> Decision:
        """The decision of the shared Decider, or of another."""
        return (decider or self.decider).decide(state, questions)

    def plan(self, decider: Decider, request: Request) -> Plan:
        """A request as a Decider would lay it out."""
        stages = decider.session.stages
        return stages.cache.cut(stages.layout.plan(request, self.engine.vocabulary))

    def evidence(self, decider: Decider, request: Request) -> Sequence[Evidence]:
        """What the engine finds for a request, before anybody reads it."""
        plan, opened = self.plan(decider, request), decider.session.opened
        engine = opened.engine
        if isinstance(engine, LocalEngine):
            (outcome,) = engine.evidence([plan], lambda: False)
            return outcome.evidence
        assert isinstance(engine, WireEngine) and opened.server is not None
        outcome, _ = opened.server.run(engine.exchange(plan), time.monotonic() + 60.0)
        return outcome.evidence

    def prompt_tokens(self, state: str) -> int | None:
        """How long a prompt about a state is, None where the engine does not say."""
        said = self.decide(state, {"answer": DESK}).receipt.prompt_tokens
        if said is not None:
            return said
        shown = self.decider.explain(state, {"answer": DESK}).tokens
        return None if shown is None else sum(len(piece) for row in shown for piece in row)

    def same(self, first: Answer, second: Answer, what: str) -> None:
        """Assert that two answers to one question agree within the tolerance."""
        apart = distance(first, second)
        assert apart <= self.tolerance, (
            f"{what}: probabilities differ by {apart:.3g}, the declared tolerance is {self.capabilities.tolerance:g}"
            f" ({_short(first)} and {_short(second)})."
        )

    def _wire(self) -> None:
        target = self.target
        if target.wire == "replay" and target.cassette is not None:
            cassette = Cassette.read(target.cassette)
            self.header = cassette.header
            self._mount = Player(cassette, target.volatile)
            self._url = self._url or (None if self.info.capabilities.hosted else REPLAY_URL)
            return
        self._mount = target.mount() if target.mount else None
        if target.wire == "record":
            if self._url is None and target.mount is None and not self.info.capabilities.hosted:
                # Recorded is what an attached engine says, because that is what is replayed.
                server = server_of(self.open().start())
                assert server is not None, "A local engine has no wire to record."
                self._url = server.url
            served = self._served
            folders = (str(served.path.parent),) if served and served.path else ()
            self._mount = Recorder(self._mount, target.volatile, target.reads, target.clocks, folders)
            self._stack.callback(self._mount.finish)

    @cached_property
    def _served(self) -> Model | None:
        """The model that a server of ours serves, None where it is somebody else's."""
        target, reference = self.target, self.target.model or self.info.default_model
        if reference is None or self.info.capabilities.hosted or target.url or target.mount:
            return None
        return resolve(reference, lambda: self.registry.models()[0], formats=self.info.formats)

    def _header(self) -> dict[str, Any]:
        from datetime import datetime, timezone

        from tiebreak import __version__

        model = self._served
        return {
            "engine": self.target.engine,
            "engine_version": self.engine.version,
            "model": model.name if model else self.target.model or self.info.default_model,
            "model_sha256": model.sha256 if model else self.engine.model_sha256,
            "date": datetime.now(timezone.utc).date().isoformat(),
            "tiebreak": __version__,
        }

    def _scene(self, name: str) -> None:
        if isinstance(self._mount, (Recorder, Player)):
            self._mount.scene = name

    def _keep(self, claim: Claim, outcome: Outcome, text: str) -> None:
        self.results[claim.id] = Result(id=claim.id, outcome=outcome, text=text)


def server_of(decider: Decider) -> Server | None:
    """What runs or reaches the engine, None for a local one; a target names one server at most, never a fleet."""
    server = decider.session.opened.server
    return server if isinstance(server, Server) else None


def refused(act: Callable[[], object], *kinds: type[TiebreakError]) -> TiebreakError:
    """The error with which something is refused.

    Raises:
        AssertionError: it was accepted, or refused with another kind of error.
    """
    wanted = " or ".join(kind.__name__ for kind in kinds)
    try:
        result = act()
    except kinds as error:
        return error
    except AssertionError:
        raise
    except Exception as error:
        raise AssertionError(f"{wanted} was expected, but {type(error).__name__} was raised: {error}") from error
    raise AssertionError(f"{wanted} was expected, but it was accepted: {result!r:.200}")


def _quietly(close: Callable[[], None]) -> None:
    """Close what a check left open; LIFE-03 is about engines that cannot be closed."""
    with suppress(Exception):
        close()


def attempt(act: Callable[[], T], kind: type[E]) -> T | E:
    """The result of something, or the error of a kind that it may end with."""
    try:
        return act()
    except kind as error:
        return error


def distance(first: Answer, second: Answer) -> float:
    """The largest difference between two probabilities of the same option; 1 where the options differ."""
    if list(first.probabilities) != list(second.probabilities):
        return 1.0
    return max(abs(p - q) for p, q in zip(first.probabilities.values(), second.probabilities.values(), strict=True))


def _short(answer: Answer) -> str:
    return "{" + ", ".join(f"{name!r}: {p:.6f}" for name, p in list(answer.probabilities.items())[:4]) + "}"


class _One(Registry):
    """A registry that knows one plugin, which is not installed, beside those that are."""

    def __init__(self, name: str, hooks: object) -> None:
        super().__init__()
        self._entry = Entry(
            name=name, group=ENGINES, distribution="(under test)", version="0", target=repr(type(hooks))
        )
        plugins = manager()
        plugins.register(hooks, name=name)
        plugins.check_pending()
        self._one = Plugin(entry=self._entry, hooks=plugins)

    def entries(self, group: str = ENGINES) -> Sequence[Entry]:
        return [self._entry, *super().entries(group)] if group == ENGINES else super().entries(group)

    def plugin(self, name: str, group: str = ENGINES) -> Plugin:
        return self._one if (name, group) == (self._entry.name, ENGINES) else super().plugin(name, group)


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def overshoot(subject: Subject) -> str:
    """A state that is longer than the engine takes, as far as it says what that is; "" where it does not."""
    limits = subject.engine.limits
    if limits.window_tokens is not None:
        # No tokenizer makes fewer than one token of six unrelated characters and a space.
        return " ".join(f"{number * 7919 % 999983:06d}" for number in range(limits.window_tokens + 64))
    return "x" * (limits.state_bytes + 1) if limits.state_bytes is not None else ""
