"""Descriptions of options: as the task has them, or long ones that say more, give examples and draw borders."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from training.slots import expand
from training.tasks import Label

__all__ = ["described", "long_description"]

_EXAMPLES = ("For example: {}", "Example: {}", "such as: {}", "A typical case is: {}", 'Like "{}"')
_BORDERS = ("Not {}.", "not {}", "Does not cover: {}.", "but not {}", "This is not the place for {}.")
_LONGEST_EXAMPLE = 160


def described(label: Label, rng: Random) -> str | None:
    """One of a label's descriptions, None where it has none."""
    return rng.choice(label.descriptions) if label.descriptions else None


def long_description(label: Label, others: Sequence[Label], state: str, words: int, rng: Random) -> str | None:
    """A description of about as many words as wanted, so far as the label has anything to say.

    Args:
        label: what is described.
        others: labels that it may be set apart from.
        state: the line that is asked about, which must not be given as an example.
        words: how long it shall be.
        rng: draws.
    """
    parts = rng.sample(label.descriptions, len(label.descriptions))
    lines = [line for line in label.states if line != state and len(line) <= _LONGEST_EXAMPLE]
    for line in rng.sample(lines, min(2, len(lines))):
        parts.append(rng.choice(_EXAMPLES).format(expand(line, rng).replace("\n", " ")))
    apart = [text for other in others for text in other.descriptions]
    if apart and rng.random() < 0.5:
        parts.insert(min(1, len(parts)), rng.choice(_BORDERS).format(rng.choice(apart)))
    said: list[str] = []
    for part in parts:
        if said and sum(len(one.split()) for one in said) >= words:
            break
        said.append(part.rstrip(" ."))
    return rng.choice((". ", ". ", "; ")).join(said) + rng.choice(("", ".")) if said else None
