"""Every row of the table in docs/typed.md: what is asked for a type, and that the value comes back as itself."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from enum import Enum, Flag, IntEnum
from pathlib import Path
from typing import Annotated, Any, Literal, Optional, Union, get_args

import attrs
import pytest
from annotated_types import Interval
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import AliasChoices, AliasPath, BaseModel, ConfigDict, Field, create_model, field_validator
from pydantic.dataclasses import dataclass as pydantic_dataclass
from typing_extensions import TypeAliasType

from tiebreak import BadReply, Decider, Describe, Form, InvalidRequest, Levels, Question

Make = Callable[..., Decider]


class Team(Enum):
    """Who should handle it?"""

    BILLING = "billing"
    """Invoices and refunds."""
    TECH = "tech"
    SUPPORT = "tech"  # noqa: PIE796  an alias is what this is about


class Colour(str, Enum):
    RED = "red"
    BLUE = "blue"


class Size(Enum):
    SMALL = 1
    LARGE = 2


class Severity(IntEnum):
    MINOR = 0
    """Nobody notices."""
    MAJOR = 1
    """Work stops."""
    BLOCKER = 1


class Priority(IntEnum):
    LOW = 10
    HIGH = 20


class Verdict(Enum):
    GUILTY = True
    """The evidence is enough."""
    INNOCENT = False


class Bits(Flag):
    A = 1
    B = 2


Alias = TypeAliasType("Alias", Literal["left", "right"])


@attrs.frozen
class Case:
    """A type, what it asks, and each value with the index that the oracle is to answer for it.

    `asked` is (name suffix, kind, option names) of each question.
    """

    hint: Any
    asked: Sequence[tuple[str, str, tuple[str, ...]]]
    values: Sequence[tuple[Any, Sequence[int]]]


NO_YES = ("no", "yes")
LEVELS = Levels("calm", "cross", "furious")
CASES = {
    "Literal of str": Case(Literal["a", "b"], [("", "choice", ("a", "b"))], [("a", [0]), ("b", [1])]),
    "Literal of int": Case(Literal[1, 5], [("", "choice", ("1", "5"))], [(1, [0]), (5, [1])]),
    "Literal of bool": Case(Literal[True, False], [("", "yes_no", NO_YES)], [(False, [0]), (True, [1])]),
    "Literal with None": Case(Literal["a", None], [("", "choice", ("a", "none of these"))], [("a", [0]), (None, [1])]),
    "Literal, mixed": Case(
        Literal[1, "1", True, "yes", None],
        [("", "choice", ("1", '"1"', "true", '"yes"', "none of these"))],
        [(1, [0]), ("1", [1]), (True, [2]), ("yes", [3]), (None, [4])],
    ),
    "Literal of members": Case(
        Literal[Team.TECH, Size.SMALL], [("", "choice", ("tech", "SMALL"))], [(Team.TECH, [0]), (Size.SMALL, [1])]
    ),
    "Literal of one": Case(Literal["ticket"], [], [("ticket", [])]),
    "Enum": Case(Team, [("", "choice", ("billing", "tech"))], [(Team.BILLING, [0]), (Team.SUPPORT, [1])]),
    "Enum of numbers": Case(Size, [("", "choice", ("SMALL", "LARGE"))], [(Size.SMALL, [0]), (Size.LARGE, [1])]),
    "StrEnum": Case(Colour, [("", "choice", ("red", "blue"))], [(Colour.RED, [0]), (Colour.BLUE, [1])]),
    "IntEnum": Case(Priority, [("", "choice", ("LOW", "HIGH"))], [(Priority.LOW, [0]), (Priority.HIGH, [1])]),
    "IntEnum from 0, described": Case(
        Severity, [("", "score", ("MINOR", "MAJOR"))], [(Severity.MINOR, [0]), (Severity.BLOCKER, [1])]
    ),
    "Enum of True and False": Case(Verdict, [("", "yes_no", NO_YES)], [(Verdict.INNOCENT, [0]), (Verdict.GUILTY, [1])]),
    "bool": Case(bool, [("", "yes_no", NO_YES)], [(False, [0]), (True, [1])]),
    "float from 0 to 1": Case(Annotated[float, Field(ge=0, le=1)], [("", "yes_no", NO_YES)], [(0.2, [0]), (0.8, [1])]),
    "int with Levels": Case(Annotated[int, LEVELS], [("", "score", LEVELS.texts)], [(0, [0]), (1, [1]), (2, [2])]),
    "int with Levels and bounds": Case(
        Annotated[int, LEVELS, Interval(ge=1, le=3)], [("", "score", LEVELS.texts)], [(1, [0]), (2, [1]), (3, [2])]
    ),
    "Enum or Literal with Levels": Case(
        Annotated[Literal["low", "high"], Levels()], [("", "score", ("low", "high"))], [("low", [0]), ("high", [1])]
    ),
    "Optional pick": Case(
        Optional[Team],  # noqa: UP045  the old spelling is a type of its own
        [("", "choice", ("billing", "tech", "none of these"))],
        [(Team.BILLING, [0]), (Team.TECH, [1]), (None, [2])],
    ),
    "Optional bool": Case(
        bool | None, [("", "choice", (*NO_YES, "none of these"))], [(False, [0]), (True, [1]), (None, [2])]
    ),
    "Optional int with Levels": Case(
        Annotated[int | None, LEVELS], [("", "choice", (*LEVELS.texts, "none of these"))], [(0, [0]), (None, [3])]
    ),
    "Union of picks": Case(
        Union[Literal["maybe"], bool],  # noqa: UP007  the old spelling is a type of its own
        [("", "choice", ("maybe", *NO_YES))],
        [("maybe", [0]), (False, [1]), (True, [2])],
    ),
    "list of picks": Case(
        list[Colour],
        [(".red", "yes_no", NO_YES), (".blue", "yes_no", NO_YES)],
        [([], [0, 0]), ([Colour.RED], [1, 0]), ([Colour.BLUE], [0, 1]), ([Colour.RED, Colour.BLUE], [1, 1])],
    ),
    "tuple of picks": Case(
        tuple[Literal[1, 2], ...], [(".1", "yes_no", NO_YES), (".2", "yes_no", NO_YES)], [((), [0, 0]), ((2,), [0, 1])]
    ),
    "set of picks": Case(
        set[Literal["a", "b"]], [(".a", "yes_no", NO_YES), (".b", "yes_no", NO_YES)], [(set(), [0, 0]), ({"b"}, [0, 1])]
    ),
    "frozenset of picks": Case(
        frozenset[Team],
        [(".billing", "yes_no", NO_YES), (".tech", "yes_no", NO_YES)],
        [(frozenset([Team.TECH]), [0, 1])],
    ),
    "dict of pick to bool": Case(
        dict[Literal["a", "b"], bool],
        [(".a", "yes_no", NO_YES), (".b", "yes_no", NO_YES)],
        [({"a": False, "b": True}, [0, 1])],
    ),
    "type alias": Case(Alias, [("", "choice", ("left", "right"))], [("left", [0]), ("right", [1])]),
}

ANY = ConfigDict(arbitrary_types_allowed=True)  # pydantic does not know attrs classes by itself
SOURCES = ("pydantic", "pydantic dataclass", "dataclass", "attrs")


def make(source: str, fields: Mapping[str, Any]) -> type:
    """A class with these fields."""
    if source == "pydantic":
        return create_model("Made", __config__=ANY, **{name: (hint, ...) for name, hint in fields.items()})  # type: ignore[call-overload,no-any-return]
    if source == "attrs":
        kind = attrs.make_class("Made", {name: attrs.field() for name in fields}, kw_only=True)
        kind.__annotations__ = dict(fields)
        return kind
    kind = dataclasses.make_dataclass("Made", list(fields.items()), kw_only=True)
    return pydantic_dataclass(config=ANY)(kind) if source == "pydantic dataclass" else kind


def told(path: str, case: Case, indices: Sequence[int]) -> dict[str, int]:
    """The state that makes the oracle answer so."""
    return {f"{path}{suffix}": index for (suffix, _, _), index in zip(case.asked, indices, strict=True)}


def own(value: Any, expected: Any) -> bool:
    """Whether a value is the caller's own object; containers are ours, and hold the caller's."""
    if isinstance(expected, (list, tuple)):
        return type(value) is type(expected) and len(value) == len(expected) and all(map(own, value, expected))
    if isinstance(expected, (set, frozenset, dict, float)) and not isinstance(expected, Enum):
        return bool(value == pytest.approx(expected)) if isinstance(expected, float) else bool(value == expected)
    return value is expected


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", CASES)
def test_a_type_asks_and_comes_back_as_itself(name: str, source: str, oracle: Any) -> None:
    case = CASES[name]
    kind = make(source, {"field": case.hint, "other": bool})
    form = Form.of(kind)
    asked = [(key, question.kind, question.names) for key, question in form.questions.items() if key != "other"]
    assert asked == [(f"field{suffix}", kind_, names) for suffix, kind_, names in case.asked]
    for value, indices in case.values:
        got = oracle.extract(kind, {**told("field", case, indices), "other": 1})
        assert isinstance(got, kind)
        assert own(got.field, value)
        assert got.other is True


# Options that look alike, are empty, or hold what names of questions are joined with, are in on purpose.
texts = st.one_of(
    st.sampled_from(["yes", "no", "1", "none of these", "true", "a.b", "", " ", "é", "e\u0301", '"1"', "0"]),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8),
)
plain = st.one_of(texts, st.integers(-5, 300), st.booleans())


def _different(values: Sequence[Any]) -> bool:
    """Whether options can be told apart: those that differ in Unicode normalisation alone cannot, and are refused."""
    import unicodedata

    keys = [(type(v), unicodedata.normalize("NFC", v) if isinstance(v, str) else v) for v in values]
    return len(set(keys)) == len(keys)


literals = st.lists(plain, min_size=2, max_size=6).filter(_different)


@st.composite
def fields(draw: st.DrawFn, depth: int = 2) -> tuple[Any, Any, dict[str, int]]:
    """(annotation, value, what the oracle is told), with names relative to the field."""
    form = draw(st.sampled_from(["literal", "enum", "optional", "list", "levels", "bool", "share", "record"]))
    if form == "record" and depth:
        kind, values, state = draw(records(depth - 1))
        return kind, values, {f".{name}": index for name, index in state.items()}
    if form == "bool":
        index = draw(st.integers(0, 1))
        return bool, bool(index), {"": index}
    if form == "share":
        index = draw(st.integers(0, 1))
        return Annotated[float, Field(ge=0, le=1)], (0.2, 0.8)[index], {"": index}
    if form == "levels":
        low, count = draw(st.integers(-3, 3)), draw(st.integers(2, 10))
        index = draw(st.integers(0, count - 1))
        hint = Annotated[int, Levels(*(f"level {n}" for n in range(count))), Field(ge=low, le=low + count - 1)]
        return hint, low + index, {"": index}
    values = draw(literals)
    if form == "enum":
        names = [f"M{number}" for number in range(len(values))]
        # The functional form makes members that are equal into aliases, as True and 1 are.
        made = Enum("Drawn", list(zip(names, values, strict=True)))  # type: ignore[misc]
        members: list[Any] = list(made)
        if len(members) < 2:
            return made, members[0], {}
        if {member.value for member in members} == {True, False} and all(isinstance(m.value, bool) for m in members):
            index = draw(st.integers(0, 1))
            return made, next(member for member in members if member.value is bool(index)), {"": index}
        index = draw(st.integers(0, len(members) - 1))
        return made, members[index], {"": index}
    hint = Literal[tuple(values)]
    values = list(get_args(hint))  # Python hands back an earlier Literal of equal values, and with it those objects
    if form == "list":
        chosen = draw(st.lists(st.integers(0, 1), min_size=len(values), max_size=len(values)))
        names = [key.removeprefix("answer") for key in Form.of(list[hint]).questions]  # type: ignore[valid-type]
        picked = [value for value, index in zip(values, chosen, strict=True) if index]
        return list[hint], picked, dict(zip(names, chosen, strict=True))  # type: ignore[valid-type]
    if form == "optional":
        index = draw(st.integers(0, len(values)))
        both = hint | None
        # Literals are equal in any order, so that Python may hand back an earlier Optional with the same options.
        ordered = [*get_args(get_args(both)[0]), None]
        return both, ordered[index], {"": index}
    if set(values) == {True, False} and all(isinstance(value, bool) for value in values):
        index = draw(st.integers(0, 1))
        return hint, bool(index), {"": index}
    index = draw(st.integers(0, len(values) - 1))
    return hint, values[index], {"": index}


@st.composite
def records(draw: st.DrawFn, depth: int = 2) -> tuple[type, dict[str, Any], dict[str, int]]:
    """(class, field name -> value, what the oracle is told)."""
    parts = [draw(fields(depth)) for _ in range(draw(st.integers(1, 4)))]
    names = [f"f{number}" for number in range(len(parts))]
    kind = make(
        draw(st.sampled_from(SOURCES)), {"always": bool, **dict(zip(names, (p[0] for p in parts), strict=True))}
    )
    values = {"always": True, **{name: value for name, (_, value, _) in zip(names, parts, strict=True)}}
    state = {"always": 1}
    for name, (_, _, told_) in zip(names, parts, strict=True):
        state |= {f"{name}{suffix}": index for suffix, index in told_.items()}
    return kind, values, state


def holds(instance: Any, values: Mapping[str, Any]) -> bool:
    """Whether every field, nested ones included, holds the caller's own object."""
    return all(
        holds(getattr(instance, name), value) if isinstance(value, dict) else own(getattr(instance, name), value)
        for name, value in values.items()
    )


