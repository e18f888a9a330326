"""Layouts, readouts and cache policies that are wrong in one way each, on an engine that is right."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any

import attrs
import pytest

from tiebreak.answers import Answer
from tiebreak.engine import Vocabulary
from tiebreak.evidence import Evidence
from tiebreak.hookspecs import hookimpl
from tiebreak.plan import Plan, Row, Segment
from tiebreak.questions import Option, Question, Request
from tiebreak.stages.cache import CachePolicy, PrefixCache
from tiebreak.stages.decider import DeciderLayout
from tiebreak.stages.layout import Layout
from tiebreak.stages.readout import LettersReadout, Reading
from tiebreak_conformance import Target, run, stage_target
from tiebreak_conformance.claims import claims_of
from tiebreak_conformance.reference import INFO, ReferencePlugin, evidence_of
from tiebreak_conformance.suite import ConformanceSuite


def rows(plan: Plan, change: Callable[[Row], Row]) -> Plan:
    return attrs.evolve(plan, rows=tuple(change(row) for row in plan.rows))


def segments(plan: Plan, role: str, change: Callable[[Segment], Segment]) -> Plan:
    return rows(
        plan,
        lambda row: attrs.evolve(row, segments=tuple(change(s) if s.role == role else s for s in row.segments)),
    )


def questions(request: Request, change: Callable[[Question], Question]) -> Request:
    return Request(state=request.state, questions={name: change(q) for name, q in request.questions.items()})


class Counting(DeciderLayout):
    """Numbers its prompts."""

    def __init__(self) -> None:
        self._number = count()

    def plan(self, request: Request, vocabulary: Vocabulary) -> Plan:
        number = next(self._number)
        plan = super().plan(request, vocabulary)
        return segments(plan, "slot", lambda s: attrs.evolve(s, text=f"\n#{number}{s.text}"))


class Backwards(DeciderLayout):
    """Lays the questions out last first."""

    def plan(self, request: Request, vocabulary: Vocabulary) -> Plan:
        plan = super().plan(request, vocabulary)
        names = list(request.questions)
        order = sorted(plan.rows, key=lambda row: -names.index(row.question))
        return attrs.evolve(plan, rows=tuple(order))


class WithoutDescriptions(DeciderLayout):
    def plan(self, request: Request, vocabulary: Vocabulary) -> Plan:
        bare = questions(
            request, lambda q: attrs.evolve(q, options=tuple(Option(name=option.name) for option in q.options))
        )
        return attrs.evolve(super().plan(bare, vocabulary), request=request)


class TrustsTheUser(DeciderLayout):
    """Lets control tokens in the state through."""

    def plan(self, request: Request, vocabulary: Vocabulary) -> Plan:
        return segments(super().plan(request, vocabulary), "state", lambda s: attrs.evolve(s, control=True))


class SortsOptions(DeciderLayout):
    """Lists the options by name; the labels stay in order."""

    def plan(self, request: Request, vocabulary: Vocabulary) -> Plan:
        ordered = questions(
            request, lambda q: attrs.evolve(q, options=tuple(sorted(q.options, key=lambda option: option.name)))
        )
        return attrs.evolve(super().plan(ordered, vocabulary), request=request)


class FirstTen(DeciderLayout):
    """Lists at most ten options in the prompt."""

    def plan(self, request: Request, vocabulary: Vocabulary) -> Plan:
        plan = super().plan(request, vocabulary)
        return rows(plan, lambda row: attrs.evolve(row, segments=(*row.segments[:32], row.segments[-1])))


class EscapesText(DeciderLayout):
    """Writes a JSON state in ASCII."""

    def plan(self, request: Request, vocabulary: Vocabulary) -> Plan:
        plan = super().plan(request, vocabulary)
        if isinstance(request.state, str):
            return plan
        return segments(
            plan, "state", lambda s: attrs.evolve(s, text=s.text.encode("ascii", "backslashreplace").decode())
        )


class Misnamed(DeciderLayout):
    def plan(self, request: Request, vocabulary: Vocabulary) -> Plan:
        return attrs.evolve(super().plan(request, vocabulary), layout="another")


class ShortQuestion(DeciderLayout):
    """Keeps the first eleven characters of a question."""

    def plan(self, request: Request, vocabulary: Vocabulary) -> Plan:
        short = questions(request, lambda q: attrs.evolve(q, text=q.text[:11]))
        return attrs.evolve(super().plan(short, vocabulary), request=request)


class CutsLate(PrefixCache):
    """Takes the question for a part of the state."""

    def cut(self, plan: Plan) -> Plan:
        return rows(super().cut(plan), lambda row: attrs.evolve(row, cut=row.cut + 2 if row.cut else 0))


class Letters(LettersReadout):
    """The core's readout, whose answers a mutant changes."""

    def read(self, plan: Plan, evidence: Sequence[Evidence], reading: Reading) -> dict[str, Answer]:
        answers = super().read(plan, evidence, reading)
        return {name: self.changed(answer) for name, answer in answers.items()}

    def changed(self, answer: Answer) -> Answer:
        return answer


class SumsTo098(Letters):
    def changed(self, answer: Answer) -> Answer:
        return attrs.evolve(answer, probabilities={name: p * 0.98 for name, p in answer.probabilities.items()})


