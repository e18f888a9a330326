"""llama-server's reply bodies, as far as they are read."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

__all__ = ["COMPLETIONS", "Completion", "Properties", "Slot", "Timings", "Token", "Tokens"]


class _Body(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, strict=True, allow_inf_nan=False)


class Token(_Body):
    """A token in a list of the most probable ones; `logprob` is out of the softmax over the whole vocabulary."""

    id: int
    token: str
    logprob: float = Field(le=1e-6)


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


COMPLETIONS: TypeAdapter[Completion | list[Completion]] = TypeAdapter(Completion | list[Completion])


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
