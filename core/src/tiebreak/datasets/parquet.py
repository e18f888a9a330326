"""Parquet, through pyarrow (`tiebreak[map]`)."""

from __future__ import annotations

import datetime
import decimal
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from tiebreak.datasets.jsonl import dump
from tiebreak.datasets.record import Record, Row
from tiebreak.datasets.table import Form, Table
from tiebreak.datasets.text_file import CHUNK, unreadable
from tiebreak.errors import EngineUnavailable, InvalidRequest

__all__ = ["ParquetTable", "ParquetWriter"]

BATCH = 1024
GROUP = 16 * BATCH
"""Rows of a row group that is written: always as many, so that a file does not depend on how it came about."""


class ParquetTable(Table):
    """A Parquet file, read in batches. Dates and times become ISO 8601 text, decimals their digits."""

    def __init__(self, path: Path, form: Form) -> None:
        super().__init__(path, form)
        _pyarrow()

    def check(self, seen: Callable[[int], None]) -> str:
        """See `Table.check`.

        Raises:
            InvalidRequest: it is not a Parquet file, or names a column twice.
        """
        digest, position = hashlib.sha256(), 0
        try:
            with self.path.open("rb") as file:
                while chunk := file.read(CHUNK):
                    digest.update(chunk)
                    position += len(chunk)
                    seen(position)
        except OSError as error:
            raise unreadable(self.path, error) from error
        names = self.header()
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise InvalidRequest(f"{self.path} has two columns called {twice!r}.", remedy="Rename one.")
        return digest.hexdigest()

    def header(self) -> Sequence[str]:
        """See `Table.header`."""
        with self._open() as file:
            return list(file.schema_arrow.names)

    @property
    def schema(self) -> Any:
        """The file's Arrow schema."""
        with self._open() as file:
            return file.schema_arrow

    def marked(self, offset: int) -> Iterator[tuple[int, Row]]:
        """See `Table.marked`; a place is the number of a row."""
        number = offset
        for batch in self.batches(offset):
            for values in batch.to_pylist():
                yield number, Record({name: _plain(value) for name, value in values.items()})
                number += 1

    def batches(self, start: int) -> Iterator[Any]:
        """Record batches from row `start` on; row groups before it are not read."""
        with self._open() as file:
            groups: list[int] = []
            passed = 0
            for group in range(file.num_row_groups):
                rows = file.metadata.row_group(group).num_rows
                if not groups and passed + rows <= start:
                    passed += rows
                else:
                    groups.append(group)
            skip = start - passed
            for batch in file.iter_batches(BATCH, row_groups=groups) if groups else ():
                if skip < batch.num_rows:
                    yield batch.slice(skip)
                skip = max(0, skip - batch.num_rows)

    def _open(self) -> Any:
        pyarrow = _pyarrow()
        try:
            return _parquet().ParquetFile(self.path)
        except pyarrow.ArrowException as error:
            raise InvalidRequest(f"{self.path} is not a Parquet file: {error}.", remedy="Check the path.") from None
        except OSError as error:
            raise unreadable(self.path, error) from error


class ParquetWriter:
    """Writes rows as Parquet; a column keeps its Arrow type where the input was Parquet."""

    def __init__(self, file: IO[bytes], columns: Mapping[str, str], results: Mapping[str, str], source: Table) -> None:
        pyarrow = _pyarrow()
        self._columns = tuple(columns)
        kept = {} if not isinstance(source, ParquetTable) else {field.name: field for field in source.schema}
        own = {**columns, **results}
        self._schema = pyarrow.schema(
            [kept[name] if name in kept and name in columns else (name, _arrow(kind)) for name, kind in own.items()]
        )
        self._texts = {name for name, kind in columns.items() if kind == "json" and name not in kept}
        self._batches = source.batches(0) if isinstance(source, ParquetTable) and columns else None
        self._left: Any = None
        self._writer = _parquet().ParquetWriter(file, self._schema)
        self._results = tuple(results)
        self._rows: list[dict[str, Any]] = []

    def write(self, row: Record, cells: Sequence[Any]) -> None:
        """Write one row with its results behind it."""
        values = {name: row.values.get(name) for name in self._columns}
        for name in self._texts:
            values[name] = None if values[name] is None else dump(values[name])
        self._rows.append({**values, **dict(zip(self._results, cells, strict=True))})
        if len(self._rows) == GROUP:
            self._flush()

    def close(self) -> None:
        """Write the rest and the file's end."""
        if self._rows:
            self._flush()
        self._writer.close()

    def _flush(self) -> None:
        pyarrow = _pyarrow()
        if self._batches is None:
            table = pyarrow.Table.from_pylist(self._rows, schema=self._schema)
        else:
            arrays = self._kept(len(self._rows)).columns
            for name in self._results:
                field = self._schema.field(name)
                arrays.append(pyarrow.array([row[name] for row in self._rows], field.type))
            table = pyarrow.Table.from_arrays(arrays, schema=self._schema)
        self._writer.write_table(table, row_group_size=GROUP)
        self._rows = []

    def _kept(self, count: int) -> Any:
        """The input's own columns for the next rows, without a detour through Python's types."""
        assert self._batches is not None
        found: list[Any] = []
        while count:
            batch = next(self._batches) if self._left is None else self._left
            found.append(batch.slice(0, count))
            taken = found[-1].num_rows
            self._left = batch.slice(taken) if taken < batch.num_rows else None
            count -= taken
        return _pyarrow().Table.from_batches(found).select(list(self._columns))


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError:
        raise EngineUnavailable(
            "Parquet is read and written with pyarrow, which is not installed.",
            remedy="Install it: pip install 'tiebreak[map]'.",
        ) from None
    return pyarrow


def _parquet() -> Any:
    _pyarrow()
    from pyarrow import parquet

    return parquet


def _arrow(kind: str) -> Any:
    pyarrow = _pyarrow()
    types = {"text": "string", "json": "string", "bool": "bool_", "integer": "int64", "number": "float64"}
    return getattr(pyarrow, types[kind])()


def _plain(value: Any) -> Any:
    """A value as JSON has it, where there is one way to say it."""
    if isinstance(value, (datetime.date, datetime.time)):  # a datetime is a date
        return value.isoformat()
    if isinstance(value, decimal.Decimal):
        return str(value)
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value