@given(made=records())
@settings(max_examples=150, deadline=None)
def test_models_that_hypothesis_makes_round_trip(
    made: tuple[type, dict[str, Any], dict[str, int]], oracle: Any
) -> None:
    kind, values, state = made
    before = len(oracle.asked)
    judged = oracle.extract(kind, state, probabilities=True)
    assert len(oracle.asked) == before + 1  # one request
    assert isinstance(judged.value, kind)
    assert holds(judged.value, values)
    for field in judged.fields.values():
        assert field.probability == pytest.approx(0.8) or not field.answers
        assert all(0 <= p <= 1 for _, p in field.odds)


@pytest.mark.parametrize(
    "hint, shown",
    [
        (str, "str"),
        (bytes, "bytes"),
        (complex, "complex"),
        (dict, "dict"),
        (list, "list"),
        (Any, "Any"),
        (Bits, "Bits"),
        (list[str], "list[str]"),
        (list[bool | None], "list[bool | None]"),
        (dict[str, bool], "dict[str, bool]"),
        (dict[Literal["a"], int], "dict[Literal['a'], int]"),
        (Literal[b"a", b"b"], "Literal[b'a', b'b']"),
        (str | None, "str"),
        (str | bool, "str | bool"),
        (type(None), "None"),
        (int, "an int has no end"),
        (Annotated[int, Field(ge=1, le=5)], "an int has no end"),
        (float, "between 0 and 1"),
        (Annotated[float, Field(ge=0, le=100)], "between 0 and 1"),
        (Annotated[float, Field(gt=0, le=1)], "between 0 and 1"),
        (Annotated[float | None, Field(ge=0, le=1)], "cannot be None"),
        (list[Colour] | None, "cannot be None"),
        (set[Literal[1, True]], "are equal"),
    ],
)
def test_a_type_that_cannot_be_asked_about_is_refused_by_field_and_name(hint: Any, shown: str) -> None:
    with pytest.raises(InvalidRequest, match=re.escape(shown)) as caught:
        Form.of(make("dataclass", {"inner": make("dataclass", {"odd": hint}), "fine": bool}))
    assert "Field 'inner.odd' of Made" in str(caught.value)


