"""What a model file says about its tokens: letter labels, and spellings that become control tokens."""

from __future__ import annotations

from string import ascii_uppercase

from tiebreak.engine import Vocabulary
from tiebreak.gguf import Gguf

__all__ = ["USUAL_CONTROL", "vocabulary"]

MOST_LABELS = 255
UNKNOWN, CONTROL = 2, 3  # llama.cpp's llama_token_type

# Control tokens of the usual models, for a server whose model file nobody named.
USUAL_CONTROL = (
    *(f"<|{word}|>" for word in ("im_start", "im_end", "endoftext", "eot_id", "start_header_id", "end_header_id")),
    *(f"<|{word}|>" for word in ("fim_prefix", "fim_middle", "fim_suffix", "box_start", "box_end")),
    *("<start_of_turn>", "<end_of_turn>", "<bos>", "<eos>", "<s>", "</s>", "[INST]", "[/INST]"),
)


def vocabulary(header: Gguf | None) -> Vocabulary:
    """The labels A to Z, then those of AA to ZZ that are tokens, and the control tokens; one pass over the file.

    Raises:
        ModelUnavailable: the file went away.
    """
    if header is None:
        return Vocabulary(control=USUAL_CONTROL)
    tokens, kinds = header.tokens, header.token_types
    ids = {token: number for number, token in enumerate(tokens)}
    pairs = (first + second for first in ascii_uppercase for second in ascii_uppercase)
    labels = [label for label in (*ascii_uppercase, *pairs) if label in ids][:MOST_LABELS]
    control = tuple(token for token, kind in zip(tokens, kinds, strict=False) if kind in (UNKNOWN, CONTROL))
    return Vocabulary(labels={label: ids[label] for label in labels}, control=control or USUAL_CONTROL)
