"""The memory guard: sums before a load with a made-up machine, and real processes that grow."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import signal
import sys
import threading
import time
import urllib.request
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tiebreak import memory
from tiebreak.errors import EngineDied, InvalidRequest, MemoryRefused, TiebreakError
from tiebreak.meminfo import GIB, MIB
from tiebreak.memory import (
    Footprint,
    MemInfo,
    MemoryGuard,
    MemoryLimits,
    MemoryTightWarning,
    read_meminfo,
)
from tiebreak.process import Command, EngineProcess, ProcessOptions, Readiness

STUB = str(Path(__file__).parent / "stubs" / "stub_engine.py")
PATIENCE = 30.0  # seconds: only how long a failing test takes, never what is asserted

MACHINE = MemInfo(available=10 * GIB, swap_used=0, disk_free=100 * GIB)
UNLIMITED = MemoryLimits(reserve=0, max_swap_growth=None, min_free_disk=None, min_available=None)


def eventually(condition: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"not within {PATIENCE} s: {what}"
        time.sleep(0.02)


class FakeEngine:
    """A process that only pretends to load."""

    def __init__(self, name: str = "fake", gate: threading.Event | None = None) -> None:
        self.name = name
        self.running = False
        self.pid: int | None = None
        self.starts = 0
        self.reason: TiebreakError | None = None
        self._gate = gate

    def ensure(self) -> str:
        if self.reason:
            raise self.reason
        if not self.running:
            self.starts += 1
            if self._gate:
                assert self._gate.wait(PATIENCE)
            self.running = True
        return f"http://{self.name}"

    def halt(self, reason: TiebreakError) -> None:
        self.reason = reason
        self.running = False

    def saw_rss(self, size: int) -> None:
        raise AssertionError("there is no process to look at")


def probe(url: str, timeout: float) -> Readiness:
    try:
        with urllib.request.urlopen(url, timeout=timeout):
            return Readiness(state="ready")
    except OSError as error:
        return Readiness(state="loading", text=str(error))


@pytest.fixture
def hog() -> Iterator[Callable[..., EngineProcess]]:
    """Makes real engines that take as much memory as they are asked to."""
    made: list[EngineProcess] = []

    def one(*arguments: str) -> EngineProcess:
        argv = (sys.executable, "-S", STUB, "--port", "{port}", *arguments)
        options = ProcessOptions(grace=1.0, backoff=0.0, load_timeout=PATIENCE)
        made.append(EngineProcess("hog", Command(argv=argv), probe, options=options))
        return made[-1]

    yield one
    for engine in made:
        engine.stop()


def grow(url: str, megabytes: int) -> None:
    """Makes the stub grow; a guard that is quicker than its answer breaks the connection."""
    with suppress(ConnectionError), urllib.request.urlopen(f"{url}/grow/{megabytes}", timeout=PATIENCE) as reply:
        json.load(reply)


def model(tenths: int) -> Footprint:
    """A model of so many tenths of the made-up machine's memory, a GiB each."""
    part = tenths * GIB // 10
    rest = tenths * GIB - 4 * part
    return Footprint(weights=rest, cache=part, kv=2 * part, compute=part)


# Before a load


def test_seven_tenths_of_the_memory_run_without_a_word() -> None:
    guard = MemoryGuard(UNLIMITED, meminfo=lambda: MACHINE)
    engine = FakeEngine()
    assert guard.preflight(model(7), "big") == "ok"
    assert guard.ensure(engine, model(7)) == "http://fake"
    engine.running = False


def test_nine_tenths_run_with_a_warning() -> None:
    guard = MemoryGuard(UNLIMITED, meminfo=lambda: MACHINE)
    with pytest.warns(MemoryTightWarning, match=r"big: the model barely fits: weights 5\.40 GiB"):
        assert guard.preflight(model(9), "big") == "tight"


def test_more_than_there_is_gets_refused_before_the_start_with_the_whole_sum() -> None:
    guard = MemoryGuard(UNLIMITED, meminfo=lambda: MACHINE)
    engine = FakeEngine("big")
    with pytest.raises(MemoryRefused) as caught:
        guard.ensure(engine, model(11))
    assert (
        "weights 6.60 GiB + cache budget 1.10 GiB + KV 2.20 GiB + compute 1.10 GiB = 11.00 GiB; "
        "available 10.00 GiB = 10.00 GiB"
    ) in str(caught.value)
    assert engine.starts == 0


def test_an_override_loads_it_all_the_same_and_warns() -> None:
    limits = MemoryLimits(reserve=0, override=True)
    guard = MemoryGuard(limits, meminfo=lambda: MACHINE)
    with pytest.warns(MemoryTightWarning, match="does not fit, loaded by override"):
        assert guard.preflight(model(11), "big") == "tight"