@pytest.mark.parametrize(
    "hint, reason",
    [
        (Annotated[int, LEVELS, Field(ge=1, le=5)], "3 levels go from 1 to 3"),
        (Annotated[int, LEVELS, Field(gt=0)], "3 levels go from 0 to 2"),
        (Annotated[Team, Levels("one")], "1 levels are described, but it has 2"),
        (Annotated[list[Team], LEVELS], "Levels says nothing about list"),
        (Annotated[int, LEVELS, Describe({1: "x"})], "Describe says nothing about int"),
        (Annotated[Team, Describe({"billing": "x"})], "Describe names 'billing'"),
        (Annotated[bool, "Is it?", "Or is it?"], "question is given twice"),
        (Annotated[bool, Describe({True: "x"}), Describe({True: "y"})], "description of the options is given twice"),
        (Literal["é", "e\u0301"], "given twice"),
    ],
)
def test_what_is_said_about_a_field_must_fit_it(hint: Any, reason: str) -> None:
    with pytest.raises(InvalidRequest, match=re.escape(reason)):
        Form.of(make("dataclass", {"field": hint}))


def test_markers_are_checked_when_they_are_made() -> None:
    with pytest.raises(InvalidRequest, match="level 1 is ''"):
        Levels("a", "")
    with pytest.raises(InvalidRequest, match="description of 'a' is None"):
        Describe({"a": None})  # type: ignore[dict-item]


