"""The report: what stands in it, what cannot happen in it, and how it looks in a browser."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from tiebreak import EngineUnavailable, InvalidRequest
from tiebreak.bench.figures import agreements, summaries
from tiebreak.bench.records import Estimate
from tiebreak.bench.report import digits
from tiebreak.bench.report.blocks import Plot
from tiebreak.bench.report.naming import elided, short_names, wrapped
from tiebreak.bench.report.plots import pareto
from tiebreak.bench.report.writing import report_on, write_report
from tiebreak.bench.results import Results, read, write
from tiebreak.bench.statistics import wilson
from tiebreak.cli import run

SAMPLE = Path(__file__).parent / "sample-results.json"
EVIL = '</text></svg><script>alert(1)</script><img src=x onerror=alert(1)> $\\frac{ | `*x*` style="a" \'\x07'
OUTSIDE = """
return [...document.querySelectorAll('svg')].flatMap(svg => {
  const box = svg.getBoundingClientRect();
  return [...svg.querySelectorAll('text')].filter(text => {
    const at = text.getBoundingClientRect();
    return at.left < box.left - 1 || at.right > box.right + 1 || at.height < 9;
  }).map(text => text.textContent);
});
"""
"""Labels that do not end inside their picture, or are too small to be read."""
VOID = {"meta", "link", "br", "img"}


class Page(HTMLParser):
    """Elements, their attributes and texts of a page; unbalanced tags are an error."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the report on the sample."""
    directory = tmp_path_factory.mktemp("report")
    write(read(SAMPLE), directory)
    write_report(directory)
    return directory


@pytest.fixture(scope="module")
def text(written: Path) -> str:
    return (written / "report.html").read_text(encoding="utf-8")


def test_every_section_is_a_chapter(text: str, written: Path) -> None:
    page = Page(text)
    ids = [value for name, value in page.attributes if name == "id"]
    assert [each for each in ids if each in ("run-1", "loads", "prefix", "schemas", "overhead", "parity", "how")] == [
        *("run-1", "loads", "prefix", "schemas", "overhead", "parity", "how")
    ]
    assert len(ids) == len(set(ids))
    titles = (
        *("Speed against accuracy", "Where the time goes", "Are the probabilities honest?"),
        *("Does the order of the options matter?", "Question sets in rotation", "What the prefix cache gives"),
    )
    markdown = (written / "report.md").read_text(encoding="utf-8")
    for title in titles:
        assert any(each.startswith(title) for each in page.texts), title
        assert f"### {title}" in markdown
    assert page.tags.count("svg") == page.tags.count("figure") == 7
    assert page.tags.count("details") == 7


def test_nothing_runs_and_nothing_comes_from_elsewhere(text: str) -> None:
    page = Page(text)
    assert "script" not in page.tags
    assert page.tags.count("style") == 1
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    places = [value or "" for name, value in page.attributes if name in ("href", "src", "xlink:href")]
    assert all(place.startswith(("#", "data:")) for place in places)
    assert "default-src 'none'" in text
    assert "@import" not in text
    assert not re.search(r"url\((?!#)", text)


def test_pictures_take_the_colours_of_the_page(text: str) -> None:
    drawings = re.findall(r"<svg.*?</svg>", text, flags=re.DOTALL)
    for drawing in drawings:
        assert set(re.findall(r"#[0-9a-f]{6}\b", drawing)) <= {"#000000"}
        assert "var(--soft)" in drawing
        assert "DejaVu" not in drawing
        used = set(re.findall(r'(?:href="#|url\(#)([\w.-]+)', drawing))
        assert used == set(re.findall(r' id="([^"]+)"', drawing))


def test_equal_results_make_equal_reports(written: Path, tmp_path: Path, text: str) -> None:
    write(read(SAMPLE), tmp_path)
    write_report(tmp_path / "results.json")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == text
    assert (tmp_path / "report.md").read_bytes() == (written / "report.md").read_bytes()


def evil() -> Results:
    """The sample with labels, languages, methods and machine that want to be markup."""
    found = read(SAMPLE)
    assert found.run is not None
    section = found.run
    old = section.methods[0].id
    methods = [
        each.model_copy(update={"id": EVIL, "engine": EVIL, "model": f"/home/x/{EVIL}"}) if each.id == old else each
        for each in section.methods
    ]

    def asked(row: Any) -> Any:
        named = {EVIL if name == "docs" else name: p for name, p in row.probabilities.items()}
        changes: dict[str, Any] = {"probabilities": named, "language": EVIL if row.language == "en" else row.language}
        changes |= {name: EVIL for name in ("value", "expected") if getattr(row, name) == "docs"}
        return row.model_copy(update=changes | ({"method": EVIL} if row.method == old else {}))

    rows = [asked(row) for row in section.asked]
    changes = {
        "methods": methods,
        "asked": rows,
        "summaries": summaries(rows),
        "agreements": agreements(rows),
        "loads": [each.model_copy(update={"method": EVIL}) if each.method == old else each for each in section.loads],
        "machine": section.machine.model_copy(update={"cpu": EVIL}),
        "notes": [EVIL],
        "command": EVIL,
    }
    return Results(run=section.model_copy(update=changes))


def test_labels_are_text(tmp_path: Path) -> None:
    write(evil(), tmp_path)
    write_report(tmp_path)
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    page = Page(text)
    assert "script" not in page.tags
    assert "img" not in page.tags
    seen = EVIL.replace("\x07", "\\x07")
    assert sum(seen in each for each in page.texts) > 5
    assert "\x07" not in text
    markdown = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "<" not in markdown
    rows = [line for line in markdown.splitlines() if line.startswith("|")]
    assert all(re.search(r"(?<!\\)\|$", row) for row in rows)


