"""pydantic-ai's agents over a Decider in this process: the real package, and no HTTP anywhere."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from typing import Any, Literal, NoReturn, TypeVar

import pytest
from pydantic import BaseModel, Field
from pydantic_ai import Agent, AgentRunResult, ModelSettings, UseEnumMemberDocstrings
from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelAuthenticationError,
    ModelContextWindowExceededError,
    ModelOverloadedError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelTimeoutError,
    ModelUnavailableError,
    UnexpectedModelBehavior,
    UserError,
)
from pydantic_ai.messages import BinaryContent, ModelResponse
from pydantic_ai.models.decision import (
    ChoiceQuestion,
    DecisionModelSettings,
    DecisionRequest,
    NoulQuestion,
    ScoreQuestion,
)
from pydantic_ai.models.fallback import FallbackModel

from tiebreak import Cascade, Decider, Decision, Gate, Question, Registry, errors
from tiebreak.asking import Asking
from tiebreak.pool import Pool
from tiebreak.pydantic_ai import DeciderModel
from tiebreak.questions import JSON
from tiebreak_conformance.reference import ReferencePlugin

Make = Callable[..., Decider]
T = TypeVar("T")


class Team(Enum):
    BILLING = "billing"
    TECH = "tech"


class Ticket(BaseModel):
    """A support ticket."""

    team: Team = Field(description="Who should handle it?")
    urgent: bool = Field(description="Is it urgent?")
    spam: float = Field(ge=0, le=1, description="Is it spam?")
    tags: list[Literal["refund", "outage"]] = Field(description="What is it about?")


def run(agent: Agent[None, T], prompt: str, **more: Any) -> AgentRunResult[T]:
    """The agent's result, without the event loop that `run_sync` leaves open."""
    return asyncio.run(agent.run(prompt, **more))


@pytest.fixture
def reference() -> Iterator[Make]:
    """Makes Deciders on the suite's reference engine, and closes them."""
    pool, registry = Pool(), Registry()
    registry.add(ReferencePlugin(), "reference")
    yield lambda **options: Decider("reference", registry=registry, pool=pool, **options)
    pool.close()


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """No connection can be made."""

    def refuse(*arguments: Any) -> NoReturn:
        raise AssertionError(f"a connection: {arguments}")

    monkeypatch.setattr(socket.socket, "connect", refuse)


