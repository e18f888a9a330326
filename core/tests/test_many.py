"""Streams of requests: in order, lazily, one bad row on its own, and the cache's advice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest

from tiebreak import Decider, Decision, InvalidRequest, Question, Request, choice
from tiebreak.answers import CacheReport, CacheStatus
from tiebreak.engine import Vocabulary
from tiebreak.ledger import Budget, Ledger
from tiebreak.plan import Plan
from tiebreak.stages.cache import PrefixCache
from tiebreak.stages.decider import SchemaFirstLayout

Make = Callable[..., Decider]
QUESTIONS = [{"q": choice(f"Which {i}?", ["a", "b", "c"])} for i in range(3)]


def rows(count: int) -> Iterator[tuple[str, dict[str, Question]]]:
    for i in range(count):
        yield f"state {i % 7}", QUESTIONS[i % 3]


@pytest.mark.parametrize("layout", ["decider", "schema-first"])
def test_answers_come_in_the_callers_order(layout: str, decider: Make) -> None:
    made = decider(layout=layout)
    right = [made.decide(*row)["q"].probabilities for row in rows(600)]
    assert [d["q"].probabilities for d in made.decide_many(rows(600)) if isinstance(d, Decision)] == right

    async def gather() -> list[Any]:
        return [d["q"].probabilities async for d in made.adecide_many(rows(600)) if isinstance(d, Decision)]

    assert asyncio.run(gather()) == right


def test_requests_with_the_same_prefix_run_side_by_side(decider: Make, stub: Any) -> None:
    asked: list[str] = []

    def fault(handler: Any) -> bool:
        if handler.path == "/answer":
            asked.append(handler.body.decode().partition("state ")[2][0])
        return False

    stub.fault = fault
    made = decider(places=1)
    list(made.decide_many(rows(70)))
    assert asked == sorted(asked), "state-first: every state once, all its questions together"


def test_one_bad_row_does_not_stop_the_others(decider: Make) -> None:
    made = decider()
    mixed = [("a", QUESTIONS[0]), (None, QUESTIONS[0]), ("b", {}), ("c", QUESTIONS[0])]
    kinds = [type(result).__name__ for result in made.decide_many(mixed, on_error="return")]  # type: ignore[arg-type]
    assert kinds == ["Decision", "InvalidRequest", "InvalidRequest", "Decision"]
    results = made.decide_many(mixed)  # type: ignore[arg-type]
    assert isinstance(next(results), Decision)
    with pytest.raises(InvalidRequest, match="The state is None"):
        next(results)
    with pytest.raises(InvalidRequest, match="on_error"):
        next(made.decide_many(mixed, on_error="ignore"))  # type: ignore[arg-type]


def test_rows_are_read_no_further_than_a_window_ahead(decider: Make, http_stub: ModuleType) -> None:
    read = 0

    def counted() -> Iterator[tuple[str, dict[str, Question]]]:
        nonlocal read
        for row in rows(10_000):
            read += 1
            yield row

    results = decider().decide_many(counted())
    for _ in range(10):
        next(results)
    assert read == 256
    results.close()  # type: ignore[attr-defined]
    assert read == 256


def plan(question: str) -> Plan:
    request = Request.of("s", {"q": choice(question, ["a", "b"])})
    return PrefixCache().cut(SchemaFirstLayout().plan(request, Vocabulary()))


def notes(ledger: Ledger, asked: str, statuses: str, size: int = 60 << 20) -> list[str | None]:
    known: dict[str, CacheStatus] = {"m": "miss", "h": "hit", "?": "unknown"}
    return [
        ledger.note(plan(q), CacheReport(status=known[s], checkpoint_bytes=size))
        for q, s in zip(asked, statuses, strict=True)
    ]


def test_a_working_set_that_does_not_fit_is_named_once_with_its_figures() -> None:
    ledger = Ledger(Budget(bytes=64 << 20, entries=32, option="cache_bytes", entries_option="cache_entries"))
    said = notes(ledger, "ababab", "mmmmmm")
    assert [advice is not None for advice in said] == [False, False, True, False, False, False]
    assert "2 prefixes of about 60.0 MiB take turns, 120 MiB together, in a cache of 64 MiB" in str(said[2])
    assert "cache_bytes to at least 138412032" in str(said[2])
    assert (ledger.hits, ledger.misses) == (0, 6)


def test_too_many_entries_are_named() -> None:
    ledger = Ledger(Budget(bytes=1 << 40, entries=2, option="cache_bytes", entries_option="cache_entries"))
    said = notes(ledger, "abca", "mmmm")
    assert "3 prefixes take turns in a cache of 2 entries" in str(said[3])
    assert "Raise cache_entries to 3" in str(said[3])


@pytest.mark.parametrize(
    "asked, statuses", [("aaaa", "mhhh"), ("abab", "mmhh"), ("abcd", "mmmm"), ("aba", "???"), ("aa", "mm")]
)
def test_no_advice_without_a_reason(asked: str, statuses: str) -> None:
    budget = Budget(bytes=64 << 20, entries=32, option="cache_bytes", entries_option="cache_entries")
    assert not any(notes(Ledger(budget), asked, statuses))
