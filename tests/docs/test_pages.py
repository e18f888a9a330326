"""The manual's tables say what the code says."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import attrs
import click
import pytest

from tiebreak import errors, hookspecs
from tiebreak.bench import results
from tiebreak.bench.report import digits
from tiebreak.cli.program import program
from tiebreak.errors import TiebreakError
from tiebreak.memory import MemoryLimits
from tiebreak.registry import FIRST_PARTY, Registry
from tiebreak_conformance.card import read, table

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"
ENGINES = sorted(set(FIRST_PARTY) & set(Registry().names()))


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def rows(name: str) -> Iterator[list[str]]:
    """The cells of every table row of a page."""
    for line in page(name).splitlines():
        if line.startswith("|"):
            yield [cell.strip() for cell in line.strip("|").split("|")]


def first_names(name: str) -> set[str]:
    """The code names in the first column of a page's tables."""
    return {word for cells in rows(name) for word in re.findall(r"`([^`]+)`", cells[0])}


@pytest.mark.parametrize("engine", ENGINES)
def test_the_tables_of_an_engine_are_its_own(engine: str) -> None:
    tool = [sys.executable, str(DOCS / "tools" / "engine_tables.py"), "--check", engine]
    result = subprocess.run(tool, capture_output=True, text=True, encoding="utf-8")
    assert result.returncode == 0, f"run {' '.join(tool[1:2])}: {result.stdout}{result.stderr}"
    assert f"{engine}: {engine}.md" in result.stdout


def test_every_error_has_a_row_with_its_exit_code() -> None:
    documented = {}
    for line in page("errors.md").splitlines():
        found = re.match(r"\| `[ ├│└]*(\w+)` \|.*\| (\d) \|$", line)
        if found:
            documented[found[1]] = int(found[2])
    assert documented == {name: getattr(errors, name).exit_code for name in errors.__all__}


def test_the_tree_of_errors_is_drawn_as_it_is() -> None:
    names = re.findall(r"^\| `([ ├│└]*)(\w+)` \|", page("errors.md"), flags=re.MULTILINE)
    path: list[type[TiebreakError]] = []
    for lines, name in names:
        kind = getattr(errors, name)
        depth = len(lines) // 2
        path[depth:] = [kind]
        assert depth == 0 or path[depth - 1] in kind.__bases__, name


def command(name: str) -> click.Command:
    found = program.get_command(click.Context(program), name)
    assert found is not None
    return found


def test_every_command_is_listed() -> None:
    listed = {name.split()[0] for name in first_names("cli.md")}
    names = set(program.list_commands(click.Context(program)))
    assert names, "none was looked at"
    assert names <= listed


def test_every_memory_limit_is_listed_with_its_default() -> None:
    limits = {cells[0].strip("`"): cells[1] for cells in rows("memory.md") if cells[0].startswith("`")}
    assert set(limits) == {field.name for field in attrs.fields(MemoryLimits)}
    for field in attrs.fields(MemoryLimits):
        value = field.default
        words: dict[object, str] = {None: "none", False: "off", 256 << 20: "256 MiB", 512 << 20: "512 MiB"}
        words[1 << 30] = "1 GiB"
        assert limits[field.name] == words.get(value, str(value)), field.name


def test_every_flag_of_the_gateway_is_listed() -> None:
    serve, choose = command("serve"), command("choose")
    shared = {option.name for option in choose.params}
    flags = {max(option.opts, key=len) for option in serve.params if option.name not in shared}
    assert flags <= set(re.findall(r"--[a-z-]+", page("gateway.md")))


def test_every_hook_is_explained() -> None:
    named = {name for name in vars(hookspecs) if name.startswith("tiebreak_")}
    assert named <= set(re.findall(r"tiebreak_\w+", page("writing-an-engine.md")))


def test_every_known_problem_names_a_test_that_exists() -> None:
    seen = []
    for cells in rows("testing.md"):
        if not re.fullmatch(r"F\d+", cells[0]):
            continue
        seen.append(cells[0])
        tests = re.findall(r"`([^`]+)::(\w+)`", cells[2])
        assert tests or cells[2].startswith("later: "), cells[0]
        for file, name in tests:
            assert f"def {name}(" in (ROOT / file).read_text(encoding="utf-8"), f"{cells[0]}: {file}::{name}"
    assert len(seen) == len(set(seen)) == 47


def test_every_room_of_the_core_is_on_the_map() -> None:
    core = ROOT / "core" / "src" / "tiebreak"
    modules = {path.name for path in core.glob("*.py")} - {"__init__.py", "__main__.py"}
    packages = {f"{path.parent.name}/" for path in core.glob("*/__init__.py")}
    assert len(packages) > 5
    assert modules | packages <= first_names("architecture.md")


def test_every_page_is_in_the_nav_and_the_other_way_round() -> None:
    nav = set(re.findall(r"[\w/-]+\.md", (ROOT / "mkdocs.yml").read_text(encoding="utf-8")))
    assert nav == {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}


def test_the_measured_figures_are_those_of_the_committed_run() -> None:
    found = results.read(DOCS / "benchmarks" / "cpu")
    assert found.run is not None
    methods = {method.id: (method.engine, method.layout) for method in found.run.methods}
    measured = {methods[summary.method]: summary for summary in found.run.summaries}
    assert len(measured) == 6
    table = re.findall(r"\| (\w+) \| ([\w -]+) \| ([^|]+\]) \| (\d+) \|", page("benchmarks/index.md"))
    for engine, layout, median, right in table:
        summary = measured.pop((engine, "pcd" if layout == "its own" else layout))
        assert summary.accuracy is not None
        assert (digits.estimate(summary.total.median), str(summary.accuracy.hits)) == (median, right)
    assert not measured, "not on the page"
    pairs = [row for row in found.prefix[0].rows if row.scenario != "1 question, asked before"]
    speed_ups = [digits.estimate(row.speed_up, 2) for row in pairs]
    assert len(speed_ups) == 9
    assert set(speed_ups) <= {cell for cells in rows("benchmarks/index.md") for cell in cells}


@pytest.mark.parametrize("distribution", ["tiebreak", *(f"tiebreak-{name}" for name in ENGINES)])
def test_every_dependency_has_its_reasons(distribution: str) -> None:
    needed = [line for line in metadata.requires(distribution) or () if "extra == 'test'" not in line.replace('"', "'")]
    wanted = {line[: re.search(r"[^\w.-]|$", line).start()] for line in needed}  # type: ignore[union-attr]
    explained = set(re.findall(r"[\w.-]+", " ".join(cell for cells in rows("dependencies.md") for cell in cells[:2])))
    # Build backends spell names as they like: `backports.zstd` and `backports-zstd` are one.
    assert {_canonical(name) for name in wanted if not name.startswith("tiebreak")} <= set(map(_canonical, explained))


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.mark.parametrize("path", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_into_the_checkout_lead_somewhere(path: str) -> None:
    text = (ROOT / path).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", text):
        if "://" not in target:
            assert (ROOT / target).exists(), f"{path} links to {target}"


def test_the_table_of_report_cards_is_made_of_them() -> None:
    cards = [card for plugin in sorted((ROOT / "plugins").iterdir()) for card in read(plugin)]
    assert all(card.ok for card in cards), [f"{card.engine}, {card.wire}" for card in cards if not card.ok]
    for where in (ROOT / "README.md", DOCS / "conformance-table.md"):
        remedy = "run tiebreak cards plugins/* --into README.md --page docs/conformance-table.md"
        assert table(cards) in where.read_text(encoding="utf-8"), f"{where.name} is out of date: {remedy}"
