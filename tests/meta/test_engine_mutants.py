"""Engines that are wrong in one way each: the suite must say so with exactly the checks that are about it."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any

import attrs
import pytest

from tiebreak.engine import Capabilities, EngineInfo, OptionSpec
from tiebreak.errors import ContextOverflow
from tiebreak.evidence import Evidence, Outcome, TokenScores
from tiebreak.plan import Piece, Plan, Row
from tiebreak_conformance import Target, run
from tiebreak_conformance.reference import (
    INFO,
    ReferenceEngine,
    ReferencePlugin,
    evidence_of,
)
from tiebreak_conformance.subject import CANARY

Options = Mapping[str, Any]


def noisy(found: Evidence, by: float) -> Evidence:
    """Scores with the first one moved."""
    assert isinstance(found, TokenScores)
    return TokenScores(logprobs=(found.logprobs[0] - by, *found.logprobs[1:]))


class SwappedLabels(ReferenceEngine):
    def judge(self, state: Any, row: Row) -> Evidence:
        found = super().judge(state, row)
        assert isinstance(found, TokenScores)
        return TokenScores(logprobs=found.logprobs[::-1])


class LeakedPrefix(ReferenceEngine):
    """Restores whatever was kept last."""

    def restore(self, row: Row) -> tuple[Any, bool]:
        if row.cut and self.checkpoints:
            return next(reversed(self.checkpoints.values())), True
        return super().restore(row)


class KeyIgnoresCase(ReferenceEngine):
    """Takes two prefixes for one that differ in case only."""

    def restore(self, row: Row) -> tuple[Any, bool]:
        wanted = [piece.text.casefold() for piece in row.prefix()]
        for prefix, state in self.checkpoints.items():
            if wanted and wanted == [piece.text.casefold() for piece in prefix]:
                return state, True
        return super().restore(row)


class EvictionMixUp(ReferenceEngine):
    """What was evicted is restored from the entry that took its place."""

    def __init__(self, options: Options, info: EngineInfo = INFO) -> None:
        super().__init__(options, info)
        self.gone: dict[tuple[Piece, ...], Any] = {}

    def restore(self, row: Row) -> tuple[Any, bool]:
        if row.cut and row.prefix() in self.gone and row.prefix() not in self.checkpoints:
            return self.gone[row.prefix()], True
        return super().restore(row)

    def keep(self, row: Row, state: Any) -> int:
        before = set(self.checkpoints)
        gone = super().keep(row, state)
        for prefix in before - set(self.checkpoints):
            self.gone[prefix] = state
        return gone


class CachesAnswers(ReferenceEngine):
    """Keeps scores by state and number of options, whatever the question is."""

    def __init__(self, options: Options, info: EngineInfo = INFO) -> None:
        super().__init__(options, info)
        self.answers: dict[tuple[Any, int], Evidence] = {}

    def judge(self, state: Any, row: Row) -> Evidence:
        if not row.cut:
            return super().judge(state, row)
        return self.answers.setdefault((row.text("state"), len(row.labels)), super().judge(state, row))


class CutsTheWindow(ReferenceEngine):
    """Drops the middle of what is too long and answers."""

    def fits(self, tokens: int) -> None:
        """Everything does."""


class CutsTheState(ReferenceEngine):
    """Reads the first 700 characters of a state."""

    def restore(self, row: Row) -> tuple[Any, bool]:
        short = tuple(attrs.evolve(s, text=s.text[:700]) if s.role == "state" else s for s in row.segments)
        return super().restore(attrs.evolve(row, segments=short))


class NotANumber(ReferenceEngine):
    """One score of many options is NaN."""

    def judge(self, state: Any, row: Row) -> Evidence:
        found = super().judge(state, row)
        assert isinstance(found, TokenScores)
        broken = (math.nan, *found.logprobs[1:]) if len(row.labels) > 100 else found.logprobs
        return TokenScores(logprobs=broken)


class OrderDependent(ReferenceEngine):
    """A row sees how many rows came before it."""

    def outcome(self, plan: Plan) -> Outcome:
        found = super().outcome(plan)
        rows = tuple(noisy(item, 0.01 * index) for index, item in enumerate(found.evidence))
        return attrs.evolve(found, evidence=rows)


class LosesAQuestion(ReferenceEngine):
    """Forgets the last row of a plan of several questions."""

    def outcome(self, plan: Plan) -> Outcome:
        found = super().outcome(plan)
        several = len({row.question for row in plan.rows}) > 1
        return attrs.evolve(found, evidence=found.evidence[:-1]) if several else found


class MixesQuestions(ReferenceEngine):
    """Answers the questions of a plan in the order of their names."""

    def outcome(self, plan: Plan) -> Outcome:
        found = super().outcome(plan)
        by_size: dict[int, list[int]] = {}
        for index, row in enumerate(plan.rows):
            by_size.setdefault(len(row.labels), []).append(index)
        evidence = list(found.evidence)
        for indices in by_size.values():
            order = sorted(indices, key=lambda index: (plan.rows[index].question, index))
            for index, source in zip(indices, order, strict=True):
                evidence[index] = found.evidence[source]
        return attrs.evolve(found, evidence=tuple(evidence))


class LateClose(ReferenceEngine):
    def close(self) -> None:
        """Nothing is let go."""


class LeavesAThread(ReferenceEngine):
    """Its worker ends some seconds after close, not with it."""

    def start(self) -> None:
        if not self.ready:
            threading.Thread(target=time.sleep, args=(5,), name="left", daemon=True).start()
        super().start()


class StartsEarly(ReferenceEngine):
    def __init__(self, options: Options, info: EngineInfo = INFO) -> None:
        super().__init__(options, info)
        self.start()


class ClosesOnce(ReferenceEngine):
    """Cannot be closed before it was started."""

    def close(self) -> None:
        if not self.ready:
            raise RuntimeError("not open")
        super().close()


class StartsAnew(ReferenceEngine):
    """Another random model with each start."""

    numbers = count()

    def start(self) -> None:
        if not self.ready:
            self.salt = f"{self.salt}{next(self.numbers)}"
        super().start()


class KeyInError(ReferenceEngine):
    def fits(self, tokens: int) -> None:
        try:
            super().fits(tokens)
        except ContextOverflow as error:
            error.message += f" (key {CANARY})"
            raise


class KeyInRepr(ReferenceEngine):
    def __repr__(self) -> str:
        return f"Engine(key={CANARY!r})"


class KeyInReceipt(ReferenceEngine):
    def outcome(self, plan: Plan) -> Outcome:
        return attrs.evolve(super().outcome(plan), usage={"account": CANARY})


class Anonymous(ReferenceEngine):
    """Its errors do not say whose they are."""

    def fits(self, tokens: int) -> None:
        if tokens > self.window:
            raise ContextOverflow(f"{tokens} tokens.", tokens=tokens, window=self.window, remedy="Shorten it.")


class Helpless(ReferenceEngine):
    """Its errors do not say what to do."""

    def fits(self, tokens: int) -> None:
        if tokens > self.window:
            raise ContextOverflow("Too long.", engine=self.info.name)


class StrangeOverflow(ContextOverflow):
    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.message,))


class Unpicklable(ReferenceEngine):
    def fits(self, tokens: int) -> None:
        try:
            super().fits(tokens)
        except ContextOverflow as error:
            raise StrangeOverflow(
                error.message, tokens=error.tokens, window=error.window, remedy=error.remedy, engine=error.engine
            ) from None


class MarkedByErrors(ReferenceEngine):
    """Is another one after an error."""

    def fits(self, tokens: int) -> None:
        if tokens > self.window:
            self.salt += "!"
            self.checkpoints.clear()
        super().fits(tokens)


class Tolerant(Capabilities):
    def check(self, request: Any, engine: str) -> None:
        """Everything is fine."""


class AnyKind(ReferenceEngine):
    """Declares two kinds, answers three."""

    def __init__(self, options: Options) -> None:
        super().__init__(options, NO_SCORES)
        self.capabilities = Tolerant(**attrs.asdict(NO_SCORES.capabilities, recurse=False))


NO_SCORES = attrs.evolve(INFO, capabilities=attrs.evolve(INFO.capabilities, kinds=("choice", "yes_no")))


class Widened(ReferenceEngine):
    """Loaded, it takes more than its plugin said."""

    def __init__(self, options: Options) -> None:
        super().__init__(options, attrs.evolve(INFO, limits=attrs.evolve(INFO.limits, options=20)))
        self.limits = attrs.evolve(self.limits, options=30)


class UnseenHit(ReferenceEngine):
    def report(self, plan: Plan, reused: Sequence[int], evicted: int) -> Any:
        said = super().report(plan, reused, evicted)
        return attrs.evolve(said, status="hit", reused_tokens=9) if said.status == "miss" else said


class NeverAHit(ReferenceEngine):
    def report(self, plan: Plan, reused: Sequence[int], evicted: int) -> Any:
        said = super().report(plan, reused, evicted)
        return attrs.evolve(said, status="miss") if said.status == "hit" else said


class IgnoresOff(ReferenceEngine):
    """Reports reuse though it was switched off."""

    def report(self, plan: Plan, reused: Sequence[int], evicted: int) -> Any:
        said = super().report(plan, reused, evicted)
        return attrs.evolve(said, status="miss") if said.status == "off" else said


class BoastsOfTokens(ReferenceEngine):
    def report(self, plan: Plan, reused: Sequence[int], evicted: int) -> Any:
        said = super().report(plan, reused, evicted)
        return attrs.evolve(said, reused_tokens=10**9) if said.status == "hit" else said


class TooMuchMass(ReferenceEngine):
    def judge(self, state: Any, row: Row) -> Evidence:
        found = super().judge(state, row)
        assert isinstance(found, TokenScores)
        return TokenScores(logprobs=tuple(value + 3 for value in found.logprobs))


class Unstable(ReferenceEngine):
    """A little noise that grows with every request."""

    def judge(self, state: Any, row: Row) -> Evidence:
        self.asked = getattr(self, "asked", 0) + 1
        return noisy(super().judge(state, row), 1e-5 * self.asked)


class SharedRequest(ReferenceEngine):
    """Gives requests that are under way together, and whose states begin alike, the answer of the first."""

    def __init__(self, options: Options, info: EngineInfo = INFO) -> None:
        super().__init__(options, info)
        self.flying: dict[str, Plan] = {}

    def evidence(self, plans: Sequence[Plan], cancelled: Callable[[], bool]) -> Sequence[Outcome]:
        key = plans[0].request.state_text[:15]
        first = self.flying.setdefault(key, plans[0])
        time.sleep(0.002)
        found = super().evidence([first], cancelled)
        if first is plans[0]:
            del self.flying[key]
        return found


class ForeignTimeout(ReferenceEngine):
    def evidence(self, plans: Sequence[Plan], cancelled: Callable[[], bool]) -> Sequence[Outcome]:
        time.sleep(0.002)
        if cancelled():
            raise TimeoutError("too late")
        return super().evidence(plans, lambda: False)


class ReadsControlTokens(ReferenceEngine):
    """Turns spellings in a user's text into control tokens."""

    def outcome(self, plan: Plan) -> Outcome:
        loose = [
            attrs.evolve(row, segments=tuple(attrs.evolve(s, control=True) for s in row.segments)) for row in plan.rows
        ]
        return super().outcome(attrs.evolve(plan, rows=tuple(loose)))