class Failing(Asking):
    """Fails in a way of its own, or takes for ever where there is none."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error

    def decide(self, state: JSON, questions: Mapping[str, Question]) -> NoReturn:
        raise AssertionError("only tasks ask")

    async def adecide(self, state: JSON, questions: Mapping[str, Question]) -> Decision:
        if self.error is not None:
            raise self.error
        await asyncio.sleep(600)
        raise AssertionError("nobody waits")


@pytest.mark.usefixtures("offline")
def test_an_agent_fills_its_output_type(reference: Make) -> None:
    decider = reference()
    agent = Agent(DeciderModel(decider), output_type=Ticket)
    result = run(agent, "The printer burns.")
    assert isinstance(result.output, Ticket)
    assert result.output == run(agent, "The printer burns.").output
    response = next(each for each in result.all_messages() if isinstance(each, ModelResponse))
    assert response.model_name == "reference"
    details = response.provider_details
    assert details is not None
    assert set(details["probabilities"]["team"]) == {"billing", "tech"}
    team = max(details["probabilities"]["team"], key=details["probabilities"]["team"].__getitem__)
    assert result.output.team == Team(team)
    assert result.usage.input_tokens > 0


@pytest.mark.usefixtures("offline")
def test_the_agent_is_told_what_the_decider_says(reference: Make) -> None:
    decider = reference()
    request = DecisionRequest(
        state={"mail": "It burns."},
        questions={
            "yes": NoulQuestion(instructions="Is it urgent?"),
            "pick": ChoiceQuestion(instructions={"question": "Who?"}, criteria={"a": None, "b": "the second"}),
            "place": ScoreQuestion(instructions=None, criteria=["low", "middle", "high"]),
            "settled": ChoiceQuestion(criteria={"only": None}),
        },
    )
    response = asyncio.run(DeciderModel(decider).decide(request, DecisionModelSettings()))
    assert list(response.answers) == list(request.questions)
    yes, pick, place, settled = response.answers.values()
    asked = decider.decide({"mail": "It burns."}, questions_of(request))
    assert yes.noul == pytest.approx(asked["q1"].probabilities["yes"])
    assert pick.probabilities == pytest.approx(asked["q2"].probabilities)
    assert pick.choice == asked["q2"].value
    assert place.score == pytest.approx(asked["q3"].expected)
    assert place.legend == {0: "low", 1: "middle", 2: "high"}
    assert settled.choice == "only" and settled.probabilities == {"only": 1.0}
    alone = DecisionRequest(state="x", questions={"settled": request.questions["settled"]})
    assert asyncio.run(DeciderModel(Failing()).decide(alone, {})).answers["settled"] == settled


def questions_of(request: DecisionRequest) -> dict[str, Question]:
    import dataclasses

    from tiebreak.serve.asked import Asked

    wire = {name: dataclasses.asdict(question) for name, question in request.questions.items()}
    return dict(Asked.of({"model": "m", "state": request.state, "questions": wire}).questions)


@pytest.mark.usefixtures("offline")
def test_tools_are_routes(reference: Make) -> None:
    called = []
    agent = Agent(DeciderModel(reference()), output_type=Ticket, instructions="Handle the mail.")

    @agent.tool_plain
    def escalate() -> str:
        """Wake somebody up, because it cannot wait."""
        called.append("escalate")
        return "done"

    @agent.tool_plain
    def archive() -> str:
        """File it away, because nothing is to be done."""
        called.append("archive")
        return "done"

    assert isinstance(run(agent, "The printer burns.").output, Ticket)
    assert set(called) <= {"escalate", "archive"}


class Anger(UseEnumMemberDocstrings, int, Enum):
    CALM = 0
    """Friendly."""
    CROSS = 1
    """Short of breath."""


@pytest.mark.usefixtures("offline")
def test_rubrics_and_bare_types(reference: Make) -> None:
    model = DeciderModel(reference(), name="mine", settings=DecisionModelSettings(decision_boolean_threshold=1.0))
    assert run(Agent(model, output_type=Anger, instructions="How angry?"), "x").output in Anger
    result = run(Agent(model, output_type=bool, instructions="Is it urgent?"), "x")
    assert result.output is False  # the threshold is the caller's
    assert result.response.model_name == "mine"


def test_a_cascade_is_a_model_too(reference: Make) -> None:
    with Cascade([reference(), reference(salt="b")], Gate(min_probability=0.9)) as cascade:
        model = DeciderModel(cascade)
        assert model.model_name == "cascade"
        assert (model.system, model.base_url, model.client) == ("tiebreak", None, cascade)
        assert isinstance(run(Agent(model, output_type=Ticket), "x").output, Ticket)


def test_what_the_engine_takes_is_known_before_it_is_asked(decider: Make) -> None:
    numbers = Enum("Numbers", {f"N{n}": f"option {n}" for n in range(27)})  # type: ignore[misc]
    agent = Agent(DeciderModel(decider()), output_type=numbers, instructions="Which?")
    with pytest.raises(UserError, match="at most 26"):
        run(agent, "x")


@pytest.mark.parametrize(
    "ours, theirs",
    [
        (errors.InvalidRequest("x"), UserError),
        (errors.Unsupported("x"), UserError),
        (errors.ContextOverflow("x"), ModelContextWindowExceededError),
        (errors.BadReply("x"), UnexpectedModelBehavior),
        (errors.EngineHung("x"), ModelTimeoutError),
        (errors.EngineOverloaded("x"), ModelOverloadedError),
        (errors.RateLimited("x"), ModelRateLimitError),
        (errors.MemoryRefused("x"), ModelOverloadedError),
        (errors.AuthError("x"), ModelAuthenticationError),
        (errors.QuotaError("x"), ModelQuotaExceededError),
        (errors.EngineDied("x"), ModelUnavailableError),
        (errors.EngineUnavailable("x"), ModelUnavailableError),
    ],
)
def test_errors_are_pydantic_ais_own(ours: errors.TiebreakError, theirs: type[Exception]) -> None:
    with pytest.raises(theirs) as caught:
        run(Agent(DeciderModel(Failing(ours)), output_type=Ticket), "x")
    assert type(caught.value) is theirs
    assert caught.value.__cause__ is ours


def test_another_model_takes_over_where_an_engine_fails(reference: Make) -> None:
    failing, working = DeciderModel(Failing(errors.EngineDied("x"))), DeciderModel(reference())
    assert isinstance(run(Agent(FallbackModel(failing, working), output_type=Ticket), "x").output, Ticket)


def test_a_timeout_of_the_agent_holds() -> None:
    agent = Agent(DeciderModel(Failing()), output_type=Ticket)
    with pytest.raises(ModelTimeoutError, match=r"No answer in 0\.05 seconds"):
        run(agent, "x", model_settings=ModelSettings(timeout=0.05))


def test_what_cannot_be_asked_is_the_users_error(reference: Make) -> None:
    model = DeciderModel(reference())
    picture = BinaryContent(b"x", media_type="image/png")
    with pytest.raises(UserError, match="images"):
        asyncio.run(model.decide(DecisionRequest(state="x", questions={"q": NoulQuestion()}, images=(picture,)), {}))
    with pytest.raises(UserError, match="Nothing is asked"):
        asyncio.run(model.decide(DecisionRequest(state="x", questions={"q": NoulQuestion()}), {}))
    request = DecisionRequest(state="x", questions={"q": NoulQuestion(instructions="Is it?")})
    with pytest.raises(UserError, match="number of seconds"):
        asyncio.run(model.decide(request, DecisionModelSettings(timeout=object())))  # type: ignore[typeddict-item]
    with pytest.raises((UserError, ModelAPIError)):
        run(Agent(model, output_type=str), "x")
