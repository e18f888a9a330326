"""`write_report`: report.md and report.html beside a results.json."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from tiebreak.bench.report.blocks import Chapter, Report
from tiebreak.bench.report.caches import prefix_chapter, schemas_chapter
from tiebreak.bench.report.canvas import require
from tiebreak.bench.report.clients import machine_text, overhead_chapter, parity_chapter, provenance
from tiebreak.bench.report.markdown import markdown
from tiebreak.bench.report.page import page
from tiebreak.bench.report.run import run_chapters
from tiebreak.bench.results import Results, Section, read
from tiebreak.errors import InvalidRequest

__all__ = ["MARKDOWN", "PAGE", "report_on", "write_markdown", "write_report"]

MARKDOWN, PAGE = "report.md", "report.html"


def report_on(results: Results) -> Report:
    """The report, not yet written down.

    Raises:
        InvalidRequest: there is nothing in the results.
    """
    sections = list(_sections(results))
    if not sections:
        raise InvalidRequest("The results hold no section.", remedy="Measure first: `tiebreak bench run`.")
    title, first = sections[0]
    return Report(
        title="tiebreak benchmark",
        lead=f"Measured on {machine_text(first.machine)}; {title} started {first.started} (UTC).",
        chapters=[*_chapters(results), provenance(sections)],
    )


def write_report(directory: str | os.PathLike[str]) -> tuple[Path, Path]:
    """Write report.md and report.html beside the results of a directory.

    Args:
        directory: that holds a results.json, or the file itself.

    Returns:
        the paths of both.

    Raises:
        InvalidRequest: there are no results, or they cannot be read.
        EngineUnavailable: matplotlib is not installed; nothing was written.
    """
    require()
    report = report_on(read(directory))
    html = page(report)
    return _write(directory, MARKDOWN, markdown(report)), _write(directory, PAGE, html)


def write_markdown(directory: str | os.PathLike[str]) -> Path:
    """As `write_report`, but report.md alone, which needs nothing else installed."""
    return _write(directory, MARKDOWN, markdown(report_on(read(directory))))


def _chapters(results: Results) -> Iterator[Chapter]:
    if results.run is not None:
        yield from run_chapters(results.run)
    if results.prefix:
        yield prefix_chapter(results.prefix)
    if results.schemas:
        yield schemas_chapter(results.schemas)
    if results.overhead is not None:
        yield overhead_chapter(results.overhead)
    if results.parity:
        yield parity_chapter(results.parity)


def _sections(results: Results) -> Iterator[tuple[str, Section]]:
    """All sections with titles that tell them apart."""
    if results.run is not None:
        yield "run", results.run
    for name, several in (("prefix", results.prefix), ("schemas", results.schemas), ("parity", results.parity)):
        for count, section in enumerate(several, start=1):
            yield (f"{name} {count}" if len(several) > 1 else name), section
    if results.overhead is not None:
        yield "overhead", results.overhead


def _write(directory: str | os.PathLike[str], name: str, text: str) -> Path:
    place = Path(directory)
    path = (place if place.is_dir() else place.parent) / name
    path.write_text(text, encoding="utf-8")
    return path
