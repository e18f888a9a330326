"""Tables: what is refused before anything runs, what is a bad row, and that every place can be gone back to."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiebreak import InvalidRequest
from tiebreak.datasets.delimited import CsvWriter
from tiebreak.datasets.job import open_table
from tiebreak.datasets.record import BadRow, Record, Row
from tiebreak.datasets.table import MARKED, Form, Survey, Table

BOM = b"\xef\xbb\xbf"


def looked(path: Path, **options: Any) -> tuple[Table, Survey]:
    table = open_table(path, Form.of(path, **options))
    return table, table.survey(lambda read: None)


def rows(path: Path, **options: Any) -> list[Row]:
    table, survey = looked(path, **options)
    return list(table.rows(survey))


@pytest.mark.parametrize(
    "name, raw, message",
    [
        ("a.jsonl", b'{"text": "caf\xe9"}\n', "byte 0xe9 at byte 13, in line 1"),
        (
            "a.csv",
            "text\ncaf\u00e9\n".encode() + b"caf\xe9\n",
            "byte 0xe9 at byte 14, in line 3.*two encodings were mixed",
        ),
        ("a.csv", b"text\ncaf\xc3", "byte 0xc3 at byte 8"),
        ("a.jsonl", '{"text": "a"}'.encode("utf-16"), "UTF-16"),
        ("a.csv", "text\na\n".encode("utf-32"), "UTF-32"),
        ("a.csv", b"text\na\0b\n", "NUL at byte 6"),
        ("a.jsonl", b'{"text": "a"}\n' + BOM + b'{"text": "b"}\n', "byte order mark at byte 14"),
        ("a.csv", b"", "no header"),
        ("a.csv", b"a,b,a\n1,2,3\n", "two columns called 'a'"),
        ("a.csv", b'text\n"a" b\n', "is not CSV with delimiter ',' and quote '\"'"),
        ("a.csv", b'text\n"a\n', "is not CSV"),
        ("a.csv", b"a,b\r1,2\r", "is not CSV"),
    ],
)
def test_a_file_that_is_no_such_table_is_refused_whole(name: str, raw: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(raw)
    with pytest.raises(InvalidRequest, match=message):
        looked(tmp_path / name)


def test_a_flaw_is_found_wherever_pieces_of_the_file_meet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.jsonl"
    for size in range(1, 12):
        monkeypatch.setattr("tiebreak.datasets.text_file.CHUNK", size)
        path.write_bytes(b'{"text": "\xf0\x9f\x98\x80"}\n')
        assert looked(path)[1].rows == 1
        path.write_bytes(b'{"text": "\xf0\x9f\x98"}\n')
        with pytest.raises(InvalidRequest, match="byte 0xf0 at byte 10, in line 1"):
            looked(path)
        path.write_bytes(b'{"a": 1}\n' + BOM + b'{"a": 2}\n')
        with pytest.raises(InvalidRequest, match="byte order mark at byte 9"):
            looked(path)


def test_a_byte_order_mark_at_the_beginning_is_not_part_of_the_text(tmp_path: Path) -> None:
    for name, raw in (("a.jsonl", b'{"text": "x"}\n'), ("a.csv", b"text\nx\n")):
        (tmp_path / name).write_bytes(BOM + raw)
        (row,) = rows(tmp_path / name)
        assert isinstance(row, Record)
        assert row.values == {"text": "x"}


def test_lines_that_are_no_objects_are_bad_rows(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    lines = ['{"a": 1}', "", "nope", "[1]", "7", '{"a": 1, "a": 2}', '{"a": NaN}', "[" * 100_000, '{"a": 2}']
    path.write_text("\n".join(lines), encoding="utf-8")  # and no line break at the end
    found = [row.problem if isinstance(row, BadRow) else dict(row.values) for row in rows(path)]
    assert found[0] == {"a": 1} and found[-1] == {"a": 2}
    for problem, words in zip(
        found[1:-1],
        (
            "blank line",
            "not JSON: Expecting value",
            "not a JSON object but [1]",
            "but 7",
            "'a' is given twice",
            "NaN",
            "",
        ),
        strict=True,
    ):
        assert isinstance(problem, str) and words in problem


def test_csv_rows_of_another_length_are_bad_rows(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b'a,b\r\n1,2\r\n\r\n3\r\n4,5,6\r\n"x\ny, ""z""",8\r\n')
    found = rows(path)
    assert [row.problem for row in found if isinstance(row, BadRow)] == [
        "a blank line",
        "1 values where the header has 2 columns",
        "3 values where the header has 2 columns",
    ]
    assert isinstance(found[-1], Record)
    assert found[-1].values == {"a": 'x\ny, "z"', "b": "8"}


