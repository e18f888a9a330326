"""A report as Markdown: tables instead of pictures, and nothing in it that a label could turn into markup."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence

from tiebreak.bench.report.blocks import Block, Listed, Plot, Report, Table, Text

__all__ = ["markdown"]

_MARKUP = re.compile(r"([\\`*_\[\]|~#!])")


def markdown(report: Report) -> str:
    """The text of a Markdown file."""
    lines = [f"# {_safe(report.title)}", "", _safe(report.lead), ""]
    for chapter in report.chapters:
        lines += [f"## {_safe(chapter.title)}", ""]
        for block in chapter.blocks:
            lines += [*_lines(block), ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def _lines(block: Block) -> Iterator[str]:
    if isinstance(block, Plot):
        block = block.table
    if isinstance(block, Text):
        yield f"**{_safe(block.text)}**" if block.warning else _safe(block.text)
    elif isinstance(block, Listed):
        yield from (f"### {_safe(block.title)}", "")
        yield from (f"- {_safe(line)}" for line in block.lines)
    else:
        yield from _table(block)


def _table(table: Table) -> Iterator[str]:
    yield from (f"### {_safe(table.title)}", "")
    yield _row(table.columns)
    yield _bare("---" if place < table.texts else "---:" for place in range(len(table.columns)))
    yield from map(_row, table.rows)
    if table.caption:
        yield from ("", _safe(table.caption))


def _row(cells: Sequence[str]) -> str:
    return _bare(map(_safe, cells))


def _bare(cells: Iterator[str] | map[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _safe(text: str) -> str:
    return html.escape(_MARKUP.sub(r"\\\1", text), quote=False)
