"""Labels as tokens, on the tiny model's vocabulary."""

from __future__ import annotations

import math
from array import array

import pytest

from tiebreak.engine import Vocabulary
from tiebreak.errors import InvalidRequest
from tiebreak.plan import Row, Segment
from tiebreak.questions import Request, choice, score, yes_no
from tiebreak_embedded.context import Context
from tiebreak_embedded.layout import NamesLayout
from tiebreak_embedded.reading import Reading
from tiebreak_embedded.targets import Targets
from tiebreak_embedded.vocabulary import vocabulary


@pytest.fixture(scope="module")
def known(hybrid: Context) -> Vocabulary:
    return vocabulary(hybrid.model)


def row(*labels: str, loose: bool = False) -> Row:
    return Row(question="q", labels=labels, loose=loose, segments=(Segment(role="slot", text="x"),))


def test_letters_are_dealt_in_order_each_a_token_of_its_own(known: Vocabulary, hybrid: Context) -> None:
    labels = list(known.labels)
    assert labels[:28] == [*"ABCDEFGHIJKLMNOPQRSTUVWXYZ", "AA", "AB"]
    assert len(labels) == len(set(known.labels.values())) == 255
    assert all(hybrid.model.piece(token) == label for label, token in known.labels.items())
    assert set(known.control) >= {"<|im_start|>", "<|im_end|>"}


def test_the_chat_template_stands_around_the_marker_once(known: Vocabulary) -> None:
    assert known.chat is not None
    assert known.chat.before == "<|im_start|>user\n"
    assert known.chat.after == "<|im_end|>\n<|im_start|>assistant\n"


def test_a_model_that_always_thinks_has_no_chat_and_a_switch_is_closed(
    hybrid: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hybrid.model, "chat_template", lambda: "<think> always")
    assert vocabulary(hybrid.model).chat is None
    monkeypatch.setattr(hybrid.model, "chat_template", lambda: "enable_thinking: <think>")
    chat = vocabulary(hybrid.model).chat
    assert chat is not None
    assert chat.after.endswith("assistant\n<think>\n\n</think>\n\n")


def test_letters_need_the_slot_only(known: Vocabulary, hybrid: Context) -> None:
    target = Targets(hybrid.model, known).of(row("A", "B"))
    ((prompt, (read,)),) = target.prompts(array("i", [1, 2, 3]))
    assert prompt.tolist() == [1, 2, 3]
    assert (read.at, read.ids) == (2, (known.labels["A"], known.labels["B"]))
    assert target.score([[Reading((-1.0, -2.0), 0.0, 0)]], "A").logprobs == (-1.0, -2.0)


def test_loose_labels_add_up_their_spellings(known: Vocabulary, hybrid: Context) -> None:
    target = Targets(hybrid.model, known).of(row("A", "B", loose=True))
    spellings = [hybrid.model.tokenise(text, special=False) for text in ("A", " A", "B", " B")]
    expected = [tokens[0] for tokens in spellings if len(tokens) == 1]
    assert list(target.ids) == expected
    found = target.score([[Reading(tuple(-1.0 - n for n in range(len(expected))), 0.0, 0)]], "A")
    mass = math.fsum(map(math.exp, found.logprobs))
    assert mass == pytest.approx(sum(math.exp(-1.0 - n) for n in range(len(expected))))


def test_labels_that_are_the_same_tokens_are_refused(known: Vocabulary, hybrid: Context) -> None:
    with pytest.raises(InvalidRequest, match="same tokens"):
        Targets(hybrid.model, known).of(row("same text", "same text"))


def test_the_names_layout_lists_names_and_reads_one() -> None:
    questions = {
        "team": choice("Which?", {"roads": "holes", "waste": None}),
        "ok": yes_no("Fine?"),
        "anger": score("How angry?", ["calm", "furious"]),
    }
    plan = NamesLayout().plan(Request.of("the state", questions), Vocabulary())
    assert [found.labels for found in plan.rows] == [(" roads", " waste"), (" no", " yes"), (" calm", " furious")]
    assert plan.rows[0].text() == (
        "Context:\nthe state\n\nQuestion: Which?\nOptions:\n- roads: holes\n- waste\nAnswer:"
    )
