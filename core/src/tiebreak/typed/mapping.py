"""`leaf`: which questions the type of a field takes."""

from __future__ import annotations

import collections.abc
from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Any, get_args, get_origin

import attrs

from tiebreak.errors import InvalidRequest
from tiebreak.questions import DEFAULT_QUESTION, Question, choice, score, yes_no
from tiebreak.stages.decider import FIT_QUESTION
from tiebreak.typed.annotation import Annotation, shown
from tiebreak.typed.leaf import Fixed, Leaf, Pick, Several, Share
from tiebreak.typed.members import Member, is_pick, members, purpose, truth

__all__ = ["Subject", "leaf"]

REMEDY = (
    "A field is a bool, a Literal, an Enum, Optional of these, a list of these, a float with ge=0 and le=1, an int "
    "with Levels, or a model of such fields."
)
MOST_LEVELS = 10
"""A described IntEnum of more members is a choice: no rubric has so many levels."""


@attrs.frozen(kw_only=True)
class Subject:
    """What a field's question is about.

    Attributes:
        path: the attributes that lead to it.
        name: the path as one name.
        words: what the fields on the way are called.
        context: what its record and those around it say about themselves, outermost first.
    """

    path: tuple[str, ...]
    context: tuple[str, ...]
    name: str = ""
    words: tuple[str, ...] = ()

    def text(self, question: str | None, otherwise: str | None) -> str:
        """What is asked: the context, and below it the question, or what its name suggests.

        Raises:
            InvalidRequest: nothing says what is asked.
        """
        if not question:
            words = " ".join(self.words)
            if words:
                question = f"{words[0].upper()}{words[1:]}{'?' if otherwise is None else f': {otherwise}'}"
            elif otherwise is None:
                raise InvalidRequest("Nothing says what is asked.", remedy='Write Annotated[TYPE, "the question"].')
            else:
                question = f"{otherwise[0].upper()}{otherwise[1:]}"
        return "\n".join((*self.context, question))


WHICH = DEFAULT_QUESTION[0].lower() + DEFAULT_QUESTION[1:]


def leaf(subject: Subject, annotation: Annotation) -> Leaf:
    """The leaf for a field that is no record.

    Raises:
        InvalidRequest: no question can answer its type, or what is said about it does not fit.
    """
    arms = annotation.arms
    if arms and all(map(is_pick, arms)):
        return _pick(subject, annotation)
    if len(arms) == 1:
        (arm,) = arms
        if get_origin(arm) in GATHER:
            _without(annotation, "levels")
            return _several(subject, annotation)
        if arm is float:
            _without(annotation, "levels")
            return _share(subject, annotation)
        if arm is int:
            return _rubric(subject, annotation)
    kind = " | ".join(map(shown, arms)) or "None"
    raise InvalidRequest(f"no question can answer {kind}.", remedy=REMEDY)


def _without(annotation: Annotation, marker: str) -> None:
    """Refuse a marker that would say nothing here."""
    found = getattr(annotation, marker)
    if found is not None:
        kind = " | ".join(map(shown, annotation.arms))
        raise InvalidRequest(f"{type(found).__name__} says nothing about {kind}.", remedy="Drop it.")


def _pick(subject: Subject, annotation: Annotation) -> Leaf:
    found = members(annotation.arms, annotation.options, optional=annotation.optional)
    asked = annotation.question or purpose(annotation.arms)
    if len(found) == 1:
        return Fixed(questions={}, value=found[0].value)
    if annotation.levels is not None or _is_rubric(found):
        return _levels(subject, annotation, found)
    sides = {truth(member.value): member for member in found}
    if len(found) == 2 and set(sides) == {False, True}:
        question = yes_no(subject.text(asked, None), yes=sides[True].description, no=sides[False].description)
        return Pick(questions={subject.name: question}, objects=(sides[False].value, sides[True].value))
    question = choice(subject.text(asked, WHICH), {each.name: each.description for each in found})
    return Pick(questions={subject.name: question}, objects=tuple(each.value for each in found))


def _is_rubric(found: Sequence[Member]) -> bool:
    """Whether the members are those of an IntEnum that counts from 0, each described."""
    return 2 <= len(found) <= MOST_LEVELS and all(
        isinstance(each.value, IntEnum) and each.value == place and each.description for place, each in enumerate(found)
    )