class Node(BaseModel):
    fine: bool
    below: list[Node] | Node


class Loop(BaseModel):
    again: Loop


class Ghost(BaseModel):
    who: Nobody  # type: ignore[name-defined]  # noqa: F821


@dataclasses.dataclass
class GhostToo:
    who: Nobody  # type: ignore[name-defined]  # noqa: F821


def test_classes_that_cannot_be_asked_about_are_refused() -> None:
    for kind, reason in (
        (Loop, "Loop contains itself"),
        (Node, "Field 'below' of Node"),
        (Ghost, "Nobody"),
        (GhostToo, "Nobody"),
        (make("dataclass", {"only": Literal["a"]}), "nothing to ask"),
        (make("dataclass", {"in_": make("dataclass", {"a": bool}) | None}), "is optional"),
    ):
        with pytest.raises(InvalidRequest, match=reason):
            Form.of(kind)


class Tone(BaseModel):
    """How it is written."""

    polite: bool
    anger: Annotated[int, LEVELS] = Field(description="How angry is the writer?")


class Ticket(BaseModel):
    """A support ticket."""

    team: Team
    urgent: Annotated[bool, "Is it urgent?", Describe({True: "Somebody waits.", False: "It can wait."})]
    channel: Annotated[Literal["mail", "phone"], "Where did it come from?", Describe({"mail": "It was written."})]
    tags: Annotated[list[Colour], "Which colours?"]
    tone: Tone
    on_hold: bool


