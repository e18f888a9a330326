"""How questions become fields."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tiebreak import InvalidRequest, Question, Request, choice, score, yes_no
from tiebreak.engine import Vocabulary
from tiebreak.plan import Plan
from tiebreak.stages.cache import PrefixCache
from tiebreak_pcdserver.layout import FieldLayout

CONTROL = Vocabulary(control=("<|im_start|>", "<|im_end|>"))


def plan(layout: str = "pcd", state: Any = "It rains.", /, **questions: Question) -> Plan:
    return FieldLayout(layout).plan(Request.of(state, questions), CONTROL)


def fields(laid: Plan) -> list[dict[str, Any]]:
    """The fields of all exchanges."""
    schemas = dict.fromkeys(row.text("schema") for row in laid.rows)
    return [field for schema in schemas for field in json.loads(schema)]


def test_each_kind_as_a_field() -> None:
    laid = plan(
        team=choice("Which team?", {"billing": "money", "other": None}),
        urgent=yes_no("Urgent?", yes="needs an answer today"),
        anger=score("How angry?", {"calm": None, "furious": "shouts"}),
    )
    assert fields(laid) == [
        {"name": "team", "description": "Which team?\nbilling: money", "choices": ["billing", "other"]},
        {"name": "urgent", "description": "Urgent?\ntrue: needs an answer today", "choices": [False, True]},
        {"name": "anger", "description": "How angry?\n0: calm\n1: furious: shouts", "choices": ["0", "1"]},
    ]
    assert [row.labels for row in laid.rows] == [("billing", "other"), ("false", "true"), ("0", "1")]


def test_rows_share_the_schema_as_their_prefix() -> None:
    laid = PrefixCache().cut(plan(a=yes_no("One?"), b=yes_no("Two?")))
    first, second = laid.rows
    assert laid.direction == "schema-first"
    assert first.prefix() == second.prefix() != ()
    assert [segment.role for segment in first.segments] == ["schema", "state", "slot"]
    assert second.text("state") == "It rains."


def test_a_json_state_is_sent_as_text() -> None:
    assert plan("pcd", {"weather": "rain"}, q=yes_no("Wet?")).rows[0].text("state") == '{"weather": "rain"}'


def test_level_names_where_they_are_asked_for() -> None:
    (field,) = fields(plan("pcd-levels", anger=score("How angry?", ["calm", "furious"])))
    assert field == {"name": "anger", "description": "How angry?", "choices": ["calm", "furious"]}


def test_more_than_ten_levels_take_letters() -> None:
    (row,) = plan(level=score("How many?", [f"level {n}" for n in range(11)])).rows
    assert row.labels == tuple("abcdefghijk")


def test_disambiguate_gives_every_option_a_first_letter_of_its_own() -> None:
    (field,) = fields(plan("disambiguate", q=choice("What?", {"refund_full": None, "refund_none": "no money"})))
    assert field["choices"] == ["a", "b"]
    assert field["description"] == "What?\na: refund_full\nb: refund_none: no money"


def test_disambiguate_refuses_more_options_than_letters() -> None:
    with pytest.raises(InvalidRequest, match=r"53 options .* there are 52"):
        plan("disambiguate", q=choice("Which?", [f"option {n}" for n in range(53)]))


@pytest.mark.parametrize("names", [["👍", "👎"], ["é", "è"], ["xé", "xè", "xê"]])
def test_options_that_would_cut_a_character_take_letters(names: list[str]) -> None:
    assert plan(q=choice("Mood?", names)).rows[0].labels == tuple("abc"[: len(names)])


@pytest.mark.parametrize("names", [["👍", "no"], ["né", "nè", "a"], ["éa", "éb"]])
def test_other_options_keep_their_names(names: list[str]) -> None:
    assert plan(q=choice("Mood?", names)).rows[0].labels == tuple(names)


def test_64_questions_take_two_exchanges_in_order() -> None:
    laid = plan(**{f"q{n}": yes_no(f"Is it {n}?") for n in range(64)})
    schemas = [row.text("schema") for row in laid.rows]
    assert [row.question for row in laid.rows] == [f"q{n}" for n in range(64)]
    assert [schemas.count(schema) for schema in dict.fromkeys(schemas)] == [63, 1]


def test_a_body_stays_under_a_mebibyte() -> None:
    names = [f"{n:03d}" + "é" * 126 for n in range(256)]
    laid = plan("pcd", "\x01" * 65_000, **{f"q{n}": choice("Which?", names) for n in range(20)})
    schemas = dict.fromkeys(row.text("schema") for row in laid.rows)
    state = len(json.dumps(laid.rows[0].text("state")))
    assert len(schemas) == 3
    assert max(len(schema.encode()) for schema in schemas) + state < 1 << 20


@pytest.mark.parametrize("name", ["x" * 129, "é" * 65, "<|im_end|>"])
def test_names_that_the_server_does_not_take_are_mapped(name: str) -> None:
    laid = plan(q1=yes_no("One?"), **{name: yes_no("Two?")})
    assert [row.text("slot") for row in laid.rows] == ["q1", "q2"]
    assert [row.question for row in laid.rows] == ["q1", name]


def test_a_mapped_name_never_meets_another() -> None:
    laid = plan(**{"x" * 129: yes_no("One?"), "q1": yes_no("Two?")})
    assert [row.text("slot") for row in laid.rows] == ["q1_", "q1"]


def test_descriptions_of_1024_bytes_are_the_last_that_fit() -> None:
    question = "é" * 510 + "abcd"
    assert plan(q=yes_no(question)).rows
    with pytest.raises(InvalidRequest, match=r"'q' .* are 1,025 bytes; it takes 1,024"):
        plan(q=yes_no(question + "e"))


def test_forty_described_options_are_refused_whole() -> None:
    options = {f"option {n}": "what it means, at some length, so that it adds up to a lot" for n in range(40)}
    with pytest.raises(InvalidRequest, match=r"it takes 1,024"):
        plan(q=choice("Which?", options))


def test_an_option_of_256_bytes_is_the_last_that_fits() -> None:
    assert plan(q=choice("Which?", ["x" * 256, "y"])).rows
    with pytest.raises(InvalidRequest, match=r"257 bytes; it takes 256"):
        plan(q=choice("Which?", ["x" * 257, "y"]))
    assert plan("disambiguate", q=choice("Which?", ["x" * 257, "y"])).rows


@pytest.mark.parametrize(
    "question",
    [
        yes_no("Is it <|im_end|>?"),
        yes_no("Is it?", yes="<|im_start|>system"),
        choice("Which?", ["<|im_end|>", "b"]),
        choice("Which?", {"a": "ends <|im_end|>", "b": None}),
        score("How?", ["<|im_end|>", "b"]),
    ],
)
def test_control_tokens_are_refused_where_the_server_would_parse_them(question: Question) -> None:
    with pytest.raises(InvalidRequest, match=r"spells the control token '<\|im_"):
        plan(q=question)


def test_control_tokens_in_the_state_stay_text() -> None:
    assert plan("pcd", "hi<|im_end|>", q=yes_no("Is it?")).rows[0].text("state") == "hi<|im_end|>"


def test_usual_control_tokens_are_refused_where_the_model_is_unknown() -> None:
    with pytest.raises(InvalidRequest, match="control token"):
        FieldLayout("pcd").plan(Request.of("x", {"q": yes_no("Is it <|eot_id|>?")}), Vocabulary())
