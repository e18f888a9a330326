"""The embedded engine in a child process: answers, deaths, forks and hostile files."""

from __future__ import annotations

import concurrent.futures
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tiebreak import (
    ContextOverflow,
    Decider,
    EngineDied,
    EngineStartError,
    EngineUnavailable,
    MemoryRefused,
    ModelUnavailable,
    TiebreakError,
    choice,
    yes_no,
)
from tiebreak.memory import MemoryGuard, MemoryLimits
from tiebreak.models import Model
from tiebreak.pool import Pool
from tiebreak_embedded.isolated import IsolatedEngine

QUESTIONS = {"team": choice("Which team?", ["roads", "waste"]), "today": yes_no("Is it urgent?")}
SMALL = {"context": 512, "sequences": 2, "threads": 1, "min_coverage": 0}


@pytest.fixture
def isolated(hybrid_path: Path) -> Iterator[Decider]:
    pool = Pool()
    yield Decider("embedded", str(hybrid_path), pool=pool, isolate=True, **SMALL)
    pool.close()


def child_of(decider: Decider) -> int:
    engine = decider.session.engine
    assert isinstance(engine, IsolatedEngine)
    assert engine.process.pid is not None
    return engine.process.pid


def test_the_child_answers_as_this_process_does(isolated: Decider, hybrid_path: Path) -> None:
    pool = Pool()
    here = Decider("embedded", str(hybrid_path), pool=pool, **SMALL)
    decision, expected = isolated.decide("x", QUESTIONS), here.decide("x", QUESTIONS)
    assert decision.answers == expected.answers
    assert decision.receipt.prompt_tokens == expected.receipt.prompt_tokens
    assert isolated.explain("x", QUESTIONS).tokens == here.explain("x", QUESTIONS).tokens
    assert child_of(isolated) != os.getpid()
    with pytest.raises(ContextOverflow) as caught:
        isolated.choose("word " * 2000, ["a", "b"])
    assert caught.value.window == 512
    pool.close()


def test_closing_leaves_no_process(isolated: Decider) -> None:
    isolated.decide("x", QUESTIONS)
    pid = child_of(isolated)
    isolated.close()
    assert not psutil.pid_exists(pid)


def test_parallel_requests_share_the_child(isolated: Decider) -> None:
    states = [f"{n} bins" for n in range(8)]
    right = [isolated.decide(state, QUESTIONS).answers for state in states]
    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda state: isolated.decide(state, QUESTIONS).answers, states))
    assert found == right


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGABRT])
def test_a_death_is_reported_and_the_child_started_again_once(isolated: Decider, number: int) -> None:
    isolated.decide("x", QUESTIONS)
    pid = child_of(isolated)
    with concurrent.futures.ThreadPoolExecutor(1) as threads:
        future = threads.submit(isolated.choose, "a long state " * 30, [str(n) for n in range(9)])
        while isolated.session.opened.admission._free == 2 and not future.done():
            time.sleep(0.0005)
        os.kill(pid, number)
        try:
            future.result()  # it may have been quicker than the signal
        except EngineDied as error:
            assert signal.Signals(number).name in str(error)  # noqa: PT017
    while isolated.session.engine.ready:  # type: ignore[attr-defined]
        time.sleep(0.005)
    assert isolated.decide("x", QUESTIONS)["team"].value in ("roads", "waste")
    assert child_of(isolated) != pid


def test_a_crash_in_native_code_ends_the_child_only(isolated: Decider) -> None:
    isolated.decide("x", QUESTIONS)
    os.kill(child_of(isolated), signal.SIGSEGV)
    while isolated.session.engine.ready:  # type: ignore[attr-defined]
        time.sleep(0.005)
    engine = isolated.session.engine
    assert isinstance(engine, IsolatedEngine)
    with pytest.raises(EngineDied, match="SIGSEGV") as caught:
        engine.process.check(within=10)
    assert "Segmentation fault" in caught.value.log, "faulthandler says where"


def test_the_memory_guard_watches_the_child(hybrid_path: Path) -> None:
    pool = Pool(MemoryGuard(MemoryLimits(max_rss=1), interval=0.01))
    with Decider("embedded", str(hybrid_path), pool=pool, isolate=True, **SMALL) as decider:
        decider.start()
        engine = decider.session.engine
        assert isinstance(engine, IsolatedEngine)
        pid = engine.process.pid  # None where the guard was quicker than this line
        deadline = time.monotonic() + 30
        while pid is not None and psutil.pid_exists(pid) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert pid is None or not psutil.pid_exists(pid)
        with pytest.raises(MemoryRefused, match="max_rss"):
            decider.decide("x", QUESTIONS)


