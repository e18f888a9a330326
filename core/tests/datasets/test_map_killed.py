"""`tiebreak map` in processes of its own: killed at any moment, and with more rows than it may hold."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

Spawn = Callable[..., "subprocess.Popen[bytes]"]
Table = Callable[[int], Path]
PATIENCE = 90.0
ROWS = 600


def finished(process: subprocess.Popen[bytes]) -> str:
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, err.decode()
    return out.decode()


def kill_when(process: subprocess.Popen[bytes], reached: Callable[[], bool]) -> bool:
    """Kill a process at a moment; whether it had not ended by itself before."""
    end = time.monotonic() + PATIENCE
    while process.poll() is None and not reached():
        assert time.monotonic() < end
        time.sleep(0.0005)
    if process.poll() is not None:
        return False
    process.send_signal(signal.SIGKILL)
    process.wait(PATIENCE)
    return True


def test_killed_again_and_again_it_ends_with_the_same_bytes(spawn: Spawn, table: Table, folder: Path) -> None:
    table(ROWS)
    slow = ("--option", "delay_ms=2", "--probabilities")
    finished(spawn("in.jsonl", "-o", "whole.csv", *slow))
    journal, unfinished = folder / "out.csv.journal", folder / "out.csv.unfinished"
    dice, size, kills = random.Random(7), 0, 0
    for _ in range(4):
        goal = size + dice.randrange(1, 40_000)
        process = spawn("in.jsonl", "-o", "out.csv", "--resume", *slow)
        kills += kill_when(process, lambda goal=goal: journal.exists() and journal.stat().st_size >= goal)  # type: ignore[misc]
        size = journal.stat().st_size if journal.exists() else size
    process = spawn("in.jsonl", "-o", "out.csv", "--resume", *slow)
    kills += kill_when(process, unfinished.exists)
    assert kills >= 3
    if not (folder / "out.csv").exists() or journal.exists():
        finished(spawn("in.jsonl", "-o", "out.csv", "--resume", *slow))
    assert (folder / "out.csv").read_bytes() == (folder / "whole.csv").read_bytes()
    assert not journal.exists() and not unfinished.exists()


def test_a_second_run_for_the_same_output_is_refused_while_the_first_is_at_work(
    spawn: Spawn, table: Table, folder: Path
) -> None:
    table(ROWS)
    first = spawn("in.jsonl", "-o", "out.csv", "--option", "delay_ms=5")
    end = time.monotonic() + PATIENCE
    while not (folder / "out.csv.journal").exists():
        assert time.monotonic() < end
        time.sleep(0.001)
    second = spawn("in.jsonl", "-o", "out.csv", "--resume")
    _, err = second.communicate(timeout=PATIENCE)
    assert second.returncode == 2 and b"Another run is working on" in err
    finished(first)


def test_an_interrupt_keeps_what_was_answered(spawn: Spawn, table: Table, folder: Path) -> None:
    table(ROWS)
    journal = folder / "out.jsonl.journal"
    process = spawn("in.jsonl", "-o", "out.jsonl", "--option", "delay_ms=5")
    while not journal.exists() or journal.stat().st_size < 10_000:
        assert process.poll() is None
        time.sleep(0.001)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, err.decode()
    assert b"Traceback" not in err and b"go on with --resume" in err
    assert json.loads(finished(spawn("in.jsonl", "-o", "out.jsonl", "--resume", "--json")))["resumed"] > 0


def peak(process: subprocess.Popen[bytes]) -> int:
    """The most memory that a process ever had, in KiB."""
    assert process.stderr is not None
    process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_maxrss


def test_memory_does_not_grow_with_the_rows(spawn: Spawn, table: Table) -> None:
    table(1_000)
    little = peak(spawn("in.jsonl", "-o", "little.jsonl"))
    table(12_000)
    much = peak(spawn("in.jsonl", "-o", "much.jsonl"))
    assert much - little < 20 * 1024