def test_the_reserve_is_not_for_models() -> None:
    guard = MemoryGuard(MemoryLimits(reserve=4 * GIB), meminfo=lambda: MACHINE)
    with pytest.raises(MemoryRefused, match=r"available 10\.00 GiB - reserve 4\.00 GiB = 6\.00 GiB"):
        guard.preflight(model(7), "big")


def test_two_loads_at_once_are_added_up_and_do_not_wait_for_each_other() -> None:
    guard = MemoryGuard(UNLIMITED, meminfo=lambda: MACHINE)
    gate = threading.Event()
    slow, quick = FakeEngine("slow", gate), FakeEngine("quick")
    with ThreadPoolExecutor(1) as pool:
        loading = pool.submit(guard.ensure, slow, model(6))
        eventually(lambda: slow.starts, "a load under way")
        with pytest.raises(MemoryRefused, match=r"other loads under way 6\.00 GiB = 4\.00 GiB"):
            guard.ensure(quick, model(6))
        assert guard.ensure(quick, model(2)) == "http://quick"
        assert not loading.done()
        gate.set()
        assert loading.result(PATIENCE) == "http://slow"
    slow.running = quick.running = False


def test_threads_that_need_the_same_model_are_judged_once() -> None:
    guard = MemoryGuard(UNLIMITED, meminfo=lambda: MACHINE)
    gate = threading.Event()
    engine = FakeEngine("slow", gate)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(guard.ensure, engine, model(6))
        eventually(lambda: engine.starts, "a load under way")
        second = pool.submit(guard.ensure, engine, model(6))
        gate.set()
        assert first.result(PATIENCE) == second.result(PATIENCE)
    engine.running = False


def test_one_model_at_a_time_is_a_policy() -> None:
    limits = MemoryLimits(reserve=0, one_model_at_a_time=True)
    guard = MemoryGuard(limits, meminfo=lambda: MACHINE)
    first, second = FakeEngine("first"), FakeEngine("second")
    guard.ensure(first, model(1))
    guard.ensure(first, model(1))
    with pytest.raises(MemoryRefused, match=r"one model at a time: first \(1\.00 GiB\) is loaded"):
        guard.ensure(second, model(1))
    first.running = False
    assert guard.ensure(second, model(1)) == "http://second"
    second.running = False


def test_a_failed_load_does_not_count_as_a_model() -> None:
    limits = MemoryLimits(reserve=0, one_model_at_a_time=True)
    guard = MemoryGuard(limits, meminfo=lambda: MACHINE)
    failing = FakeEngine("failing")
    failing.reason = TiebreakError("no")
    with pytest.raises(TiebreakError, match="no"):
        guard.ensure(failing, model(1))
    other = FakeEngine("other")
    assert guard.ensure(other, model(1))
    other.running = False


# While it runs


@pytest.mark.parametrize(
    "limits, later, said",
    [
        (
            {"max_swap_growth": GIB},
            MemInfo(available=10 * GIB, swap_used=3 * GIB, disk_free=100 * GIB),
            r"swap grew by 3\.00 GiB \(max_swap_growth 1\.00 GiB\)",
        ),
        (
            {"min_free_disk": 30 * GIB},
            MemInfo(available=10 * GIB, swap_used=0, disk_free=29 * GIB),
            r"free disk fell to 29\.00 GiB \(min_free_disk 30\.00 GiB\)",
        ),
        (
            {"min_available": 4 * GIB},
            MemInfo(available=3 * GIB, swap_used=0, disk_free=100 * GIB),
            r"available memory fell to 3\.00 GiB \(min_available 4\.00 GiB\)",
        ),
        ({"max_run_s": 0.01}, MACHINE, r"it ran for \d+ s \(max_run_s 0\.01\)"),
    ],
)
def test_a_crossed_limit_stops_the_run_and_the_next_call_says_which(
    limits: dict[str, float], later: MemInfo, said: str
) -> None:
    engine = FakeEngine()
    guard = MemoryGuard(
        MemoryLimits(**limits),  # type: ignore[arg-type]
        meminfo=lambda: later if engine.starts else MACHINE,
        interval=0.01,
    )
    with contextlib.suppress(MemoryRefused):  # the watch may be faster than this start
        guard.ensure(engine, model(1))
    eventually(lambda: engine.reason, "a stop by the guard")
    assert not engine.running
    with pytest.raises(MemoryRefused, match=said) as caught:
        guard.ensure(engine, model(1))
    assert str(later) in str(caught.value)


def test_a_real_engine_that_eats_up_the_memory_is_stopped(
    hog: Callable[..., EngineProcess],
) -> None:
    """The machine is made up, a small one; the engine and what it takes of it are real."""
    engine = hog()

    def small_machine() -> MemInfo:
        held = psutil.Process(engine.pid).memory_info().rss if engine.pid else 0
        return MemInfo(available=200 * MIB - held, swap_used=0, disk_free=GIB)

    limits = MemoryLimits(reserve=0, min_available=100 * MIB, min_free_disk=None)
    guard = MemoryGuard(limits, meminfo=small_machine, interval=0.05)
    url = guard.ensure(engine, Footprint(weights=40 * MIB))
    pid = engine.pid
    assert pid
    grow(url, 110)
    eventually(lambda: not engine.running, "a stop by the guard")
    with pytest.raises(MemoryRefused, match=r"hog: .* available memory fell to \d+ MiB"):
        engine.ensure()
    assert not psutil.pid_exists(pid)


