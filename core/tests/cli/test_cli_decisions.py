"""choose, check, rate and decide: what they print where, and what they refuse."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

FAKE = ("--engine", "fake")
REQUEST: dict[str, Any] = {
    "state": {"text": "The printer is on fire"},
    "questions": {
        "team": {"kind": "choice", "options": ["facilities", "sales"]},
        "urgent": {"kind": "yes_no", "question": "Is it urgent?", "yes": "today", "no": "later"},
        "harm": {"kind": "score", "question": "How bad?", "levels": {"low": None, "high": "very"}},
    },
}
ANSWER_KEYS = {
    *("kind", "value", "probabilities", "probability", "margin", "coverage", "approximate", "calibrated", "near_tie")
}


@pytest.mark.parametrize(
    "arguments, value",
    [
        (("choose", "fire", "facilities", "sales"), "sales"),
        (("check", "fire", "Is it urgent?"), "yes"),
        (("rate", "fire", "How bad?", "low", "high"), "low"),
    ],
)
def test_a_pipe_gets_the_value_alone(fake: Any, run: Any, arguments: tuple[str, ...], value: str) -> None:
    result = run(*arguments, *FAKE)
    assert (result.code, result.out) == (0, f"{value}\n")
    # What the engine and its children print is not part of the result.
    assert result.err == "noise from the engine\nnoise from its child\n"


@pytest.mark.parametrize(
    "arguments, kind, value",
    [
        (("choose", "fire", "facilities", "sales"), "choice", "sales"),
        (("check", "fire", "Is it urgent?"), "yes_no", True),
        (("rate", "fire", "How bad?", "low", "high"), "score", "low"),
    ],
)
def test_json_is_one_object(fake: Any, run: Any, arguments: tuple[str, ...], kind: str, value: object) -> None:
    result = run(*arguments, *FAKE, "--json")
    assert result.code == 0
    assert result.out.count("\n") == 1
    record = json.loads(result.out)
    assert list(record) == ["answers", "timings_ms", "cache", "receipt"]
    (name, answer), *more = record["answers"].items()
    assert name == "answer" and not more
    assert set(answer) >= ANSWER_KEYS
    assert (answer["kind"], answer["value"]) == (kind, value)
    assert sum(answer["probabilities"].values()) == pytest.approx(1)
    assert record["receipt"]["engine"] == "fake"
    assert record["receipt"]["plugin"] == "dist-of-fake 1.5"


def test_decide_prints_a_line_per_question(fake: Any, run: Any, tmp_path: Path) -> None:
    file = tmp_path / "request.json"
    questions = {**REQUEST["questions"], "a\tb": {"kind": "choice", "options": ["x\ny", "z\nz"]}}
    file.write_text(json.dumps({**REQUEST, "questions": questions}), encoding="utf-8")
    result = run("decide", str(file), *FAKE)
    assert result.code == 0
    rows = [line.split("\t") for line in result.out.splitlines()]
    assert [row[:2] for row in rows] == [
        ["team", "sales"],
        ["urgent", "yes"],
        ["harm", "low"],
        ["a\\tb", "z\\nz"],
    ]
    assert all(0.5 <= float(row[2]) <= 1 for row in rows)


def test_decide_reads_standard_input(fake: Any, spawn: Any) -> None:
    result = spawn("decide", "-", *FAKE, "--json", stdin=json.dumps(REQUEST).encode())
    assert result.code == 0
    assert list(json.loads(result.out)["answers"]) == ["team", "urgent", "harm"]


def _prompt(run: Any, *arguments: str) -> Any:
    result = run("explain", "check", *arguments, *FAKE, "--json")
    assert result.code == 0, result.err
    return json.loads(result.out)["rows"][0]["prompt"]


def test_state_forms(fake: Any, run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "state.txt"
    file.write_bytes("\ufeffGrüße\n".encode())
    assert "Context:\nGrüße\n\n\nQuestion" in _prompt(run, f"@{file}", "q?")
    assert "Context:\n@home\n" in _prompt(run, "@@home", "q?")
    assert 'Context:\n{"a":1}\n' in _prompt(run, '{"a":1}', "q?")
    assert 'Context:\n{"a": 1}\n' in _prompt(run, '{"a":1}', "q?", "--state-json")
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"from a pipe")))
    assert "Context:\nfrom a pipe\n" in _prompt(run, "-", "q?")
    assert "Context:\n-5\n" in _prompt(run, "q?", "q?").replace("q?", "-5", 1)
    assert (
        "Context:\n-5\n"
        in json.loads(run("explain", "check", *FAKE, "--json", "--", "-5", "q?").out)["rows"][0]["prompt"]
    )


def test_descriptions_reach_the_prompt(fake: Any, run: Any) -> None:
    describe = ("--describe", "a=b=it is both", "--describe", "a=it is one")
    result = run("explain", "choose", "s", "a", "a=b", *describe, *FAKE, "--question", "Which?")
    assert result.code == 0
    assert "(A) a: it is one" in result.out
    assert "(B) a=b: it is both" in result.out
    assert "Question: Which?" in result.out
    assert "- high: bad" not in run("explain", "rate", "s", "q?", "low", "high", "--describe", "high=bad", *FAKE).err


def test_options_are_typed_by_the_engine(fake: Any, run: Any) -> None:
    typed = ("mode=options", "count=3", "ratio=2", "flag=yes", "many=[1]")
    result = run("choose", "s", "a", "b", *FAKE, *(part for text in typed for part in ("--option", text)))
    assert result.code == 4
    assert "{'count': 3, 'ratio': 2.0, 'flag': True, 'many': (1,)}" in result.err


def test_core_options(fake: Any, run: Any) -> None:
    flat = run("choose", "s", "a", "b", *FAKE, "--json", "--option", "temperature=100", "--timeout", "5")
    assert json.loads(flat.out)["answers"]["answer"]["margin"] < 0.01
    strict = run("choose", "s", "a", "b", *FAKE, "--option", "mode=low", "--option", "strict=true")
    assert strict.code == 4 and "strict" in strict.err


def test_a_decision_warning_is_one_line(fake: Any, run: Any) -> None:
    result = run("choose", "s", "a", "b", *FAKE, "--option", "mode=low")
    assert (result.code, result.out) == (0, "b\n")
    (line,) = [line for line in result.err.splitlines() if "warning" in line]
    assert line.startswith("tiebreak: warning: fake: low coverage: ")


def test_verbose_accounts_on_standard_error(fake: Any, run: Any) -> None:
    result = run("choose", "s", "a", "b", *FAKE, "--verbose")
    assert (result.code, result.out) == (0, "b\n")
    for part in (
        "command_ms: python=",
        "start_ms: warm=1.500",
        "timings_ms: queue=",
        "cache: scope=",
        "receipt: engine=fake",
    ):
        assert f"tiebreak: {part}" in result.err


def test_the_answer_is_printed_before_the_engine_is_closed(fake: Any, site: Any, tmp_path: Path) -> None:
    """The fake engine's end waits for a file that is made once the answer was read."""
    go_on = tmp_path / "go on"
    with subprocess.Popen(
        [sys.executable, "-m", "tiebreak", "choose", "s", "a", "b", *FAKE],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "FAKE_CLOSES_WITH": str(go_on)},
        cwd=site.path,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == b"b"
        assert process.poll() is None
        go_on.touch()
        assert process.wait(60) == 0


