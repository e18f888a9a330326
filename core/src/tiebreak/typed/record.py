"""`Record`: the fields of a pydantic model, a dataclass or an attrs class, and how an instance is made."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from typing import Any, get_type_hints

import attrs
import pydantic
from pydantic.fields import FieldInfo

from tiebreak.errors import InvalidRequest
from tiebreak.typed.annotation import is_class

__all__ = ["Record", "RecordField"]


@attrs.frozen(kw_only=True)
class RecordField:
    """One field as its class declares it.

    Attributes:
        name: the attribute.
        words: what it is called where nothing says what is asked.
        hint: its annotation.
        beside: metadata that was already taken out of the annotation.
        question: its description, None without one.
    """

    name: str
    words: str
    hint: Any
    beside: tuple[Any, ...] = ()
    question: str | None = None


@attrs.frozen(kw_only=True)
class Record:
    """A class whose fields are asked about.

    Attributes:
        fields: those that its constructor takes, in order.
        purpose: its docstring, None without one.
        make: an instance from field name -> value; may raise ValueError where the class refuses the values.
    """

    fields: tuple[RecordField, ...]
    purpose: str | None
    make: Callable[[Mapping[str, Any]], Any]

    @classmethod
    def of(cls, kind: Any) -> Record | None:
        """What a class declares; None where it is no class with fields.

        Raises:
            InvalidRequest: its annotations cannot be resolved, or it is a kind of model without fields.
        """
        if not is_class(kind):
            return None
        if issubclass(kind, pydantic.BaseModel):
            return _of_pydantic(kind)
        if pydantic.dataclasses.is_pydantic_dataclass(kind):
            infos: Mapping[str, FieldInfo] = kind.__pydantic_fields__
            keys = {name: _key(name, info, kind.__pydantic_config__)[0] for name, info in infos.items()}
            fields = tuple(_field(name, info) for name, info in infos.items() if info.init is not False)
            return cls(fields=fields, purpose=_purpose(kind), make=_caller(kind, keys))
        if dataclasses.is_dataclass(kind):
            names = {field.name: field.name for field in dataclasses.fields(kind) if field.init}
        elif attrs.has(kind):
            names = {field.name: field.alias or field.name for field in attrs.fields(kind) if field.init}
        else:
            return None
        hints = _hints(kind)
        fields = tuple(RecordField(name=name, words=_words(name), hint=hints[name]) for name in names)
        return cls(fields=fields, purpose=_purpose(kind), make=_caller(kind, names))


def _of_pydantic(kind: type[pydantic.BaseModel]) -> Record:
    if issubclass(kind, pydantic.RootModel):
        raise InvalidRequest(f"{kind.__name__} is a RootModel, which has no fields.", remedy="Use a BaseModel.")
    try:
        kind.model_rebuild()  # does nothing where all names are known already
    except pydantic.errors.PydanticUndefinedAnnotation as error:
        raise InvalidRequest(
            f"An annotation of {kind.__name__} cannot be resolved: name {error.name!r} is not defined.",
            remedy="Define it before the model is used.",
        ) from None
    infos = kind.model_fields
    keys = {name: _key(name, info, kind.model_config) for name, info in infos.items()}

    def make(values: Mapping[str, Any]) -> pydantic.BaseModel:
        data: dict[str, Any] = {}
        for name, value in values.items():
            _place(data, keys[name], value)
        return kind.model_validate(data)

    return Record(fields=tuple(_field(name, info) for name, info in infos.items()), purpose=_purpose(kind), make=make)


def _field(name: str, info: FieldInfo) -> RecordField:
    return RecordField(
        name=name,
        words=info.title or _words(name),
        hint=info.annotation,
        beside=tuple(info.metadata),
        question=info.description,
    )


def _key(name: str, info: FieldInfo, config: Mapping[str, Any] | None) -> tuple[str | int, ...]:
    """Where validation looks for a field: the path of its alias, else its name."""
    alias = info.validation_alias
    if isinstance(alias, pydantic.AliasChoices):
        alias = alias.choices[0]
    if alias is None or not (config or {}).get("validate_by_alias", True):
        return (name,)
    return (alias,) if isinstance(alias, str) else tuple(alias.path)


def _place(data: dict[str, Any], path: tuple[str | int, ...], value: Any) -> None:
    """Put a value at a path of nested mappings and lists, which are made on the way."""
    here: Any = data
    for step, after in zip(path, (*path[1:], None), strict=True):
        if isinstance(here, list):
            assert isinstance(step, int)
            here.extend([None] * (step + 1 - len(here)))
            known = here[step]
        else:
            known = here.get(step)
        if after is None:
            here[step] = value
            return
        if known is None:
            known = here[step] = [] if isinstance(after, int) else {}
        here = known


def _caller(kind: Callable[..., Any], keys: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], Any]:
    return lambda values: kind(**{keys[name]: value for name, value in values.items()})


def _hints(kind: type) -> Mapping[str, Any]:
    try:
        return get_type_hints(kind, include_extras=True)
    except NameError as error:
        raise InvalidRequest(
            f"An annotation of {kind.__name__} cannot be resolved: {error}.",
            remedy="Define that name in the module, not in a function.",
        ) from None


def _words(name: str) -> str:
    return " ".join(name.replace("_", " ").split())


def _purpose(kind: type) -> str | None:
    """A class's own docstring; the one that `dataclass` writes is only its signature."""
    text = vars(kind).get("__doc__")
    if not text or text.startswith(f"{kind.__name__}("):
        return None
    return inspect.cleandoc(text)
