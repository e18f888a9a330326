"""`Member`: an option as the caller's object, with the name and the description that a model reads."""

from __future__ import annotations

import ast
import functools
import inspect
import json
import textwrap
import tokenize
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from enum import Enum, Flag
from itertools import pairwise
from typing import Any, Literal, get_args, get_origin

import attrs

from tiebreak.errors import InvalidRequest
from tiebreak.typed.annotation import is_class
from tiebreak.typed.markers import Describe

__all__ = ["NONE", "Member", "is_label", "is_pick", "members", "named", "purpose", "truth"]

NONE = "none of these"


@attrs.frozen(kw_only=True)
class Member:
    """One option of a field.

    Attributes:
        value: the caller's object.
        name: what the model reads, unique in the field.
        description: what it means, None where nobody says.
    """

    value: Any
    name: str
    description: str | None = None


def is_label(value: object) -> bool:
    """Whether a value can be an option: text, a whole number, a bool, or a member of an Enum that is no Flag."""
    return isinstance(value, (str, int, Enum)) and not isinstance(value, Flag)


def is_pick(arm: Any) -> bool:
    """Whether a type has a few known values: bool, an Enum that is no Flag, or a Literal."""
    if get_origin(arm) is Literal:
        return all(map(is_label, get_args(arm)))
    return is_class(arm) and (arm is bool or (issubclass(arm, Enum) and not issubclass(arm, Flag)))


def members(arms: Sequence[Any], options: Describe | None, *, optional: bool = False) -> tuple[Member, ...]:
    """The options of a union of bool, Enum and Literal types, in order, aliases of an Enum left out.

    Args:
        arms: types for which `is_pick` holds.
        options: what they mean, where the caller says so; an Enum's own docstrings otherwise.
        optional: one more option, None, stands last: *none of these*.

    Raises:
        InvalidRequest: a description of something that is no option.
    """
    values: list[Any] = []
    for arm in arms:
        for value in _values(arm):
            if not any(_same(value, known) for known in values):
                values.append(value)
    found = list(named([*values, None] if optional else values))
    for option, text in options.descriptions if options else ():
        index = next((i for i, member in enumerate(found) if _same(member.value, option)), None)
        if index is None:
            known = ", ".join(repr(member.value) for member in found)
            raise InvalidRequest(f"Describe names {option!r}, which is none of {known}.")
        found[index] = attrs.evolve(found[index], description=text)
    return tuple(found)


def named(values: Sequence[Any], descriptions: Sequence[str | None] | None = None) -> tuple[Member, ...]:
    """Options from the values themselves: each with a name of its own, None as *none of these*.

    Args:
        values: what may be answered, in order.
        descriptions: one per value, None for what an Enum's docstrings say.

    Raises:
        InvalidRequest: a value is given twice.
    """
    for index, value in enumerate(values):
        if any(_same(value, earlier) for earlier in values[:index]):
            raise InvalidRequest(f"Option {value!r} is given twice.", remedy="Leave one.")
    texts = descriptions or [None] * len(values)
    return tuple(
        Member(value=value, name=name, description=text or _documented(value))
        for value, name, text in zip(values, _names(values), texts, strict=True)
    )


def truth(value: object) -> bool | None:
    """What a member of a yes/no means: itself, or the value of an Enum's member; None where it is neither."""
    plain = value.value if isinstance(value, Enum) else value
    return plain if isinstance(plain, bool) else None


def purpose(arms: Sequence[Any]) -> str | None:
    """What an Enum's own docstring says, where a field is one Enum."""
    if len(arms) != 1 or not is_class(arms[0]) or not issubclass(arms[0], Enum):
        return None
    text = vars(arms[0]).get("__doc__")
    # Python 3.10 gives every Enum the first, 3.11 some of them the second.
    return None if not text or text in ("An enumeration.", Enum.__doc__) else inspect.cleandoc(text)


def _values(arm: Any) -> Sequence[Any]:
    if arm is bool:
        return (False, True)
    return get_args(arm) if get_origin(arm) is Literal else list(arm)


def _same(one: object, other: object) -> bool:
    """Equal and of one type: 1, True and an IntEnum's member are three options."""
    return type(one) is type(other) and one == other


def _names(values: Sequence[Any]) -> list[str]:
    """A name for each value: the plain one where that is clear, else one that tells 1 and "1" apart."""
    plain = [_plain(value) for value in values]
    seen = Counter(map(_normal, plain))
    names = [
        _exact(value) if not name.strip() or (seen[_normal(name)] > 1 and value is not None) else name
        for value, name in zip(values, plain, strict=True)
    ]
    if len(set(map(_normal, names))) == len(names):
        return names
    return [NONE if value is None else _exact(value) for value in values]


def _normal(name: str) -> str:
    return unicodedata.normalize("NFC", name)


def _plain(value: Any) -> str:
    if isinstance(value, Enum):
        # The number of a member says nothing to a model; its name may.
        return str(value.value) if isinstance(value.value, str) and value.value.strip() else value.name
    if value is None:
        return NONE
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _exact(value: Any) -> str:
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    return json.dumps(value, ensure_ascii=False)


def _documented(value: Any) -> str | None:
    return _docstrings(type(value)).get(value.name) if isinstance(value, Enum) else None


@functools.lru_cache(maxsize=256)
def _docstrings(kind: type[Enum]) -> Mapping[str, str]:
    """Member name -> the string that stands below it in the source; none where there is no source to read."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(kind)))
    except (OSError, TypeError, SyntaxError, tokenize.TokenError):
        return {}
    found = {}
    top = tree.body[0] if tree.body else None
    # Where classes are made from text, what is found in the file may be something else.
    body = top.body if isinstance(top, ast.ClassDef) and top.name == kind.__name__ else []
    for statement, below in pairwise(body):
        if not (
            isinstance(statement, ast.Assign)
            and isinstance(statement.targets[0], ast.Name)
            and isinstance(below, ast.Expr)
            and isinstance(below.value, ast.Constant)
            and isinstance(below.value.value, str)
        ):
            continue
        # An alias has no description of its own: the member that it means may have one.
        found[statement.targets[0].id] = inspect.cleandoc(below.value.value)
    return found
