"""Two runs held against each other: a verdict where the interval allows one, and nowhere else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tiebreak import InvalidRequest
from tiebreak.bench.compare import NO_DIFFERENCE, compare, exact
from tiebreak.bench.records import Asked
from tiebreak.bench.results import SCHEMA, Results, RunSection, read, write
from tiebreak.cli import run

SAMPLE = Path(__file__).parent / "sample-results.json"


@pytest.fixture
def section() -> RunSection:
    found = read(SAMPLE).run
    assert found is not None
    return found


def changed(section: RunSection, change: Any, **others: Any) -> Results:
    """The run with every answer changed."""
    return Results(run=section.model_copy(update={"asked": [change(row) for row in section.asked], **others}))


def times(factor: float) -> Any:
    def change(row: Asked) -> Asked:
        return row.model_copy(update={"total_ms": row.total_ms * factor})

    return change


def test_a_run_against_itself_shows_no_difference(section: RunSection) -> None:
    found = compare(Results(run=section), Results(run=section))
    assert [row.method for row in found.rows] == [each.id for each in section.methods]
    assert found.notes == []
    for row in found.rows:
        assert row.time.value == pytest.approx(1)
        assert row.speed_verdict == NO_DIFFERENCE
        assert row.accuracy_verdict == NO_DIFFERENCE
        assert row.same.value == 1
        assert row.changed == []


@pytest.mark.parametrize("factor, verdict", [(1.5, "B is slower"), (0.5, "B is faster")])
def test_a_ratio(section: RunSection, factor: float, verdict: str) -> None:
    for row in compare(Results(run=section), changed(section, times(factor))).rows:
        assert row.time.value == pytest.approx(factor)
        assert row.time.low is not None
        assert row.time.high is not None
        assert row.time.low < factor < row.time.high
        assert row.speed_verdict == verdict


def test_queries_are_paired(section: RunSection) -> None:
    """Queries of very different length: unpaired, a fifth more would drown."""
    order = {item: place for place, item in enumerate(dict.fromkeys(row.item for row in section.asked))}

    def long(row: Asked) -> Asked:
        return row.model_copy(update={"total_ms": 10.0 * 1.7 ** order[row.item]})

    slow = changed(section, long)
    assert slow.run is not None
    (first, *_) = compare(slow, changed(slow.run, times(1.2))).rows
    assert first.speed_verdict == "B is slower"


def test_rounds_that_disagree_show_nothing(section: RunSection) -> None:
    def moody(row: Asked) -> Asked:
        return row.model_copy(update={"total_ms": row.total_ms * (2.0 if row.round else 0.6)})

    for row in compare(Results(run=section), changed(section, moody)).rows:
        assert row.speed_verdict == NO_DIFFERENCE


def test_answers(section: RunSection) -> None:
    def right(row: Asked) -> Asked:
        return row.model_copy(update={"value": row.expected})

    def wrong(row: Asked) -> Asked:
        return row.model_copy(update={"value": next(name for name in row.probabilities if name != row.expected)})

    (row, *_) = compare(changed(section, wrong), changed(section, right)).rows
    assert row.accuracy_verdict == "B is more often right"
    assert row.gained is not None
    assert row.gained.value == 1
    assert row.same.hits == 0
    (row, *_) = compare(changed(section, right), changed(section, wrong)).rows
    assert row.accuracy_verdict == "B is less often right"

    def one(row: Asked) -> Asked:
        return right(row) if row.item == section.asked[0].item else wrong(row)

    (row, *_) = compare(changed(section, wrong), changed(section, one)).rows
    assert row.gained is not None
    assert row.gained.value > 0
    assert row.accuracy_verdict == NO_DIFFERENCE


def test_what_else_differs_is_said(section: RunSection) -> None:
    machine = section.machine.model_copy(update={"cores": 64})
    methods = [each.model_copy(update={"threads": 9}) for each in section.methods]
    settings = section.settings.model_copy(update={"rounds": 1})
    first = section.methods[0].id
    rows = [row for row in section.asked if row.method != first]
    other = section.model_copy(
        update={"machine": machine, "methods": methods, "settings": settings, "finished": False, "asked": rows}
    )
    found = compare(Results(run=section), Results(run=other))
    notes = "\n".join(found.notes)
    for part in ("cores was 2 and is 64", "B was interrupted", "B has one round", f"Only A has {first}"):
        assert part in notes
    assert all(row.changed == ["threads was 2 and is 9"] for row in found.rows)


def test_without_labels(section: RunSection) -> None:
    def bare(row: Asked) -> Asked:
        return row.model_copy(update={"expected": None})

    (row, *_) = compare(changed(section, bare), changed(section, bare)).rows
    assert (row.right_a, row.gained, row.brier, row.accuracy_verdict) == (None, None, None, "")


@pytest.mark.parametrize("hits, of, low, high", [(0, 10, 0.0, 0.3085), (5, 10, 0.1871, 0.8129), (6, 6, 0.5407, 1.0)])
def test_the_exact_interval(hits: int, of: int, low: float, high: float) -> None:
    assert exact(hits, of) == pytest.approx((low, high), abs=1e-4)


def test_refused(section: RunSection, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine = Results(run=section)
    with pytest.raises(InvalidRequest, match="B holds no run"):
        compare(mine, Results())
    settings = section.settings.model_copy(update={"set_sha256": "1" * 64, "set_name": "mine"})
    with pytest.raises(InvalidRequest, match="different questions"):
        compare(mine, Results(run=section.model_copy(update={"settings": settings})))
    with pytest.raises(InvalidRequest, match="in common"):
        compare(mine, changed(section, lambda row: row.model_copy(update={"mode": "direct"})))
    other = tmp_path / "other.json"
    other.write_text(json.dumps({"schema_version": SCHEMA + 1}), encoding="utf-8")
    assert run(["bench", "compare", str(SAMPLE), str(other)]) == 2
    assert f"{other} has schema version {SCHEMA + 1}" in capsys.readouterr().err


def test_command(section: RunSection, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    methods = [each.model_copy(update={"engine_build": "b2"}) for each in section.methods]
    path = write(changed(section, times(2), methods=methods), tmp_path)
    assert run(["bench", "compare", str(SAMPLE), str(tmp_path)]) == 0
    printed = capsys.readouterr()
    head, *rows = (line.split("\t") for line in printed.out.splitlines())
    assert len(rows) == 4
    told = dict(zip(head, rows[0], strict=True))
    assert told["SPEED"] == "B is slower"
    assert told["TIME"].startswith("2.00 [")
    assert "engine_build was b1 and is b2" in printed.err
    assert run(["bench", "compare", "--json", str(SAMPLE), str(path)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["rows"][0]["speed_verdict"] == "B is slower"
    assert found["rows"][0]["time"]["value"] == pytest.approx(2)
