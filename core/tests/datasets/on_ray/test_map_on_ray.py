"""`tiebreak map --on ray` on two workers of this machine: the same bytes, whoever answers and whoever dies."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

pytestmark = [
    pytest.mark.usefixtures("cluster"),
    # What Ray and what comes with it warn of is not ours to mend.
    pytest.mark.filterwarnings("default"),
]

Table = Callable[[int], Path]
PATIENCE = 100.0
ROWS = 1_500
ON_RAY = ("--on", "ray", "--workers", "2")


def grown(journal: Path, size: int) -> bool:
    return journal.exists() and journal.stat().st_size > size


def workers() -> list[psutil.Process]:
    """The actors of this Ray, by the title that it gives them."""
    found = []
    for child in psutil.Process().children(recursive=True):
        try:
            if "".join(child.cmdline()[:1]).startswith("ray::MapWorker"):
                found.append(child)
        except psutil.Error:
            continue
    return found


def test_two_workers_answer_as_one_process_does(run: Any, table: Table, folder: Path) -> None:
    table(ROWS)
    assert run("in.jsonl", "-o", "here.jsonl", "--probabilities").code == 0
    result = run("in.jsonl", "-o", "there.jsonl", "--probabilities", *ON_RAY)
    assert (result.code, result.out) == (0, f"there.jsonl\t{ROWS}\t{ROWS // 50}\n"), result.err
    assert (folder / "there.jsonl").read_bytes() == (folder / "here.jsonl").read_bytes()


def test_a_run_begun_here_goes_on_there_and_a_worker_that_dies_loses_nothing(
    run: Any, spawn: Callable[..., subprocess.Popen[bytes]], table: Table, folder: Path
) -> None:
    table(ROWS)
    slow = ("--option", "delay_ms=20")
    journal = folder / "out.jsonl.journal"
    assert run("in.jsonl", "-o", "whole.jsonl").code == 0
    begun = spawn("in.jsonl", "-o", "out.jsonl", *slow)
    while not grown(journal, 5_000):
        assert begun.poll() is None
        time.sleep(0.002)
    begun.kill()
    begun.wait(PATIENCE)
    goal = journal.stat().st_size + 5_000
    killed: list[int] = []

    def kill_one() -> None:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            at_work = workers()
            if grown(journal, goal) and len(at_work) == 2:
                at_work[0].kill()
                killed.append(at_work[0].pid)
                return
            time.sleep(0.01)

    killer = threading.Thread(target=kill_one)
    killer.start()
    result = run("in.jsonl", "-o", "out.jsonl", "--resume", "--json", *slow, *ON_RAY)
    killer.join()
    assert killed and result.code == 0, result.err
    assert 0 < json.loads(result.out)["resumed"] < ROWS
    assert (folder / "out.jsonl").read_bytes() == (folder / "whole.jsonl").read_bytes()


def test_what_an_engine_refuses_there_is_the_same_error_here(run: Any, table: Table, folder: Path) -> None:
    table(3)
    options = [str(number) for number in range(300)]
    asked = {"columns": "text", "questions": {"q": {"kind": "choice", "options": options}}}
    (folder / "q.json").write_text(json.dumps(asked))
    result = run("in.jsonl", "-o", "out.jsonl", *ON_RAY)
    assert result.code == 2, result.err
    assert "tiebreak: stub: Question 'q' has 300 options; it takes 255." in result.err
    assert not (folder / "out.jsonl").exists()