REFUSED = [
    (("choose", "s", "a"), "at least two"),
    (("choose", "s"), "Missing argument 'OPTION...'"),
    (("choose", "s", "a", "a"), "'a' is given twice"),
    (("choose", "s", "a", "b", "--describe", "c=x"), "There is no option 'c'"),
    (("choose", "s", "a", "b", "--describe", "c"), "not of the form NAME=TEXT"),
    (("choose", "s", "a", "b", "--describe", "a=x", "--describe", "a=y"), "--describe a is given twice"),
    (("choose", "s", "a", "b", "--option", "count"), "NAME=VALUE"),
    (("choose", "s", "a", "b", "--option", "coutn=1"), "Did you mean 'count'?"),
    (("choose", "s", "a", "b", "--option", "count=x"), "Option count is 'x', not a whole number."),
    (("choose", "s", "a", "b", "--option", "count=-1"), "Option count is -1"),
    (("choose", "s", "a", "b", "--option", "flag=perhaps"), "not true or false"),
    (("choose", "s", "a", "b", "--option", "many=1,"), "Option many is '1,'"),
    (("choose", "s", "a", "b", "--option", "ratio=1", "--option", "ratio=2"), "given twice"),
    (("choose", "s", "a", "b", "--timeout", "1", "--option", "timeout=2"), "are the same"),
    (("choose", "s", "a", "b", "--timeout", "-1"), "Option timeout is -1.0"),
    (("choose", "s", "a", "b", "--layout", "none"), "There is no layout 'none'"),
    (("choose", "s", "a", "b", "--readout", "none"), "There is no readout 'none'"),
    (("choose", "s", "a", "b", "--cache", "none"), "There is no cache 'none'"),
    (("choose", "s", "a", "b", "--url", "ftp://x"), "not an http(s) URL"),
    (("choose", "s", "a", "b", "--model", "nosuch"), "No model is registered as 'nosuch'"),
    (("choose", "-5", "a", "b"), "goes after --"),
    (("choose", "s", *"abcdefghij"), "it takes 9"),
    (("choose", "s\udcff", "a", "b"), "lone surrogate"),
    (("check", "s"), "Missing argument 'QUESTION'"),
    (("check", "s", " "), "The question is blank"),
    (("check", "{", "q?", "--state-json"), "not JSON"),
    (("check", '{"a":1,"a":2}', "q?", "--state-json"), "the key 'a' is given twice"),
    (("check", "[NaN]", "q?", "--state-json"), "NaN is not a JSON number"),
    (("check", "[" * 100_000, "q?", "--state-json"), "nested too deeply"),
    (("check", "1", "q?", "--state-json"), "The state is an int"),
    (("check", "@/no/such/file", "q?"), "cannot be read: No such file"),
    (("check", "@", "q?"), "cannot be read"),
    (("rate", "s", "q?", "one"), "at least two"),
    (("decide", "/no/such/file"), "cannot be read"),
]


