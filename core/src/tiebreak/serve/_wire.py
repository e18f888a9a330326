"""System One request bodies, as strict as the hosted service."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.functional_validators import BeforeValidator
from pydantic_core import PydanticCustomError

__all__ = ["Body", "Choice", "Noul", "Question", "Score", "Sides"]

MOST_OPTIONS, MOST_LEVELS = 255, 10


def _text(value: Any) -> Any:
    if not isinstance(value, (str, dict, list)):
        raise PydanticCustomError("union_type", "Input should be a string, an object or an array")
    return value


Text = Annotated[Any, BeforeValidator(_text)]
"""Text that a model reads: a string, or an object or array that is shown to it as JSON."""

Described = Annotated[Any, BeforeValidator(lambda value: value if value is None else _text(value))]


class _Body(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)


class Sides(_Body):
    """What yes and no mean; another key would be dropped, so it is refused."""

    model_config = ConfigDict(extra="forbid")

    true: Described = None
    false: Described = None


class Noul(_Body):
    """A yes/no question."""

    type: Literal["noul"]
    instructions: Described = None
    criteria: Sides | None = None


class Choice(_Body):
    """One of several options, each with a description or null, in the order in which they are shown."""

    type: Literal["choice"]
    instructions: Described = None
    criteria: dict[str, Described] = Field(min_length=1, max_length=MOST_OPTIONS)


class Score(_Body):
    """A place on a rubric, lowest level first."""

    type: Literal["score"]
    instructions: Described = None
    criteria: list[Text] = Field(min_length=1, max_length=MOST_LEVELS)


Question = Annotated[Noul | Choice | Score, Field(discriminator="type")]


class Body(_Body):
    """A whole request."""

    model: str
    state: Text
    questions: dict[str, Question] = Field(min_length=1)
    assets: Any = None
