"""What is reused, what is kept, and what is said about it."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tiebreak import Decider, Decision, DecisionWarning, InvalidRequest, Question, choice, score, yes_no
from tiebreak.pool import Pool
from tiebreak.questions import Request
from tiebreak_embedded.engine import EmbeddedEngine

Make = Callable[..., Decider]

TEAM = choice("Which team?", ["roads", "waste"])
ASKED: dict[str, Question] = {"team": TEAM, "anger": score("How angry?", ["calm", "annoyed", "furious"])}


def engine_of(decider: Decider) -> EmbeddedEngine:
    engine = decider.start().session.engine
    assert isinstance(engine, EmbeddedEngine)
    return engine


def numbers(decision: Decision) -> list[dict[str, float]]:
    return [dict(answer.probabilities) for answer in decision.answers.values()]


@pytest.fixture
def fresh(model: str) -> Callable[..., Decider]:
    """Makes Deciders on engines of their own."""
    return lambda **options: Decider(
        "embedded",
        model,
        pool=Pool(),
        **{"context": 512, "sequences": 4, "threads": 1, "min_coverage": 0, "answer_cache": False, **options},
    )


def test_a_prefix_that_came_twice_is_a_hit_and_says_how_much(fresh: Make) -> None:
    with fresh(layout="schema-first") as decider:
        reports = [decider.decide(f"state {n}", {"team": TEAM}).cache for n in range(3)]
        recurrent = engine_of(decider)._ready().context.model.recurrent
        explained = decider.explain("x", {"team": TEAM})
        assert explained.tokens is not None
        prefix = len(list(explained.plan.rows[0].pieces(0, explained.plan.rows[0].cut)))
        schema = sum(map(len, explained.tokens[0][:prefix]))
    assert reports[0].status == "miss"
    assert reports[0].reused_tokens == 0
    assert reports[2].status == "hit"
    assert reports[2].scope == "schema"
    assert reports[2].reused_tokens is not None
    assert reports[2].reused_tokens >= schema
    if recurrent:  # saved when it came the second time, restored the third
        assert [report.status for report in reports] == ["miss", "miss", "hit"]
        assert reports[2].checkpoint_bytes
        assert reports[2].entries == 1
    else:  # still in its sequence; nothing had to be saved
        assert reports[1].status == "hit"
        assert reports[2].entries == 0


def test_with_the_cache_off_nothing_is_reused(fresh: Make) -> None:
    with fresh(cache="off") as decider:
        for _ in range(2):
            report = decider.decide("state", ASKED).cache
            assert (report.status, report.reused_tokens, report.entries) == ("off", 0, 0)


def test_what_is_pushed_out_of_its_sequence_comes_back_from_a_checkpoint(fresh: Make) -> None:
    with fresh(sequences=1) as decider:
        first = numbers(decider.decide("the state", {"team": TEAM}))
        decider.decide("the state", {"today": yes_no("Today?")})
        for number in range(3):
            decider.decide(f"other {number}", {"team": TEAM})
        decision = decider.decide("the state", {"team": TEAM})
        assert decision.cache.status == "hit"
        assert decision.cache.checkpoint_bytes
        assert numbers(decision) == first


def test_a_state_that_llama_refuses_is_a_fallback_and_the_answer_the_same(fresh: Make) -> None:
    with fresh(sequences=1) as decider:
        first = numbers(decider.decide("the state", {"team": TEAM}))
        loaded = engine_of(decider)._ready()
        decider.pin(state="the state")
        (tokens,) = tuple(loaded.tree)
        checkpoint = loaded.tree.peek(tokens)
        assert checkpoint is not None
        del checkpoint.state[-8:]
        loaded.runner.sequences.forget()
        decision = decider.decide("the state", {"team": TEAM})
        assert decision.cache.status == "fallback"
        assert decision.cache.reused_tokens == 0
        assert numbers(decision) == first


def test_a_context_that_grows_keeps_what_is_worth_it(fresh: Make) -> None:
    with fresh(context=2048, sequences=2) as decider:
        first = numbers(decider.decide("the state", {"team": TEAM}))
        decider.decide("the state", {"team": TEAM})
        room = engine_of(decider)._ready().context.room
        long = decider.decide("4711 " * 200, {"team": TEAM})
        assert engine_of(decider)._ready().context.room > room
        again = decider.decide("the state", {"team": TEAM})
        assert again.cache.status == "hit"
        assert numbers(again) == first
    with fresh(context=2048, sequences=2, cache="off") as decider:
        assert numbers(decider.decide("4711 " * 200, {"team": TEAM})) == numbers(long)


def test_a_pinned_prefix_outlives_the_rotation(fresh: Make) -> None:
    with fresh(cache_entries=1, sequences=1) as decider:
        decider.pin(state="the state")
        others = [(f"other {number % 3}", {"team": TEAM}) for number in range(6)]
        with pytest.warns(DecisionWarning, match="3 prefixes take turns in a cache of 1 entries"):
            decisions = [decider.decide(*each) for each in others]
        assert all(decision.cache.status == "miss" for decision in decisions)
        report = decider.decide("the state", {"team": TEAM}).cache
        assert report.status == "hit"
        assert report.checkpoint_bytes
        with pytest.raises(InvalidRequest, match="does not fit"):
            decider.pin(state="another state")
        decider.unpin(state="the state")
        decider.pin(state="another state")
        assert decider.decide("another state", {"team": TEAM}).cache.status == "hit"


def test_questions_are_pinned_where_they_come_first(fresh: Make) -> None:
    with fresh(layout="schema-first") as decider:
        decider.pin(questions=ASKED)
        assert decider.decide("a state of its own", ASKED).cache.status == "hit"


def test_without_a_prefix_there_is_nothing_to_pin(fresh: Make) -> None:
    with fresh(cache="off") as decider, pytest.raises(InvalidRequest, match="no part"):
        decider.pin(state="x")


def test_a_prompt_that_was_decoded_lately_is_not_computed_again(fresh: Make) -> None:
    with fresh(answer_cache=True) as decider:
        first = decider.decide("the state", ASKED)
        decider.decide("another", ASKED)
        again = decider.decide("the state", ASKED)
        fewer = decider.decide("the state", {"anger": ASKED["anger"]})
        other = decider.decide("the state", {"team": choice("Which team?", ["roads", "waste", "noise"])})
        explained = decider.explain("the state", ASKED)
    assert explained.tokens is not None
    assert numbers(again) == numbers(first)
    assert numbers(fewer) == numbers(first)[1:]
    assert again.cache.status == fewer.cache.status == "hit"
    assert again.cache.reused_tokens == sum(len(piece) for row in explained.tokens for piece in row)
    assert again.timings.engine["decode_ms"] == fewer.timings.engine["decode_ms"] == 0
    assert other.timings.engine["decode_ms"] > 0


@pytest.mark.parametrize("options", [{"cache": "off", "answer_cache": True}, {"answer_cache": False}])
def test_who_wants_everything_computed_gets_that(fresh: Make, options: dict[str, object]) -> None:
    with fresh(**options) as decider:
        found = [decider.decide("the state", ASKED) for _ in range(3)]
    assert all(decision.timings.engine["decode_ms"] > 0 for decision in found)
    assert numbers(found[0]) == numbers(found[2])


def test_a_folder_of_checkpoints_makes_a_cold_start_warm(fresh: Make, tmp_path: Path) -> None:
    options = {"checkpoints": str(tmp_path / "kept"), "layout": "schema-first"}
    with fresh(**options) as decider:
        first = numbers(decider.decide("one", {"team": TEAM}))
    files = list((tmp_path / "kept").iterdir())
    assert files
    with fresh(**options) as decider:
        decision = decider.decide("one", {"team": TEAM})
        assert decision.cache.status == "hit"
        assert decision.cache.checkpoint_bytes
        assert numbers(decision) == first
    for file in files:
        data = bytearray(file.read_bytes())
        data[-1] ^= 1
        file.write_bytes(data)
    with fresh(**options) as decider:
        with pytest.warns(match="SHA-256"):
            decision = decider.decide("one", {"team": TEAM})
        assert decision.cache.status == "miss"
        assert numbers(decision) == first
        assert any("not used" in note for note in decision.receipt.warnings)


def test_a_folder_of_checkpoints_is_bounded(fresh: Make, tmp_path: Path) -> None:
    with fresh(checkpoints=str(tmp_path), cache_mib=1, sequences=2) as decider:
        for number in range(12):
            decider.decide(f"state {number} " + "word " * 60, {"team": TEAM})
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) <= 1 << 20


def test_a_folder_that_cannot_be_made_is_refused(fresh: Make, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with fresh(checkpoints=str(tmp_path / "file" / "kept")) as decider, pytest.raises(InvalidRequest, match="folder"):
        decider.start()


def test_memory_stays_flat_and_the_cache_within_its_budget(hybrid_path: Path) -> None:
    """A few hundred requests with random states; `embedded_memory.py` asks ten thousand."""
    rng = random.Random(3)
    with Decider(
        "embedded",
        str(hybrid_path),
        pool=Pool(),
        context=256,
        sequences=4,
        threads=1,
        cache_mib=1,
        min_coverage=0,
        layout="schema-first",
    ) as decider:
        schemas = [{"q": choice(f"Schema {n}?", ["a", "b"])} for n in range(8)]
        sizes = []
        for number in range(300):
            state = struct.pack(">Q", rng.getrandbits(64)).hex()
            # Without a readout: a model of random weights may want to think first.
            plan = decider.session.explain(Request.of(state, schemas[number % 8])).plan
            (outcome,) = engine_of(decider).evidence([plan], lambda: False)
            report = outcome.cache
            assert report.resident_bytes is not None
            assert report.resident_bytes <= 1 << 20
            if number >= 100:
                sizes.append(psutil.Process().memory_info().rss)
    assert max(sizes[-50:]) < max(sizes[:50]) + (4 << 20)
