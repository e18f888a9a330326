"""Engine processes, with real ones: how they start, how they are proven ours, and how they end."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from tiebreak import launch, ports, process, startup
from tiebreak._keeper import CappedLog
from tiebreak.errors import EngineDied, EngineStartError, InvalidRequest, MemoryRefused
from tiebreak.ports import free_port
from tiebreak.process import Command, EngineProcess, ProcessOptions, Readiness

STUBS = Path(__file__).parent / "stubs"
SOURCE = Path(process.__file__).parents[1]
PATIENCE = 30.0  # seconds: only how long a failing test takes, never what is asserted

Start = Callable[..., EngineProcess]


def eventually(condition: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"not within {PATIENCE} s: {what}"
        time.sleep(0.02)


def gone(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def ask(url: str, path: str = "/") -> dict[str, object]:
    with urllib.request.urlopen(url + path, timeout=PATIENCE) as reply:
        answer: dict[str, object] = json.load(reply)
        return answer


class NamedProbe:
    """Ready when the stub says so and gives the expected name."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.calls = 0

    def __call__(self, url: str, timeout: float) -> Readiness:
        self.calls += 1
        try:
            with urllib.request.urlopen(url, timeout=timeout) as reply:
                found = json.load(reply)["name"]
        except OSError as error:
            return Readiness(state="loading", text=str(error))
        if found != self.name:
            return Readiness(state="stranger", text=f"it calls itself {found}")
        return Readiness(state="ready")


def stub(*arguments: str, name: str = "stub") -> tuple[str, ...]:
    program = str(STUBS / "stub_engine.py")
    return (sys.executable, "-S", program, "--port", "{port}", "--name", name, *arguments)


@pytest.fixture
def make() -> Iterator[Start]:
    """Makes engine processes on the stub and stops them all at the end."""
    made: list[EngineProcess] = []

    def one(*arguments: str, name: str = "stub", **options: object) -> EngineProcess:
        limits = {"grace": 1.0, "backoff": 0.05, "load_timeout": PATIENCE, **options}
        engine = EngineProcess(
            name,
            Command(argv=stub(*arguments, name=name)),
            NamedProbe(name),
            options=ProcessOptions(**limits),  # type: ignore[arg-type]
        )
        made.append(engine)
        return engine

    yield one
    for engine in made:
        engine.stop()


@pytest.fixture
def by_hand(tmp_path: Path) -> Iterator[Callable[..., int]]:
    """Starts stubs as a user would, without tiebreak; returns their ports."""
    started: list[subprocess.Popen[bytes]] = []

    def one(port: int, *arguments: str, name: str = "by-hand") -> int:
        argv = [part.replace("{port}", str(port)) for part in stub(*arguments, name=name)]
        started.append(subprocess.Popen(argv, stdout=subprocess.PIPE))
        assert started[-1].stdout is not None
        assert b"listens" in started[-1].stdout.readline()
        return started[-1].pid

    yield one
    for child in started:
        child.kill()
        child.communicate()


def first_port(monkeypatch: pytest.MonkeyPatch, port: int) -> None:
    """The next start tries this port first, and free ones after that."""
    first = [port]
    monkeypatch.setattr(startup, "free_port", lambda: first.pop() if first else free_port())


# How a parent may end


