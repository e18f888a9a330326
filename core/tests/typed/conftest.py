"""An oracle, which answers what its state tells it to, and a Decider on an engine without a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from tiebreak import Answer, CacheReport, Decider, Decision, Question, Receipt, Registry, Request, Timings
from tiebreak.asking import Asking
from tiebreak.pool import Pool
from tiebreak.questions import JSON
from tiebreak_conformance.reference import ReferencePlugin


class Oracle(Asking):
    """Answers question by question with the option whose index the state names, and 0.8 for it.

    Attributes:
        asked: (state, questions) of each request.
    """

    def __init__(self) -> None:
        self.asked: list[tuple[JSON, Mapping[str, Question]]] = []

    def decide(self, state: JSON, questions: Mapping[str, Question]) -> Decision:
        request = Request.of(state, questions)
        assert isinstance(request.state, Mapping)
        assert set(request.state) == set(questions)
        self.asked.append((state, questions))
        answers = {name: _answer(question, request.state[name]) for name, question in questions.items()}
        return Decision(answers=answers, timings=Timings(), cache=CacheReport(), receipt=Receipt(engine="oracle"))

    async def adecide(self, state: JSON, questions: Mapping[str, Question]) -> Decision:
        return self.decide(state, questions)


def _answer(question: Question, index: Any) -> Answer:
    rest = 0.2 / (len(question.options) - 1)
    return Answer(
        kind=question.kind,
        value=bool(index) if question.kind == "yes_no" else question.names[index],
        probabilities={name: 0.8 if place == index else rest for place, name in enumerate(question.names)},
    )


@pytest.fixture(scope="session")
def oracle() -> Oracle:
    """An oracle; shared, because hypothesis runs a test many times."""
    return Oracle()


@pytest.fixture
def reference() -> Iterator[Callable[..., Decider]]:
    """Makes Deciders on the suite's reference engine, and closes them."""
    pool, registry = Pool(), Registry()
    registry.add(ReferencePlugin(), "reference")
    yield lambda **options: Decider("reference", registry=registry, pool=pool, **options)
    pool.close()