def test_questions_say_what_the_model_says() -> None:
    questions = Form.of(Ticket).questions
    assert {name: question.text for name, question in questions.items()} == {
        "team": "A support ticket.\nWho should handle it?",
        "urgent": "A support ticket.\nIs it urgent?",
        "channel": "A support ticket.\nWhere did it come from?",
        "tags.red": "A support ticket.\nWhich colours?\nProposed answer: red\nDoes the proposed answer fit?",
        "tags.blue": "A support ticket.\nWhich colours?\nProposed answer: blue\nDoes the proposed answer fit?",
        "tone.polite": "A support ticket.\nHow it is written.\nTone polite?",
        "tone.anger": "A support ticket.\nHow it is written.\nHow angry is the writer?",
        "on_hold": "A support ticket.\nOn hold?",
    }
    assert described(questions["team"]) == {"billing": "Invoices and refunds.", "tech": None}
    assert described(questions["urgent"]) == {"no": "It can wait.", "yes": "Somebody waits."}
    assert described(questions["channel"]) == {"mail": "It was written.", "phone": None}
    severity = Form.of(make("dataclass", {"how": Severity})).questions["how"]
    assert severity.text == "How: which option fits best?"
    assert described(severity) == {"MINOR": "Nobody notices.", "MAJOR": "Work stops."}