class DropsTheLast(Letters):
    """Leaves out the last of more than two options."""

    def changed(self, answer: Answer) -> Answer:
        names = list(answer.probabilities)
        if len(names) <= 2:
            return answer
        kept = {name: answer.probabilities[name] for name in names[:-1]}
        total = sum(kept.values())
        value = max(kept, key=lambda name: kept[name])
        return attrs.evolve(answer, value=value, probabilities={name: p / total for name, p in kept.items()})


class SecondBest(Letters):
    def changed(self, answer: Answer) -> Answer:
        if isinstance(answer.value, bool):
            return attrs.evolve(answer, value=not answer.value)
        ranked = sorted(answer.probabilities, key=lambda name: -answer.probabilities[name])
        return attrs.evolve(answer, value=ranked[1])


class YesAsText(Letters):
    def changed(self, answer: Answer) -> Answer:
        return attrs.evolve(answer, value="yes" if answer.value else "no") if answer.kind == "yes_no" else answer


class HighestFirst(Letters):
    """Lists the levels of a score from the top."""

    def changed(self, answer: Answer) -> Answer:
        if answer.kind != "score":
            return answer
        return attrs.evolve(answer, probabilities=dict(list(answer.probabilities.items())[::-1]))


class FoldsCase(Letters):
    def changed(self, answer: Answer) -> Answer:
        folded: dict[str, float] = {}
        for name, p in answer.probabilities.items():
            folded[name.lower()] = folded.get(name.lower(), 0.0) + p
        value = answer.value if isinstance(answer.value, bool) else answer.value.lower()
        return attrs.evolve(answer, value=value, probabilities=folded)


class IgnoresTemperature(LettersReadout):
    def probabilities(self, evidence: Evidence, temperature: float) -> tuple[float, ...]:
        return super().probabilities(evidence, 1.0)


class NeverStrict(LettersReadout):
    def read(self, plan: Plan, evidence: Sequence[Evidence], reading: Reading) -> dict[str, Answer]:
        return super().read(plan, evidence, attrs.evolve(reading, strict=False))


class NoCoverage(Letters):
    def changed(self, answer: Answer) -> Answer:
        return attrs.evolve(answer, coverage=None)


class AnyName(ReferencePlugin):
    """Answers to every name of a layout."""

    @hookimpl
    def tiebreak_layout(self, name: str) -> Layout:
        layout = DeciderLayout()
        layout.name = name
        return layout


STAGES: Mapping[Any, set[str]] = {
    Counting: {
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
        "LAYO-01",
        "LIFE-02",
        "LIFE-06",
        "LIFE-07",
        "READ-06",
        "READ-07",
        "READ-08",
        "READ-09",
        "READ-13",
        "READ-14",
    },
    Backwards: {"LAYO-02"},
    WithoutDescriptions: {"LAYO-03", "READ-17"},
    TrustsTheUser: {"LAYO-04", "READ-18"},
    SortsOptions: {"LAYO-06"},
    FirstTen: {"LAYO-03", "READ-17"},
    EscapesText: {"LAYO-08"},
    Misnamed: {"LAYO-09"},
    ShortQuestion: {"LAYO-03", "READ-17"},
    CutsLate: {"CACH-07", "LAYO-05"},
    SumsTo098: {"READ-02", "READ-12", "READ-14"},
    DropsTheLast: {"CACH-10", "READ-01", "READ-05", "READ-11", "READ-12"},
    SecondBest: {"CACH-10", "READ-03"},
    YesAsText: {"READ-04"},
    HighestFirst: {"READ-05"},
    FoldsCase: {"READ-11"},
    IgnoresTemperature: {"READ-14"},
    NeverStrict: {"READ-15"},
    NoCoverage: {"READ-10"},
}


def target_of(kind: Any) -> Target:
    stage = next(
        name
        for name, base in (("layout", Layout), ("cache", CachePolicy), ("readout", LettersReadout))
        if issubclass(kind, base)
    )
    return Target(
        engine=INFO.name,
        plugin=ReferencePlugin(),
        options={"entries": 12},
        oracle=evidence_of,
        stages={stage: kind()},
        rounds=2,
    )


def tripped(target: Target) -> set[str]:
    return {id for id, result in run(target).results.items() if result.outcome == "failed"}


@pytest.mark.parametrize("kind", STAGES, ids=lambda kind: kind.__name__)
def test_a_stage_mutant_trips_its_own_checks(kind: Any) -> None:
    assert tripped(target_of(kind)) == STAGES[kind]


def test_a_plugin_that_knows_every_layout_is_found_out() -> None:
    assert tripped(Target(engine=INFO.name, plugin=AnyName(), rounds=1)) == {"SPEC-07"}


@pytest.mark.parametrize("kind", [k for k in STAGES if issubclass(k, Layout)], ids=lambda kind: kind.__name__)
def test_a_layout_alone_is_found_out_by_the_same_checks(kind: Any) -> None:
    from tiebreak_conformance import LayoutChecks

    alone = run(stage_target(layout=kind()), LayoutChecks)
    failed = {id for id, result in alone.results.items() if result.outcome == "failed"}
    assert failed == {id for id in STAGES[kind] if id.startswith("LAYO")}
    assert set(alone.results) == {id for id in claims_of(ConformanceSuite) if id.startswith("LAYO")}
