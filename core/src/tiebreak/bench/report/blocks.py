"""What a report is made of, before it is Markdown or HTML; text in here is plain, and escaped where it is written."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs

__all__ = ["Block", "Chapter", "Listed", "Plot", "Report", "Table", "Text"]


@attrs.frozen(kw_only=True)
class Text:
    """A paragraph; `warning` where figures may not be what they seem."""

    text: str
    warning: bool = False


@attrs.frozen(kw_only=True)
class Listed:
    """A list of sentences under a heading."""

    title: str
    lines: Sequence[str]


@attrs.frozen(kw_only=True)
class Table:
    """Rows under columns.

    Attributes:
        title: what it shows.
        columns: their names, with units.
        rows: texts, one per column.
        texts: how many columns, from the left, hold words; the others hold figures.
        caption: what was measured and how to read it.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    texts: int = 1
    caption: str = ""


@attrs.frozen(kw_only=True)
class Plot:
    """A picture, and the same figures as a table, which stands in for it where there are no pictures.

    Attributes:
        draw: makes the picture as an SVG element, when it is needed.
        table: its figures; title and caption are those of both.
    """

    draw: Callable[[], str]
    table: Table


Block = Text | Listed | Table | Plot


@attrs.frozen(kw_only=True)
class Chapter:
    """One part of the report; `anchor` is unique in it."""

    anchor: str
    title: str
    blocks: Sequence[Block]


@attrs.frozen(kw_only=True)
class Report:
    """The whole."""

    title: str
    lead: str
    chapters: Sequence[Chapter]
