"""A report as one HTML file: no script, nothing fetched from elsewhere, tables that scroll in a box of their own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from importlib import resources

from tiebreak.bench.report.blocks import Block, Listed, Plot, Report, Table, Text

__all__ = ["page"]


def page(report: Report) -> str:
    """The text of an HTML file.

    Raises:
        EngineUnavailable: the plots cannot be drawn, because matplotlib is not installed.
    """
    return "\n".join(_page(report)) + "\n"


def _page(report: Report) -> Iterator[str]:
    style = (resources.files("tiebreak.bench.report") / "page.css").read_text(encoding="utf-8")
    yield "<!doctype html>"
    yield '<html lang="en"><head><meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield '<meta name="color-scheme" content="light dark">'
    # Whatever a label may hold, a browser runs nothing and fetches nothing here.
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    yield f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    yield '<link rel="icon" href="data:,">'
    yield f"<title>{escape(report.title)}</title>"
    yield f"<style>\n{style}</style></head><body>"
    yield f"<header><h1>{escape(report.title)}</h1><p>{escape(report.lead)}</p></header>"
    links = (f'<a href="#{each.anchor}">{escape(each.title)}</a>' for each in report.chapters)
    yield f"<nav>{' '.join(links)}</nav>"
    yield "<main>"
    for chapter in report.chapters:
        yield f'<section id="{chapter.anchor}"><h2>{escape(chapter.title)}</h2>'
        yield from _blocks(chapter.blocks)
        yield "</section>"
    yield "</main></body></html>"


def _blocks(blocks: Sequence[Block]) -> Iterator[str]:
    """The blocks in their order; plots that follow one another share a grid."""
    inside = False
    for block in blocks:
        if isinstance(block, Plot) is not inside:
            inside = not inside
            yield '<div class="plots">' if inside else "</div>"
        yield from _block(block)
    if inside:
        yield "</div>"


def _block(block: Block) -> Iterator[str]:
    if isinstance(block, Text):
        yield f'<p class="warning">{escape(block.text)}</p>' if block.warning else f"<p>{escape(block.text)}</p>"
    elif isinstance(block, Listed):
        lines = "".join(f"<li>{escape(line)}</li>" for line in block.lines)
        yield f"<h3>{escape(block.title)}</h3><ul>{lines}</ul>"
    elif isinstance(block, Plot):
        yield f'<figure class="plot"><h3>{escape(block.table.title)}</h3>'
        yield block.draw()
        yield f"<figcaption>{escape(block.table.caption)}</figcaption>"
        yield "<details><summary>The figures</summary>"
        yield from _table(block.table)
        yield "</details></figure>"
    else:
        yield f"<h3>{escape(block.title)}</h3>"
        yield from _table(block)
        if block.caption:
            yield f'<p class="caption">{escape(block.caption)}</p>'


def _table(table: Table) -> Iterator[str]:
    # It can be focused, so that it scrolls by keyboard, too.
    yield f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(table.title)}"><table>'
    yield f"<thead><tr>{''.join(_cells(table, table.columns, 'th'))}</tr></thead><tbody>"
    for row in table.rows:
        yield f"<tr>{''.join(_cells(table, row, 'td'))}</tr>"
    yield "</tbody></table></div>"


def _cells(table: Table, cells: Sequence[str], tag: str) -> Iterator[str]:
    for place, cell in enumerate(cells):
        kind = "" if place < table.texts else ' class="figure"'
        yield f"<{tag}{kind}>{escape(cell)}</{tag}>"
