"""The three shapes of an answer: yes or no, one of several options, a level. They put the right answer anywhere."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from tiebreak.questions import JSON

from ..examples import Example, choice, score, yes_no

UNNAMED = "unnamed"  # the family is the generator's name, which the generator adds

AFFIRMED = (
    ("no", "yes"),
    ("false", "true"),
    ("No", "Yes"),
    ("incorrect", "correct"),
    ("it is not so", "it is so"),
    ("denied", "confirmed"),
    ("negative", "affirmative"),
)
KNOWN = (
    ("yes", "no", "unknown"),
    ("true", "false", "cannot be known"),
    ("entailment", "contradiction", "neutral"),
    ("it follows", "it is contradicted", "it is left open"),
    ("certainly", "certainly not", "perhaps"),
    ("confirmed", "refuted", "not stated"),
)
KNOWN_MEANS = ("must be true if the text is true", "must be false if the text is true", "the text leaves it open")


def answer(r: random.Random, state: JSON, question: str, truth: bool) -> Example:
    """A yes/no question; now and then as a choice between two words that say so."""
    if r.random() < 0.93:
        return yes_no(UNNAMED, state, question, truth)
    words = r.choice(AFFIRMED)
    return pick(r, state, question, words[truth], [words[not truth]])


def pick(r: random.Random, state: JSON, question: str, right: str, wrong: Sequence[str]) -> Example:
    """A choice among names, in random order; wrong ones that repeat another option are left out."""
    options = list(dict.fromkeys([right, *wrong]))
    if len(options) < 2:
        raise ValueError(f"only one option: {right}")
    r.shuffle(options)
    return choice(UNNAMED, state, question, options, options.index(right))


def pick_described(r: random.Random, state: JSON, question: str, right: str, options: Mapping[str, str]) -> Example:
    """A choice among names with descriptions, in random order."""
    names = list(options)
    r.shuffle(names)
    return choice(UNNAMED, state, question, {name: options[name] for name in names}, names.index(right))


def ordered(state: JSON, question: str, options: Sequence[str], gold: int) -> Example:
    """A choice among options that have an order of their own, such as numbers."""
    return choice(UNNAMED, state, question, list(options), gold)


def known(r: random.Random, state: JSON, question: str, relation: int) -> Example:
    """Whether a claim follows (0), is contradicted (1) or is left open (2)."""
    words = r.choice(KNOWN)
    if r.random() < 0.3:
        return pick_described(r, state, question, words[relation], dict(zip(words, KNOWN_MEANS, strict=True)))
    return pick(r, state, question, words[relation], [word for word in words if word != words[relation]])


def level(state: JSON, question: str, levels: Sequence[str], gold: int) -> Example:
    """A place on a rubric, lowest level first."""
    return score(UNNAMED, state, question, levels, gold)
