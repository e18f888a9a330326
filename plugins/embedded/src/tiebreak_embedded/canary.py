"""`repeats`: the first decodes of a context, and whether a prompt that is cut gives the bits of the whole one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tiebreak.errors import EngineError, EngineStartError
from tiebreak_embedded.batch import Item
from tiebreak_embedded.reading import Read

if TYPE_CHECKING:
    from tiebreak_embedded.context import Context

__all__ = ["repeats"]

_TOKENS = 70  # more than the widest chunk below which a kernel is known to change (64, flash attention's)
_CUT = 3


def repeats(context: Context) -> bool:
    """Decode some tokens whole, and again in two parts with a restore between; whether the logits are equal to the bit.

    A context that was not asked to be exact decodes a few only, to see that it can.

    Raises:
        EngineStartError: it cannot.
    """
    size = min(_TOKENS if context.options.exact else 2 * _CUT, context.window)
    tokens = [(7 * n + 3) % context.model.vocabulary_size for n in range(size)]
    other = context.options.sequences - 1
    try:
        whole = context.decode([Item(0, 0, tokens, (Read(size - 1, raw=True),))])[0][0].logits
        context.drop(0)
        context.decode([Item(0, 0, tokens[:_CUT], keep=True)])
        state = context.save(0)
        context.drop(0)
        context.restore(other, state, _CUT)
        parts = context.decode([Item(other, _CUT, tokens[_CUT:], (Read(size - _CUT - 1, raw=True),))])[0][0].logits
        context.drop(other)
    except EngineError as error:
        raise EngineStartError(
            f"The first decode failed: {error.message}",
            remedy="Check the model file; name another library with the option library.",
            engine="embedded",
            log=context.library.log.tail(),
        ) from error
    assert whole is not None
    assert parts is not None
    return whole.tobytes() == parts.tobytes()
