"""`tiebreak map` in this process: what comes out, what is refused, what stops it and what does not."""

from __future__ import annotations

import csv
import importlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tiebreak import Answer, EngineDied, choice, yes_no

MADE = {"team": choice(None, ["facilities", "sales", "legal"]), "urgent": yes_no("Is it urgent?")}
RESULTS = [f"{name}.{what}" for name in MADE for what in ("value", "probability", "margin")]


@pytest.fixture
def stub(plugins: None) -> Any:
    """The stub's module."""
    return importlib.import_module("gateway_stub")


@pytest.fixture
def right(stub: Any) -> Iterator[Callable[[Any], dict[str, Answer]]]:
    """What the stub answers about a state, asked one at a time."""
    with stub.decider() as decider:
        yield lambda state: dict(decider.decide(state, MADE).answers)


def write(name: str, *rows: Any) -> None:
    Path(name).write_text("".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows), "utf-8")


def read(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(name).read_text("utf-8").splitlines()]


def ask(**content: Any) -> None:
    Path("q.json").write_text(json.dumps(content), "utf-8")


def test_rows_come_back_in_order_with_their_answers_behind_them(run: Any, right: Any) -> None:
    write("in.jsonl", *({"id": number, "text": f"row {number}"} for number in range(700)))
    result = run("in.jsonl", "-o", "out.jsonl")
    assert (result.code, result.out) == (0, "out.jsonl\t700\t0\n")
    found = read("out.jsonl")
    assert [row["id"] for row in found] == list(range(700))
    for row in found[::97]:
        assert list(row) == ["id", "text", *RESULTS, "error"]
        for name, answer in right(row["text"]).items():
            got = [row[f"{name}.{what}"] for what in ("value", "probability", "margin")]
            assert got == [answer.value, answer.probability, answer.margin]
    assert not Path("out.jsonl.journal").exists()


def test_what_the_input_says_stays_as_it_was_written(run: Any) -> None:
    write(
        "in.jsonl",
        '{"text": "a",   "price": 1.50, "big": 1e999}',
        '  {"text":"\\u00e9"}  ',
        '{"text": "b", "deep": [{}]}',
    )
    assert run("in.jsonl", "-o", "out.jsonl").code == 0
    lines = Path("out.jsonl").read_text("utf-8").splitlines()
    assert lines[0].startswith('{"text": "a",   "price": 1.50, "big": 1e999, "team.value": ')
    assert lines[1].startswith('{"text":"\\u00e9", "team.value": ')


def test_one_question_needs_no_prefix(run: Any, right: Any) -> None:
    ask(columns="text", questions={"urgent": {"kind": "yes_no", "question": "Is it urgent?"}})
    write("in.jsonl", {"text": "a"})
    assert run("in.jsonl", "-o", "out.jsonl", "--probabilities", "--results-only").code == 0
    (row,) = read("out.jsonl")
    assert list(row) == ["value", "probability", "margin", "probabilities.no", "probabilities.yes", "error"]
    assert row["probabilities.yes"] == right("a")["urgent"].probabilities["yes"]


def test_csv_in_and_out(run: Any, right: Any) -> None:
    Path("in.csv").write_text("id;text\n1;'x;\ny'\n2;z\n3\n", "utf-8")
    result = run("in.csv", "-o", "out.tsv", "--delimiter", ";", "--quote", "'", "--json")
    assert json.loads(result.out) == {"output": "out.tsv", "rows": 3, "failed": 1, "resumed": 0}
    with open("out.tsv", encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file, delimiter="\t", strict=True))
    assert rows[0] == ["id", "text", *RESULTS, "error"]
    answers = right("x;\ny")
    assert rows[1][:4] == ["1", "x;\ny", answers["team"].value, repr(answers["team"].probability)]
    assert rows[1][5] == ("true" if answers["urgent"].value else "false")
    assert rows[3] == ["", "", *[""] * 6, "BadRow: 1 values where the header has 2 columns"]


@pytest.mark.parametrize(
    "columns, state",
    [
        ("b", "y"),
        (["b", "a"], {"b": "y", "a": 1}),
        ("*", {"a": 1, "b": "y", "state": "z"}),
        (None, "z"),
    ],
)
def test_what_the_state_is(columns: Any, state: Any, run: Any, right: Any) -> None:
    questions = json.loads(Path("q.json").read_text("utf-8"))["questions"]
    ask(questions=questions, **({} if columns is None else {"columns": columns}))
    write("in.jsonl", {"a": 1, "b": "y", "state": "z"})
    assert run("in.jsonl", "-o", "out.jsonl").code == 0
    (row,) = read("out.jsonl")
    assert row["team.probability"] == right(state)["team"].probability