def described(question: Question) -> dict[str, str | None]:
    return {option.name: option.description for option in question.options}


class Aliased(BaseModel):
    plain: bool = Field(alias="isPlain")
    validated: bool = Field(validation_alias="in_name", serialization_alias="out_name")
    deep: bool = Field(validation_alias=AliasPath("a", "b"))
    second: bool = Field(validation_alias=AliasPath("list", 1))
    first: bool = Field(validation_alias=AliasPath("list", 0))
    some: bool = Field(validation_alias=AliasChoices("x", AliasPath("y", 0)))


class Generated(BaseModel):
    model_config = ConfigDict(alias_generator=str.upper, extra="forbid", frozen=True, strict=True)
    is_up: bool
    team: Team


@attrs.frozen
class Hidden:
    _secret: bool
    made: int = attrs.field(init=False, default=3)


@dataclasses.dataclass
class Computed:
    given: bool
    made: int = dataclasses.field(init=False, default=3)


def test_aliases_and_fields_that_are_not_given(oracle: Any) -> None:
    state = {"plain": 1, "validated": 0, "deep": 1, "second": 1, "first": 0, "some": 1}
    got = oracle.extract(Aliased, state)
    assert got.model_dump(by_alias=False) == {name: bool(index) for name, index in state.items()}
    assert oracle.extract(Generated, {"is_up": 1, "team": 1}).team is Team.TECH
    assert oracle.extract(Hidden, {"_secret": 1}) == Hidden(secret=True)
    assert oracle.extract(Computed, {"given": 1}) == Computed(given=True)


class Picky(BaseModel):
    urgent: bool

    @field_validator("urgent")
    @classmethod
    def never(cls, value: bool) -> bool:
        if value:
            raise ValueError("we have no urgent ones")
        return value


def test_a_validator_that_refuses_is_an_error_of_ours_with_its_cause(oracle: Any) -> None:
    assert oracle.extract(Picky, {"urgent": 0}).urgent is False
    with pytest.raises(BadReply, match="Picky refuses what was decided") as caught:
        oracle.extract(Picky, {"urgent": 1})
    assert "we have no urgent ones" in str(caught.value.__cause__)


def test_evidence_stands_beside_the_instance(reference: Make) -> None:
    decider = reference()
    judged = decider.extract(Ticket, "The printer burns.", probabilities=True)
    assert judged.value == decider.extract(Ticket, "The printer burns.")
    assert set(judged.fields) == {"team", "urgent", "channel", "tags", "tone.polite", "tone.anger", "on_hold"}
    team = judged.fields["team"]
    assert [option for option, _ in team.odds] == [Team.BILLING, Team.TECH]
    assert sum(p for _, p in team.odds) == pytest.approx(1)
    assert dict(team.odds)[team.value] == team.probability == judged.decision["team"].probability
    assert team.margin == judged.decision["team"].margin
    tags = judged.fields["tags"]
    assert tags.value == [option for option, p in tags.odds if p > 0.5]
    assert tags.probability == min(judged.decision[f"tags.{name}"].probability for name in ("red", "blue"))
    assert judged.decision.receipt.engine == "reference"


def test_the_manual_lists_what_is_tested_here() -> None:
    page = (Path(__file__).parents[3] / "docs" / "typed.md").read_text(encoding="utf-8")
    table = page.partition("<!-- mapping -->")[2].partition("\n\n#")[0]
    listed = re.findall(r"^\| ([^|`]+?) \|", table, flags=re.MULTILINE)
    assert listed[0] == "type"
    assert set(listed[1:]) == set(CASES)
