"""Gates, and cascades of engines that ask each other only what is unsure."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterator

import pytest

import tiebreak
from tiebreak import Answer, Cascade, Decider, Gate, InvalidRequest, Registry
from tiebreak.pool import Pool
from tiebreak_conformance.reference import ReferencePlugin

QUESTIONS = {
    **{f"pick {n}": tiebreak.choice(f"Which of these, {n}?", ["a", "b", "c"]) for n in range(6)},
    "yes": tiebreak.yes_no("Is it?"),
    "place": tiebreak.score("How much?", ["little", "some", "much"]),
}


@pytest.fixture
def stages() -> Iterator[Callable[[int], list[Decider]]]:
    """Makes Deciders on engines that disagree."""
    pool, registry = Pool(), Registry()
    registry.add(ReferencePlugin(), "reference")
    yield lambda count: [Decider("reference", registry=registry, pool=pool, salt=f"{n}") for n in range(count)]
    pool.close()


def answer(**probabilities: float) -> Answer:
    return Answer(kind="choice", value=max(probabilities, key=probabilities.__getitem__), probabilities=probabilities)


def test_a_gate_lets_through_what_reaches_both_bounds() -> None:
    clear, close = answer(a=0.9, b=0.1), answer(a=0.5, b=0.45, c=0.05)
    assert Gate().passes(close)
    assert Gate(min_probability=0.9, min_margin=0.8).passes(clear)
    assert not Gate(min_probability=0.91).passes(clear)
    assert not Gate(min_margin=0.1).passes(close)
    assert Gate(min_margin=0.1).unsure({"x": clear, "y": close}) == ["y"]


@pytest.mark.parametrize("value", [-0.1, 1.1, math.nan, True, "0.5"])
def test_a_bound_is_a_share(value: object) -> None:
    with pytest.raises(InvalidRequest, match="min_margin"):
        Gate(min_margin=value)  # type: ignore[arg-type]


def test_each_stage_is_asked_what_those_before_it_were_unsure_about(stages: Callable[[int], list[Decider]]) -> None:
    deciders = stages(3)
    gates = [Gate(min_margin=0.6), Gate(min_probability=0.7)]
    decision = Cascade(deciders, gates).decide("state", QUESTIONS)
    left = list(QUESTIONS)
    for decider, gate, report in zip(deciders, [*gates, Gate()], decision.stages, strict=True):
        alone = decider.decide("state", {name: QUESTIONS[name] for name in left})
        assert report.asked == tuple(left)
        assert report.settled == tuple(name for name in left if gate.passes(alone[name]))
        for name in report.settled:
            assert decision[name] == alone[name]
        assert report.receipt.fingerprint == alone.receipt.fingerprint
        assert report.receipt.prompt_tokens == alone.receipt.prompt_tokens
        left = [name for name in left if name not in report.settled]
    assert not left
    assert list(decision.answers) == list(QUESTIONS)
    assert decision.timings.total == pytest.approx(sum(report.timings.total for report in decision.stages))
    assert decision.receipt.prompt_tokens == sum(report.receipt.prompt_tokens or 0 for report in decision.stages)
    assert decision.receipt.engine == "reference > reference > reference"
    out = decision.as_dict()
    assert [set(stage) for stage in out["stages"]] == [{"asked", "settled", "timings_ms", "cache", "receipt"}] * 3


def test_a_stage_with_nothing_to_ask_is_not_asked(stages: Callable[[int], list[Decider]]) -> None:
    first, second = stages(2)
    decision = Cascade([first, second], Gate()).decide("state", QUESTIONS)
    assert len(decision.stages) == 1
    assert decision.answers == first.decide("state", QUESTIONS).answers
    assert second._session is None  # never started
    assert first.decide("state", QUESTIONS).stages == ()


def test_fingerprints_cover_gates_and_stages(stages: Callable[[int], list[Decider]]) -> None:
    def fingerprint(deciders: list[Decider], gate: Gate) -> str:
        return Cascade(deciders, gate).decide("state", QUESTIONS).receipt.fingerprint

    one, two, three = stages(3)
    base = fingerprint([one, two], Gate(min_margin=0.5))
    assert base == fingerprint([one, two], Gate(min_margin=0.5))
    assert len({base, fingerprint([one, three], Gate(min_margin=0.5)), fingerprint([one, two], Gate())}) == 3


def test_a_cascade_is_asked_like_a_decider(stages: Callable[[int], list[Decider]]) -> None:
    async def tasks(cascade: Cascade) -> None:
        assert (await cascade.adecide("x", QUESTIONS)).answers == cascade.decide("x", QUESTIONS).answers
        assert await cascade.achoose("x", ["a", "b"]) == cascade.choose("x", ["a", "b"])
        assert await cascade.aclassify("x", ["a", "b"]) == cascade.classify("x", ["a", "b"])

    with Cascade(stages(2), Gate(min_probability=0.8)) as cascade:
        asyncio.run(tasks(cascade))
        assert cascade.check("x", "Is it?").value in (True, False)
        assert cascade.rate("x", "How?", ["low", "high"]).value in ("low", "high")
    with pytest.raises(InvalidRequest, match="closed"):
        cascade.check("x", "Is it?")


def test_cascades_that_make_no_sense_are_refused(stages: Callable[[int], list[Decider]]) -> None:
    with pytest.raises(InvalidRequest, match="1 Deciders make no cascade"):
        Cascade(stages(1), Gate())
    with pytest.raises(InvalidRequest, match="2 gates for 2 Deciders"):
        Cascade(stages(2), [Gate(), Gate()])
    with pytest.raises(InvalidRequest, match="No question was asked"):
        Cascade(stages(2), Gate()).decide("x", {})