@pytest.mark.parametrize("arguments, said", REFUSED, ids=[f"{a[0]}-{s}"[:50] for a, s in REFUSED])
def test_refused_before_anything_is_asked(fake: Any, run: Any, arguments: tuple[str, ...], said: str) -> None:
    result = run(arguments[0], *FAKE, *arguments[1:])
    assert (result.code, result.out) == (2, "")
    assert said in result.err
    assert result.err.count("\n") == 1 and result.err.startswith("tiebreak: ")
    assert "noise" not in result.err


def test_not_utf8(fake: Any, spawn: Any) -> None:
    for arguments in (("check", "-", "q?"), ("decide", "-")):
        result = spawn(*arguments, *FAKE, stdin=b"caf\xe9 au lait")
        assert result.code == 2
        assert "standard input is not UTF-8: byte 0xe9 at position 3" in result.err


def _question(**fields: Any) -> dict[str, Any]:
    return {"state": "s", "questions": {"team": fields}}


BAD_REQUESTS: list[tuple[Any, str]] = [
    ([], "is not a JSON object"),
    ({"state": "s"}, "questions is missing."),
    ({"questions": REQUEST["questions"]}, "state is missing."),
    ({"state": "s", "questions": {}}, "No question was asked"),
    ({"state": "s", "questions": []}, "questions should be a valid dictionary"),
    ({**REQUEST, "question": {}}, "question is not known. Did you mean 'questions'?"),
    (_question(kind="box"), "questions.team.kind should be 'choice', 'yes_no' or 'score'"),
    (_question(type="choice", options=["a", "b"]), "questions.team.kind is missing."),
    (_question(kind="choice", option=["a", "b"]), "questions.team.option is not known. Did you mean 'options'?"),
    (_question(kind="choice"), "questions.team.options is missing"),
    (_question(kind="choice", options=["a", 2]), "questions.team: Option 2 is an int, not text"),
    (_question(kind="choice", options="ab"), "questions.team: "),
    (
        _question(kind="choice", options=["a", "b"], levels=["c"]),
        "questions.team.levels does not belong to kind 'choice'",
    ),
    (_question(kind="score", options=["a", "b"]), "questions.team.options does not belong to kind 'score'"),
    (_question(kind="yes_no"), "questions.team.question is missing"),
    (_question(kind="yes_no", question=7), "questions.team.question should be a valid string"),
    ({"state": 3, "questions": REQUEST["questions"]}, "The state is an int"),
    ({"state": "s", "questions": {"a b": {}}}, 'questions["a b"].kind is missing.'),
]


