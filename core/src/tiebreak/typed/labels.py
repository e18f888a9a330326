"""`labelled`: the form of a list of labels that is known only when it is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, TypeVar

from tiebreak.errors import InvalidRequest
from tiebreak.questions import DEFAULT_QUESTION, choice
from tiebreak.typed.annotation import is_class
from tiebreak.typed.form import Form
from tiebreak.typed.leaf import Pick
from tiebreak.typed.members import Member, is_label, named

__all__ = ["labelled"]

T = TypeVar("T")


def labelled(labels: type[T] | Sequence[T] | Mapping[T, str | None], question: str | None) -> Form[T]:
    """The form that chooses one of some labels; see `Asking.classify`.

    Raises:
        InvalidRequest: fewer than two labels, one given twice, or one that cannot be shown to a model.
    """
    if is_class(labels):
        if not issubclass(labels, Enum):
            raise InvalidRequest(f"The labels are {labels.__name__}.", remedy="Pass an Enum, a list or a mapping.")
        return Form.of(labels, question)
    found = _members(labels)
    asked = choice(DEFAULT_QUESTION if question is None else question, {each.name: each.description for each in found})
    pick = Pick(questions={"answer": asked}, objects=tuple(each.value for each in found))
    return Form(name="labels", leaves={"answer": pick}, made="answer")


def _members(labels: object) -> Sequence[Member]:
    if isinstance(labels, Mapping):
        given: list[Any] = list(labels)
        texts = list(labels.values())
    elif isinstance(labels, Sequence) and not isinstance(labels, (str, bytes)):
        given, texts = list(labels), [None] * len(labels)
    else:
        raise InvalidRequest(
            f"The labels are {labels!r}." if isinstance(labels, str) else f"The labels are {type(labels).__name__}.",
            remedy="Pass an Enum, a list in order, or a mapping of label to description.",
        )
    for label in given:
        if label is not None and not is_label(label):
            raise InvalidRequest(
                f"Label {label!r} is {type(label).__name__}.",
                remedy="A label is text, a whole number, a bool or a member.",
            )
    return named(given, texts)
