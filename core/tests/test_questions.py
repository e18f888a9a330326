"""Bad input is refused before any I/O, by name; good input is kept whole and in order."""

from __future__ import annotations

import datetime
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tiebreak
from tiebreak import InvalidRequest, Request, choice, score, yes_no

QUESTIONS = {"q": choice("Which?", ["a", "b"])}


@pytest.mark.parametrize(
    "options, says",
    [
        ([], "0 options"),
        (["a"], "1 option given"),
        ("ab", "one string"),
        ({"a", "b"}, "no order"),
        (None, "None"),
        (7, "an int"),
        (["a", ""], "Option 2 is blank"),
        (["a", "  "], "blank"),
        (["a", "a"], "twice"),
        (["\u00e9", "e\u0301"], "Unicode normalisation"),
        (["a", 1], "an int"),
        (["a", None], "None"),
        (["a", b"b"], "bytes"),
        (["a", "b\0"], "NUL"),
        (["a", "\ud800"], "surrogate"),
        ({"a": 3, "b": None}, "description of option 'a'"),
    ],
)
def test_options_that_make_no_decision_are_refused(options: object, says: str) -> None:
    with pytest.raises(InvalidRequest, match=says):
        choice("Which?", options)  # type: ignore[arg-type]


@pytest.mark.parametrize("make", [choice, score])
def test_options_come_from_any_ordered_iterable(make: object) -> None:
    expected = ("x", "y", "z")
    for given_ in (["x", "y", "z"], ("x", "y", "z"), (c for c in "xyz"), dict.fromkeys("xyz")):
        assert make("?", given_).names == expected  # type: ignore[operator]


def test_names_that_differ_only_a_little_are_kept_apart() -> None:
    names = ["foo", "Foo", "FOO", " foo", "foo ", "1foo", "class", "f oo", "f  oo", "föo", "true", "None"]
    assert choice(None, names).names == tuple(names)


def test_a_question_left_out_is_the_documented_one() -> None:
    assert choice(None, ["a", "b"]).text == "Which option fits best?"


@pytest.mark.parametrize("text", ["", "  ", None, 3, "a\0b", "\udfff"])
def test_a_question_that_says_nothing_is_refused(text: object) -> None:
    with pytest.raises(InvalidRequest):
        yes_no(text)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "state, says",
    [
        (None, "The state is None"),
        (3, "an int"),
        (True, "a bool"),
        (b"x", "bytes"),
        ("a\0", "NUL character at position 1"),
        ("\ud83d", "surrogate at position 0"),
        ({"a": {"b": math.nan}}, r"state\.a\.b is nan"),
        ({"a": [1, math.inf]}, r"state\.a\[1\] is inf"),
        ({"a": datetime.date(2026, 1, 2)}, r"state\.a is a date"),
        ({1: "x"}, "A key of state is an int"),
        ([{"x": {1, 2}}], r"state\[0\]\.x is a set"),
        ({"a": b"x"}, r"state\.a is a bytes"),
    ],
)
def test_a_state_that_is_not_text_or_json_is_refused_with_its_path(state: object, says: str) -> None:
    with pytest.raises(InvalidRequest, match=says):
        Request.of(state, QUESTIONS)  # type: ignore[arg-type]


def test_a_state_that_contains_itself_is_refused() -> None:
    state: list[object] = []
    state.append(state)
    with pytest.raises(InvalidRequest, match="contain itself"):
        Request.of(state, QUESTIONS)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "questions, says",
    [
        ({}, "No question"),
        (["x"], "not a mapping"),
        ({"": choice(None, ["a", "b"])}, "non-empty"),
        ({3: choice(None, ["a", "b"])}, "non-empty string"),
        ({"q": "Which?"}, "a str"),
        ({"q": ["a", "b"]}, "a list"),
    ],
)
def test_questions_that_are_none_are_refused(questions: object, says: str) -> None:
    with pytest.raises(InvalidRequest, match=says):
        Request.of("x", questions)  # type: ignore[arg-type]


TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner),
    max_leaves=12,
)


@given(st.lists(JSON) | st.dictionaries(TEXT, JSON))
def test_a_json_state_is_copied_whole_and_in_order(state: object) -> None:
    kept = Request.of(state, QUESTIONS)  # type: ignore[arg-type]
    assert json.dumps(kept.state) == json.dumps(state)
    assert json.loads(kept.state_text) == kept.state


def test_a_request_does_not_see_later_changes() -> None:
    state = {"a": [1]}
    request = Request.of(state, QUESTIONS)
    state["a"].append(2)
    assert request.state == {"a": [1]}


def test_every_error_can_cross_a_process_border() -> None:
    import pickle

    for name in tiebreak.__all__:
        kind = getattr(tiebreak, name)
        if isinstance(kind, type) and issubclass(kind, tiebreak.TiebreakError):
            error = kind("what", remedy="Do that.", engine="e", log="tail")
            again = pickle.loads(pickle.dumps(error))
            assert type(again) is kind
            assert str(again) == str(error) == "e: what Do that.\nThe end of the engine's log:\ntail"
            assert again.__dict__ == error.__dict__
