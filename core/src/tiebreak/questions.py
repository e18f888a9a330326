"""What is asked: a state, and questions about it with known answers."""

from __future__ import annotations

import json
import math
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, Union

import attrs

from tiebreak.errors import InvalidRequest

__all__ = ["JSON", "Kind", "Option", "Question", "Request", "choice", "score", "yes_no"]

Kind = Literal["choice", "yes_no", "score"]
KINDS: tuple[Kind, ...] = ("choice", "yes_no", "score")
# A union of forward references cannot be written with `|` before Python 3.14.
JSON = Union[str, int, float, bool, None, Mapping[str, "JSON"], Sequence["JSON"]]  # noqa: UP007

DEFAULT_QUESTION = "Which option fits best?"
MAX_DEPTH = 100


@attrs.frozen(kw_only=True)
class Option:
    """One allowed answer: the name that comes back, and a description that the model reads beside it."""

    name: str
    description: str | None = None

    @property
    def text(self) -> str:
        """The option as one line: `name` or `name: description`."""
        return f"{self.name}: {self.description}" if self.description else self.name


@attrs.frozen(kw_only=True)
class Question:
    """A question with a closed list of answers; make one with `choice`, `yes_no` or `score`.

    `options` are in the order given. For yes/no they are `no`, `yes`; for a score the levels, lowest first.
    """

    kind: Kind
    text: str
    options: tuple[Option, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The option names, in order: the keys of the answer's probabilities."""
        return tuple([option.name for option in self.options])


@attrs.frozen(kw_only=True)
class Request:
    """One state and the named questions about it, checked: what every layout lays out."""

    state: JSON
    questions: Mapping[str, Question]

    @classmethod
    def of(cls, state: JSON, questions: Mapping[str, Question]) -> Request:
        """Check a state and its questions and freeze them.

        Args:
            state: text, or a JSON object or array (a copy is kept).
            questions: name -> question, at least one.

        Raises:
            InvalidRequest: naming the path and what is wrong there.
        """
        if not isinstance(questions, Mapping):
            raise InvalidRequest(
                f"questions is {_a(questions)}, not a mapping of name to question.",
                remedy="Pass {'name': tiebreak.choice(...)}.",
            )
        if not questions:
            raise InvalidRequest("No question was asked.", remedy="Pass at least one question.")
        for name, question in questions.items():
            if not isinstance(name, str) or not name:
                raise InvalidRequest(f"Question name {name!r} is not a non-empty string.")
            _text(name, f"question name {name!r}")
            if not isinstance(question, Question):
                raise InvalidRequest(
                    f"Question {name!r} is {_a(question)}.",
                    remedy="Make it with tiebreak.choice, tiebreak.yes_no or tiebreak.score.",
                )
        return cls(state=_state(state), questions=dict(questions))

    @property
    def state_text(self) -> str:
        """The state as text: a string as it is, anything else as one line of JSON, non-ASCII kept."""
        return dumps(self.state)


def choice(question: str | None, options: Iterable[str] | Mapping[str, str | None]) -> Question:
    """Ask for one of several options.

    Args:
        question: what is asked; None asks "Which option fits best?".
        options: at least two names, or a mapping of name to description (None for none), in order.

    Returns:
        A question whose answer's value is one of the names.

    Raises:
        InvalidRequest: fewer than two options, a blank or repeated name, an unordered set.
    """
    text = DEFAULT_QUESTION if question is None else question
    return Question(kind="choice", text=_question(text), options=_options(options, "option"))


def yes_no(question: str, *, yes: str | None = None, no: str | None = None) -> Question:
    """Ask whether something holds.

    Args:
        question: a question that yes or no answers.
        yes: what yes means here, read by the model beside it.
        no: what no means here.

    Returns:
        A question whose answer's value is True or False.
    """
    for side, text in (("yes", yes), ("no", no)):
        if text is not None:
            _text(text, f"the description of {side}")
    options = (
        Option(name="no", description=no or None),
        Option(name="yes", description=yes or None),
    )
    return Question(kind="yes_no", text=_question(question), options=options)


def score(question: str | None, levels: Iterable[str] | Mapping[str, str | None]) -> Question:
    """Ask for a place on an ordered rubric.

    Args:
        question: what is rated; None asks "Which option fits best?".
        levels: at least two levels, lowest first; a mapping adds a description to each.

    Returns:
        A question whose answer's value is one of the levels and whose `expected` is the mean level index.
    """
    text = DEFAULT_QUESTION if question is None else question
    return Question(kind="score", text=_question(text), options=_options(levels, "level"))


def dumps(value: JSON) -> str:
    """A JSON value as models were trained to read it: strings bare, `", "` and `": "`, non-ASCII kept."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _question(text: object) -> str:
    checked = _text(text, "the question")
    if not checked.strip():
        raise InvalidRequest("The question is blank.", remedy="Say what is asked.")
    return checked


def _options(given: object, noun: str) -> tuple[Option, ...]:
    if isinstance(given, (str, bytes)):
        raise InvalidRequest(f"The {noun}s are one string, {given[:40]!r}.", remedy=f"Pass a list of {noun}s.")
    if isinstance(given, (set, frozenset)):
        raise InvalidRequest(
            f"The {noun}s are a set, which has no order.",
            remedy="Pass a list: the model reads them in order.",
        )
    if isinstance(given, Mapping):
        pairs = list(given.items())
    elif isinstance(given, Iterable):
        pairs = [(name, None) for name in given]
    else:
        raise InvalidRequest(f"The {noun}s are {_a(given)}.", remedy=f"Pass a list of {noun}s.")
    if len(pairs) < 2:
        raise InvalidRequest(
            f"{len(pairs)} {noun}{'' if len(pairs) == 1 else 's'} given; a decision needs at least two."
        )
    seen: dict[str, str] = {}
    options = []
    for number, (name, description) in enumerate(pairs, 1):
        where = f"{noun} {number}"
        text = _text(name, where)
        if not text.strip():
            raise InvalidRequest(f"{where.capitalize()} is blank.", remedy="Give it a name.")
        same = unicodedata.normalize("NFC", text)
        if same in seen:
            raise InvalidRequest(
                f"{noun.capitalize()} {text!r} is given twice"
                + (
                    f" (as {seen[same]!r} and {text!r}, the same after Unicode normalisation)."
                    if seen[same] != text
                    else "."
                ),
                remedy=f"Every {noun} needs a name of its own.",
            )
        seen[same] = text
        if description is not None:
            _text(description, f"the description of {noun} {text!r}")
        options.append(Option(name=text, description=description or None))
    return tuple(options)


def _text(value: object, where: str) -> str:
    """The value if it is text that every engine can carry whole."""
    if not isinstance(value, str):
        raise InvalidRequest(f"{where[0].upper()}{where[1:]} is {_a(value)}, not text.", remedy="Pass a string.")
    if "\0" in value:
        raise InvalidRequest(
            f"{where[0].upper()}{where[1:]} holds a NUL character at position {value.index(chr(0))}.",
            remedy="Remove it: engines written in C may end the text there.",
        )
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidRequest(
            f"{where[0].upper()}{where[1:]} holds a lone surrogate at position {error.start}; it is not valid Unicode.",
            remedy="Decode the bytes it came from again, with errors='replace'.",
        ) from None
    return value


def _state(value: object) -> JSON:
    if isinstance(value, str):
        return _text(value, "the state")
    if isinstance(value, Mapping) or (isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray))):
        return _json(value, "state", 0)
    raise InvalidRequest(
        f"The state is {_a(value)}.",
        remedy="Pass text, or a JSON object or array (a dict or a list).",
    )


def _json(value: object, path: str, depth: int) -> JSON:
    """A deep copy of a JSON value, or an error that names the path of what is not JSON."""
    if depth > MAX_DEPTH:
        raise InvalidRequest(
            f"{path[:60]}... is nested deeper than {MAX_DEPTH} levels.",
            remedy="Does it contain itself?",
        )
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, str):
        return _text(value, path)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidRequest(f"{path} is {value}, which JSON cannot say.", remedy="Use None or a string.")
        return value
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise InvalidRequest(f"A key of {path} is {_a(key)}, not text.", remedy="Use str(key).")
            _text(key, f"a key of {path}")
        return {key: _json(item, f"{path}.{key}", depth + 1) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        return [_json(item, f"{path}[{index}]", depth + 1) for index, item in enumerate(value)]
    raise InvalidRequest(
        f"{path} is {_a(value)}, which is not JSON.",
        remedy="Convert it first, for example with str() or model_dump(mode='json').",
    )


def _a(value: object) -> str:
    if value is None:
        return "None"
    name = type(value).__name__
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"
