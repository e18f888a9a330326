"""`Judged`: a typed value with the evidence beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, TypeVar

import attrs

from tiebreak.answers import Answer, Decision

__all__ = ["Judged", "JudgedField"]

T = TypeVar("T")


@attrs.frozen(kw_only=True)
class JudgedField:
    """What was decided about one field.

    Attributes:
        value: what the field holds; always one of the caller's own objects.
        odds: (option, probability) in the order asked. The probabilities of a pick-one, a yes/no and a rubric sum to
            1; those of a list are one yes each. Pairs, because 1 and True are one key in a mapping.
        answers: question name -> answer, as the Decider gave it; none where only one value is possible.
    """

    value: object
    odds: tuple[tuple[object, float], ...]
    answers: Mapping[str, Answer]

    @property
    def probability(self) -> float:
        """The probability of what was decided; for a list that of its least certain option."""
        return min((answer.probability for answer in self.answers.values()), default=1.0)

    @property
    def margin(self) -> float:
        """How far the decision is ahead of the next one; for a list that of its least certain option."""
        return min((answer.margin for answer in self.answers.values()), default=1.0)


@attrs.frozen(kw_only=True)
class Judged(Generic[T]):
    """A typed value, and why.

    Attributes:
        value: the instance, the member or the label.
        fields: dotted path of a field -> what was decided about it; `answer` where the value is no record.
        decision: the decision that all of it was read from: timings, cache report and receipt.
    """

    value: T
    fields: Mapping[str, JudgedField]
    decision: Decision
