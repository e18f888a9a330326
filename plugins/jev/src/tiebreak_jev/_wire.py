"""System One reply bodies: strict about every number that an answer is made of, tolerant of what providers add."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.functional_validators import BeforeValidator

__all__ = ["Choice", "Noul", "Response", "Score", "Usage", "problems"]

SHOWN = 3


class _Body(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, strict=True, allow_inf_nan=False)


def _whole(value: Any) -> Any:
    """Some servers count tokens in floats."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Probability = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=0), BeforeValidator(_whole)]


class Noul(_Body):
    """A yes/no answer; `confidence` is no part of the protocol, but some servers send one."""

    type: Literal["noul"]
    noul: Probability
    confidence: Probability | None = None


class Choice(_Body):
    """A picked option and the probability of each."""

    type: Literal["choice"]
    choice: str
    probabilities: dict[str, Probability]
    confidence: Probability | None = None


class Score(_Body):
    """An expected level index, the probability of each level by index, and the levels as they were read."""

    type: Literal["score"]
    score: float
    probabilities: dict[str, Probability]
    legend: dict[str, Any] | None = None
    confidence: Probability | None = None


class Usage(_Body):
    """Tokens, and for providers that bill through the reply the cost in USD."""

    input_tokens: Count | None = None
    output_tokens: Count | None = None
    cost: float | None = Field(default=None, ge=0)


class Response(_Body):
    """A whole reply; `id` is a provider's own request id where the header has none."""

    answers: dict[str, Annotated[Noul | Choice | Score, Field(discriminator="type")]]
    model: str | None = None
    usage: Usage | None = None
    id: str | None = None


def problems(error: ValidationError) -> str:
    """The first few things that are wrong with a body, each with its path and the value that was there."""
    found = error.errors(include_url=False, include_context=False)
    texts = []
    for item in found[:SHOWN]:
        path = ".".join(str(part) for part in item["loc"])
        value = item["input"]
        shown = "" if isinstance(value, (dict, list)) else f" (it is {str(value)[:40]!r})"
        texts.append(f"{path}: {item['msg']}{shown}")
    more = f"; and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    return "; ".join(texts) + more
