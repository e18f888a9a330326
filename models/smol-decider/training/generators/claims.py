"""A text and a claim about it: the claim follows, is contradicted, or is left open. The ways to ask which."""

from __future__ import annotations

import random
from collections.abc import Callable

from tiebreak.questions import JSON

from ..examples import Example
from .drawing import coin
from .shapes import answer, known
from .surfaces import aside, framed

FOLLOWS, CONTRADICTED, OPEN = 0, 1, 2

Pair = tuple[str, str]
"""A text and a claim, both full sentences."""


def relation(premise: int, claim: int) -> int:
    """The relation of two statements, each given as the bit set of the worlds in which it is true.

    Raises:
        ValueError: the premise is true in no world.
    """
    if not premise:
        raise ValueError("a premise that no world fulfils says nothing")
    if not premise & ~claim:
        return FOLLOWS
    return CONTRADICTED if not premise & claim else OPEN


FOLLOW_QUESTIONS = (
    "Does it follow from the text that {c}?",
    "Does the text prove this claim? {C}",
    "Must this be true? {C}",
    "Can we be sure of the following? {C}",
    "Claim: {C} Is it supported by the text?",
    "Is this guaranteed by what is said: {c}?",
    "Reading only the text, is it certain that {c}?",
    "Is the statement a safe conclusion? {C}",
)
TRUE_QUESTIONS = (
    "Is it true that {c}?",
    "{C} Right?",
    "True or not: {C}",
    "According to the text: {C} Correct?",
    "Is this so: {c}?",
    "Statement: {C} Is the statement right?",
    "{C} Is that what the text says or implies?",
    "Would it be correct to say that {c}?",
)
AGAINST_QUESTIONS = (
    "Does the text contradict this? {C}",
    "Is this claim ruled out by the text? {C}",
    "Is it impossible that {c}?",
    "Does the text show the following to be false? {C}",
    "Is there a conflict between the text and the claim that {c}?",
    "Must this be false? {C}",
    "Claim: {C} Is it refuted?",
    "Would the text be wrong if this were true? {C}",
)
PAIRED = (
    "Premise: {p}\nHypothesis: {C}",
    "Text: {p}\nClaim: {C}",
    "1: {p}\n2: {C}",
    "{p}\n---\n{C}",
    "A says: {p}\nB says: {C}",
    "Source: {p}\nSummary: {C}",
    "Given: {p}\nConclusion: {C}",
    "Report: {p}\nHeadline: {C}",
)
PAIRED_KEYS = (
    ("premise", "hypothesis"),
    ("source", "summary"),
    ("text", "claim"),
    ("first", "second"),
    ("facts", "conclusion"),
)
RELATION_QUESTIONS = (
    "What is the relation of the claim to the text?",
    "How does the second statement relate to the first?",
    "Judge the claim.",
    "Does the first statement support the second?",
    "Given the first, what about the second?",
    "Check the claim against the text.",
    "What can be said about the claim?",
    "Is it so?",
)
PAIR_QUESTIONS = {
    FOLLOWS: (
        "Does the second follow from the first?",
        "Is the second statement a sure consequence of the first?",
        "If the first is true, must the second be true as well?",
        "Is the second one backed by the first?",
        "Does the first prove the second?",
        "Is the second just a consequence of the first?",
    ),
    CONTRADICTED: (
        "Do the two contradict each other?",
        "Is there a contradiction?",
        "Can both not be true at the same time?",
        "If the first is true, must the second be false?",
        "Does the first rule out the second?",
        "Do they clash?",
    ),
}


def inner(claim: str) -> str:
    """The claim inside a sentence: without the full stop, in lower case where it starts with a common word."""
    first, _, rest = claim.rstrip(".").partition(" ")
    small = first.lower() in LOWERED
    return (first.lower() if small else first) + (" " + rest if rest else "")


LOWERED = frozenset(
    "all no none some not at exactly only every everyone nobody the there it most both neither either one if in a an "
    "on after before more fewer somebody as her his their".split()
)


def asked(r: random.Random, make: Callable[[int], Pair]) -> Example:
    """A question about a text and a claim of a drawn relation; `make` gives the two for the relation it is told."""
    kind = r.random()
    if kind < 0.36:
        wanted = r.choice((FOLLOWS, CONTRADICTED, OPEN))
        premise, claim = make(wanted)
        if coin(r):
            return known(r, paired(r, premise, claim), r.choice(RELATION_QUESTIONS), wanted)
        question = f"{claim} " + r.choice(
            ("True, false or unknown?", "What does the text say about this?", "Is that so?", "Judge.")
        )
        return known(r, spoken(r, premise), question, wanted)
    truth = coin(r)
    if kind < 0.58:
        return single(r, make(FOLLOWS if truth else r.choice((CONTRADICTED, OPEN))), FOLLOW_QUESTIONS, truth)
    if kind < 0.78:
        return single(r, make(FOLLOWS if truth else CONTRADICTED), TRUE_QUESTIONS, truth)
    if kind < 0.88:
        return single(r, make(CONTRADICTED if truth else r.choice((FOLLOWS, OPEN))), AGAINST_QUESTIONS, truth)
    target = r.choice((FOLLOWS, CONTRADICTED))
    others = [other for other in (FOLLOWS, CONTRADICTED, OPEN) if other != target]
    premise, claim = make(target if truth else r.choice(others))
    return answer(r, paired(r, premise, claim), r.choice(PAIR_QUESTIONS[target]), truth)


def single(r: random.Random, pair: Pair, questions: tuple[str, ...], truth: bool) -> Example:
    """The text is the state, the claim is in the question."""
    premise, claim = pair
    question = r.choice(questions).format(c=inner(claim), C=claim)
    return answer(r, spoken(r, premise), question, truth)


def spoken(r: random.Random, premise: str) -> JSON:
    """The text, framed, sometimes with a sentence that has nothing to do with it."""
    if coin(r, 0.15):
        premise = f"{aside(r)} {premise}" if coin(r) else f"{premise} {aside(r)}"
    return framed(r, premise)


def paired(r: random.Random, premise: str, claim: str) -> JSON:
    """Text and claim in one state, the text first."""
    if coin(r, 0.25):
        keys = r.choice(PAIRED_KEYS)
        return {keys[0]: premise, keys[1]: claim}
    return r.choice(PAIRED).format(p=premise, C=claim)
