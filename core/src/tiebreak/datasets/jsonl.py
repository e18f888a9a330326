"""JSON Lines: one JSON object per line (jsonlines.org)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import IO, Any

from tiebreak.datasets.record import BadRow, Record, Row
from tiebreak.datasets.table import Table, problem_of
from tiebreak.datasets.text_file import Lines, check_text

__all__ = ["JsonlTable", "JsonlWriter", "dump"]


class JsonlTable(Table):
    """A JSON Lines file. A line that is no JSON object is a bad row."""

    def check(self, seen: Callable[[int], None]) -> str:
        """See `Table.check`."""
        return check_text(self.path, seen)

    def marked(self, offset: int) -> Iterator[tuple[int, Row]]:
        """See `Table.marked`."""
        lines = Lines(self.path, offset)
        for line in lines:
            yield lines.offset - len(line), _row(line.rstrip(b"\r\n"))


class JsonlWriter:
    """Writes rows as JSON Lines: what the input said as it was written there, where it was JSON Lines, too."""

    def __init__(self, file: IO[bytes], results: Sequence[str]) -> None:
        self._file = file
        self._results = results

    def write(self, row: Record, cells: Sequence[Any]) -> None:
        """Write one row with its results behind it."""
        inside = row.raw.strip()[1:-1].strip() if row.raw else dump(dict(row.values))[1:-1].encode()
        added = dump(dict(zip(self._results, cells, strict=True)))[1:].encode()
        self._file.write(b"{" + inside + (b", " if inside else b"") + added + b"\n")

    def close(self) -> None:
        """Nothing stays to be written."""


def dump(value: Any) -> str:
    """A value as JSON on one line, non-ASCII kept."""
    return _ENCODER.encode(value)


def _row(line: bytes) -> Row:
    if not line.strip():
        return BadRow("a blank line")
    try:
        value = _DECODER.decode(line.decode())
    except ValueError as error:
        return problem_of(error)
    except RecursionError:
        return BadRow("nested too deeply to be read")
    if not isinstance(value, dict):
        return BadRow(f"not a JSON object but {dump(value)[:40]}")
    return Record(value, line)


def _object(pairs: list[tuple[str, Any]]) -> Mapping[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key {next(name for name in names if names.count(name) > 1)!r} is given twice")
    return value


def _constant(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")


# Made once: `json.dumps` and `json.loads` make one for every call that is not the plainest.
_ENCODER = json.JSONEncoder(ensure_ascii=False)
_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant)
