"""Streams of requests: in order, lazily, one bad row on its own, and the cache's advice."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import attrs
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


def test_rows_are_read_no_further_than_two_windows_ahead(decider: Make, http_stub: ModuleType) -> None:
    read = 0

    def counted() -> Iterator[tuple[str, dict[str, Question]]]:
        nonlocal read
        for row in rows(10_000):
            read += 1
            yield row

    results = decider().decide_many(counted())
    ahead = []
    for handed in range(600):
        next(results)
        ahead.append(read - handed)
    assert max(ahead) == 512
    before = read
    results.close()  # type: ignore[attr-defined]
    assert read == before


@pytest.mark.parametrize("how", ["sync", "async"])
def test_rows_before_one_that_cannot_be_read_are_answered(how: str, decider: Make) -> None:
    def broken() -> Iterator[tuple[str, dict[str, Question]]]:
        yield from rows(700)
        raise OSError("the disk is gone")

    made, found = decider(), []

    def collect() -> None:
        for result in made.decide_many(broken()):
            found.append(result)

    async def acollect() -> None:
        async for result in made.adecide_many(broken()):
            found.append(result)

    with pytest.raises(OSError, match="the disk is gone"):
        collect() if how == "sync" else asyncio.run(acollect())
    assert len(found) == 700


@pytest.mark.parametrize("how", ["sync", "async"])
def test_what_is_asked_again_is_asked_once(how: str, decider: Make, stub: Any) -> None:
    made = decider()
    count = 2_000  # further apart than a window: the 21 different requests are remembered

    async def gather() -> list[Any]:
        return [decision async for decision in made.adecide_many(rows(count))]

    found = list(made.decide_many(rows(count))) if how == "sync" else asyncio.run(gather())
    assert len(found) == count
    assert sum(path == "/answer" for path, *_ in stub.seen) == 21
    assert found[0] is found[21]


def test_what_failed_is_asked_again(decider: Make, stub: Any) -> None:
    failures = iter([True, False])

    def fault(handler: Any) -> bool:
        if handler.path != "/answer" or not next(failures, False):
            return False
        handler.send(500, {"error": "once"})
        return True

    stub.fault = fault
    same = [("s", QUESTIONS[0])] * 1000
    kinds = [type(result).__name__ for result in decider(places=1).decide_many(same, on_error="return")]
    assert kinds == ["EngineError"] * 512 + ["Decision"] * 488, "those that waited for it share its fate"


def test_equal_values_of_different_types_are_different_requests(decider: Make, stub: Any) -> None:
    states: list[Any] = [{"a": 1}, {"a": True}, {"a": 1.0}, {"a": "1"}, '{"a": 1}', {"a": 1, "b": 2}, {"b": 2, "a": 1}]
    list(decider().decide_many((state, QUESTIONS[0]) for state in states))
    assert sum(path == "/answer" for path, *_ in stub.seen) == len(states)


def test_an_engine_that_says_late_how_much_it_takes_is_kept_as_busy_as_that(decider: Make, stub: Any) -> None:
    made = decider(places=1)
    made.session.engine.capabilities = attrs.evolve(made.session.engine.capabilities, concurrency=3)

    def fault(handler: Any) -> bool:
        time.sleep(0.05 if handler.path == "/answer" else 0)
        return False

    stub.fault = fault
    list(made.decide_many((str(number), QUESTIONS[0]) for number in range(12)))
    assert stub.busiest == made.session.opened.admission.places == 3


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


def test_the_size_of_what_is_there_will_do_and_the_advice_is_in_the_options_unit() -> None:
    ledger = Ledger(Budget(bytes=64 << 20, entries=32, option="cache_mib", unit=1 << 20))
    report = CacheReport(status="miss", entries=1, resident_bytes=60 << 20)
    said = [ledger.note(plan(q), report) for q in "aba"]
    assert "2 prefixes of about 60.0 MiB" in str(said[2])
    assert "cache_mib to at least 132," in str(said[2])


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
