"""`Example`: one decision with its answer, whatever wrote it: a task file or a generator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from tiebreak.questions import JSON, Kind, Option, Question

__all__ = ["Example", "choice", "score", "yes_no"]


@attrs.frozen(kw_only=True)
class Example:
    """A state, a question about it and the right answer.

    Attributes:
        family: the kind of decision, for example `support_route`; families are sampled alike and reported apart.
        state: text, or a JSON object or array.
        question: what is asked, with its options in the order in which the model shall see them.
        gold: index of the right option; for yes/no 0 is no and 1 is yes, for a score the level.
    """

    family: str
    state: JSON
    question: Question
    gold: int

    def __attrs_post_init__(self) -> None:
        if not 0 <= self.gold < len(self.question.options):
            raise ValueError(f"{self.family}: gold {self.gold} is none of {len(self.question.options)} options")

    @property
    def kind(self) -> Kind:
        """`choice`, `yes_no` or `score`."""
        return self.question.kind


def choice(
    family: str, state: JSON, question: str, options: Sequence[str] | Mapping[str, str | None], gold: int
) -> Example:
    """A choice among names, or names with descriptions, as they stand: whoever calls this has shuffled them.

    Raises:
        ValueError: fewer than two options, a name twice, or a gold that is none of them.
    """
    named = options if isinstance(options, Mapping) else dict.fromkeys(options)
    if not 2 <= len(named) == len(options):
        raise ValueError(f"{family}: {options} are not two or more different options")
    listed = tuple(Option(name=name, description=text or None) for name, text in named.items())
    return Example(
        family=family, state=state, question=Question(kind="choice", text=question, options=listed), gold=gold
    )


def yes_no(
    family: str, state: JSON, question: str, answer: bool, *, yes: str | None = None, no: str | None = None
) -> Example:
    """A yes/no question; `yes` and `no` say what the answers mean here."""
    options = (Option(name="no", description=no), Option(name="yes", description=yes))
    return Example(
        family=family, state=state, question=Question(kind="yes_no", text=question, options=options), gold=int(answer)
    )


def score(family: str, state: JSON, question: str, levels: Sequence[str], gold: int) -> Example:
    """A place on a rubric of levels, lowest first. Which level is judged in a training row is drawn later.

    Raises:
        ValueError: fewer than two levels, a level twice, or a gold that is none of them.
    """
    if len(levels) < 2 or len(set(levels)) < len(levels):
        raise ValueError(f"{family}: {levels} are not two or more different levels")
    options = tuple(Option(name=level) for level in levels)
    return Example(
        family=family, state=state, question=Question(kind="score", text=question, options=options), gold=gold
    )
