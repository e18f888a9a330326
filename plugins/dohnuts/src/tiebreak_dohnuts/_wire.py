"""dohnuts-cli's reply bodies, as far as they are read."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["Health", "Predicted", "Read"]


class _Body(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, allow_inf_nan=False)


class Health(_Body):
    """The reply of `/health`; `model` is the name of the profile."""

    status: str
    model: str
    backend: str
    max_questions: int = Field(ge=1)
    batching: bool


class Read(_Body):
    """One answer: `probabilities` of a choice or score, `noul` (the probability of yes) of a yes/no question."""

    type: str
    confidence: float
    probabilities: dict[str, float] = Field(default_factory=dict)
    noul: float | None = None
    score: float | None = None
    native: dict[str, Any] = Field(default_factory=dict)


class Usage(_Body):
    """Tokens of all rows, cached or not."""

    input_tokens: int = Field(ge=0)
    output_tokens: int = Field(default=0, ge=0)


class Result(_Body):
    """The answers to one request."""

    model: str
    answers: dict[str, Read]
    usage: Usage


class Predicted(_Body):
    """The reply of `/predict`, the one route that says how long it took."""

    results: list[Result] = Field(min_length=1, max_length=1)
    elapsed_ms: float = Field(ge=0)
    backend: str
