"""`tiebreak bench` from the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tiebreak.bench.progress import Pace
from tiebreak.bench.results import read
from tiebreak.cli import run
from tiebreak.registry import Registry


@pytest.fixture(autouse=True)
def _engines(registry: Registry, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tiebreak.registry.Registry", lambda: registry)
    monkeypatch.chdir(tmp_path)


def test_run_writes_results_and_prints_a_table(lines: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code = run(["bench", "run", "--engines", "reference,other", "--set", str(lines), "--repeat", "1", "--out", "here"])
    printed = capsys.readouterr()
    assert code == 0, printed.err
    head, *rows = printed.out.splitlines()
    assert head.split("\t")[:3] == ["METHOD", "MODE", "WORDING"]
    assert [row.split("\t")[0] for row in rows] == ["reference decider", "other decider"]
    assert "written to here/results.json" in printed.err
    section = read(tmp_path / "here").run
    assert section is not None
    assert section.settings.engines == ["reference", "other"]
    assert section.command.startswith("tiebreak ")


def test_run_as_json(lines: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["bench", "run", "--engine", "reference", "--set", str(lines), "--mode", "both", "--order", "all"]
    assert run([*arguments, "--repeat", "1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["settings"]["modes"] == ["translated", "direct"]
    assert found["settings"]["order_items"] == 3
    assert run([*arguments, "--repeat", "1", "--json", "--resume"]) == 0
    assert run([*arguments, "--repeat", "2", "--resume"]) == 2
    assert "rounds was 1 and is 2" in capsys.readouterr().err


@pytest.mark.parametrize("what", ["prefix", "schemas"])
def test_caches(what: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(["bench", what, "--engine", "reference", "--repeat", "1", "--out", "here"]) == 0
    assert capsys.readouterr().out.startswith("METHOD\t")
    assert len(getattr(read(tmp_path / "here"), what)) == 1


def test_parity(lines: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", "parity", "--reference", "reference", "--engines", "other", "--set", str(lines)]) == 0
    row = capsys.readouterr().out.splitlines()[1].split("\t")
    assert row == ["other decider", "reference decider", "3/3", "0.0000", "0.0000", "one", "-"]


@pytest.mark.parametrize(
    "arguments, code, message",
    [
        (["run", "--engines", "nobody"], 3, "no engine 'nobody'"),
        (["run", "--engines", "reference,,other"], 2, "an empty name"),
        (["run", "--engines", "reference", "--set", "none.jsonl"], 2, "cannot be read"),
        (["run", "--engines", "reference", "--option", "colour=red"], 2, "no option 'colour'"),
        (["run", "--engines", "reference", "--option", "entries=many"], 2, "entries is 'many'"),
        (["run", "--engines", "reference", "--order", "some"], 2, "--order is 'some'"),
        (["run", "--engines", "reference", "--resume"], 2, "holds no run"),
        (["run", "--engines", "reference", "--repeat", "0"], 2, "--repeat is 0"),
        (["prefix", "--engines", "reference", "--tokens", "0"], 2, "--tokens is 0"),
        (["schemas", "--engines", "reference", "--schemas", "0"], 2, "--schemas is 0"),
        (["overhead", "--engines", "reference"], 2, "no wire"),
        (["parity", "--engines", "reference"], 2, "--reference"),
    ],
)
def test_wrong_input(arguments: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", *arguments]) == code
    assert message in capsys.readouterr().err


def test_help_imports_nothing_that_measures() -> None:
    script = (
        "import sys\nfrom tiebreak import cli\n"
        "for arguments in (['--help'], ['bench', '--help'], ['bench', 'run', '--help']):\n"
        "    assert cli.run(arguments) == 0\n"
        "print(sorted({'pydantic', 'httpx', 'psutil', 'rich'} & set(sys.modules)), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "[]\n"


def test_the_estimate_goes_by_the_pace_of_each_method() -> None:
    pace = Pace()
    steps: Any = {"slow": 10, "fast": 10}
    pace.plan(steps, {"slow": 1, "fast": 1})
    assert pace.seconds_left is None
    pace.took("load", "slow", 3.0)
    pace.took("ask", "slow", 2.0)
    # nothing is known of the other yet: it is taken to be as slow
    assert pace.seconds_left == pytest.approx(9 * 2.0 + 10 * 2.0 + 3.0)
    pace.took("load", "fast", 1.0)
    pace.took("ask", "fast", 0.1)
    assert pace.seconds_left == pytest.approx(9 * 2.0 + 9 * 0.1)
    assert (pace.done, pace.total) == (4, 22)
    pace.drop("slow")
    assert pace.seconds_left == pytest.approx(9 * 0.1)
