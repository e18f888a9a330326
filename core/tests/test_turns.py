from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from tiebreak.errors import EngineError, EngineHung
from tiebreak.turns import Turns


class Work:
    """Notes its batches; the first one waits until it is let go."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.go = threading.Event()
        self.begun = threading.Event()
        self.fails = False

    def __call__(self, batch: Sequence[int]) -> None:
        self.batches.append(list(batch))
        self.begun.set()
        self.go.wait(30)
        if self.fails:
            raise EngineError("no")


def never() -> bool:
    return False


def test_those_who_wait_are_served_together_in_order_as_far_as_they_fit() -> None:
    work = Work()
    turns: Turns[int] = Turns(work, room=4, name="x")
    with ThreadPoolExecutor(8) as threads:
        futures = [threads.submit(turns.take, 0, 1, never)]
        work.begun.wait(30)
        for number, size in ((1, 1), (2, 2), (3, 1), (4, 9), (5, 1)):
            futures.append(threads.submit(turns.take, number, size, never))
            while len(turns._queue) < number:
                pass
        work.go.set()
        assert all(future.result() >= 0 for future in futures)
    assert work.batches == [[0], [1, 2, 3], [4], [5]]


def test_an_error_reaches_everybody_whose_work_it_was_and_nobody_else() -> None:
    work = Work()
    turns: Turns[int] = Turns(work, room=4, name="x")
    work.fails = True
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(turns.take, 0, 1, never)
        work.begun.wait(30)
        work.go.set()
        with pytest.raises(EngineError):
            first.result()
    work.fails = False
    assert turns.take(1, 1, never) >= 0


def test_cancelled_work_is_not_done() -> None:
    work = Work()
    turns: Turns[int] = Turns(work, room=4, name="x")
    with pytest.raises(EngineHung):
        turns.take(0, 1, lambda: True)
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(turns.take, 1, 1, never)
        work.begun.wait(30)
        late = threading.Event()
        second = threads.submit(turns.take, 2, 1, late.is_set)
        while not turns._queue:
            pass
        late.set()
        with pytest.raises(EngineHung):
            second.result()
        assert not turns._queue
        work.go.set()
        first.result()
    assert work.batches == [[1]]


def test_a_crowd_is_served_without_loss() -> None:
    done: list[int] = []
    turns: Turns[int] = Turns(done.extend, room=3, name="x")
    with ThreadPoolExecutor(16) as threads:
        list(threads.map(lambda n: turns.take(n, 1, never), range(500)))
    assert sorted(done) == list(range(500))
