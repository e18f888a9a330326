"""`tiebreak calibrate`: a profile from labelled lines, and its use."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

FAKE = ("--engine", "fake")
QUESTION = {"kind": "choice", "question": "Which?", "options": ["a", "b\u2028", "c"]}


def line(number: int, answer: str, **more: Any) -> str:
    row = {"state": f"row {number}", "questions": {"q": QUESTION}, "answers": {"q": answer}, **more}
    return json.dumps(row, ensure_ascii=False)


def labelled(path: Path, count: int = 60) -> Path:
    """The engine is sure of the second option (0.58) and would be right to be surer: it is, nine times out of ten."""
    lines = [line(number, "a" if number % 10 == 0 else "b\u2028") for number in range(count)]
    path.write_text("\n".join([*lines, "", ""]), encoding="utf-8")
    return path


def test_a_profile_is_made_and_used(fake: Any, run: Any, tmp_path: Path) -> None:
    rows, output = labelled(tmp_path / "rows.jsonl"), tmp_path / "mine.json"
    result = run("calibrate", str(rows), "-o", str(output), *FAKE)
    assert result.code == 0
    head, row = (text.split("\t") for text in result.out.splitlines())
    assert head == ["kind", "temperature", "fitted on", "held out", "loss", "error", "used"]
    assert (row[0], row[2], row[3], row[-1]) == ("choice", "48", "12", "yes")
    assert "asking 60 rows" in result.err
    profile = json.loads(output.read_text())
    assert (profile["model"], profile["layout"], profile["readout"]) == ("fake:", "decider", "letters")
    assert profile["kinds"]["choice"]["temperature"] < 1

    plain = json.loads(run("choose", "x", "a", "b", *FAKE, "--json").out)
    tuned = json.loads(run("choose", "x", "a", "b", *FAKE, "--json", "--calibration", str(output)).out)
    assert tuned["answers"]["answer"]["probability"] > plain["answers"]["answer"]["probability"]
    assert tuned["answers"]["answer"]["calibrated"] == "mine.json, fitted on 48 answers"
    elsewhere = run("choose", "x", "a", "b", *FAKE, "--calibration", str(output), "--layout", "schema-first")
    assert elsewhere.code == 2
    assert "'mine.json' is for layout 'decider', and this is 'schema-first'" in elsewhere.err


def test_json_is_the_profile(fake: Any, run: Any, tmp_path: Path) -> None:
    rows, output = labelled(tmp_path / "rows.jsonl"), tmp_path / "mine.json"
    result = run("calibrate", str(rows), "-o", str(output), *FAKE, "--json", "--held-out", "0.5")
    assert json.loads(result.out) == json.loads(output.read_text())
    assert json.loads(result.out)["kinds"]["choice"]["held_out"] == 30


def test_a_profile_that_makes_nothing_better_is_not_written(fake: Any, run: Any, tmp_path: Path) -> None:
    rows, first, second = labelled(tmp_path / "rows.jsonl"), tmp_path / "first.json", tmp_path / "second.json"
    assert run("calibrate", str(rows), "-o", str(first), *FAKE).code == 0
    again = run("calibrate", str(rows), "-o", str(second), *FAKE, "--option", "temperature=100", "--json")
    assert again.code == 0  # worse than nothing before
    used = json.loads(first.read_text())["kinds"]["choice"]["temperature"]
    result = run("calibrate", str(rows), "-o", str(tmp_path / "third.json"), *FAKE, "--option", f"temperature={used}")
    assert result.code == 2
    assert "nothing was written" in result.err
    assert "\tno\n" in result.out
    assert not (tmp_path / "third.json").exists()


@pytest.mark.parametrize(
    "text, reason",
    [
        ("{", "line 1 of file"),
        ("[]", "line 1 of file"),
        (json.dumps({"state": "x", "questions": {"q": QUESTION}}), "answers is missing"),
        (line(0, "z"), "There is no option 'z'"),
        (line(0, "a") + "\n" + line(1, "a", stat="x"), "line 2 of file"),
        (line(0, "a", questions={"q": {"kind": "choice", "options": ["a"]}}), "at least two"),
        ("", "no labelled row"),
        (line(0, "a"), "Too few labelled answers: 1 of choice"),
    ],
)
def test_a_line_that_is_wrong_is_named(fake: Any, run: Any, tmp_path: Path, text: str, reason: str) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text(text, encoding="utf-8")
    result = run("calibrate", str(rows), "-o", str(tmp_path / "mine.json"), *FAKE)
    assert result.code == 2
    assert reason in result.err
    assert not (tmp_path / "mine.json").exists()