def test_bad_rows_are_listed_and_stop_nothing(run: Any) -> None:
    write(
        "in.jsonl",
        {"text": "a"},
        "{",
        {"text": 5},
        {"other": "b"},
        {"text": "nul \0"},
        *[{"text": None}] * 9,
        {"text": "c"},
    )
    result = run("in.jsonl", "-o", "out.jsonl")
    assert (result.code, result.out) == (0, "out.jsonl\t15\t13\n")
    errors = [row["error"] for row in read("out.jsonl")]
    assert errors[0] is errors[-1] is None
    assert errors[1].startswith("BadRow: not JSON: ")
    assert errors[2] == "InvalidRequest: The state is an int."
    assert errors[3] == "BadRow: The row has no 'text'."
    assert "NUL character" in errors[4]
    assert "tiebreak: row 2: BadRow: not JSON" in result.err
    assert "... and 3 more; see the column error." in result.err


REFUSED = [
    (["in.jsonl", "-o", "there.jsonl"], "there.jsonl exists. Replace it with --overwrite"),
    (["in.jsonl", "-o", "there.jsonl", "--resume"], "exists, and no run for it is unfinished"),
    (["in.jsonl", "-o", "half.jsonl"], "A run for half.jsonl is unfinished. Go on with --resume"),
    (["in.jsonl", "-o", "out.jsonl", "--resume", "--overwrite"], "exclude each other"),
    (["in.jsonl", "-o", "in.jsonl", "--overwrite"], "cannot be the output"),
    (["in.jsonl", "-o", "no/out.jsonl"], "no directory no"),
    (["in.jsonl", "-o", "out.txt"], "ends in '.txt'"),
    (["no.jsonl", "-o", "out.jsonl"], "No such file"),
    ([".jsonl", "-o", "out.jsonl"], "ends in"),
    (["other.jsonl", "-o", "out.jsonl"], "There is no column 'text'. Did you mean 'txt'"),
    (["taken.jsonl", "-o", "out.jsonl"], "already has a column 'error'"),
    (["latin.csv", "-o", "out.jsonl"], "not UTF-8: byte 0xe9"),
    (["in.jsonl", "-o", "out.jsonl", "--delimiter", ";"], "--delimiter is for CSV"),
    (["in.jsonl", "-o", "out.jsonl", "--workers", "2"], "--workers is for --on ray"),
    (["in.jsonl", "-o", "out.jsonl", "--on", "spark"], "it is ray or ray://"),
]


@pytest.mark.parametrize("arguments, message", REFUSED, ids=[message for _, message in REFUSED])
def test_what_cannot_end_well_is_refused_before_anything_runs(
    arguments: list[str], message: str, run: Any, stub: Any
) -> None:
    write("in.jsonl", {"text": "a"})
    write("other.jsonl", {"txt": "a"})
    write("taken.jsonl", {"text": "a", "error": "b"})
    write("there.jsonl", {"mine": 1})
    write("half.jsonl.journal", "x")
    Path("latin.csv").write_bytes(b"text\ncaf\xe9\n")
    before = {path.name: path.read_bytes() for path in Path().iterdir()}
    result = run(*arguments)
    assert result.code == 2, result.err
    assert message in result.err
    assert {path.name: path.read_bytes() for path in Path().iterdir()} == before


@pytest.mark.parametrize(
    "content, message",
    [
        ({"columns": "text", "questions": {}}, "asks nothing"),
        ({"columns": [], "questions": {"q": {"kind": "choice", "options": ["a", "b"]}}}, "at least one name"),
        ({"state": "x", "questions": {"q": {"kind": "choice", "options": ["a", "b"]}}}, "state is not known"),
        ({"questions": {"q": {"kind": "choice", "options": ["a", "b"]}}}, "has no column 'state'"),
        ({"columns": "text", "questions": {"q": {"kind": "choice", "options": ["a"]}}}, "questions.q: 1 option given"),
        (
            {"columns": "text", "questions": {"q": {"kind": "choice", "options": [str(n) for n in range(300)]}}},
            "300 options; it takes 255",
        ),
    ],
)
def test_questions_that_cannot_be_are_refused_once(content: Any, message: str, run: Any) -> None:
    ask(**content)
    write("in.jsonl", {"text": "a"})
    result = run("in.jsonl", "-o", "out.jsonl")
    assert result.code == 2 and message in result.err
    assert not Path("out.jsonl").exists()


