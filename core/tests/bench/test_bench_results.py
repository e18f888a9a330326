"""The file that benchmarks leave behind: written whole, read back as it was, refused where it is something else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tiebreak import InvalidRequest
from tiebreak.bench.results import SCHEMA, Results, enter, read, write

SAMPLE = Path(__file__).parent / "sample-results.json"


def test_the_sample_holds_every_section() -> None:
    found = read(SAMPLE)
    assert found.run is not None
    assert found.overhead is not None
    assert found.prefix
    assert found.schemas
    assert found.parity
    ids = {method.id for method in found.run.methods}
    assert {row.method for row in found.run.asked} == ids
    assert {summary.method for summary in found.run.summaries} == ids


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    found = read(SAMPLE)
    path = write(found, tmp_path / "new" / "folder")
    assert read(path) == read(path.parent) == found
    assert list(path.parent.iterdir()) == [path]


def test_an_answer_takes_one_line(tmp_path: Path) -> None:
    found = read(SAMPLE)
    assert found.run is not None
    lines = write(found, tmp_path).read_text(encoding="utf-8").splitlines()
    assert sum(line.startswith('   {"method":') for line in lines) == len(found.run.asked)


def test_sections_stand_beside_each_other(tmp_path: Path) -> None:
    found = read(SAMPLE)
    enter(tmp_path, run=found.run)
    enter(tmp_path, prefix=found.prefix[0])
    enter(tmp_path, prefix=found.prefix[0])
    again = read(tmp_path)
    assert again.run == found.run
    assert again.prefix == [found.prefix[0], found.prefix[0]]
    assert again.overhead is None


def test_texts_that_look_like_the_file_itself(tmp_path: Path) -> None:
    found = read(SAMPLE)
    assert found.run is not None
    odd = found.run.model_copy(update={"command": '"run": {', "notes": ['\u2028 "asked": [', "\\"]})
    write(Results(run=odd), tmp_path)
    assert read(tmp_path).run == odd


def broken(**changes: Any) -> str:
    return json.dumps({"schema_version": SCHEMA, **changes})


@pytest.mark.parametrize(
    "text, message",
    [
        ("{", "is not JSON"),
        ("[]", "has schema version None"),
        (json.dumps({"schema_version": SCHEMA + 1}), f"has schema version {SCHEMA + 1}"),
        (broken(extra=1), "extra: Extra inputs"),
        (broken(run={}), "run.machine: Field required"),
        (broken(prefix=[{"rows": "none"}]), "prefix.0"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "results.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidRequest) as caught:
        read(path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


def test_there_is_none(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="cannot be read"):
        read(tmp_path)
