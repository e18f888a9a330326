"""A stub engine that every process finds as an installed plugin, and files to ask about."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest

from tiebreak import cli, shutdown

STUBS = Path(__file__).parent.parent / "stubs"
QUESTIONS: dict[str, Any] = {
    "columns": "text",
    "questions": {
        "team": {"kind": "choice", "options": ["facilities", "sales", "legal"]},
        "urgent": {"kind": "yes_no", "question": "Is it urgent?"},
    },
}


@attrs.frozen(kw_only=True)
class Result:
    """What a command left behind."""

    code: int
    out: str
    err: str


Run = Callable[..., Result]


@pytest.fixture
def plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stub as an installed distribution, here and in every child process."""
    info = tmp_path / "site" / "dist_of_stub-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: dist-of-stub\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[tiebreak.engines]\nstub = gateway_stub:Plugin\n")
    for path in (str(STUBS), str(info.parent)):
        monkeypatch.syspath_prepend(path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(STUBS), str(info.parent))))
    monkeypatch.setenv("TIEBREAK_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def folder(tmp_path: Path, plugins: None, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with the questions in it."""
    path = tmp_path / "work"
    path.mkdir()
    (path / "q.json").write_text(json.dumps(QUESTIONS))
    monkeypatch.chdir(path)
    return path


@pytest.fixture
def run(folder: Path, capfd: pytest.CaptureFixture[str]) -> Iterator[Run]:
    """`tiebreak map q.json ...` on the stub, in this process."""

    def call(*arguments: str, questions: str = "q.json") -> Result:
        capfd.readouterr()
        code = cli.run(["map", questions, *arguments, "--engine", "stub"])
        captured = capfd.readouterr()
        return Result(code=code, out=captured.out, err=captured.err)

    yield call
    shutdown()


@pytest.fixture
def spawn(folder: Path) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """The same in a process of its own, which is left running."""
    started: list[subprocess.Popen[bytes]] = []

    def call(*arguments: str) -> subprocess.Popen[bytes]:
        command: Sequence[str] = (sys.executable, "-m", "tiebreak", "map", "q.json", *arguments, "--engine", "stub")
        process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        started.append(process)
        return process

    yield call
    for process in started:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        process.communicate()


@pytest.fixture
def table(folder: Path) -> Callable[[int], Path]:
    """Makes `in.jsonl`: every seventh text was there before, every fiftieth row is bad."""

    def make(count: int) -> Path:
        with (folder / "in.jsonl").open("w", encoding="utf-8") as file:
            for number in range(count):
                text = f"row {number - 1 if number % 7 == 6 else number}"
                file.write("{broken\n" if number % 50 == 49 else json.dumps({"id": number, "text": text}) + "\n")
        return folder / "in.jsonl"

    return make