def _levels(subject: Subject, annotation: Annotation, found: Sequence[Member]) -> Leaf:
    """A rubric over members; with *none of these* among them it has no order and is a choice."""
    texts = annotation.levels.texts if annotation.levels else ()
    ordered = [each for each in found if each.value is not None]
    if texts and len(texts) != len(ordered):
        raise InvalidRequest(f"{len(texts)} levels are described, but it has {len(ordered)}.")
    names = {each.name: text for each, text in zip(ordered, texts, strict=True)} if texts else {}
    options = {each.name: names.get(each.name, each.description) for each in found}
    asked = subject.text(annotation.question or purpose(annotation.arms), WHICH)
    question = choice(asked, options) if annotation.optional else score(asked, options)
    return Pick(questions={subject.name: question}, objects=tuple(each.value for each in found))


def _rubric(subject: Subject, annotation: Annotation) -> Leaf:
    """An int: the numbers from `ge`, else from 0 on, one per level."""
    if annotation.levels is None or not annotation.levels.texts:
        raise InvalidRequest(
            "an int has no end of possible values.", remedy='Write Annotated[int, Levels("lowest", ..., "highest")].'
        )
    texts = annotation.levels.texts
    lowest = int(annotation.low or 0)
    highest = lowest + len(texts) - 1
    if annotation.exclusive or (annotation.high is not None and annotation.high != highest):
        raise InvalidRequest(
            f"{len(texts)} levels go from {lowest} to {highest}, which its bounds are not.",
            remedy="Describe each number from ge to le.",
        )
    numbers: tuple[int | None, ...] = tuple(range(lowest, highest + 1))
    asked = subject.text(annotation.question, WHICH)
    question: Question
    if annotation.optional:
        (none,) = members((), annotation.options, optional=True)
        question = choice(asked, {**dict.fromkeys(texts), none.name: none.description})
        numbers = (*numbers, None)
    else:
        _without(annotation, "options")
        question = score(asked, texts)
    return Pick(questions={subject.name: question}, objects=numbers)


def _share(subject: Subject, annotation: Annotation) -> Leaf:
    if annotation.exclusive or (annotation.low, annotation.high) != (0, 1):
        raise InvalidRequest(
            "a float is the probability of yes only between 0 and 1, both included.",
            remedy="Write Annotated[float, Field(ge=0, le=1)].",
        )
    if annotation.optional:
        raise InvalidRequest("a probability cannot be None.", remedy="Drop the None.")
    sides = {member.value: member.description for member in members((bool,), annotation.options)}
    question = yes_no(subject.text(annotation.question, None), yes=sides[True], no=sides[False])
    return Share(questions={subject.name: question})


def _several(subject: Subject, annotation: Annotation) -> Leaf:
    """One yes/no per option: each is judged on its own, so any number of them may hold."""
    arm = annotation.arms[0]
    origin, inner = get_origin(arm), get_args(arm)
    if annotation.optional:
        raise InvalidRequest(f"{shown(arm)} cannot be None: an empty one says that none fits.", remedy="Drop the None.")
    fits = {dict: len(inner) == 2 and inner[1] is bool, tuple: len(inner) == 2 and inner[1] is ...}
    each = Annotation.of(inner[0]) if inner else Annotation(arms=())
    if not fits.get(origin, True) or each.optional or not each.arms or not all(map(is_pick, each.arms)):
        raise InvalidRequest(f"no question can answer {shown(arm)}.", remedy=REMEDY)
    found = members(each.arms, annotation.options or each.options)
    values = [member.value for member in found]
    if origin in (set, frozenset, dict) and len(set(values)) < len(values):
        raise InvalidRequest(f"some options of {shown(arm)} are equal, as 1 and True are.", remedy="Use a list.")
    asked = subject.text(annotation.question or each.question or purpose(each.arms), WHICH)
    questions = {}
    for member in found:
        proposed = f"{member.name}: {member.description}" if member.description else member.name
        # Worded as the levels of a rubric are, which models trained to decide have seen.
        questions[f"{subject.name}.{member.name}"] = yes_no(f"{asked}\nProposed answer: {proposed}\n{FIT_QUESTION}")
    return Several(questions=questions, objects=tuple(values), gather=GATHER[origin])


def _chosen(chosen: Sequence[tuple[object, bool]]) -> list[object]:
    return [each for each, yes in chosen if yes]


GATHER: dict[Any, Callable[[Sequence[tuple[object, bool]]], Any]] = {
    list: _chosen,
    tuple: lambda chosen: tuple(_chosen(chosen)),
    set: lambda chosen: set(_chosen(chosen)),
    frozenset: lambda chosen: frozenset(_chosen(chosen)),
    dict: dict,
    collections.abc.Sequence: _chosen,
}
