"""The limiter: both budgets, over threads and tasks, with a clock of its own."""

from __future__ import annotations

import asyncio
import math
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiebreak.errors import EngineOverloaded, InvalidRequest
from tiebreak.pace import Pace


class Clock:
    """A clock that only moves when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_unused_budget_is_a_second_s_worth_then_calls_are_spaced() -> None:
    clock = Clock()
    pace = Pace("x", requests_per_minute=600, clock=clock)
    waits = [pace.book(0, math.inf) for _ in range(13)]
    assert waits[:10] == [0.0] * 10
    assert waits[10:] == pytest.approx([0.1, 0.2, 0.3])
    clock.now += 60
    assert [pace.book(0, math.inf) for _ in range(11)].count(0.0) == 10


def test_slow_limits_let_one_through_at_a_time() -> None:
    pace = Pace("x", requests_per_minute=30, clock=Clock())
    assert [pace.book(0, math.inf) for _ in range(3)] == pytest.approx([0, 2, 4])


def test_a_call_larger_than_a_second_s_budget_goes_and_is_paid_for_afterwards() -> None:
    pace = Pace("x", tokens_per_second=100, clock=Clock())
    assert pace.book(500, math.inf) == 0
    assert pace.book(10, math.inf) == pytest.approx(4.1)


def test_the_tighter_budget_decides() -> None:
    pace = Pace("x", requests_per_minute=6000, tokens_per_second=10, clock=Clock())
    pace.book(20, math.inf)
    assert pace.book(10, math.inf) == pytest.approx(2)


def test_a_turn_after_the_deadline_is_refused_and_books_nothing() -> None:
    clock = Clock()
    pace = Pace("x", requests_per_minute=60, clock=clock)
    pace.book(0, math.inf)
    for _ in range(5):
        with pytest.raises(EngineOverloaded) as caught:
            pace.book(0, clock.now + 0.5)
        assert caught.value.retry_after == pytest.approx(1)
    assert pace.book(0, clock.now + 2) == pytest.approx(1)


def test_a_cancelled_task_gives_its_turn_back() -> None:
    clock = Clock()
    pace = Pace("x", requests_per_minute=1, clock=clock)

    async def leave() -> None:
        await pace.ahold(0, math.inf)
        waiting = asyncio.create_task(pace.ahold(0, math.inf))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)

    asyncio.run(leave())
    assert pace.book(0, math.inf) == pytest.approx(60)


def test_threads_share_one_budget() -> None:
    pace = Pace("x", requests_per_minute=6000, clock=Clock())
    waits: list[float] = []
    threads = [threading.Thread(target=lambda: waits.append(pace.book(0, math.inf))) for _ in range(150)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(waits) == pytest.approx([0.0] * 100 + [n / 100 for n in range(1, 51)])


@given(
    st.lists(st.floats(0, 5), min_size=1, max_size=60),
    st.sampled_from([30, 60, 120, 600]),
)
def test_no_second_ever_sees_more_than_the_rate_and_the_burst(gaps: list[float], per_minute: float) -> None:
    clock = Clock()
    pace = Pace("x", requests_per_minute=per_minute, clock=clock)
    starts = []
    for gap in gaps:
        clock.now += gap
        starts.append(clock.now + pace.book(0, math.inf))
    starts.sort()
    per_second = per_minute / 60
    for index, start in enumerate(starts):
        inside = sum(start <= other < start + 10 for other in starts[index:])
        assert inside <= per_second * 10 + max(1.0, per_second) + 1e-6


@pytest.mark.parametrize(
    "limits", [{"requests_per_minute": 0}, {"tokens_per_second": -1}, {"requests_per_minute": math.nan}]
)
def test_limits_that_are_none_are_refused(limits: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest):
        Pace("x", **limits)
