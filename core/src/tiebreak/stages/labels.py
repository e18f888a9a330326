"""Labels as tokens: which tokens answer at a slot, for engines that have the model's vocabulary at hand."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from string import ascii_uppercase

__all__ = ["LETTERS", "MOST_LETTERS", "deal", "mass", "spellings"]

LETTERS = (*ascii_uppercase, *(a + b for a in ascii_uppercase for b in ascii_uppercase))
"""Letter labels in the order in which they are dealt, those that are no single token left out."""
MOST_LETTERS = 255

Encode = Callable[[str], Sequence[int]]
"""The tokens of a text, exactly: control tokens stay text, and nothing is put before or after it."""


def deal(encode: Encode, piece: Callable[[int], str]) -> dict[str, int]:
    """Label -> token of the first `MOST_LETTERS` letter labels that are one token each, no two the same.

    A label's token is the one that it is behind an opening parenthesis, as prompts write it, else by itself.

    Args:
        encode: tokens of a text.
        piece: text of a token.
    """
    labels: dict[str, int] = {}
    opened = len(encode("("))
    for label in LETTERS:
        token = _single(label, opened, encode, piece)
        if token is not None and token not in labels.values():
            labels[label] = token
            if len(labels) == MOST_LETTERS:
                break
    return labels


def spellings(label: str, letters: Mapping[str, int], encode: Encode, *, loose: bool) -> tuple[int, ...]:
    """The single tokens that spell a label; none where it takes several.

    Args:
        label: the label's text.
        letters: the letter labels of the vocabulary.
        encode: tokens of a text.
        loose: with a space before it counts, too; see `Row.loose`.
    """
    if label in letters and not loose:
        return (letters[label],)
    found = [encode(text) for text in ((label, f" {label}") if loose else (label,))]
    single = [tokens[0] for tokens in found if len(tokens) == 1]
    if loose and label in letters:
        single.insert(0, letters[label])
    return tuple(dict.fromkeys(single))


def mass(logprobs: Sequence[float], indices: Sequence[int]) -> float:
    """The logarithm of the mass that the tokens at these indices hold together (log-sum-exp)."""
    if len(indices) == 1:
        return logprobs[indices[0]]
    values = [logprobs[index] for index in indices]
    peak = max(values)
    return peak + math.log(math.fsum(math.exp(value - peak) for value in values))


def _single(label: str, opened: int, encode: Encode, piece: Callable[[int], str]) -> int | None:
    behind = encode(f"({label}")
    if len(behind) == opened + 1 and piece(behind[-1]) == label:
        return behind[-1]
    alone = encode(label)
    return alone[0] if len(alone) == 1 and piece(alone[0]).strip() == label else None