class BackInTime(ReferenceEngine):
    def outcome(self, plan: Plan) -> Outcome:
        return attrs.evolve(super().outcome(plan), prefill_ms=-1.0)


class Nameless(ReferenceEngine):
    """Never says which build it is."""

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self.version = ""


class NewBuildEachTime(ReferenceEngine):
    def outcome(self, plan: Plan) -> Outcome:
        self.version = f"{self.version}x"
        return super().outcome(plan)


class NanInReceipt(ReferenceEngine):
    def outcome(self, plan: Plan) -> Outcome:
        return attrs.evolve(super().outcome(plan), usage={"cost": math.nan})


def described(**changes: Any) -> EngineInfo:
    return attrs.evolve(INFO, **changes)


INFOS: dict[str, tuple[EngineInfo, set[str]]] = {
    "two lines of summary": (described(summary="One.\nTwo."), {"SPEC-01"}),
    "an option without help": (described(options=(*INFO.options, OptionSpec(name="more", help=" "))), {"SPEC-04"}),
    "a layout that nobody has": (described(layouts=("decider", "imaginary")), {"SPEC-06", "LAYO-04"}),
    "a tolerance of everything": (described(capabilities=attrs.evolve(INFO.capabilities, tolerance=1.5)), {"SPEC-03"}),
}
ENGINES: dict[type[ReferenceEngine], set[str]] = {
    SwappedLabels: {"CACH-10", "READ-13"},
    LeakedPrefix: {"CACH-01", "CACH-03", "CACH-04", "CACH-05", "CACH-09", "CACH-10", "READ-13", "READ-16"},
    KeyIgnoresCase: {"CACH-09"},
    EvictionMixUp: {"CACH-02", "CONC-01", "CONC-02"},
    CachesAnswers: {"CACH-04", "READ-13", "READ-17"},
    CutsTheWindow: {"ERRO-01", "ERRO-02", "ERRO-03", "ERRO-04", "TYPE-08"},
    CutsTheState: {"READ-16"},
    NotANumber: {"READ-12"},
    OrderDependent: {"READ-07", "READ-09", "READ-13"},
    LosesAQuestion: {"CONC-07", "READ-02", "READ-03", "READ-07", "READ-09", "READ-10", "SPEC-14"},
    MixesQuestions: {"READ-09"},
    LateClose: {"LIFE-04"},
    LeavesAThread: {"LIFE-05"},
    StartsEarly: {"LIFE-01"},
    ClosesOnce: {"LIFE-03"},
    StartsAnew: {"LIFE-06", "READ-13"},
    KeyInError: {"ERRO-05"},
    KeyInRepr: {"ERRO-05"},
    KeyInReceipt: {"ERRO-06"},
    Anonymous: {"ERRO-04"},
    Helpless: {"ERRO-02"},
    Unpicklable: {"TYPE-08"},
    MarkedByErrors: {"ERRO-03"},
    AnyKind: {"SPEC-09"},
    Widened: {"SPEC-10"},
    UnseenHit: {"CACH-05"},
    NeverAHit: {"CACH-07"},
    IgnoresOff: {"CACH-06"},
    BoastsOfTokens: {"CACH-08"},
    TooMuchMass: {"READ-10", "READ-13"},
    Unstable: {
        "CACH-01",
        "CACH-02",
        "CACH-03",
        "CACH-04",
        "CACH-09",
        "CACH-10",
        "CONC-01",
        "CONC-02",
        "CONC-03",
        "CONC-04",
        "CONC-05",
        "CONC-06",
        "CONC-07",
        "ERRO-03",
        "LIFE-02",
        "LIFE-07",
        "READ-06",
        "READ-07",
        "READ-08",
        "READ-09",
        "READ-13",
    },
    SharedRequest: {"CONC-01", "CONC-02", "CONC-07"},
    ForeignTimeout: {"CONC-06"},
    ReadsControlTokens: {"READ-18"},
    BackInTime: {"SPEC-11"},
    Nameless: {"SPEC-12"},
    NewBuildEachTime: {"SPEC-13"},
    NanInReceipt: {"SPEC-14"},
}


@pytest.fixture(autouse=True)
def _counting_from_zero() -> None:
    StartsAnew.numbers = count()


def tripped(target: Target) -> set[str]:
    card = run(target)
    return {id for id, result in card.results.items() if result.outcome == "failed"}


def mutant(plugin: object) -> Target:
    return Target(engine=INFO.name, plugin=plugin, options={"entries": 12}, oracle=evidence_of, rounds=2, patience=0.3)


@pytest.mark.parametrize("kind", ENGINES, ids=lambda kind: kind.__name__)
def test_an_engine_mutant_trips_its_own_checks(kind: type[ReferenceEngine]) -> None:
    info = NO_SCORES if kind is AnyKind else INFO
    if kind is Widened:
        info = attrs.evolve(INFO, limits=attrs.evolve(INFO.limits, options=20))
    assert tripped(mutant(ReferencePlugin(kind, info))) == ENGINES[kind]


@pytest.mark.parametrize("name", INFOS)
def test_a_wrong_description_trips_its_own_checks(name: str) -> None:
    info, expected = INFOS[name]
    make = lambda options: ReferenceEngine(options, info)  # noqa: E731
    assert tripped(mutant(ReferencePlugin(make, info))) == expected
