"""Parquet in and out: types are kept, places are found again, and other formats become it."""

from __future__ import annotations

import datetime
import decimal
import json
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from tiebreak import InvalidRequest
from tiebreak.datasets.job import open_table
from tiebreak.datasets.record import Record
from tiebreak.datasets.table import MARKED, Form

SCHEMA = pyarrow.schema(
    [
        pyarrow.field("text", pyarrow.large_string(), nullable=False),
        ("small", pyarrow.int8()),
        ("when", pyarrow.timestamp("us", tz="UTC")),
        ("price", pyarrow.decimal128(8, 2)),
        ("tags", pyarrow.list_(pyarrow.string())),
        ("kind", pyarrow.dictionary(pyarrow.int32(), pyarrow.string())),
    ]
)


def rows(count: int) -> list[dict[str, Any]]:
    return [
        {
            "text": f"row {number}",
            "small": number % 100,
            "when": datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc),
            "price": decimal.Decimal("1.50"),
            "tags": ["a", "b"],
            "kind": "x",
        }
        for number in range(count)
    ]


def write(path: Path, count: int, group: int = 100) -> None:
    parquet.write_table(pyarrow.Table.from_pylist(rows(count), schema=SCHEMA), path, row_group_size=group)


def test_columns_keep_their_types_and_values(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tiebreak.datasets.parquet.GROUP", 64)  # several groups, on other borders than the input's
    write(Path("in.parquet"), 257)
    assert run("in.parquet", "-o", "out.parquet", "--probabilities").code == 0
    table = parquet.read_table("out.parquet")
    assert table.schema.names[:6] == SCHEMA.names
    for field in SCHEMA:
        assert table.schema.field(field.name).type == field.type
    assert table.select(SCHEMA.names).to_pylist() == rows(257)
    results = {field.name: str(field.type) for field in table.schema if field.name not in SCHEMA.names}
    assert results["team.value"] == "string" and results["urgent.value"] == "bool"
    assert results["team.probabilities.legal"] == "double" and results["error"] == "string"
    assert parquet.ParquetFile("out.parquet").metadata.row_group(0).num_rows == 64


def test_the_same_answers_in_every_format(run: Any) -> None:
    write(Path("in.parquet"), 60)
    for name in ("out.jsonl", "out.csv", "out.parquet"):
        assert run("in.parquet", "-o", name).code == 0
    lines = [json.loads(line) for line in Path("out.jsonl").read_text("utf-8").splitlines()]
    assert [row["team.probability"] for row in lines] == parquet.read_table("out.parquet")[
        "team.probability"
    ].to_pylist()
    assert (
        lines[0]["when"] == "2026-01-01T00:00:00+00:00"
        and lines[0]["price"] == "1.50"
        and lines[0]["tags"] == ["a", "b"]
    )
    header, first, *_ = Path("out.csv").read_text("utf-8").splitlines()
    assert header.startswith("text,small,when,price,tags,kind,team.value")
    assert first.startswith('row 0,0,2026-01-01T00:00:00+00:00,1.50,"[""a"", ""b""]",x,')


def test_json_lines_become_columns_of_one_type_each(run: Any) -> None:
    values = [
        {"text": "a", "i": 1, "n": 1, "b": True, "o": {"x": 1}, "m": "s", "late": None},
        {"text": "b", "i": 2, "n": 0.5, "b": None, "o": [1], "m": 5, "late": "x"},
    ]
    Path("in.jsonl").write_text("\n".join([*map(json.dumps, values), "{"]), "utf-8")
    assert run("in.jsonl", "-o", "out.parquet").code == 0
    table = parquet.read_table("out.parquet")
    types = {field.name: str(field.type) for field in table.schema}
    assert {name: types[name] for name in values[0]} == {
        "text": "string",
        "i": "int64",
        "n": "double",
        "b": "bool",
        "o": "string",
        "m": "string",
        "late": "string",
    }
    first, second, third = table.to_pylist()
    assert (first["n"], first["o"], first["m"]) == (1.0, '{"x": 1}', '"s"')
    assert (second["b"], second["o"], second["m"]) == (None, "[1]", "5")
    assert third["text"] is None and third["error"].startswith("BadRow: ")


def test_every_row_can_be_gone_back_to(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    write(path, 1000, group=300)
    table = open_table(path, Form.of(path))
    survey = table.survey(lambda read: None)
    assert survey.rows == 1000
    for start in (0, 1, 299, 300, 301, MARKED, 3 * MARKED + 1, 999, 1000):
        found = [row.values["text"] for row in table.rows(survey, start) if isinstance(row, Record)]
        assert found == [f"row {number}" for number in range(start, 1000)]


def test_what_is_no_parquet_or_no_json_is_said(run: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(b"text\na\n")
    with pytest.raises(InvalidRequest, match="is not a Parquet file"):
        open_table(path, Form.of(path)).survey(lambda read: None)
    parquet.write_table(pyarrow.table({"text": [b"\xff"]}), "in.parquet")
    assert run("in.parquet", "-o", "out.jsonl", "--results-only").code == 0
    assert "The state is a bytes" in Path("out.jsonl").read_text("utf-8")
