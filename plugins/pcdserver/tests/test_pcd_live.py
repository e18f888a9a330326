"""The real pcd_server with a real model: what a user sees, and what must hold."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from typing import Any

import attrs
import pytest

from tiebreak import ContextOverflow, Decider, EngineDied, EngineError, InvalidRequest, choice, score, yes_no
from tiebreak.engine import Call, Reply
from tiebreak_conformance.trials import alternate, killed_at_work
from tiebreak_pcdserver.engine import _refusal

pytestmark = pytest.mark.live

STATE = "My card was charged twice."
ASKED = {
    "team": choice("Which team?", {"billing": "money", "technical": None, "other": None}),
    "urgent": yes_no("Urgent?", yes="today"),
    "anger": score("How angry?", ["calm", "annoyed", "furious"]),
    "mood": choice("Mood?", ["👍", "👎"]),
}
REFUNDS = ["other", "refund_full", "refund_partial", "refund_none"]


@pytest.fixture
def small() -> Iterator[Decider]:
    """A server that keeps one question set."""
    with Decider("pcdserver", "smollm2-135m", cache_entries=1, timeout=300.0) as decider:
        yield decider


def test_all_kinds_in_one_request(live: Decider) -> None:
    decision = live.decide(STATE, ASKED)
    for name, question in ASKED.items():
        answer = decision[name]
        assert tuple(answer.probabilities) == question.names
        assert sum(answer.probabilities.values()) == pytest.approx(1, abs=1e-9)
        assert answer.near_tie is False
    assert decision["urgent"].value is False
    assert decision["anger"].expected is not None
    assert decision.timings.transport is not None and decision.timings.prefill
    assert decision.cache.checkpoint_bytes and decision.receipt.engine_version


def test_cold_warm_and_evicted_answers_are_equal_to_the_bit(small: Decider) -> None:
    one, other = {"a": ASKED["team"]}, {"b": ASKED["urgent"]}
    runs = [small.decide(STATE, asked) for asked in (one, one, other)]
    with pytest.warns(UserWarning, match="2 prefixes take turns in a cache of 1 entries") as advised:
        runs.append(small.decide(STATE, one))
    assert "Raise cache_entries to 2" in str(advised[0].message)
    assert [run.cache.status for run in runs] == ["miss", "hit", "miss", "miss"]
    assert runs[0].answers == runs[1].answers == runs[3].answers
    assert runs[1].timings.restore is not None and runs[0].timings.restore is None


def test_200_alternations_do_not_leak(live: Decider) -> None:
    asked = [{"q": yes_no("Money?")}, {"q": yes_no("Angry?")}, {"q": choice("Which?", ["red", "blue"])}]
    decisions = alternate(live, ("Paid.", "No!", "Sky."), asked, times=200)
    assert {decision.cache.status for decision in decisions} == {"hit"}


def test_options_that_begin_alike(live: Decider) -> None:
    """What `disambiguate` changes: every option is scored, and nothing is shared."""
    plain = live.choose(STATE, REFUNDS, "What is wanted?")
    assert plain.native["levels"] > 1 or plain.approximate is not None
    with Decider("pcdserver", "smollm2-135m", layout="disambiguate", timeout=300.0) as apart:
        answer = apart.choose(STATE, REFUNDS, "What is wanted?")
    assert tuple(answer.probabilities) == tuple(REFUNDS)
    assert answer.approximate is None and answer.native["levels"] == 1


def test_losers_that_share_mass_are_marked(live: Decider) -> None:
    answer = live.choose(
        "Hello there.", ["zebra crossing", "zebra finch", "hello", "goodbye"], "Which word comes first?"
    )
    shared = answer.probabilities["zebra crossing"] == answer.probabilities["zebra finch"]
    assert (answer.approximate is not None) == shared


def test_64_questions_are_split(live: Decider) -> None:
    with pytest.warns(UserWarning, match="split"):
        decision = live.decide("Hi.", {f"q{n}": yes_no("Good?") for n in range(64)})
    assert list(decision.answers) == [f"q{n}" for n in range(64)]


def test_control_tokens_in_the_state_are_text(live: Decider) -> None:
    """A real end of turn would be one token; as text it is several, and the window shows how many."""
    with pytest.raises(ContextOverflow) as caught:
        live.check("<|im_end|>" * 4000, "Good?")
    assert caught.value.tokens is not None and caught.value.tokens > 4 * 4000


@pytest.mark.parametrize(
    "state,questions,kind,said",
    [
        ("word " * 9000, {"q": yes_no("Good?")}, ContextOverflow, "9... tokens but the context window holds 8192"),
        (
            "x",
            {"q": choice("Which?", [f"word {n} " * 28 for n in range(256)])},
            InvalidRequest,
            "4096 candidate tokens",
        ),
    ],
)
def test_what_only_the_server_can_count_is_refused_by_it(
    live: Decider, state: str, questions: Any, kind: type[Exception], said: str
) -> None:
    with pytest.raises(kind, match=said):
        live.decide(state, questions)


FIELD = '{"name":"a","description":"","choices":["x","y"]}'


@pytest.mark.parametrize(
    "body,kind",
    [
        (b"", InvalidRequest),
        (b"{", InvalidRequest),
        (b'{"context":NaN}', InvalidRequest),
        (b'{"context":"\xff"}', EngineError),
        (b"[]", InvalidRequest),
        (b'{"context":"x"}', InvalidRequest),
        (b'{"context":null,"fields":[]}', InvalidRequest),
        (f'{{"context":"","fields":[{FIELD}]}}'.encode(), InvalidRequest),
        (f'{{"context":"x","fields":[{FIELD},{FIELD}]}}'.encode(), InvalidRequest),
        (b'{"context":"x","fields":[{"name":"a","description":"","choices":["x"]}]}', InvalidRequest),
        (b'{"context":"x","fields":[{"name":"a","description":"","choices":[1,2]}]}', InvalidRequest),
        (b'{"context":"x","fields":[{"name":"a","choices":["x","y"]}]}', InvalidRequest),
        ('{"context":"x","fields":[{"name":"a","description":"","choices":["👍","👎"]}]}'.encode(), EngineError),
        (b'{"context":"' + b"x" * (2 << 20) + b'"}', InvalidRequest),
    ],
)
def test_bad_bodies_of_any_kind_are_typed(live: Decider, body: bytes, kind: type[Exception]) -> None:
    """Bodies that this plugin never sends; the server's reasons would still come through."""

    def send() -> Generator[Call, Reply, Reply]:
        return (yield Call(method="POST", path="/v1/pcd/decode", body=body))

    server = live.start().session.opened.server
    assert server is not None
    reply, _ = server.run(send(), time.monotonic() + 60)
    error = _refusal(reply)
    assert type(error) is kind and "HTTP " in error.message


def test_a_killed_server_is_reported_and_started_again() -> None:
    with Decider("pcdserver", "smollm2-135m", cache_entries=2, timeout=300.0) as decider:
        (died,) = killed_at_work(decider, lambda asked: asked.check("word " * 7000, "Good?"))
        assert isinstance(died, EngineDied) and "listening" in died.log
        assert decider.check(STATE, "Good?").probability >= 0.5


def test_a_checkpoint_beyond_the_budget_is_said() -> None:
    with Decider("pcdserver", "smollm2-135m", cache_bytes=1000, timeout=300.0) as decider:
        with pytest.warns(UserWarning, match="never kept; raise cache_bytes"):
            decision = decider.decide("Hi.", {"q": yes_no("Good?")})
        again = decider.decide("Hi.", {"q": yes_no("Good?")})
    assert [decision.cache.status, again.cache.status] == ["miss", "miss"]
    assert attrs.evolve(decision, timings=again.timings) == again


def test_a_cache_that_is_off_is_reported_so() -> None:
    with Decider("pcdserver", "smollm2-135m", cache_entries=0, timeout=300.0) as decider:
        decision = decider.decide("Hi.", {"q": yes_no("Good?")})
    assert decision.cache.status == "off"
