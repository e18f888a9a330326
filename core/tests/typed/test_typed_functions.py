"""`decision`, `classify` and their twins: on a Decider, on the default one, and from tasks."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import inspect
from collections.abc import Callable, Iterator
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel

import tiebreak
from tiebreak import Decider, InvalidRequest, Judged, Registry
from tiebreak_conformance.reference import ReferencePlugin

Make = Callable[..., Decider]


class Team(Enum):
    """Who should handle it?"""

    BILLING = "billing"
    TECH = "tech"


class Ticket(BaseModel):
    team: Team
    urgent: bool


@pytest.fixture
def default() -> Iterator[Decider]:
    """The default Decider, on the reference engine."""
    registry = Registry()
    registry.add(ReferencePlugin(), "reference")
    yield tiebreak.use("reference", registry=registry)
    tiebreak.shutdown()


def test_a_function_is_answered_with_its_docstring_as_the_question(oracle: Any) -> None:
    @tiebreak.decision(decider=oracle)
    def team(answer: int) -> Literal["billing", "tech"]:
        """Which team should handle this ticket?"""

    assert team(answer=1) == "tech"
    assert team(0) == "billing"
    ((_, question),) = oracle.asked[-1][1].items()
    assert question.text == "Which team should handle this ticket?"
    assert team.__name__ == "team"
    assert list(inspect.signature(team).parameters) == ["answer"]


def test_the_default_decider_answers_every_form(default: Decider) -> None:
    @tiebreak.decision
    def team(ticket: str) -> Team: ...

    @tiebreak.decision(probabilities=True)
    async def urgent(ticket: str) -> Annotated[bool, "Is it urgent?"]:
        raise NotImplementedError

    async def tasks() -> None:
        assert isinstance(await tiebreak.aextract(Ticket, "x"), Ticket)
        assert isinstance(await tiebreak.aextract(Ticket, "x", probabilities=True), Judged)
        assert await tiebreak.aclassify("x", Team) is tiebreak.classify("x", Team)
        assert isinstance(await tiebreak.aclassify("x", ["a", "b"], probabilities=True), Judged)
        judged = await urgent("x")
        assert judged.value is (judged.decision["answer"].probabilities["yes"] > 0.5)
        assert await default.aclassify("x", Team) is await tiebreak.aclassify("x", Team)

    assert team("x") in Team
    assert tiebreak.extract(Ticket, "x") == default.extract(Ticket, "x")
    assert tiebreak.extract(Ticket, "x", probabilities=True).value == tiebreak.extract(Ticket, "x")
    assert tiebreak.classify("x", ["a", "b"], probabilities=True).value == default.classify("x", ["a", "b"])
    asyncio.run(tasks())


@dataclasses.dataclass
class Mail:
    sender: str
    at: datetime.date


def test_arguments_become_the_state(reference: Make) -> None:
    seen: list[object] = []

    class Watching(Decider):
        def decide(self, state: Any, questions: Any) -> Any:
            seen.append(state)
            return super().decide(state, questions)

    decider = reference()
    decider.__class__ = Watching

    @decider.decision
    def judge(mail: Any, /, *more: str, limit: int = 3, **named: Team) -> bool:
        """Is it urgent?"""

    @decider.decision
    def alone(mail: Any) -> bool:
        """Is it urgent?"""

    judge(Mail("a", datetime.date(2026, 1, 2)), "b", team=Team.TECH)
    alone(Mail("a", datetime.date(2026, 1, 2)))
    alone("text")
    alone(["a", 1])
    alone(7)
    assert seen == [
        {"mail": {"sender": "a", "at": "2026-01-02"}, "more": ["b"], "limit": 3, "named": {"team": "tech"}},
        {"sender": "a", "at": "2026-01-02"},
        "text",
        ["a", 1],
        {"mail": 7},
    ]
    with pytest.raises(InvalidRequest, match="alone: mail is object, which is not JSON"):
        alone(object())
    with pytest.raises(TypeError, match="missing a required argument"):
        alone()


def test_functions_that_cannot_be_asked_are_refused_when_they_are_defined() -> None:
    def no_type(x: str):  # type: ignore[no-untyped-def]
        """Is it?"""

    def no_question(x: str) -> bool: ...

    def no_state() -> bool:
        """Is it?"""

    def runs(x: str) -> bool:
        """Is it?"""
        return bool(x)

    def returns(x: str) -> bool:
        """Is it?"""
        return True

    def text(x: str) -> str:
        """What is it?"""

    def ghost(x: str) -> Nobody:  # type: ignore[name-defined]  # noqa: F821
        """Who is it?"""

    for function, reason in (
        (no_type, "no_type does not say what it returns"),
        (no_question, "bool: Nothing says what is asked"),
        (no_state, "no_state takes no argument"),
        (runs, "The body of runs is never run, but it holds code"),
        (returns, "The body of returns is never run"),
        (text, "str: no question can answer str"),
        (ghost, "An annotation of ghost cannot be resolved: name 'Nobody'"),
        (Team, "is no function"),
    ):
        with pytest.raises(InvalidRequest, match=reason):
            tiebreak.decision(function)


def test_types_beside_a_function_are_found(oracle: Any) -> None:
    class Local(Enum):
        A = "a"
        B = "b"

    @tiebreak.decision(decider=oracle)
    def which(answer: int) -> Local:
        """Which?"""

    assert which(1) is Local.B


def test_a_model_is_answered_by_a_function_too(oracle: Any) -> None:
    @tiebreak.decision(decider=oracle)
    def understand(team: int, urgent: int) -> Ticket:
        """A ticket from the help desk."""

    assert understand(1, 1) == Ticket(team=Team.TECH, urgent=True)
    assert oracle.asked[-1][1]["urgent"].text == "A ticket from the help desk.\nUrgent?"


class Label(str):
    """A caller's own kind of text."""


