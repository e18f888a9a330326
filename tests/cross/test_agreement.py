"""Engines beside each other: those that claim the same prompt and the same arithmetic must agree on it."""

from __future__ import annotations

import pytest

from tiebreak import Decider, choice
from tiebreak.pool import Pool
from tiebreak_conformance.reference import INFO, ReferencePlugin
from tiebreak_conformance.reference_wire import WIRE_INFO, ReferenceService, ReferenceWire
from tiebreak_conformance.samples import DESK, LATE, URGENCY, long_state, state
from tiebreak_conformance.subject import Subject
from tiebreak_conformance.target import Target

LOCAL = Target(engine=INFO.name, plugin=ReferencePlugin())
WIRE = Target(engine=WIRE_INFO.name, plugin=ReferencePlugin(ReferenceWire, WIRE_INFO), mount=ReferenceService)
QUESTIONS = {"desk": DESK, "late": LATE, "urgency": URGENCY}


@pytest.mark.parametrize("layout", INFO.layouts)
@pytest.mark.parametrize("cache", INFO.caches)
def test_a_local_engine_and_its_wire_twin_agree_to_the_last_bit(layout: str, cache: str) -> None:
    with Subject(LOCAL) as local, Subject(WIRE) as wire:
        here, there = (subject.open(layout=layout, cache=cache) for subject in (local, wire))
        for text in (state("cross"), long_state("cross", 5), state("cross")):
            first, second = here.decide(text, QUESTIONS), there.decide(text, QUESTIONS)
            assert dict(first.answers) == dict(second.answers)
            assert first.receipt.prompt_tokens == second.receipt.prompt_tokens
            assert first.cache.status == second.cache.status


def test_layouts_ask_different_prompts() -> None:
    with Subject(LOCAL) as local:
        found = {
            layout: local.ask(state("cross layouts"), decider=local.open(layout=layout)) for layout in INFO.layouts
        }
    probabilities = [tuple(answer.probabilities.values()) for answer in found.values()]
    assert len(set(probabilities)) == len(INFO.layouts)


def test_two_engines_share_a_pool_and_not_their_answers() -> None:
    pool = Pool()
    with Subject(LOCAL) as subject:
        plain = subject.open(pool=pool)
        salted = subject.open(pool=pool, salt="another model")
        question = {"answer": choice("Which side?", ["left", "right", "middle"])}
        first, second = plain.decide(state("pool"), question), salted.decide(state("pool"), question)
        assert first["answer"].probabilities != second["answer"].probabilities
        assert first.receipt.fingerprint != second.receipt.fingerprint
        salted.close()
        assert plain.decide(state("pool"), question)["answer"] == first["answer"]
        assert isinstance(plain, Decider)
    pool.close()