def test_letters_that_the_drawing_library_lacks(tmp_path: Path) -> None:
    found = read(SAMPLE)
    assert found.run is not None
    first, *others = found.run.methods
    methods = [first.model_copy(update={"engine": "判定器 🙂"}), *others]
    write(Results(run=found.run.model_copy(update={"methods": methods})), tmp_path)
    write_report(tmp_path)
    assert "判定器 🙂" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_every_plot_has_its_figures_as_a_table() -> None:
    for chapter in report_on(read(SAMPLE)).chapters:
        for block in chapter.blocks:
            if isinstance(block, Plot):
                assert block.table.rows
                assert block.table.caption
                assert all(len(row) == len(block.table.columns) for row in block.table.rows)


def test_a_part_of_the_results(tmp_path: Path) -> None:
    found = read(SAMPLE)
    with pytest.raises(InvalidRequest, match="no section"):
        report_on(Results())
    assert found.run is not None
    unlabelled = [row.model_copy(update={"expected": None}) for row in found.run.asked if row.role != "order"]
    section = found.run.model_copy(update={"asked": unlabelled, "summaries": summaries(unlabelled), "finished": False})
    write(Results(run=section), tmp_path)
    write_report(tmp_path)
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "The run was interrupted" in text
    assert "Speed against accuracy" not in text
    assert "Where the time goes" in text


def test_a_verdict_needs_intervals_apart() -> None:
    chapter = report_on(read(SAMPLE)).chapters[0]
    told = getattr(chapter.blocks[0], "text", "")
    assert "Fastest by the median: pcdserver" in told
    assert "clear of the next one's" in told
    assert "no difference shown" in told


def test_the_front() -> None:
    points = {"fast": (1.0, 0.5), "good": (5.0, 0.9), "worse": (6.0, 0.9), "slow": (7.0, 0.4), "twin": (5.0, 0.9)}
    assert pareto(points) == ["fast", "good", "twin"]
    assert pareto({}) == []


def test_digits() -> None:
    assert [digits.number(value) for value in (0, 0.012345, 1.2345, 245.17, 12345.6)] == [
        *("0", "0.0123", "1.23", "245", "12,346")
    ]
    assert digits.estimate(Estimate(value=3.21, low=2.9, high=3.456)) == "3.21 [2.90, 3.46]"
    assert digits.estimate(Estimate(value=3.0)) == "3.00"
    assert digits.share(wilson(3, 4)) == "75 % [30, 95] (3/4)"
    assert digits.plain("a\nb\u202e c") == "a\\nb\\u202e c"


def test_names_say_what_differs() -> None:
    found = read(SAMPLE)
    assert found.run is not None
    first, second = found.run.methods[:2]
    assert list(short_names([first, second]).values()) == ["embedded", "slot"]
    twins = [first, first.model_copy(update={"id": "again"})]
    assert list(short_names(twins).values()) == [first.id, "again"]
    assert elided("abcdefghij", 7) == "abc…hij"
    assert wrapped("one two", 10) == "one two"
    assert [len(line) for line in wrapped("a" * 30, 9).splitlines()] == [9, 9]


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    write(read(SAMPLE), tmp_path)
    assert run(["bench", "report", str(tmp_path)]) == 0
    assert capsys.readouterr().err.count("written to") == 2
    monkeypatch.chdir(tmp_path)
    assert run(["bench", "report", "nowhere"]) == 2
    assert "cannot be read" in capsys.readouterr().err


def test_without_the_drawing_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(read(SAMPLE), tmp_path)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(EngineUnavailable, match="not installed") as caught:
        write_report(tmp_path)
    assert "tiebreak[bench]" in str(caught.value)
    assert not (tmp_path / "report.md").exists()


def test_a_run_reports_without_the_drawing_library(
    lines: Path, registry: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tiebreak.registry.Registry", lambda: registry)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    arguments = ["bench", "run", "--engines", "reference", "--set", str(lines), "--repeat", "1"]
    assert run([*arguments, "--out", str(tmp_path / "out")]) == 0
    assert "no report.html" in capsys.readouterr().err
    assert (tmp_path / "out" / "report.md").exists()


def test_the_drawing_library_waits_for_a_plot() -> None:
    script = "import sys, tiebreak.bench.report.writing, tiebreak.bench.compare\nprint('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout == "False\n"


@pytest.mark.browser
@pytest.mark.parametrize("width", [400, 1280])
@pytest.mark.parametrize("dark", [False, True])
def test_it_fits_a_phone_and_the_dark(written: Path, browser: Callable[..., Any], width: int, dark: bool) -> None:
    page = browser(width, dark)
    page.open((written / "report.html").as_uri())
    page.run("document.querySelectorAll('details').forEach(each => each.open = true)")
    fits = "return document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    assert page.run(fits) is True
    assert page.run(OUTSIDE) == []
    dark_paper = page.run("return getComputedStyle(document.body).backgroundColor") == "rgb(21, 23, 26)"
    assert dark_paper is dark
    assert page.complaints() == []
    page.picture(f"report-{width}-{'dark' if dark else 'light'}")


@pytest.mark.browser
def test_labels_do_nothing_in_a_browser(tmp_path: Path, browser: Callable[..., Any]) -> None:
    write(evil(), tmp_path)
    write_report(tmp_path)
    page = browser(400)
    page.open((tmp_path / "report.html").as_uri())
    assert page.run("return document.querySelectorAll('script, img').length") == 0
    assert page.run("return document.documentElement.scrollWidth <= document.documentElement.clientWidth") is True
    assert page.complaints() == []
