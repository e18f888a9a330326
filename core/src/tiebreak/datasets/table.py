"""`Table`: a file of rows, read in a stream from its beginning or from a place that was marked."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from tiebreak.datasets.record import BadRow, Record, Row
from tiebreak.errors import InvalidRequest

__all__ = ["MARKED", "Form", "Survey", "Table", "problem_of"]

MARKED = 256
"""Rows from one mark to the next."""
MOST_COLUMNS = 10_000
EXACT, LONG = 1 << 53, 1 << 63  # integers that a double holds, and that 64 bits hold


@attrs.frozen(kw_only=True)
class Form:
    """How a file is written.

    Attributes:
        name: `jsonl`, `csv` or `parquet`.
        delimiter, quote: of a CSV file.
    """

    name: str
    delimiter: str = ","
    quote: str = '"'

    @classmethod
    def of(cls, path: Path, delimiter: str | None = None, quote: str | None = None) -> Form:
        """The form that a path's ending says: .jsonl or .ndjson, .csv, .tsv, .parquet.

        Args:
            path: the file.
            delimiter, quote: one character each, for CSV; None for what the ending says.

        Raises:
            InvalidRequest: another ending, or a CSV option that is not one or that does not belong there.
        """
        ending = path.suffix.lower()
        if ending not in _FORMS:
            raise InvalidRequest(
                f"{path} does not say what it is: its name ends in {ending or 'nothing'!r}.",
                remedy=f"Name it {', '.join(list(_FORMS)[:-1])} or {list(_FORMS)[-1]}.",
            )
        form = _FORMS[ending]
        for option, given in (("delimiter", delimiter), ("quote", quote)):
            if given is None:
                continue
            if form.name != "csv":
                raise InvalidRequest(f"--{option} is for CSV, and {path} is not.", remedy="Leave it out.")
            if len(given) != 1 or given in "\r\n\0" or ord(given) > 127:
                raise InvalidRequest(f"--{option} is {given!r}; it is one ASCII character other than a line break.")
            form = attrs.evolve(form, **{option: given})
        if form.delimiter == form.quote:
            raise InvalidRequest(f"--delimiter and --quote are both {form.quote!r}.", remedy="Choose another one.")
        return form


_FORMS = {
    ".jsonl": Form(name="jsonl"),
    ".ndjson": Form(name="jsonl"),
    ".csv": Form(name="csv"),
    ".tsv": Form(name="csv", delimiter="\t"),
    ".parquet": Form(name="parquet"),
}


@attrs.frozen(kw_only=True)
class Survey:
    """What a whole look at a table found, before anything was made of it.

    Attributes:
        rows: how many there are, bad ones included.
        sha256: of the file.
        columns: name -> type, in the order of their first appearance: `text`, `bool`, `integer`, `number`, or `json`
            for what is none of these or not always the same.
        marks: where row 0, `MARKED`, 2 * `MARKED` ... begin.
        state: the file's size and time of change, to see whether it stays the same.
    """

    rows: int
    sha256: str
    columns: Mapping[str, str]
    marks: Sequence[int]
    state: tuple[int, int]


class Table(ABC):
    """A file of rows that is never held in memory.

    Args:
        path: the file.
        form: how it is written.
    """

    def __init__(self, path: Path, form: Form) -> None:
        self.path = path
        self.form = form

    @abstractmethod
    def check(self, seen: Callable[[int], None]) -> str:
        """Look at the file as bytes; see `check_text`. Returns its SHA-256."""

    @abstractmethod
    def marked(self, offset: int) -> Iterator[tuple[int, Row]]:
        """The rows from a marked place on (0: from the first), each with the place where it begins."""

    def survey(self, seen: Callable[[int], None]) -> Survey:
        """Look at the whole table once.

        Args:
            seen: told how many bytes were looked at so far.

        Raises:
            InvalidRequest: the file is no such table, as a whole; a bad row is no reason.
        """
        state, sha256 = self.state(), self.check(seen)
        kinds: dict[str, set[str]] = {name: set() for name in self.header()}
        marks, rows = array("q"), 0
        for offset, row in self.marked(0):
            if rows % MARKED == 0:
                marks.append(offset)
            rows += 1
            if isinstance(row, Record):
                for name, value in row.values.items():
                    kinds.setdefault(name, set()).add(_kind(value))
            if len(kinds) > MOST_COLUMNS:
                raise InvalidRequest(
                    f"{self.path} has more than {MOST_COLUMNS:,} columns by row {rows:,}.",
                    remedy="Put what has a name of its own in each row into an object.",
                )
        columns = {name: _type(found) for name, found in kinds.items()}
        return Survey(rows=rows, sha256=sha256, columns=columns, marks=marks, state=state)

    def header(self) -> Sequence[str]:
        """The columns that the file itself lists, where it does."""
        return ()

    def rows(self, survey: Survey, start: int = 0) -> Iterator[Row]:
        """The rows from row `start` on, in order."""
        if start >= survey.rows:
            return
        skipped = start % MARKED
        for number, (_, row) in enumerate(self.marked(survey.marks[start // MARKED])):
            if number >= skipped:
                yield row

    def state(self) -> tuple[int, int]:
        """The file's size and time of change.

        Raises:
            InvalidRequest: there is no such file.
        """
        from tiebreak.datasets.text_file import unreadable

        try:
            found = self.path.stat()
            if not self.path.is_file():
                raise InvalidRequest(f"{self.path} is not a file.", remedy="Rows are read several times: name a file.")
        except OSError as error:
            raise unreadable(self.path, error) from error
        return found.st_size, found.st_mtime_ns

    def unchanged(self, survey: Survey) -> None:
        """Refuse a file that was changed since it was looked at."""
        if self.state() != survey.state:
            raise InvalidRequest(
                f"{self.path} was changed while it was worked on.",
                remedy="Run again with --overwrite, on a file that stays as it is.",
            )


def problem_of(error: ValueError) -> BadRow:
    """The row for a line that is not JSON."""
    if isinstance(error, json.JSONDecodeError):
        return BadRow(f"not JSON: {error.msg} at column {error.colno}")
    return BadRow(f"not JSON that can be used: {error}")


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "text"
    if isinstance(value, int):
        return "integer" if abs(value) <= EXACT else "long" if -LONG <= value < LONG else "json"
    return "number" if isinstance(value, float) else "json"


def _type(kinds: set[str]) -> str:
    found = frozenset(kinds - {"null"})
    if not found:
        return "text"
    if len(found) == 1 and "long" not in found:
        return next(iter(found))
    if found <= {"integer", "long"}:
        return "integer"
    return "number" if found == {"integer", "number"} else "json"