def test_classify_hands_back_the_callers_own_object(oracle: Any) -> None:
    first, second = Label("one"), Label("two")
    assert oracle.classify({"answer": 1}, [first, second]) is second
    assert oracle.classify({"answer": 0}, {first: "the first", second: None}) is first
    assert oracle.asked[-1][1]["answer"].options[0].description == "the first"
    assert oracle.classify({"answer": 1}, Team) is Team.TECH
    assert oracle.classify({"answer": 1}, [Team.TECH, Team.BILLING], "Who?") is Team.BILLING
    assert oracle.asked[-1][1]["answer"].text == "Who?"
    assert oracle.classify({"answer": 2}, [1, "1", True, None]) is True
    assert oracle.classify({"answer": 3}, [1, "1", True, None]) is None
    assert oracle.asked[-1][1]["answer"].names == ("1", '"1"', "yes", "none of these")
    judged = oracle.classify({"answer": 0}, [first, second], probabilities=True)
    assert judged.value is first
    assert judged.fields["answer"].odds == ((first, 0.8), (second, pytest.approx(0.2)))


@pytest.mark.parametrize(
    "labels, reason",
    [
        ("ab", "The labels are 'ab'"),
        ({"a", "b"}, "The labels are set"),
        (str, "The labels are str"),
        (["a"], "at least two"),
        (["a", "a"], "Option 'a' is given twice"),
        (["a", 1.5], "Label 1.5 is float"),
    ],
)
def test_labels_that_cannot_be_asked_about_are_refused(labels: Any, reason: str, oracle: Any) -> None:
    with pytest.raises(InvalidRequest, match=reason):
        oracle.classify({"answer": 0}, labels)


def test_a_form_is_asked_in_any_way(reference: Make) -> None:
    decider = reference()
    form = tiebreak.Form.of(Ticket)
    states = [f"ticket {number}" for number in range(5)]
    decisions = decider.decide_many((state, form.questions) for state in states)
    found = [form.read(decision).value for decision in decisions if not isinstance(decision, Exception)]
    assert found == [decider.extract(Ticket, state) for state in states]