@pytest.mark.parametrize("request_, said", BAD_REQUESTS, ids=[said[:40] for _, said in BAD_REQUESTS])
def test_a_bad_request_is_named_by_path(fake: Any, run: Any, tmp_path: Path, request_: Any, said: str) -> None:
    file = tmp_path / "request.json"
    file.write_text(json.dumps(request_), encoding="utf-8")
    result = run("decide", str(file), *FAKE)
    assert (result.code, result.out) == (2, "")
    assert said in result.err
    assert result.err.count("\n") == 1


@pytest.mark.parametrize(
    "mode, code, said",
    [
        ("start", 3, "never became ready"),
        ("memory", 5, "9 GB"),
        ("died", 4, "SIGSEGV"),
        ("auth", 4, "HTTP 401"),
        ("bug", 4, "unexpected ZeroDivisionError: divided by nothing"),
        ("exit", 4, "unexpected SystemExit"),
    ],
)
def test_exit_codes_of_failures(fake: Any, run: Any, mode: str, code: int, said: str) -> None:
    result = run("choose", "s", "a", "b", *FAKE, "--option", f"mode={mode}", "--json")
    assert (result.code, result.out) == (code, "")
    assert said in result.err
    assert "Traceback" not in result.err
    assert "\n\n" not in result.err and "\x1b" not in result.err
    verbose = run("choose", "s", "a", "b", *FAKE, "--option", f"mode={mode}", "--verbose")
    assert verbose.code == code
    assert "Traceback" in verbose.err and said in verbose.err


def test_unknown_engine(fake: Any, run: Any) -> None:
    result = run("choose", "s", "a", "b", "--engine", "fakee")
    assert (result.code, result.out) == (3, "")
    assert "There is no engine 'fakee'. Did you mean 'fake'?" in result.err


def test_keys_are_not_repeated(fake: Any, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    canary = "sk-canary-1234567890"
    monkeypatch.setenv("FAKE_API_KEY", canary)
    tried = [
        ("--url", f"http://user:{canary}@127.0.0.1/"),
        ("--url", f"http://127.0.0.1/?key={canary}"),
        ("--url", f"127.0.0.1/?key={canary}"),
        ("--url", f"user:{canary}@127.0.0.1"),
        ("--option", canary),
        ("--option", f"api_key={canary}"),
        ("--option", f"mode={canary}", "--verbose"),
        ("--option", "mode=bug", "--verbose"),
    ]
    for arguments in tried:
        result = run("choose", "s", "a", "b", *FAKE, *arguments)
        assert canary not in result.out + result.err, arguments


def test_a_closed_pipe_is_quiet(fake: Any) -> None:
    for arguments in (["choose", "s", "a", "b", *FAKE], ["--help"], ["choose", "--help"], ["engines", "--no-check"]):
        reader, writer = os.pipe()
        os.close(reader)
        done = subprocess.run(
            [sys.executable, "-m", "tiebreak", *arguments], stdout=writer, stderr=subprocess.PIPE, check=False
        )
        os.close(writer)
        assert done.returncode == 141
        assert b"Error" not in done.stderr and b"Traceback" not in done.stderr


def test_a_full_disk(fake: Any) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "tiebreak", "choose", "s", "a", "b", *FAKE],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 4
    assert done.stderr.endswith(
        b"tiebreak: Standard output cannot be written: No space left on device. Write it somewhere else.\n"
    )


def test_a_pipe_of_the_engine_is_not_the_output(fake: Any, run: Any) -> None:
    result = run("choose", "s", "a", "b", *FAKE, "--option", "mode=pipe")
    assert result.code == 4
    assert "unexpected RuntimeError: a pipe broke" in result.err
