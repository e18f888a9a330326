"""Crews: jobs in order, so many at a time, withdrawn ones left out."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tiebreak.crew import Crew, Job


def test_a_single_hand_takes_jobs_in_the_order_in_which_they_came() -> None:
    seen: list[int] = []
    with ThreadPoolExecutor(1) as pool:
        crew: Crew[int, None] = Crew(pool, 1, seen.append)
        jobs = [crew.give(number) for number in range(1000)]
        crew.start()
        assert [job.result() for job in jobs] == [None] * 1000
    assert seen == list(range(1000))


def test_no_more_hands_are_at_work_than_there_are() -> None:
    lock, most, now = threading.Lock(), 0, 0
    together = threading.Barrier(3)

    def work(number: int) -> int:
        nonlocal most, now
        with lock:
            now += 1
            most = max(most, now)
        together.wait(10)  # all three hands have to come
        with lock:
            now -= 1
        return -number

    with ThreadPoolExecutor(3) as pool:
        crew: Crew[int, int] = Crew(pool, 3, work)
        first = [crew.give(number) for number in range(30)]
        crew.start()
        crew.start()
        second = [crew.give(number) for number in range(30, 60)]
        crew.start()
        assert [job.result() for job in first + second] == [-number for number in range(60)]
    assert most == 3


def test_hands_come_back_to_work_after_a_rest() -> None:
    with ThreadPoolExecutor(2) as pool:
        crew: Crew[int, int] = Crew(pool, 2, lambda number: number + 1)
        for number in range(200):
            job = crew.give(number)
            crew.start()
            assert job.result() == number + 1
            assert job.done()


def test_what_a_job_raises_is_raised_where_its_result_is_asked_for() -> None:
    def work(number: int) -> int:
        if number == 1:
            raise ValueError("one")
        return number

    with ThreadPoolExecutor(1) as pool:
        crew: Crew[int, int] = Crew(pool, 1, work)
        jobs = [crew.give(number) for number in range(3)]
        crew.start()
        assert jobs[0].result() == 0
        with pytest.raises(ValueError, match="one"):
            jobs[1].result()
        assert isinstance(jobs[1].exception(), ValueError)
        assert jobs[2].result() == 2
        assert jobs[2].exception() is None


def test_a_withdrawn_job_is_not_begun() -> None:
    begun, go = threading.Event(), threading.Event()
    seen: list[int] = []

    def work(number: int) -> None:
        seen.append(number)
        begun.set()
        assert go.wait(10)

    with ThreadPoolExecutor(1) as pool:
        crew: Crew[int, None] = Crew(pool, 1, work)
        jobs: list[Job[int, None]] = [crew.give(number) for number in range(3)]
        crew.start()
        assert begun.wait(10)
        assert not jobs[0].done()
        jobs[1].cancel()
        go.set()
        jobs[2].result()
    assert jobs[1].cancelled()
    assert jobs[1].done()
    assert seen == [0, 2]