@pytest.mark.parametrize(
    "name, options, message",
    [
        ("a.jsonl", {"delimiter": ";"}, "--delimiter is for CSV"),
        ("a.parquet", {"quote": "'"}, "--quote is for CSV"),
        ("a.csv", {"delimiter": ";;"}, "one ASCII character"),
        ("a.csv", {"delimiter": ""}, "one ASCII character"),
        ("a.csv", {"delimiter": "\n"}, "one ASCII character"),
        ("a.csv", {"delimiter": "§"}, "one ASCII character"),
        ("a.csv", {"delimiter": '"'}, "are both"),
        ("a.tsv", {"quote": "\t"}, "are both"),
        ("a.xlsx", {}, "ends in '.xlsx'"),
        ("a", {}, "ends in 'nothing'"),
    ],
)
def test_forms_that_cannot_be_are_refused(name: str, options: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidRequest, match=message):
        Form.of(Path(name), **options)


def test_csv_is_read_as_it_is_written(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a;b\n'x;y';2\n", encoding="utf-8")
    (row,) = rows(tmp_path / "a.csv", delimiter=";", quote="'")
    assert isinstance(row, Record)
    assert row.values == {"a": "x;y", "b": "2"}
    (tmp_path / "a.tsv").write_text("a\tb\nx,y\t2\n", encoding="utf-8")
    (row,) = rows(tmp_path / "a.tsv")
    assert isinstance(row, Record)
    assert row.values == {"a": "x,y", "b": "2"}


def test_a_line_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tiebreak.datasets.text_file.LONGEST_LINE", 100)
    (tmp_path / "a.jsonl").write_text('{"a": 1}\n{"a": "' + "x" * 100 + '"}\n', encoding="utf-8")
    with pytest.raises(InvalidRequest, match="more than 0 MiB at byte 9"):
        looked(tmp_path / "a.jsonl")


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv"])
def test_every_row_can_be_gone_back_to(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    texts = [f"{number} \u00e9\n\u2028" for number in range(3 * MARKED + 5)]
    with path.open("w", encoding="utf-8", newline="") as file:
        if name == "a.csv":
            file.write("\ufeff")
            writer = csv.writer(file)
            writer.writerow(["text"])
            writer.writerows([text] for text in texts)
        else:
            file.writelines(json.dumps({"text": text}, ensure_ascii=False) + "\r\n" for text in texts)
    table, survey = looked(path)
    assert survey.rows == len(texts)
    for start in (0, 1, MARKED - 1, MARKED, MARKED + 1, 3 * MARKED, len(texts) - 1, len(texts), len(texts) + 9):
        found = [row.values["text"] for row in table.rows(survey, start) if isinstance(row, Record)]
        assert found == texts[start:]


def test_the_types_of_columns(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    values = [
        {"t": "x", "b": True, "i": 1, "n": 1, "m": 1, "l": 1 << 60, "h": 1 << 70, "z": None, "o": {}},
        {"t": None, "b": False, "i": 1 << 60, "n": 1.5, "m": "x", "l": 0.5, "h": 1, "z": None, "o": []},
    ]
    path.write_text("\n".join(map(json.dumps, values)), encoding="utf-8")
    types = looked(path)[1].columns
    assert types == {
        "t": "text",
        "b": "bool",
        "i": "integer",
        "n": "number",
        "m": "json",
        "l": "json",
        "h": "json",
        "z": "text",
        "o": "json",
    }


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0\ufeff"), max_size=8)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(TEXT, TEXT), max_size=5), st.sampled_from([(",", '"'), ("\t", '"'), (";", "'")]))
def test_csv_that_we_write_is_read_back_by_us_and_by_the_standard_library(
    tmp_path_factory: pytest.TempPathFactory, values: list[tuple[str, str]], dialect: tuple[str, str]
) -> None:
    form = Form(name="csv", delimiter=dialect[0], quote=dialect[1])
    file = io.BytesIO()
    writer = CsvWriter(file, form, ["a"], ["b"])
    for first, second in values:
        writer.write(Record({"a": first}), [second])
    writer.close()
    text = file.getvalue().decode()
    read = list(csv.reader(io.StringIO(text, newline=""), delimiter=dialect[0], quotechar=dialect[1], strict=True))
    assert read[1:] == [list(each) for each in values]
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    path.write_bytes(file.getvalue())
    found = rows(path, delimiter=dialect[0], quote=dialect[1])
    assert [tuple(row.values.values()) for row in found if isinstance(row, Record)] == values
