"""llama-server's reply bodies, as far as they are read."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter
from typing_extensions import TypedDict

__all__ = ["Completion", "Properties", "Slot", "Timings", "Token", "Tokens", "completions"]

_CONFIG = ConfigDict(extra="ignore", frozen=True, strict=True, allow_inf_nan=False)


class _Body(BaseModel):
    model_config = _CONFIG


class Token(TypedDict):
    """A token in a list of the most probable ones; `logprob` is out of the softmax over the whole vocabulary.

    A checked dictionary, because a reply has a hundred and an object of each would cost more than all else here.
    """

    __pydantic_config__ = _CONFIG  # type: ignore[misc]  # how pydantic configures a TypedDict

    id: int
    token: str
    logprob: Annotated[float, Field(le=1e-6)]


class Slot(_Body):
    """The generated token's place: the most probable tokens there."""

    top_logprobs: list[Token]


class Timings(_Body):
    """Tokens and milliseconds that llama-server counts; `cache_n` tokens were not computed again."""

    cache_n: int = Field(default=0, ge=0)
    prompt_n: int = Field(ge=0)
    prompt_ms: float = Field(ge=0)
    predicted_ms: float = Field(default=0.0, ge=0)


class Completion(_Body):
    """One reply of `/completion`."""

    index: int = 0
    completion_probabilities: list[Slot] | None = None
    timings: Timings
    truncated: bool = False


_SEVERAL: TypeAdapter[list[Completion]] = TypeAdapter(list[Completion])


def completions(body: bytes) -> list[Completion]:
    """The replies in a body of `/completion`, in the order of the prompts; one prompt's is not in a list.

    Raises:
        ValueError: it is something else.
    """
    if body.lstrip()[:1] != b"[":
        return [Completion.model_validate_json(body)]
    return sorted(_SEVERAL.validate_json(body), key=lambda reply: reply.index)


class Piece(_Body):
    """One token of `/tokenize` with its text; bytes where it is not text of its own."""

    id: int
    piece: str | list[int]


class Tokens(_Body):
    """The reply of `/tokenize`."""

    tokens: list[int]


class Pieces(_Body):
    """The reply of `/tokenize` when it was asked for the texts, too."""

    tokens: list[Piece]


class Settings(_Body):
    """What a slot is set to."""

    n_ctx: int


class Properties(_Body):
    """The reply of `/props`."""

    total_slots: int = Field(ge=1)
    default_generation_settings: Settings
    model_path: str = ""
    build_info: str = ""
    chat_template: str = ""


class Prompt(_Body):
    """The reply of `/apply-template`."""

    prompt: str
