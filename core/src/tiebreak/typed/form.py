"""`Form`: a type as questions, and a decision as an instance of it."""

from __future__ import annotations

import functools
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

import attrs

from tiebreak.answers import Decision
from tiebreak.errors import BadReply, InvalidRequest
from tiebreak.questions import Question, Request
from tiebreak.typed.annotation import Annotation, is_class
from tiebreak.typed.judged import Judged
from tiebreak.typed.leaf import Leaf
from tiebreak.typed.mapping import Subject, leaf
from tiebreak.typed.record import Record

__all__ = ["Form"]

T = TypeVar("T")
ALONE = "answer"
"""What a value that is no record is called among the fields."""


@attrs.frozen(kw_only=True)
class _Made:
    """A record inside a form: its parts by field name, each a path of a leaf or a record again."""

    record: Record
    parts: Mapping[str, _Made | str]

    def value(self, values: Mapping[str, object]) -> object:
        """The instance, from leaf path -> value."""
        return self.record.make(
            {name: part.value(values) if isinstance(part, _Made) else values[part] for name, part in self.parts.items()}
        )


@attrs.frozen(kw_only=True)
class Form(Generic[T]):
    """A type, understood once: ask its `questions` in any way and `read` the decisions.

    Attributes:
        name: what the type is called in messages.
        leaves: dotted path of a field -> how it is asked and read.
    """

    name: str
    leaves: Mapping[str, Leaf]
    _made: _Made | str

    @classmethod
    def of(cls, kind: type[T], question: str | None = None) -> Form[T]:
        """Understand a type.

        Args:
            kind: a pydantic model, a dataclass or an attrs class whose fields can be asked about, or one such field's
                type: bool, an Enum, a Literal, `Annotated[...]`, a list of these.
            question: what is asked, where the type alone does not say it.

        Raises:
            InvalidRequest: naming the field and the type that no question can answer.
        """
        understood: Any = kind  # an object like any other, which type checkers do not know to be hashable
        return _class(understood) if is_class(kind) and question is None else _form(kind, question)

    @property
    def questions(self) -> Mapping[str, Question]:
        """All questions, to be asked in one request."""
        return {name: question for leaf in self.leaves.values() for name, question in leaf.questions.items()}

    def read(self, decision: Decision) -> Judged[T]:
        """The instance that a decision means, with its evidence.

        Args:
            decision: the answers to all of `questions`; others beside them are left alone.

        Raises:
            BadReply: a validator of the caller's refuses the values, with its error as the cause.
        """
        fields = {
            path: leaf.read({name: decision.answers[name] for name in leaf.questions})
            for path, leaf in self.leaves.items()
        }
        values = {path: field.value for path, field in fields.items()}
        try:
            value: Any = self._made.value(values) if isinstance(self._made, _Made) else values[self._made]
        except ValueError as error:
            raise BadReply(
                f"{self.name} refuses what was decided: {error}",
                remedy="Ask a question whose every answer its validators take.",
                engine=decision.receipt.engine,
            ) from error
        return Judged(value=value, fields=fields, decision=decision)


@functools.lru_cache(maxsize=256)
def _class(kind: Hashable) -> Form[Any]:
    return _form(kind, None)


def _form(kind: Any, question: str | None) -> Form[Any]:
    walk = _Walk(getattr(kind, "__name__", str(kind)))
    with walk.at(()):
        made = walk.part(Subject(path=(), context=()), Annotation.of(kind, question=question))
    form: Form[Any] = Form(name=walk.name, leaves=walk.leaves, made=made)
    if not form.questions:
        raise InvalidRequest(
            f"{walk.name} has nothing to ask: each field has one possible value, or there is none.",
            remedy="Give it a field with at least two.",
        )
    Request.of("", form.questions)  # names and texts that no engine could carry are refused now, not at the first call
    return form


class _Walk:
    """One walk over a type and the records inside it, which collects the leaves."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.leaves: dict[str, Leaf] = {}
        self._inside: list[type] = []
        self._said: InvalidRequest | None = None

    def part(self, subject: Subject, annotation: Annotation) -> _Made | str:
        """One field, or the type itself where the path is empty."""
        record = Record.of(annotation.arms[0]) if len(annotation.arms) == 1 else None
        if record is None:
            path = ".".join(subject.path) or ALONE
            self.leaves[path] = leaf(attrs.evolve(subject, name=path), annotation)
            return path
        kind = annotation.arms[0]
        if annotation.optional:
            raise InvalidRequest(f"{kind.__name__} is optional, and a record cannot be answered with None.")
        if kind in self._inside:
            raise InvalidRequest(f"{kind.__name__} contains itself: there is no end to what would be asked.")
        self._inside.append(kind)
        context = (*subject.context, *(text for text in (annotation.question, record.purpose) if text))
        parts = {}
        for field in record.fields:
            inner = attrs.evolve(
                subject, path=(*subject.path, field.name), words=(*subject.words, field.words), context=context
            )
            with self.at(inner.path):
                parts[field.name] = self.part(inner, Annotation.of(field.hint, field.beside, field.question))
        self._inside.pop()
        return _Made(record=record, parts=parts)

    @contextmanager
    def at(self, path: tuple[str, ...]) -> Iterator[None]:
        """Say in an error which field of which type it is about; the innermost field says it."""
        try:
            yield
        except InvalidRequest as error:
            if error is self._said:
                raise
            where = f"Field {'.'.join(path)!r} of {self.name}" if path else self.name
            self._said = InvalidRequest(f"{where}: {error.message}", remedy=error.remedy)
            raise self._said from None
