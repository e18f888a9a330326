"""What a benchmark says about the machine, and what it does to a file and sees of a process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tiebreak.bench.file_cache import cool, warm
from tiebreak.bench.machine import Peak, default_threads, describe, strangers

HELD = 64 << 20


def test_the_machine_is_described() -> None:
    found = describe()
    assert found.cpu
    assert found.memory_bytes > 1 << 28
    assert 1 <= found.cores <= (os.cpu_count() or 1)
    assert 1 <= default_threads() <= found.cores
    assert found.python.startswith(f"{sys.version_info.major}.{sys.version_info.minor}")


def test_what_is_not_an_engine_is_no_stranger() -> None:
    assert all("(" in each for each in strangers())
    assert not any("python" in each for each in strangers())


def test_a_file_is_the_same_cold_and_warm(tmp_path: Path) -> None:
    path = tmp_path / "weights"
    path.write_bytes(os.urandom(1 << 22))
    before = path.read_bytes()
    assert cool(path) in (True, False)  # whether it works is the file system's affair, and it is never claimed
    warm(path)
    assert path.read_bytes() == before


def test_the_peak_of_a_child_is_what_it_held_at_most() -> None:
    script = (
        f"held = bytearray({HELD})\nfor at in range(0, len(held), 4096): held[at] = 1\ndel held\n"
        "print(flush=True)\ninput()"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        peak = Peak(child.pid)
        child.stdout.readline()
        peak.look()
        found = peak.bytes
        child.stdin.close()
    assert found is not None
    assert found > (HELD if sys.platform == "linux" else 1 << 20)


def test_the_peak_of_this_process_is_what_was_added_to_it() -> None:
    peak = Peak(None)
    held = bytearray(HELD)
    for at in range(0, len(held), 4096):
        held[at] = 1
    peak.look()
    del held
    found = peak.bytes
    assert found is not None
    assert found > HELD // 2
    assert found < HELD * 8


def test_a_process_that_is_gone_has_no_peak() -> None:
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait(30)
    assert Peak(done.pid).bytes is None
