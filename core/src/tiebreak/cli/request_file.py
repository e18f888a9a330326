"""The files with questions that commands take: checked whole; every complaint names the path of what is wrong."""

from __future__ import annotations

import difflib
import json
from typing import Any, Literal, TypeVar

import pydantic

from tiebreak.cli.document import Document
from tiebreak.errors import InvalidRequest
from tiebreak.questions import JSON, Question, choice, score, yes_no

__all__ = ["parse", "parse_columns", "request_of"]

SHOWN = 3


class _Strict(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", strict=True, hide_input_in_errors=True)


class _Question(_Strict):
    """One question; which of the last four fields it takes is up to its kind."""

    kind: Literal["choice", "yes_no", "score"]
    question: str | None = None
    options: Any = None
    levels: Any = None
    yes: str | None = None
    no: str | None = None


class _Request(_Strict):
    state: Any
    questions: dict[str, _Question]


class _Mapped(_Strict):
    questions: dict[str, _Question]
    columns: str | list[str] | None = None


F = TypeVar("F", _Request, _Mapped)

FIELDS = {"choice": ("options",), "score": ("levels",), "yes_no": ("yes", "no")}


def parse(document: Document) -> tuple[JSON, dict[str, Question]]:
    """The state and the questions of a request file.

    Raises:
        InvalidRequest: naming the path, as in `questions.team.options`, and what should be there.
    """
    return request_of(document.json(), document.source)


def request_of(value: Any, source: str) -> tuple[JSON, dict[str, Question]]:
    """The state and the questions of a request that was read already.

    Args:
        value: the JSON value.
        source: what to call the place that it came from.

    Raises:
        InvalidRequest: as `parse`.
    """
    request = _checked(value, source, _Request)
    return request.state, {name: _question(name, body) for name, body in request.questions.items()}


def parse_columns(document: Document) -> tuple[str | tuple[str, ...] | None, dict[str, Question]]:
    """The columns that make the state, and the questions, of the file that `tiebreak map` takes.

    Raises:
        InvalidRequest: as `parse`.
    """
    mapped = _checked(document.json(), document.source, _Mapped)
    questions = {name: _question(name, body) for name, body in mapped.questions.items()}
    if not questions:
        raise InvalidRequest(f"The {document.source} asks nothing.", remedy="Put at least one question into it.")
    if not isinstance(mapped.columns, list):
        return mapped.columns, questions
    if not mapped.columns or len(set(mapped.columns)) != len(mapped.columns):
        raise InvalidRequest("columns is a list of at least one name, each given once.")
    return tuple(mapped.columns), questions


def _checked(value: Any, source: str, form: type[F]) -> F:
    command, first = ("decide", "state") if form is _Request else ("map", "columns")
    if not isinstance(value, dict):
        raise InvalidRequest(
            f"The {source} is not a JSON object.", remedy=f'Write {{"{first}": ..., "questions": {{...}}}}.'
        )
    try:
        return form.model_validate(value)
    except pydantic.ValidationError as error:
        names = tuple(form.model_fields)
        found = [_complaint(each, names) for each in error.errors(include_url=False, include_context=False)]
        more = f" ({len(found) - SHOWN} more.)" if len(found) > SHOWN else ""
        raise InvalidRequest(
            f"The {source} is not a request: {' '.join(found[:SHOWN])}{more}",
            remedy=f"See `tiebreak {command} --help` for its form.",
        ) from None


def _question(name: str, body: _Question) -> Question:
    where = _path("questions", name)
    given = body.model_fields_set - {"kind", "question"}
    for field in sorted(given - set(FIELDS[body.kind])):
        raise InvalidRequest(
            f"{where}.{field} does not belong to kind {body.kind!r}.",
            remedy=f"That takes {' and '.join(FIELDS[body.kind])}.",
        )
    field = FIELDS[body.kind][0]
    if body.kind == "yes_no" and body.question is None:
        raise InvalidRequest(f"{where}.question is missing.", remedy="Say what yes or no is to answer.")
    if body.kind != "yes_no" and field not in given:
        raise InvalidRequest(f"{where}.{field} is missing.", remedy="Give at least two names.")
    try:
        if body.kind == "choice":
            return choice(body.question, body.options)
        if body.kind == "score":
            return score(body.question, body.levels)
        assert body.question is not None
        return yes_no(body.question, yes=body.yes, no=body.no)
    except InvalidRequest as error:
        raise InvalidRequest(f"{where}: {error.message}", remedy=error.remedy) from None


def _complaint(error: Any, top: tuple[str, ...]) -> str:
    location: tuple[str | int, ...] = error["loc"]
    path = _path(*location)
    if error["type"] == "missing":
        return f"{path} is missing."
    if error["type"] == "extra_forbidden":
        names = tuple(_Question.model_fields) if location[0] == "questions" else top
        near = difflib.get_close_matches(str(location[-1]), names, n=1, cutoff=0.6)
        meant = f" Did you mean {near[0]!r}?" if near else f" Known there: {', '.join(names)}."
        return f"{path} is not known.{meant}"
    message = error["msg"].replace("Input should be", "should be")
    return f"{path} {message}."


def _path(*parts: str | int) -> str:
    """The path as one would write it in code: `questions.team.kind`, `questions["a b"].kind`."""
    text = ""
    for part in parts:
        if isinstance(part, str) and part.isidentifier():
            text += f".{part}" if text else part
        else:
            text += f"[{json.dumps(part, ensure_ascii=False)}]"
    return text