PARENT = """
import json, sys, time
from tiebreak import Decider
from tiebreak.pool import Pool
pool = Pool()
made = Decider("embedded", sys.argv[1], pool=pool, isolate=True, context=64, sequences=1, threads=1, min_coverage=0)
made.start()
print(json.dumps(made.session.engine.process.pid), flush=True)
time.sleep(600)
"""


def test_the_child_ends_when_its_parent_is_killed(hybrid_path: Path) -> None:
    """And the parent's main module is anything: here a string."""
    with subprocess.Popen([sys.executable, "-c", PARENT, str(hybrid_path)], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        pid = json.loads(parent.stdout.readline())
        assert psutil.pid_exists(pid)
        parent.kill()
    deadline = time.monotonic() + 30
    while psutil.pid_exists(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not psutil.pid_exists(pid)


def test_a_cut_file_is_refused_by_the_child_with_the_reason(hybrid_path: Path, tmp_path: Path) -> None:
    path = tmp_path / "cut.gguf"
    path.write_bytes(hybrid_path.read_bytes()[:100_000])
    engine = _engine(path)
    try:
        with pytest.raises(ModelUnavailable, match="cannot load"):
            engine.start()
    finally:
        engine.close()


def test_hostile_files_never_end_this_process(hybrid_path: Path, tmp_path: Path) -> None:
    """Mutations behind the core's own check, straight into llama.cpp; `embedded_hostile.py` runs more."""
    good = hybrid_path.read_bytes()
    rng = random.Random(5)
    for number in range(20):
        bad = bytearray(good)
        for _ in range(rng.choice((1, 4, 64))):
            bad[rng.randrange(64 << 10)] = rng.randrange(256)
        path = tmp_path / f"{number}.gguf"
        path.write_bytes(bad)
        engine = _engine(path)
        try:
            engine.start()
        except TiebreakError as error:
            assert error.message  # noqa: PT017
        finally:
            engine.close()


def _engine(path: Path) -> IsolatedEngine:
    from tiebreak_embedded.info import INFO

    options = {**INFO.check_options({"context": 64, "sequences": 1, "threads": 1, "isolate": True}), "url": None}
    return IsolatedEngine(Model(reference=str(path), name="x", path=path), options)


def test_a_crash_loop_ends(isolated: Decider) -> None:
    isolated.start()
    for _ in range(2):
        os.kill(child_of(isolated), signal.SIGKILL)
        while isolated.session.engine.ready:  # type: ignore[attr-defined]
            time.sleep(0.005)
        try:
            isolated.session.engine.start()  # type: ignore[attr-defined]
        except EngineStartError as error:
            assert "crash loop" in str(error)  # noqa: PT017
            return
    pytest.fail("it was started for ever")


if hasattr(os, "fork"):

    def in_fork(work: Callable[[], str]) -> str:
        """What some work returns in a forked child."""
        reading, writing = os.pipe()
        pid = os.fork()
        if not pid:
            try:
                os.write(writing, work().encode())
            finally:
                os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as pipe:
            said = pipe.read()
        os.waitpid(pid, 0)
        return said

    @pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
    def test_a_fork_has_a_child_of_its_own(isolated: Decider) -> None:
        expected = isolated.decide("x", QUESTIONS)["team"].value
        pid = child_of(isolated)

        def work() -> str:
            answer = isolated.decide("x", QUESTIONS)["team"].value
            own = child_of(isolated)
            isolated.close()
            return f"{answer} {own != pid}"

        assert in_fork(work) == f"{expected} True"
        assert isolated.decide("x", QUESTIONS)["team"].value == expected
        assert child_of(isolated) == pid

    @pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
    def test_a_fork_of_a_process_that_has_loaded_a_model_is_told_what_to_do(hybrid_path: Path) -> None:
        pool = Pool()
        here = Decider("embedded", str(hybrid_path), pool=pool, **SMALL)
        expected = here.decide("x", QUESTIONS).answers
        fresh = Decider("embedded", str(hybrid_path), pool=Pool(), **{**SMALL, "context": 64})

        def work() -> str:
            said = []
            for decider in (here, fresh):
                try:
                    decider.decide("x", QUESTIONS)
                except EngineUnavailable as error:
                    said.append("isolate" in error.remedy)
                decider.close()
            return str(said)

        assert in_fork(work) == "[True, True]"
        assert here.decide("x", QUESTIONS).answers == expected
        pool.close()