def test_an_engine_that_outgrows_its_sum_is_logged_once_and_stopped_at_its_limit(
    hog: Callable[..., EngineProcess], caplog: pytest.LogCaptureFixture
) -> None:
    engine = hog()
    limits = MemoryLimits(reserve=0, max_rss=250 * MIB)
    guard = MemoryGuard(limits, meminfo=lambda: MACHINE, interval=0.02)
    with caplog.at_level(logging.WARNING, logger=memory.__name__):
        url = guard.ensure(engine, Footprint(weights=80 * MIB))
        grow(url, 100)
        eventually(lambda: caplog.records, "a warning")
        assert engine.running
        grow(url, 200)
        eventually(lambda: not engine.running, "a stop by the guard")
    assert len(caplog.records) == 1
    assert "more than was added up for it" in caplog.text
    with pytest.raises(MemoryRefused, match=r"the engine grew to \d+ MiB \(max_rss 250 MiB\)"):
        engine.check()


def test_a_hog_under_a_real_limit_dies_alone_and_its_size_is_reported(
    hog: Callable[..., EngineProcess],
) -> None:
    engine = hog("--limit-mb", "400")
    guard = MemoryGuard(UNLIMITED, meminfo=lambda: MACHINE, interval=0.02)
    url = guard.ensure(engine, Footprint(weights=GIB))
    grow(url, 50)
    grow(url, 2000)
    with pytest.raises(EngineDied, match="SIGABRT") as caught:
        engine.check(within=PATIENCE)
    assert "MemoryError: the stub hit its limit" in caught.value.log
    assert "peak" in str(caught.value)


def test_a_killed_engine_is_reported_with_the_last_size_seen(
    hog: Callable[..., EngineProcess],
) -> None:
    engine = hog()
    guard = MemoryGuard(UNLIMITED, meminfo=lambda: MACHINE, interval=0.02)
    grow(guard.ensure(engine, Footprint(weights=GIB)), 120)
    eventually(lambda: engine.rss > 120 * MIB, "a look at its size")
    assert engine.pid
    os.kill(engine.pid, signal.SIGKILL)
    with pytest.raises(EngineDied, match=r"probably out of memory \(last resident size seen 1\d\d MiB"):
        engine.check(within=PATIENCE)


def test_a_restarted_engine_is_watched_again(hog: Callable[..., EngineProcess]) -> None:
    engine = hog()
    limits = MemoryLimits(reserve=0, max_rss=150 * MIB)
    guard = MemoryGuard(limits, meminfo=lambda: MACHINE, interval=0.02)
    guard.ensure(engine, Footprint(weights=GIB))
    assert engine.pid
    os.kill(engine.pid, signal.SIGKILL)
    with pytest.raises(EngineDied):
        engine.check(within=PATIENCE)
    grow(guard.ensure(engine, Footprint(weights=GIB)), 160)
    eventually(lambda: not engine.running, "a stop by the guard")


def test_a_limit_is_watched_while_the_model_loads(hog: Callable[..., EngineProcess]) -> None:
    engine = hog("--load", "600")
    limits = MemoryLimits(reserve=0, max_rss=1)
    guard = MemoryGuard(limits, meminfo=lambda: MACHINE, interval=0.02)
    with pytest.raises(MemoryRefused, match="the engine grew to"):
        guard.ensure(engine, Footprint(weights=GIB))
    assert engine.pid is None


def test_the_watch_ends_with_its_engine(hog: Callable[..., EngineProcess]) -> None:
    engine = hog()
    guard = MemoryGuard(UNLIMITED, meminfo=lambda: MACHINE, interval=0.02)
    engine.start()
    guard.watch(engine)
    guard.watch(engine)

    def watchers() -> int:
        return sum(thread.name == "tiebreak-hog-memory" for thread in threading.enumerate())

    assert watchers() == 1
    engine.stop()
    eventually(lambda: not watchers(), "the end of the watch")


# This machine, and bad input


def test_this_machine_can_be_read() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        info = read_meminfo()
    assert 0 < info.available <= psutil.virtual_memory().total
    assert info.swap_used >= 0
    assert info.disk_free > 0


@pytest.mark.parametrize("wrong", [{"reserve": -1}, {"warn_at": 0}, {"warn_at": 1.5}, {"max_run_s": float("nan")}])
def test_a_bad_limit_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InvalidRequest, match=next(iter(wrong))):
        MemoryLimits(**wrong)  # type: ignore[arg-type]


def test_a_negative_size_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="kv must be 0 bytes or more, not -5"):
        Footprint(weights=1, kv=-5)
