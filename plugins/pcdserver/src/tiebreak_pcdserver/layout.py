"""The layouts of pcdServer: every question becomes a field, all fields together a schema, and the state comes last.

The server writes the prompt itself (fields and their allowed values in the system turn of the model's chat template,
the state as the user's turn), so a row holds what is sent to it: the schema segment is the JSON text of `fields`, the
state segment the text of `context`, and the slot segment the name of the row's own field.
"""

from __future__ import annotations

import functools
import itertools
import json
import re
from collections.abc import Iterator, Sequence
from string import ascii_letters, digits

import attrs

from tiebreak.engine import EvidenceKind, Vocabulary
from tiebreak.errors import InvalidRequest
from tiebreak.plan import Direction, Plan, Row, Segment
from tiebreak.questions import Option, Question, Request
from tiebreak.stages.layout import Layout

__all__ = ["Field", "FieldLayout"]

ENGINE = "pcdserver"

# What pcd_server accepts; it refuses the rest with 400. Bytes are of UTF-8.
FIELDS = 63
NAME_BYTES, DESCRIPTION_BYTES, CHOICE_BYTES = 128, 1024, 256
BODY_BYTES = 1 << 20
ENVELOPE_BYTES = 64  # the JSON around context and fields

# Control tokens of the usual models, for a server whose model file nobody named.
USUAL_CONTROL = (
    *(f"<|{word}|>" for word in ("im_start", "im_end", "endoftext", "eot_id", "start_header_id", "end_header_id")),
    *("<start_of_turn>", "<end_of_turn>", "<bos>", "<eos>", "<s>", "</s>", "[INST]", "[/INST]"),
)


@attrs.frozen(kw_only=True)
class Field:
    """One question as pcdServer takes it.

    Attributes:
        question: name of the question.
        name: name of the field: the question's, where the server takes that.
        description: what is asked, and what the allowed values mean.
        choices: the allowed values, in the order of the options; `false`, `true` for yes/no.
        boolean: the values are sent as booleans.
    """

    question: str
    name: str
    description: str
    choices: tuple[str, ...]
    boolean: bool = False

    @property
    def json(self) -> str:
        """The field as it is sent."""
        choices = [False, True] if self.boolean else list(self.choices)
        return _json({"name": self.name, "description": self.description, "choices": choices})


class FieldLayout(Layout):
    """Questions as fields of one schema, split over several exchanges where one cannot hold them.

    Args:
        name: which values the server may choose from.
            `pcd`: option names; digits for the levels of a score.
            `pcd-levels`: option names, and level names for a score.
            `disambiguate`: letters for options and digits for levels, so that no two begin alike.
            In all of them letters stand in for options that the server cannot take, and for more than ten levels;
            what a letter or digit means stands in the description.
    """

    direction: Direction = "schema-first"
    evidence: EvidenceKind = "distribution"

    def __init__(self, name: str) -> None:
        self.name = name

    def plan(self, request: Request, vocabulary: Vocabulary) -> Plan:
        """See `Layout.plan`.

        Raises:
            InvalidRequest: text that is longer than the server takes (naming both sizes), or that spells a
                control token outside the state.
        """
        control = _pattern(vocabulary.control or USUAL_CONTROL)
        names = _names(request, control)
        fields = [
            self._field(name, field, question)
            for (name, question), field in zip(request.questions.items(), names, strict=True)
        ]
        for field in fields:
            _check(field, control)
        state = Segment(role="state", text=request.state_text)
        rows: list[Row] = []
        for group in _exchanges(fields, len(_json(state.text).encode())):
            schema = Segment(role="schema", text=f"[{','.join(field.json for field in group)}]")
            rows += (
                Row(
                    question=field.question,
                    labels=field.choices,
                    segments=(schema, state, Segment(role="slot", text=field.name)),
                )
                for field in group
            )
        return Plan(request=request, rows=tuple(rows), layout=self.name, direction=self.direction)

    def _field(self, question: str, name: str, asked: Question) -> Field:
        if asked.kind == "yes_no":
            choices: tuple[str, ...] = ("false", "true")
            options = [
                Option(name=choice, description=option.description)
                for choice, option in zip(choices, asked.options, strict=True)
            ]
        elif self._coded(asked):
            choices = _codes(question, asked)
            options = [
                Option(name=code, description=option.text) for code, option in zip(choices, asked.options, strict=True)
            ]
        else:
            choices, options = asked.names, list(asked.options)
        lines = [option.text for option in options if option.description]
        return Field(
            question=question,
            name=name,
            description="\n".join([asked.text, *lines]),
            choices=choices,
            boolean=asked.kind == "yes_no",
        )

    def _coded(self, asked: Question) -> bool:
        """Whether codes stand in for the option names."""
        if self.name == "disambiguate" or (asked.kind == "score" and self.name == "pcd"):
            return True
        return _splits_a_character(asked.names)