def run_parent(ending: str, scratch: Path) -> tuple[subprocess.Popen[str], dict[str, int]]:
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "TMPDIR": str(scratch)}
    parent = subprocess.Popen(
        [sys.executable, str(STUBS / "engine_parent.py"), ending],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert parent.stdout is not None
    return parent, json.loads(parent.stdout.readline())


def end_parent(parent: subprocess.Popen[str]) -> None:
    parent.kill()
    parent.communicate()


@pytest.mark.parametrize(
    "ending",
    ["return", "exception", "sys.exit", "os._exit", "SIGTERM", "SIGINT", "SIGHUP", "SIGKILL"],
)
def test_the_engine_ends_when_its_parent_does(ending: str, tmp_path: Path) -> None:
    parent, said = run_parent(ending, tmp_path)
    try:
        if ending.startswith("SIG"):
            assert not gone(said["pid"])
            parent.send_signal(getattr(signal, ending))
        parent.wait(PATIENCE)
        eventually(lambda: gone(said["pid"]), f"the engine's end after {ending}")
        eventually(lambda: not list(tmp_path.iterdir()), "the end of its temporary files")
    finally:
        end_parent(parent)


def test_the_pipe_alone_ends_the_engine_of_a_killed_parent(tmp_path: Path) -> None:
    """As on macOS, where the kernel has no parent-death signal."""
    parent, said = run_parent("unbound", tmp_path)
    keeper = psutil.Process(said["pid"]).parent()
    end_parent(parent)
    eventually(lambda: gone(said["pid"]), "the engine's end")
    assert keeper is not None
    eventually(lambda: gone(keeper.pid), "the keeper's end")


def test_a_forked_child_neither_stops_the_engine_nor_keeps_it_alive(tmp_path: Path) -> None:
    parent, said = run_parent("forked", tmp_path)
    try:
        assert ask(str(said["url"]))["ready"]
        assert not gone(said["pid"])
        assert not gone(said["child"])
        end_process_only(parent)
        eventually(lambda: gone(said["pid"]), "the engine's end, though the forked child lives")
        assert not gone(said["child"])
    finally:
        os.kill(said["child"], signal.SIGKILL)
        end_parent(parent)


def end_process_only(parent: subprocess.Popen[str]) -> None:
    """Kills without reading the pipe that a forked child still holds open."""
    parent.kill()
    parent.wait(PATIENCE)


@pytest.mark.parametrize("leave", ["child-return", "child-wait"])
def test_the_engine_of_a_multiprocessing_child_ends_with_that_child(leave: str, tmp_path: Path) -> None:
    parent, said = run_parent(leave, tmp_path)
    try:
        if leave == "child-wait":
            os.kill(said["owner"], signal.SIGKILL)
        eventually(lambda: gone(said["pid"]), "the engine's end")
        assert parent.poll() is None
    finally:
        end_parent(parent)


@pytest.mark.parametrize("death_signal", [True, False])
def test_the_engine_ends_when_its_keeper_is_killed(make: Start, death_signal: bool) -> None:
    engine = make(death_signal=death_signal)
    engine.start()
    pid = engine.pid
    assert pid
    os.kill(psutil.Process(pid).ppid(), signal.SIGKILL)
    eventually(lambda: gone(pid), "the engine's end")
    with pytest.raises(EngineDied, match="its keeper process was killed"):
        engine.check(within=PATIENCE)
    engine.ensure()
    assert engine.pid != pid


def test_a_keeper_told_to_end_takes_its_engine_along(make: Start) -> None:
    engine = make()
    engine.start()
    pid = engine.pid
    assert pid
    os.kill(psutil.Process(pid).ppid(), signal.SIGTERM)
    with pytest.raises(EngineDied, match="its keeper process was told to end"):
        engine.check(within=PATIENCE)
    assert gone(pid)


# Stopping


def test_only_our_own_engines_are_stopped(make: Start, by_hand: Callable[..., int], tmp_path: Path) -> None:
    port = free_port()
    stranger = by_hand(port, name="stub")  # even one with the very same name
    first, second = make(), make(name="second")
    first.start()
    second.start()
    first.stop()
    assert ask(second.url)["name"] == "second"
    process.stop_all()
    assert second.url == ""
    assert second.died() is None
    assert not gone(stranger)
    assert ask(f"http://127.0.0.1:{port}")["pid"] == stranger
    assert ask(second.ensure())["name"] == "second", "a stop is not a crash"


def test_stop_may_be_repeated_and_leaves_no_process_and_no_open_port(make: Start) -> None:
    engine = make()
    engine.stop()
    url, pid = engine.start(), engine.pid
    assert pid
    keeper = psutil.Process(pid).ppid()
    engine.stop()
    engine.stop()
    assert gone(pid)
    assert gone(keeper)
    with closing(socket.socket()) as client:
        assert client.connect_ex(("127.0.0.1", int(url.rpartition(":")[2]))) != 0
    engine.check()
    assert (engine.pid, engine.url, engine.uptime, engine.log_tail()) == (None, "", 0.0, "")


@pytest.mark.parametrize("habit", ["--ignore-term", "--name=stub"])
def test_what_ignores_a_polite_stop_is_killed(make: Start, tmp_path: Path, habit: str) -> None:
    """An engine and its helper, or its helper alone."""
    note = tmp_path / "helper"
    engine = make(habit, "--helper", str(note), grace=0.3)
    engine.start()
    pid, helper = engine.pid, int(note.read_text())
    assert pid
    assert not gone(helper)
    engine.stop()
    assert gone(pid)
    eventually(lambda: gone(helper), "the helper's end")


def test_the_helpers_of_a_crashed_engine_end_too(make: Start, tmp_path: Path) -> None:
    note = tmp_path / "helper"
    engine = make("--helper", str(note))
    engine.start()
    kill(engine)
    with pytest.raises(EngineDied):
        engine.check(within=PATIENCE)
    helper = int(note.read_text())
    eventually(lambda: gone(helper), "the helper's end")


def test_stop_ends_a_start_that_is_under_way(make: Start) -> None:
    engine = make("--load", "600")
    with ThreadPoolExecutor(1) as pool:
        start = pool.submit(engine.ensure)
        eventually(lambda: engine.log_tail(), "a loading engine")
        pid = engine.pid
        engine.stop()
        with pytest.raises(EngineStartError, match="stopped while it was starting"):
            start.result(PATIENCE)
    assert pid
    assert gone(pid)


def test_starting_and_stopping_leaves_no_thread_and_no_open_file(make: Start) -> None:
    engine = make()
    engine.start()
    engine.stop()
    before = (psutil.Process().num_fds(), threading.active_count())
    for _ in range(3):
        engine.start()
        engine.stop()
    eventually(lambda: (psutil.Process().num_fds(), threading.active_count()) <= before, "a clean return")


# Output


def test_an_engine_that_prints_megabytes_keeps_serving_and_its_log_stays_small(make: Start, tmp_path: Path) -> None:
    cap = 256 << 10
    engine = make("--print-mb", "5", log_bytes=cap, log_dir=tmp_path)
    url = engine.start()
    eventually(lambda: "the last line" in engine.log_tail(1), "the end of the output")
    assert ask(url)["ready"] is True
    files = list(tmp_path.rglob("engine.log*"))
    assert len(files) == 2
    assert cap <= sum(path.stat().st_size for path in files) <= 2 * cap
    assert len(engine.log_tail(10**6)) >= cap
    engine.stop()
    assert list(tmp_path.rglob("engine.log*")) == files, "a log_dir is for keeps"


def test_a_log_that_cannot_be_written_costs_its_lines_and_no_more(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    log = CappedLog(str(folder / "engine.log"), 10)
    log.write(b"first....\n")
    shutil.rmtree(folder)
    log.write(b"lost.....\n")
    folder.mkdir()
    log.write(b"back.....\n")
    log.close()
    assert (folder / "engine.log").read_bytes() == b"back.....\n"


def test_a_key_shows_neither_in_the_repr_nor_in_the_log() -> None:
    key = "sk-canary-31415926"
    command = Command(
        argv=(sys.executable, "-c", "import os; print(os.environ['API_KEY']); 1/0 # {port}"),
        env={"API_KEY": key},
    )
    engine = EngineProcess("stub", command, NamedProbe("stub"))
    with pytest.raises(EngineStartError) as caught:
        engine.start()
    assert "<API_KEY>" in caught.value.log
    assert "ZeroDivisionError" in caught.value.log
    assert key not in repr(command) + str(caught.value) + repr(engine)


# Dying


def kill(engine: EngineProcess) -> int:
    pid = engine.pid
    assert pid
    os.kill(pid, signal.SIGKILL)
    return pid


def test_a_killed_engine_is_reported_and_started_once_more(make: Start) -> None:
    engine = make(backoff=0.2)
    engine.start()
    engine.check()
    pid = kill(engine)
    with pytest.raises(EngineDied) as caught:
        engine.check(within=PATIENCE)
    message = str(caught.value)
    assert "ended by signal 9 (SIGKILL)" in message
    assert "s after its start" in message
    assert "probably out of memory" in message
    assert "peak" in message
    assert "stub listens on" in caught.value.log
    began = time.monotonic()
    assert ask(engine.ensure())["ready"] is True
    assert time.monotonic() - began >= 0.2, "a restart waits for its back-off"
    assert engine.pid != pid


def test_another_signal_is_not_blamed_on_memory(make: Start) -> None:
    engine = make()
    engine.start()
    pid = engine.pid
    assert pid
    os.kill(pid, signal.SIGSEGV)
    with pytest.raises(EngineDied, match=r"signal 11 \(SIGSEGV\)") as caught:
        engine.check(within=PATIENCE)
    assert "memory" not in str(caught.value)


def test_a_crash_loop_stops_and_says_how_often_it_crashed(make: Start) -> None:
    engine = make()
    for _ in range(2):
        engine.ensure()
        kill(engine)
        with pytest.raises(EngineDied):
            engine.check(within=PATIENCE)
    for _ in range(2):
        with pytest.raises(EngineStartError, match="crash loop: it crashed 2 times") as caught:
            engine.ensure()
        assert "SIGKILL" in str(caught.value)
    assert engine.pid is None
    engine.start()
    assert engine.running


def test_an_answer_between_two_crashes_makes_them_two_single_ones(make: Start) -> None:
    engine = make()
    engine.start()
    for _ in range(3):
        kill(engine)
        with pytest.raises(EngineDied):
            engine.check(within=PATIENCE)
        engine.ensure()
        engine.answered()
    assert engine.running


def test_an_engine_that_cannot_load_is_reported_with_its_log(make: Start) -> None:
    engine = make("--exit", "7")
    with pytest.raises(EngineStartError, match="ended with exit code 7 while loading") as caught:
        engine.ensure()
    assert caught.value.log == "the stub ends at once"
    with pytest.raises(EngineStartError, match="exit code 7"):
        engine.ensure()
    with pytest.raises(EngineStartError, match="crash loop: it crashed 2 times"):
        engine.ensure()


def test_a_program_that_does_not_exist_is_named() -> None:
    command = Command(argv=("/nowhere/llama-server", "--port", "{port}"))
    engine = EngineProcess("slot", command, NamedProbe("slot"))
    with pytest.raises(EngineStartError, match="'/nowhere/llama-server' could not be started") as e:
        engine.start()
    assert "FileNotFoundError" in str(e.value)


def test_a_log_directory_that_does_not_exist_is_named(make: Start, tmp_path: Path) -> None:
    with pytest.raises(EngineStartError, match=r"no place for its log: .*absent"):
        make(log_dir=tmp_path / "absent").start()


def test_a_python_without_an_executable_is_told_to_attach(make: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = make()
    monkeypatch.setattr(sys, "executable", "")
    with pytest.raises(EngineStartError, match="attach to it with url="):
        engine.start()


def test_a_halted_engine_stays_down_with_the_reason_until_it_is_started(make: Start) -> None:
    engine = make()
    engine.start()
    engine.halt(MemoryRefused("swap grew by 3 GiB."))
    for refused in (engine.ensure, engine.check, engine.ensure):
        with pytest.raises(MemoryRefused, match="swap grew by 3 GiB"):
            refused()
    assert engine.start()


# Ports


def test_a_port_that_is_taken_before_the_engine_binds_is_given_up(
    make: Start, by_hand: Callable[..., int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    port, heard = free_port(), tmp_path / "heard"
    by_hand(port, "--ports-log", str(heard))
    first_port(monkeypatch, port)
    engine = make()
    url = engine.start()
    assert url != f"http://127.0.0.1:{port}"
    assert ask(url)["pid"] == engine.pid
    assert not heard.exists(), "the stranger was talked to"


def test_a_port_that_is_held_without_a_listener_is_given_up_too(make: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """As by the local end of somebody's connection."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        port = holder.getsockname()[1]
        first_port(monkeypatch, port)
        assert make().start() != f"http://127.0.0.1:{port}"


def test_ports_are_proven_without_the_help_of_linux(
    make: Start, by_hand: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    port = free_port()
    by_hand(port, "--reuse-port", name="stub")
    monkeypatch.setattr(ports, "_LINUX", False)
    first_port(monkeypatch, port)
    engine = make("--reuse-port", "--grandchild")
    url = engine.start()
    assert url != f"http://127.0.0.1:{port}"
    assert ask(url)["ready"] is True
    engine.stop()
    assert engine.pid is None


def test_a_stranger_that_comes_while_the_engine_loads_is_not_talked_to(
    make: Start, by_hand: Callable[..., int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    port, heard, go = free_port(), tmp_path / "heard", tmp_path / "go"
    first_port(monkeypatch, port)
    engine = make("--bind-after", str(go))
    with ThreadPoolExecutor(1) as pool:
        start = pool.submit(engine.start)
        eventually(lambda: engine.pid, "an engine that does not listen yet")
        by_hand(port, "--ports-log", str(heard), name="stub")
        go.touch()
        url = start.result(PATIENCE)
    assert url != f"http://127.0.0.1:{port}"
    assert not heard.exists(), "the stranger was talked to"


def test_a_stranger_that_shares_our_port_is_noticed(
    make: Start, by_hand: Callable[..., int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some engines set SO_REUSEPORT: both servers listen, and the kernel deals out connections."""
    port, heard = free_port(), tmp_path / "heard"
    by_hand(port, "--reuse-port", "--ports-log", str(heard), name="stub")
    first_port(monkeypatch, port)
    engine = make("--reuse-port")
    assert engine.start() != f"http://127.0.0.1:{port}"
    assert not heard.exists(), "the stranger was talked to"


def test_a_stranger_by_identity_is_given_up_after_five_ports(make: Start) -> None:
    engine = make(name="expected")
    engine.command = Command(argv=stub(name="another"))
    with pytest.raises(EngineStartError, match="in 5 attempts") as caught:
        engine.start()
    assert "a stranger answers there, it calls itself another" in str(caught.value)
    assert engine.pid is None


def test_an_engine_may_serve_from_a_process_that_it_started(make: Start) -> None:
    engine = make("--grandchild")
    served_by = ask(engine.start())["pid"]
    assert served_by != engine.pid
    engine.stop()
    assert isinstance(served_by, int)
    eventually(lambda: gone(served_by), "the end of the serving process")


def test_twenty_engines_start_at_once(make: Start) -> None:
    engines = [make(name=f"stub-{number}") for number in range(20)]
    with ThreadPoolExecutor(20) as pool:
        urls = list(pool.map(lambda engine: engine.ensure(), engines))
    assert len(set(urls)) == 20
    for engine, url in zip(engines, urls, strict=True):
        assert ask(url)["name"] == engine.name
    process.stop_all()


def test_threads_that_need_the_same_engine_start_it_once(make: Start) -> None:
    engine = make("--load", "0.3")
    with ThreadPoolExecutor(8) as pool:
        urls = set(pool.map(lambda _: engine.ensure(), range(8)))
    assert len(urls) == 1
    launches = [running for running in launch.LAUNCHES.running() if running.pid == engine.pid]
    assert len(launches) == 1


# Loading


def test_a_slow_load_is_over_at_its_budget_and_says_so(make: Start) -> None:
    engine = make("--load", "600", load_timeout=2.0)
    with pytest.raises(EngineStartError, match=r"still loading, \d+ s so far") as caught:
        engine.ensure()
    message = str(caught.value)
    assert "503" in message
    assert "the load budget is 2 s" in message
    assert "stub listens on" in caught.value.log
    assert engine.pid is None


def test_a_slow_load_does_not_hold_up_another_engine(make: Start) -> None:
    slow, quick = make("--load", "600"), make(name="quick")
    with ThreadPoolExecutor(1) as pool:
        start = pool.submit(slow.ensure)
        eventually(lambda: slow.pid, "a loading engine")
        assert quick.ensure()
        assert not start.done()
        slow.stop()
        with pytest.raises(EngineStartError):
            start.result(PATIENCE)


def test_a_probe_that_fails_leaves_nothing_running() -> None:
    seen: list[int] = []

    def broken(url: str, timeout: float) -> Readiness:
        seen.append(faulty.pid or 0)
        raise ZeroDivisionError("a bug in a plugin")

    faulty = EngineProcess("faulty", Command(argv=stub()), broken)
    with pytest.raises(ZeroDivisionError):
        faulty.start()
    assert seen[0]
    assert gone(seen[0])


# Bad input and import


@pytest.mark.parametrize(
    "argv, env, complaint",
    [
        ("server --port {port}", {}, "not one string"),
        ((), {}, "argv is empty"),
        (("server", "--port", "8080"), {}, "no argument of the command holds {port}"),
        (("server", "{port}", "--key=sk-secret"), {"API_KEY": "sk-secret"}, "API_KEY is on the"),
    ],
)
def test_a_bad_command_is_refused(argv: Sequence[str], env: dict[str, str], complaint: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        Command(argv=argv, env=env)
    assert complaint in str(caught.value)


@pytest.mark.parametrize("limits", [{"load_timeout": 0}, {"grace": float("nan")}, {"log_bytes": -1}, {"restarts": -1}])
def test_a_bad_limit_is_refused(limits: dict[str, float]) -> None:
    with pytest.raises(InvalidRequest, match=next(iter(limits))):
        ProcessOptions(**limits)  # type: ignore[arg-type]


def test_importing_starts_nothing() -> None:
    code = (
        "import sys, threading, tiebreak.process, tiebreak.memory\n"
        "assert threading.active_count() == 1\n"
        "found = {'psutil', 'httpx', 'pydantic'} & set(sys.modules)\n"
        "assert not found, found"
    )
    subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
    )


@pytest.fixture
def ahead() -> Iterator[Callable[..., launch.Launch]]:
    """Starts a stub before it is needed."""

    def begin(*arguments: str) -> launch.Launch:
        before = launch.LAUNCHES.running()
        startup.prepare("stub", Command(argv=stub(*arguments)), ProcessOptions(grace=1.0))
        (started,) = launch.LAUNCHES.running() - before
        return started

    yield begin
    launch.LAUNCHES.dismiss()


def test_an_engine_that_was_started_ahead_is_taken_over_once(make: Start, ahead: Callable[..., launch.Launch]) -> None:
    early = ahead()
    first, second = make(), make()
    assert ask(first.ensure()) and first.pid == early.pid
    assert ask(second.ensure()) and second.pid != early.pid
    launch.LAUNCHES.dismiss()
    assert first.running
    first.stop()
    assert gone(early.pid)


def test_an_engine_ahead_that_is_not_the_one_wanted_is_left_and_dismissed(
    make: Start, ahead: Callable[..., launch.Launch]
) -> None:
    early = ahead("--load", "0.01")
    process = make()
    assert ask(process.ensure()) and process.pid != early.pid
    assert not early.ended.is_set()
    launch.LAUNCHES.dismiss()
    launch.LAUNCHES.dismiss()
    assert gone(early.pid) and process.running


def test_an_engine_ahead_that_died_is_replaced(make: Start, ahead: Callable[..., launch.Launch]) -> None:
    early = ahead()
    assert early.told.wait(PATIENCE)
    os.kill(early.pid, signal.SIGKILL)
    assert early.ended.wait(PATIENCE)
    process = make()
    assert ask(process.ensure()) and process.pid != early.pid


def test_a_forked_child_takes_nothing_that_its_parent_started_ahead(ahead: Callable[..., launch.Launch]) -> None:
    early = ahead()
    child = os.fork()
    if child == 0:
        order = early.order
        os._exit(0 if launch.LAUNCHES.prepared(lambda _port: order) is None else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert not early.ended.is_set()
