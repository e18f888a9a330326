"""`DeciderModel`: a pydantic-ai model over any Decider, with no HTTP between them.

pydantic-ai turns an agent's output type and tools into System One questions (its `DecisionModel`); here they are put to
the engine itself, translated as the gateway does it. Needs tiebreak[pydantic-ai].
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic_ai import exceptions
from pydantic_ai.models.decision import (
    ChoiceAnswer,
    DecisionAnswer,
    DecisionModel,
    DecisionModelSettings,
    DecisionRequest,
    DecisionResponse,
    NoulAnswer,
    ScoreAnswer,
)
from pydantic_ai.profiles import ModelProfileSpec
from pydantic_ai.profiles.decision import DecisionModelProfile
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RequestUsage

from tiebreak import errors
from tiebreak.answers import Decision
from tiebreak.asking import Asking
from tiebreak.decider import Decider
from tiebreak.serve.asked import Asked
from tiebreak.serve.problem import Problem

__all__ = ["DeciderModel"]


class DeciderModel(DecisionModel[Asking]):
    """A model for `pydantic_ai.Agent` whose questions a Decider answers in this process.

    Args:
        decider: a Decider or a Cascade; whoever made it closes it.
        name: what traces call the model; None takes the engine's name.
        profile: a model profile of pydantic-ai; None says how many options the engine takes.
        settings: defaults for each request, `decision_boolean_threshold` among them.
    """

    max_choice_options: ClassVar[int | None] = 255
    max_score_levels: ClassVar[int | None] = 10
    # There is no request that headers or a body could be added to, and nothing is retried here.
    unsupported_settings = DecisionModel.unsupported_settings | {"extra_body", "extra_headers", "max_retries"}

    def __init__(
        self,
        decider: Asking,
        *,
        name: str | None = None,
        profile: ModelProfileSpec | None = None,
        settings: ModelSettings | None = None,
    ) -> None:
        info = decider.info if isinstance(decider, Decider) else None
        self.decider = decider
        self._name = name or (info.name if info else type(decider).__name__.lower())
        if profile is None and info is not None:
            profile = DecisionModelProfile(decision_max_choice_options=info.limits.options)
        super().__init__(settings=settings, profile=profile)

    @property
    def client(self) -> Asking:
        """The Decider: what stands where other models have an HTTP client."""
        return self.decider

    @property
    def model_name(self) -> str:
        """What traces call the model."""
        return self._name

    @property
    def system(self) -> str:
        """What traces call the provider."""
        return "tiebreak"

    @property
    def base_url(self) -> None:
        """None: nothing is sent anywhere by this class."""
        return None

    async def decide(self, request: DecisionRequest, model_settings: DecisionModelSettings) -> DecisionResponse:
        """Put one request to the Decider.

        Raises:
            UserError: the request is wrong, or asks for what the engine does not do.
            UnexpectedModelBehavior: the engine's answer cannot be believed.
            ModelAPIError: the engine failed; a `FallbackModel` takes over.
        """
        if request.images:
            raise exceptions.UserError("tiebreak does not show images to a model.")
        questions = {name: dataclasses.asdict(question) for name, question in request.questions.items()}
        try:
            asked = Asked.of({"model": self._name, "state": request.state, "questions": questions})
        except Problem as problem:
            raise exceptions.UserError(f"tiebreak cannot ask this: {problem.detail}") from None
        decision = await self._ask(asked, model_settings.get("timeout")) if asked.questions else None
        answers = asked.answers(decision.answers if decision else {}, None)
        return _response(self._name, answers, decision)

    async def _ask(self, asked: Asked, timeout: Any) -> Decision:
        if timeout is not None and not isinstance(timeout, (int, float)):
            raise exceptions.UserError(f"The timeout is {timeout!r}; here it is a number of seconds.")
        try:
            return await asyncio.wait_for(self.decider.adecide(asked.state, asked.questions), timeout)
        except (asyncio.TimeoutError, errors.EngineHung) as error:
            raise exceptions.ModelTimeoutError(self._name, str(error) or f"No answer in {timeout} seconds.") from error
        except errors.ContextOverflow as error:
            raise exceptions.ModelContextWindowExceededError(self._name, str(error)) from error
        except (errors.InvalidRequest, errors.Unsupported) as error:
            raise exceptions.UserError(str(error)) from error
        except errors.BadReply as error:
            raise exceptions.UnexpectedModelBehavior(str(error)) from error
        except errors.TiebreakError as error:
            raise _category(error)(self._name, str(error)) from error


def _category(error: errors.TiebreakError) -> type[exceptions.ModelAPIError]:
    """What pydantic-ai calls an error of ours; the most specific class comes first."""
    for ours, theirs in (
        (errors.RateLimited, exceptions.ModelRateLimitError),
        (errors.EngineOverloaded, exceptions.ModelOverloadedError),
        (errors.MemoryRefused, exceptions.ModelOverloadedError),
        (errors.AuthError, exceptions.ModelAuthenticationError),
        (errors.QuotaError, exceptions.ModelQuotaExceededError),
    ):
        if isinstance(error, ours):
            return theirs
    return exceptions.ModelUnavailableError


def _response(name: str, answers: Mapping[str, Any], decision: Decision | None) -> DecisionResponse:
    receipt = decision.receipt if decision else None
    return DecisionResponse(
        answers={key: _answer(answer) for key, answer in answers.items()},
        model_name=(receipt.resolved_model if receipt else None) or name,
        usage=RequestUsage(input_tokens=(receipt.prompt_tokens if receipt else None) or 0),
        provider_response_id=receipt.request_id if receipt else None,
    )


def _answer(answer: Mapping[str, Any]) -> DecisionAnswer:
    """An answer in the protocol's form as pydantic-ai's own; there the keys of levels are numbers."""
    if answer["type"] == "noul":
        return NoulAnswer(noul=answer["noul"])
    if answer["type"] == "choice":
        return ChoiceAnswer(**answer)
    numbered: dict[str, Any] = {
        part: {int(level): value for level, value in answer[part].items()} for part in ("probabilities", "legend")
    }
    return ScoreAnswer(score=answer["score"], confidence=answer["confidence"], **numbered)
