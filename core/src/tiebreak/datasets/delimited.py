"""CSV: values between delimiters, with a header line (RFC 4180)."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from tiebreak.datasets.jsonl import dump
from tiebreak.datasets.record import BadRow, Record, Row
from tiebreak.datasets.table import Form, Table
from tiebreak.datasets.text_file import LONGEST_LINE, Lines, check_text
from tiebreak.errors import InvalidRequest

__all__ = ["CsvTable", "CsvWriter"]


class CsvTable(Table):
    """A CSV file; every value is text. A row with more or fewer values than the header is a bad row."""

    def __init__(self, path: Path, form: Form) -> None:
        super().__init__(path, form)
        self._header: tuple[str, ...] = ()
        self._begin = 0

    def check(self, seen: Callable[[int], None]) -> str:
        """See `Table.check`."""
        return check_text(self.path, seen)

    def header(self) -> Sequence[str]:
        """See `Table.header`.

        Raises:
            InvalidRequest: there is no header, or it names a column twice.
        """
        if not self._header:
            lines = Lines(self.path)
            names = next(self._read(lines), [])
            if not names:
                raise InvalidRequest(f"{self.path} has no header.", remedy="Name the columns in its first line.")
            twice = next((name for name in names if names.count(name) > 1), None)
            if twice is not None:
                raise InvalidRequest(f"{self.path} has two columns called {twice!r}.", remedy="Rename one.")
            self._header, self._begin = tuple(names), lines.offset
        return self._header

    def marked(self, offset: int) -> Iterator[tuple[int, Row]]:
        """See `Table.marked`."""
        header = self.header()
        lines = Lines(self.path, offset or self._begin)
        reader = self._read(lines)
        while True:
            begin = lines.offset
            values = next(reader, None)
            if values is None:
                return
            yield begin, _row(header, values)

    def _read(self, lines: Lines) -> Iterator[list[str]]:
        csv.field_size_limit(LONGEST_LINE)
        text = (line.decode() for line in lines)
        reader = csv.reader(text, delimiter=self.form.delimiter, quotechar=self.form.quote, strict=True)
        try:
            yield from reader
        except csv.Error as error:
            raise InvalidRequest(
                f"{self.path} is not CSV with delimiter {self.form.delimiter!r} and quote {self.form.quote!r}: "
                f"{error}, before byte {lines.offset:,}.",
                remedy="Correct it there, or say how it is written with --delimiter and --quote.",
            ) from None


class CsvWriter:
    """Writes rows as CSV: lines end in a line feed, what is missing is empty, what is no text is JSON."""

    def __init__(self, file: IO[bytes], form: Form, columns: Sequence[str], results: Sequence[str]) -> None:
        self._file = file
        self._form = form
        self._columns = columns
        self._special = re.compile(f"[\r\n{re.escape(form.delimiter + form.quote)}]")
        self._line([*columns, *results])

    def write(self, row: Record, cells: Sequence[Any]) -> None:
        """Write one row with its results behind it."""
        values = [row.values.get(name) for name in self._columns]
        self._line([_text(value) for value in (*values, *cells)])

    def close(self) -> None:
        """Nothing stays to be written."""

    def _line(self, values: Sequence[str]) -> None:
        # Not csv.writer: which of Python's versions quotes a carriage return depends on the line's end.
        line = self._form.delimiter.join(self._quoted(value) for value in values)
        self._file.write(f"{line}\n".encode())

    def _quoted(self, text: str) -> str:
        if not self._special.search(text):
            return text
        quote = self._form.quote
        return quote + text.replace(quote, 2 * quote) + quote


def _row(header: Sequence[str], values: list[str]) -> Row:
    if len(values) != len(header):
        return BadRow(f"{len(values)} values where the header has {len(header)} columns" if values else "a blank line")
    return Record(dict(zip(header, values, strict=True)))


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else dump(value)
