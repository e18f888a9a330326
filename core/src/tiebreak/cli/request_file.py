"""The request file of `tiebreak decide`: checked whole, and every complaint names the path of what is wrong."""

from __future__ import annotations

import difflib
import json
from typing import Any, Literal

import pydantic

from tiebreak.cli.document import Document
from tiebreak.errors import InvalidRequest
from tiebreak.questions import JSON, Question, choice, score, yes_no

__all__ = ["parse"]

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


FIELDS = {"choice": ("options",), "score": ("levels",), "yes_no": ("yes", "no")}
NAMES = {"questions": tuple(_Question.model_fields), "": tuple(_Request.model_fields)}


def parse(document: Document) -> tuple[JSON, dict[str, Question]]:
    """The state and the questions of a request file.

    Raises:
        InvalidRequest: naming the path, as in `questions.team.options`, and what should be there.
    """
    value = document.json()
    if not isinstance(value, dict):
        raise InvalidRequest(
            f"The {document.source} is not a JSON object.", remedy='Write {"state": ..., "questions": {...}}.'
        )
    try:
        request = _Request.model_validate(value)
    except pydantic.ValidationError as error:
        found = [_complaint(each) for each in error.errors(include_url=False, include_context=False)]
        more = f" ({len(found) - SHOWN} more.)" if len(found) > SHOWN else ""
        raise InvalidRequest(
            f"The {document.source} is not a request: {' '.join(found[:SHOWN])}{more}",
            remedy="See `tiebreak decide --help` for its form.",
        ) from None
    questions = {name: _question(name, body) for name, body in request.questions.items()}
    return request.state, questions


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


def _complaint(error: Any) -> str:
    location: tuple[str | int, ...] = error["loc"]
    path = _path(*location)
    if error["type"] == "missing":
        return f"{path} is missing."
    if error["type"] == "extra_forbidden":
        names = NAMES["questions" if location[0] == "questions" else ""]
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
