"""`Annotation`: what stands in the annotation of a field, taken apart."""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Literal, TypeGuard, Union, get_args, get_origin

import attrs

from tiebreak.errors import InvalidRequest
from tiebreak.typed.markers import Describe, Levels

__all__ = ["Annotation", "is_class", "shown"]


@attrs.frozen(kw_only=True)
class Annotation:
    """The parts of an annotation.

    Attributes:
        arms: the types of the union that it is, without None; one where it is no union.
        optional: None is allowed.
        question: what is asked, None where nothing says it.
        options, levels: the markers, where there are any.
        low, high: inclusive bounds of a number.
        exclusive: a bound was given that is not inclusive.
    """

    arms: tuple[Any, ...]
    optional: bool = False
    question: str | None = None
    options: Describe | None = None
    levels: Levels | None = None
    low: float | None = None
    high: float | None = None
    exclusive: bool = False

    @classmethod
    def of(cls, hint: Any, beside: Iterable[Any] = (), question: str | None = None) -> Annotation:
        """Take an annotation apart.

        Args:
            hint: the annotation itself.
            beside: metadata that was already taken out of it.
            question: what else says what is asked, as a field's description.

        Raises:
            InvalidRequest: it says the same thing twice, differently.
        """
        arms: list[Any] = []
        found = _Metadata()
        optional = False
        for arm in _arms(hint, found):
            if arm is None or arm is type(None):
                optional = True
            else:
                arms.append(arm)
        found.add(beside)
        if question:
            found.put("question", question)
        return cls(arms=tuple(arms), optional=optional, **found.values)


class _Metadata:
    """What `Annotated` says beside the type."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}

    def add(self, items: Iterable[Any]) -> None:
        """Take what is understood; validators and what belongs to others is left alone."""
        import annotated_types
        from pydantic.fields import FieldInfo

        for item in items:
            if isinstance(item, str):
                self.put("question", item)
            elif isinstance(item, Describe):
                self.put("options", item)
            elif isinstance(item, Levels):
                self.put("levels", item)
            elif isinstance(item, FieldInfo):
                if item.description:
                    self.put("question", item.description)
                self.add(item.metadata)
            elif isinstance(item, annotated_types.Ge):
                self.put("low", item.ge)
            elif isinstance(item, annotated_types.Le):
                self.put("high", item.le)
            elif isinstance(item, (annotated_types.Gt, annotated_types.Lt)):
                self.put("exclusive", True)
            elif isinstance(item, annotated_types.GroupedMetadata):
                self.add(item)

    def put(self, name: str, value: Any) -> None:
        before = self.values.setdefault(name, value)
        if before is not value and before != value:
            raise InvalidRequest(
                f"The {_NOUNS.get(name, 'bound')} is given twice: {before!r} and {value!r}.", remedy="Leave one."
            )


_NOUNS = {"question": "question", "options": "description of the options", "levels": "rubric"}


def _arms(hint: Any, found: _Metadata) -> Iterator[Any]:
    """The types of a union, those inside it included; what `Annotated` says is collected on the way."""
    origin = get_origin(hint)
    if origin is Annotated:
        inner, *metadata = get_args(hint)
        found.add(metadata)
        yield from _arms(inner, found)
    elif origin is Union or origin is types.UnionType:
        for arm in get_args(hint):
            yield from _arms(arm, found)
    elif origin is Literal and None in get_args(hint):
        others = tuple(value for value in get_args(hint) if value is not None)
        yield None
        if others:
            yield Literal[others]
    elif type(hint).__name__ == "TypeAliasType":  # `type Name = ...`, Python 3.12 and typing_extensions
        yield from _arms(hint.__value__, found)
    else:
        yield hint


def is_class(hint: Any) -> TypeGuard[type[Any]]:
    """Whether an annotation is a class; Python 3.10 takes `list[int]` for one, too."""
    return isinstance(hint, type) and get_origin(hint) is None


def shown(hint: Any) -> str:
    """A type as its author would write it."""
    if is_class(hint):
        return hint.__name__
    return str(hint).replace("typing.", "").replace("typing_extensions.", "")
