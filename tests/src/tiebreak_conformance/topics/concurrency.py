"""Concurrency: threads, tasks and event loops get their own answers, all of them."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

from tiebreak.errors import EngineHung, EngineOverloaded, TiebreakError
from tiebreak_conformance.claims import Topic, check
from tiebreak_conformance.samples import DESK, ask_all, state
from tiebreak_conformance.subject import AT_ONCE, attempt

if TYPE_CHECKING:
    from tiebreak.answers import Answer
    from tiebreak.decider import Decider
    from tiebreak_conformance.subject import Subject

__all__ = ["ConcurrencyChecks"]


class ConcurrencyChecks(Topic):
    """Threads, tasks and event loops get their own answers, all of them."""

    @check(
        "CONC-01",
        since="0.1",
        claim="Of 50 requests from threads at once every one gets its own answer.",
        note="Match replies to requests by id; an engine object holds nothing that belongs to one request.",
    )
    def test_conc_01_threads(self, subject: Subject) -> None:
        texts = list(subject.alone)
        with ThreadPoolExecutor(AT_ONCE) as threads:
            together = list(threads.map(subject.ask, texts))
        for text, found in zip(texts, together, strict=True):
            subject.same(subject.alone[text], found, f"of {text[:22]!r} among {AT_ONCE} threads")

    @check(
        "CONC-02",
        since="0.1",
        claim="Of 50 requests from tasks at once every one gets the answer that the sync call gives.",
        note="Async goes through the same exchange; see LocalEngine.evidence for threads.",
    )
    def test_conc_02_tasks(self, subject: Subject) -> None:
        async def gather() -> list[Answer]:
            return await asyncio.gather(*(_aask(subject.decider, text) for text in texts))

        texts = list(subject.alone)
        for text, found in zip(texts, asyncio.run(gather()), strict=True):
            subject.same(subject.alone[text], found, f"of {text[:22]!r} among {AT_ONCE} tasks")

    @check(
        "CONC-03",
        since="0.1",
        claim="The sync call works inside a running event loop.",
        note="No asyncio.run inside an engine.",
    )
    def test_conc_03_sync_inside_a_loop(self, subject: Subject) -> None:
        expected = subject.ask(state("CONC-03"))

        async def inside() -> Answer:
            return subject.ask(state("CONC-03"))

        subject.same(expected, asyncio.run(inside()), "the sync call inside a loop")

    @check(
        "CONC-04",
        since="0.1",
        claim="One Decider serves several event loops, one after another and in threads, and then sync calls.",
        note="Nothing may be bound to the loop of its first use: no asyncio.Lock in an engine.",
    )
    def test_conc_04_several_loops(self, subject: Subject) -> None:
        expected = subject.ask(state("CONC-04"))
        for number in range(3):
            found = asyncio.run(_aask(subject.decider, state("CONC-04")))
            subject.same(expected, found, f"in event loop {number + 1}")
        with ThreadPoolExecutor(2) as threads:
            loops = [threads.submit(asyncio.run, _aask(subject.decider, state("CONC-04"))) for _ in range(2)]
            for loop in loops:
                subject.same(expected, loop.result(), "in the event loop of a thread")
        subject.same(expected, subject.ask(state("CONC-04")), "sync again")

    @check(
        "CONC-05",
        since="0.1",
        claim="A cancelled task ends with CancelledError, and the engine answers the next request as before.",
        note="Do not swallow CancelledError; free what the request held.",
    )
    def test_conc_05_cancellation(self, subject: Subject) -> None:
        expected = subject.ask(state("CONC-05"))

        async def cancel() -> Answer:
            tasks = [asyncio.create_task(_aask(subject.decider, state(f"CONC-05 {n}"))) for n in range(6)]
            await asyncio.sleep(0)
            for task in tasks:
                task.cancel()
            for ended in await asyncio.gather(*tasks, return_exceptions=True):
                assert not isinstance(ended, Exception), f"a cancelled task raised {ended!r}"
            return await _aask(subject.decider, state("CONC-05"))

        subject.same(expected, asyncio.run(cancel()), "after cancelled tasks")
        subject.same(expected, subject.ask(state("CONC-05")), "after cancelled tasks, sync")

    @check(
        "CONC-06",
        since="0.1",
        claim="A request that runs out of time is EngineHung, and the engine answers the next one as before.",
        note="Ask cancelled() before work starts; the core keeps the deadline of a wire engine.",
    )
    def test_conc_06_timeouts(self, subject: Subject) -> str | None:
        if subject.target.wire == "replay":
            return "a recording takes no time"
        expected = subject.ask(state("CONC-06"))
        hurried = subject.open(timeout=0.001)
        for number in range(3):
            found = attempt(partial(hurried.decide, state(f"CONC-06 {number}"), {"answer": DESK}), TiebreakError)
            if isinstance(found, TiebreakError):
                assert isinstance(found, (EngineHung, EngineOverloaded)), f"too little time is {found!r}"
                assert found.engine == subject.target.engine, f"the error does not name the engine: {found}"
        subject.same(expected, subject.ask(state("CONC-06")), "after a timeout")
        return None

    @check(
        "CONC-07",
        since="0.1",
        claim="Requests of several questions at once lose no question and mix none up.",
        note="Evidence comes in the order of Plan.rows.",
    )
    def test_conc_07_several_questions(self, subject: Subject) -> None:
        questions = ask_all(subject.capabilities.kinds)
        texts = [state(f"CONC-07 {number}") for number in range(8)]
        alone = [subject.decide(text, questions) for text in texts]
        with ThreadPoolExecutor(8) as threads:
            together = list(threads.map(lambda text: subject.decide(text, questions), texts))
        for expected, found in zip(alone, together, strict=True):
            assert list(found.answers) == list(questions), f"asked {list(questions)}, got {list(found.answers)}"
            for name in questions:
                subject.same(expected[name], found[name], f"of {name} among 8 threads")


async def _aask(decider: Decider, text: str) -> Answer:
    return (await decider.adecide(text, {"answer": DESK}))["answer"]
