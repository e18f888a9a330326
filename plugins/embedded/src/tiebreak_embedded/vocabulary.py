"""What layouts may know about a loaded model: its letter labels, control tokens and chat template."""

from __future__ import annotations

from functools import partial

from tiebreak.engine import ChatTurns, Vocabulary
from tiebreak.stages.labels import deal
from tiebreak_embedded.model import Model

__all__ = ["vocabulary"]

_MARKER = "tiebreak-4f1c-marker"
_THINKS, _OPTIONAL, _CLOSED = "<think>", "enable_thinking", "<think>\n\n</think>\n\n"


def vocabulary(model: Model) -> Vocabulary:
    """Labels in the order in which they are dealt, control tokens, and the chat template's two halves."""
    labels = deal(partial(model.tokenise, special=False), model.piece)
    return Vocabulary(labels=labels, control=tuple(model.control_tokens()), chat=_chat(model))


def _chat(model: Model) -> ChatTurns | None:
    """The chat template around a user's turn, thinking off; None where it is unknown or always thinks.

    Templates with a switch for thinking write an empty, closed block where it is off (Qwen3's
    `enable_thinking`); one that names the block but has no such switch cannot be kept from thinking.
    """
    template = model.chat_template() or ""
    rendered = model.render_chat(_MARKER)
    if rendered is None or rendered.count(_MARKER) != 1:
        return None
    before, after = rendered.split(_MARKER)
    if _THINKS in template:
        if _OPTIONAL not in template:
            return None
        after += _CLOSED
    for token in model.opening():  # it stands before every prompt already
        before = before.removeprefix(model.piece(token))
    return ChatTurns(before=before, after=after)