def test_an_output_that_is_there_stays_until_the_new_one_is_whole(
    run: Any, stub: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("in.jsonl", *({"text": f"{number}"} for number in range(60)))
    write("out.jsonl", {"old": 1})
    with monkeypatch.context() as patch:
        patch.setattr(stub.StubEngine, "evidence", _failing)
        result = run("in.jsonl", "-o", "out.jsonl", "--overwrite")
    assert result.code == 4 and "The engine failed at 20 rows, one after another" in result.err
    assert read("out.jsonl") == [{"old": 1}]
    assert run("in.jsonl", "-o", "out.jsonl", "--resume").code == 0
    assert len(read("out.jsonl")) == 60


def test_a_row_that_breaks_the_engine_gets_its_error_and_its_neighbours_their_answers(run: Any) -> None:
    write("in.jsonl", *({"text": "DIE" if number % 10 == 5 else f"{number}"} for number in range(60)))
    result = run("in.jsonl", "-o", "out.jsonl")
    assert result.code == 0
    for number, row in enumerate(read("out.jsonl")):
        assert row["error"] == ("EngineDied: It ended with signal 9." if number % 10 == 5 else None)
        assert (row["team.value"] is None) == (number % 10 == 5)


def test_many_rows_that_break_the_engine_stop_nothing_either_and_are_no_reason_not_to_go_on(
    run: Any, stub: Any
) -> None:
    write("in.jsonl", *({"text": f"DIE {number}"} if number >= 10 else {"text": f"{number}"} for number in range(70)))
    result = run("in.jsonl", "-o", "out.jsonl")
    assert (result.code, result.out) == (0, "out.jsonl\t70\t60\n"), result.err
    write("in.jsonl", {"text": "DIE"})
    assert run("in.jsonl", "-o", "one.jsonl").out == "one.jsonl\t1\t1\n"


def test_a_failure_that_asking_again_cures_is_no_error(run: Any, stub: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: set[str] = set()
    original = stub.StubEngine.evidence

    def once(self: Any, plans: Any, cancelled: Any) -> Any:
        text = plans[0].rows[0].text()
        if text not in seen:
            seen.add(text)
            _failing(self, plans, cancelled)
        return original(self, plans, cancelled)

    monkeypatch.setattr(stub.StubEngine, "evidence", once)
    write("in.jsonl", *({"text": f"{number}"} for number in range(60)))
    assert run("in.jsonl", "-o", "out.jsonl").out == "out.jsonl\t60\t0\n"


def test_a_stopped_run_goes_on_and_ends_as_if_it_had_never_stopped(
    run: Any, stub: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("in.jsonl", *({"text": f"{number}"} if number % 9 else "{" for number in range(900)))
    assert run("in.jsonl", "-o", "whole.jsonl").code == 0
    original, asked = stub.StubEngine.evidence, 0

    def worn_out(self: Any, plans: Any, cancelled: Any) -> Any:
        nonlocal asked
        asked += 1
        return _failing(self, plans, cancelled) if asked > 300 else original(self, plans, cancelled)

    with monkeypatch.context() as patch:
        patch.setattr(stub.StubEngine, "evidence", worn_out)
        assert run("in.jsonl", "-o", "out.jsonl").code == 4
    assert not Path("out.jsonl").exists()
    result = run("in.jsonl", "-o", "out.jsonl", "--resume", "--json")
    assert json.loads(result.out)["resumed"] >= 300
    assert Path("out.jsonl").read_bytes() == Path("whole.jsonl").read_bytes()


@pytest.mark.parametrize(
    "change, message",
    [
        ("input", "had another input"),
        ("questions", "had another questions"),
        ("probabilities", "had another probabilities"),
        ("temperature", "answered by another engine, build, model or setting"),
        ("strict", "answered by another engine, build, model or setting"),
    ],
)
def test_a_run_goes_on_only_as_it_was_begun(
    change: str, message: str, run: Any, stub: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("in.jsonl", *({"text": f"{number}"} for number in range(60)))
    with monkeypatch.context() as patch:
        patch.setattr(stub.StubEngine, "evidence", _failing)
        assert run("in.jsonl", "-o", "out.jsonl").code == 4
    more = {"probabilities": ["--probabilities"], "temperature": ["--option", "temperature=2"]}.get(change, [])
    if change == "strict":
        more = ["--option", "strict=true"]
    if change == "input":
        write("in.jsonl", {"text": "another"})
    if change == "questions":
        ask(columns="text", questions={"team": {"kind": "choice", "options": ["sales", "facilities"]}})
    result = run("in.jsonl", "-o", "out.jsonl", "--resume", *more)
    assert result.code == 2 and message in result.err
    assert run("in.jsonl", "-o", "out.jsonl", "--overwrite", *more).code == 0


def test_an_input_that_changes_meanwhile_is_noticed(run: Any, stub: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    write("in.jsonl", {"text": "a"})
    original = stub.StubEngine.evidence

    def meanwhile(self: Any, plans: Any, cancelled: Any) -> Any:
        write("in.jsonl", {"text": "a"}, {"text": "b"})
        return original(self, plans, cancelled)

    monkeypatch.setattr(stub.StubEngine, "evidence", meanwhile)
    result = run("in.jsonl", "-o", "out.jsonl")
    assert result.code == 2 and "was changed while it was worked on" in result.err
    assert not Path("out.jsonl").exists()


def test_nothing_in_is_nothing_out(run: Any) -> None:
    write("in.jsonl")
    assert run("in.jsonl", "-o", "out.csv").out == "out.csv\t0\t0\n"
    assert Path("out.csv").read_text("utf-8") == ",".join([*RESULTS, "error"]) + "\n"
    Path("in.csv").write_text("text\n", "utf-8")
    assert run("in.csv", "-o", "out.jsonl").code == 0
    assert Path("out.jsonl").read_bytes() == b""


def test_an_engine_without_servers_refuses_urls(run: Any) -> None:
    write("in.jsonl", {"text": "a"})
    result = run("in.jsonl", "-o", "out.jsonl", "--url", "http://127.0.0.1:1", "--url", "http://127.0.0.1:2")
    assert result.code == 2 and "no server to attach to" in result.err


def _failing(self: Any, plans: Any, cancelled: Any) -> Any:
    raise EngineDied("It ended.", engine="stub")
