"""`Leaf`: one field, the questions that it takes, and how its value is read from their answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from tiebreak.answers import Answer
from tiebreak.questions import Question
from tiebreak.typed.judged import JudgedField

__all__ = ["Fixed", "Leaf", "Pick", "Several", "Share"]


@attrs.frozen(kw_only=True)
class Leaf(ABC):
    """One field of a form.

    Attributes:
        questions: what is asked about it, under names that are unique in the form.
    """

    questions: Mapping[str, Question]

    @abstractmethod
    def read(self, answers: Mapping[str, Answer]) -> JudgedField:
        """What was decided about this field.

        Args:
            answers: those to its own questions, under their names.
        """


@attrs.frozen(kw_only=True)
class Fixed(Leaf):
    """A field with only one possible value, about which nobody is asked."""

    value: object

    def read(self, answers: Mapping[str, Answer]) -> JudgedField:
        """See `Leaf.read`."""
        return JudgedField(value=self.value, odds=((self.value, 1.0),), answers=answers)


@attrs.frozen(kw_only=True)
class Pick(Leaf):
    """One of several objects: a choice, a yes/no, or a rubric.

    Attributes:
        objects: the caller's objects, in the order of the question's options.
    """

    objects: tuple[object, ...]

    def read(self, answers: Mapping[str, Answer]) -> JudgedField:
        """See `Leaf.read`."""
        ((name, answer),) = answers.items()
        at = answer.value
        index = int(at) if isinstance(at, bool) else self.questions[name].names.index(at)
        odds = tuple(zip(self.objects, answer.probabilities.values(), strict=True))
        return JudgedField(value=self.objects[index], odds=odds, answers=answers)


@attrs.frozen(kw_only=True)
class Share(Leaf):
    """The probability of yes itself, from 0 to 1."""

    def read(self, answers: Mapping[str, Answer]) -> JudgedField:
        """See `Leaf.read`."""
        (answer,) = answers.values()
        no, yes = answer.probabilities.values()
        return JudgedField(value=yes, odds=((False, no), (True, yes)), answers=answers)


@attrs.frozen(kw_only=True)
class Several(Leaf):
    """Any number of objects, each a yes/no question of its own, asked on its own.

    Attributes:
        objects: the caller's objects, in the order of the questions.
        gather: makes the field's value from the objects and whether each was chosen.
    """

    objects: tuple[object, ...]
    gather: Callable[[Sequence[tuple[object, bool]]], Any]

    def read(self, answers: Mapping[str, Answer]) -> JudgedField:
        """See `Leaf.read`."""
        found = [answers[name] for name in self.questions]
        chosen = [(each, answer.value is True) for each, answer in zip(self.objects, found, strict=True)]
        odds = tuple((each, answer.probabilities["yes"]) for each, answer in zip(self.objects, found, strict=True))
        return JudgedField(value=self.gather(chosen), odds=odds, answers=answers)