def _codes(name: str, question: Question) -> tuple[str, ...]:
    """One character per option: digits for up to ten levels, letters else."""
    count = len(question.options)
    codes = digits if question.kind == "score" and count <= len(digits) else ascii_letters
    if count > len(codes):
        raise InvalidRequest(
            f"Question {name!r} has {count} options to be told apart by one letter each; there are {len(codes)}.",
            remedy="Ask in two steps, or use the layout 'pcd' or 'pcd-levels', which send names.",
            engine=ENGINE,
        )
    return tuple(codes[:count])


def _names(request: Request, control: re.Pattern[str]) -> Iterator[str]:
    """A field name per question: its own, or `q1`, `q2`, ... where the server would misread that."""
    for number, name in enumerate(request.questions, 1):
        if len(name.encode()) <= NAME_BYTES and control.search(name) is None:
            yield name
            continue
        short = f"q{number}"
        while short in request.questions:
            short += "_"
        yield short


def _exchanges(fields: Sequence[Field], state_bytes: int) -> Iterator[Sequence[Field]]:
    """The fields in groups that fit one exchange, as many as possible in each: 63, and a body of 1 MiB."""
    room = BODY_BYTES - ENVELOPE_BYTES - state_bytes
    group: list[Field] = []
    used = 0
    for field in fields:
        size = len(field.json.encode()) + 1
        if group and (len(group) == FIELDS or used + size > room):
            yield group
            group, used = [], 0
        group.append(field)
        used += size
    yield group


def _check(field: Field, control: re.Pattern[str]) -> None:
    """Refuse what the server would refuse or misread; the state is safe, it is tokenised as plain text there."""
    size = len(field.description.encode())
    if size > DESCRIPTION_BYTES:
        raise InvalidRequest(
            f"Question {field.question!r} and the descriptions of its options are {size:,} bytes; "
            f"it takes {DESCRIPTION_BYTES:,}.",
            remedy="Shorten the descriptions, or use an engine without this limit, for example slot.",
            engine=ENGINE,
        )
    for choice in field.choices:
        size = len(choice.encode())
        if size > CHOICE_BYTES:
            raise InvalidRequest(
                f"Option {choice[:40]!r}... of question {field.question!r} is {size:,} bytes; it takes {CHOICE_BYTES}.",
                remedy="Give it a short name and put the rest into its description.",
                engine=ENGINE,
            )
    for text in (field.description, *field.choices):
        spelling = control.search(text)
        if spelling is not None:
            raise InvalidRequest(
                f"Question {field.question!r} or one of its options spells the control token {spelling[0]!r}, "
                "which would end up in the prompt as that token.",
                remedy="Spell it differently; in the state it does no harm.",
                engine=ENGINE,
            )


@functools.lru_cache(maxsize=8)
def _pattern(control: Sequence[str]) -> re.Pattern[str]:
    """Finds a control token's spelling; some vocabularies have thousands of them."""
    return re.compile("|".join(map(re.escape, control)))


def _splits_a_character(choices: Sequence[str]) -> bool:
    """Whether the bytes that all choices begin with end inside a character.

    The server puts them into the prompt on their own and fails on what is then no UTF-8 (HTTP 500).
    """
    encoded = sorted(choice.encode() for choice in choices)
    low, high = encoded[0], encoded[-1]  # what these two share, all share
    shared = bytes(one for one, _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(low, high, strict=False)))
    try:
        shared.decode()
    except UnicodeDecodeError:
        return True
    return False


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
