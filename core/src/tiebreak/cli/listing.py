"""`Listing`: rows for a person, a program, or a pipe."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from tiebreak.cli import streams

__all__ = ["Listing"]

COLOURS = {"ok": "green", "warn": "yellow", "fail": "red"}


@attrs.frozen(kw_only=True)
class Listing:
    """A table: drawn on a terminal, tab-separated with a header line anywhere else.

    Attributes:
        columns: their names.
        rows: texts, one per column.
        empty: what to say on standard error where there are no rows.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    empty: str = ""

    def show(self) -> None:
        """Print the table to standard output."""
        if not self.rows and self.empty:
            streams.complain(self.empty)
        if streams.is_terminal():
            self._draw()
            return
        for row in (self.columns, *self.rows):
            streams.emit("\t".join(streams.plain(cell) for cell in row))

    def _draw(self) -> None:
        from rich.table import Table
        from rich.text import Text

        from tiebreak.cli.chart import show

        if not self.rows:
            return
        table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
        for column in self.columns:
            table.add_column(column, overflow="fold")
        for row in self.rows:
            table.add_row(*(Text(streams.plain(cell), style=COLOURS.get(cell, "")) for cell in row))
        show(table)
