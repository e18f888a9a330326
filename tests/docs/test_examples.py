"""Every example of the manual and of the READMEs runs.

    ```python ...```     runs; the blocks of a page share their names, from top to bottom
    ```console ...```    every line after `$ ` runs: `tiebreak ...`, or `COMMAND | tiebreak ...`
    ```json title="F"``` is written to the file F first, as is a block of any language with a title
    ```sh ...```         is for the reader to type, and is not run

They run in memory, on the suite's reference engine. `<!-- example: real -->` above a block runs it on the default
engine with its default model; only then may it show what it prints (a `text` block below it, or the lines below a
command), and that is compared: words exactly, numbers as far as machines agree. `<!-- example: hosted -->` lets the jev
engine ask a gateway of ours.
"""

from __future__ import annotations

import io
import math
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal

import attrs
import pytest

from tiebreak.cli import run

ROOT = Path(__file__).parent.parent.parent
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted(ROOT.glob("plugins/*/README.md")),
]
ELSEWHERE = {"docs/conformance.md", "docs/models.md", "docs/tutorial-engine.md", "plugins/jev/README.md"}
"""Pages with a test of their own."""

Place = Literal["memory", "hosted", "real"]
FENCE = re.compile(
    r"^(?:<!-- example: (?P<place>real|hosted) -->\n+)?"
    r"(?P<indent> *)```(?P<language>\w+)(?: title=\"(?P<title>[^\"]+)\")?\n(?P<text>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)
BAR = re.compile(r"[█▏▎▍▌▋▊▉]+")
NUMBER = re.compile(r"\d+(?:\.\d+)?")


@attrs.frozen(kw_only=True)
class Block:
    """A fenced block of a page."""

    page: Path
    line: int
    language: str
    title: str
    text: str
    place: Place
    shown: str | None

    @property
    def where(self) -> str:
        """File and line, as in a traceback."""
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks_of(page: Path) -> Iterator[Block]:
    """The blocks of a page, each with the output that is shown right below it."""
    text = page.read_text(encoding="utf-8")
    found = list(FENCE.finditer(text))
    for match, after in zip_longest(found, found[1:]):
        follows = after is not None and after["language"] == "text" and not text[match.end() : after.start()].strip()
        yield Block(
            page=page,
            line=text.count("\n", 0, match.start("language")) + 1,
            language=match["language"],
            title=match["title"] or "",
            text="\n".join(line.removeprefix(match["indent"]) for line in match["text"].splitlines()) + "\n",
            place=match["place"] or "memory",  # type: ignore[arg-type]
            shown=after["text"] if after is not None and follows else None,
        )


def cases() -> Iterator[Any]:
    """One case for each page and place: its examples in their order."""
    for page in PAGES:
        name = page.relative_to(ROOT).as_posix()
        if name in ELSEWHERE:
            continue
        every = list(blocks_of(page))
        for place in ("memory", "hosted", "real"):
            runs = [b for b in every if b.title or (b.place == place and b.language in ("python", "console"))]
            if any(not b.title for b in runs):
                marks = [pytest.mark.live] if place == "real" else []
                if place == "real" and page.stem == "pcdserver":
                    marks.append(pytest.mark.alone)
                yield pytest.param(place, runs, id=f"{name}-{place}", marks=marks)


@pytest.mark.filterwarnings("default::tiebreak.memory.MemoryTightWarning")
@pytest.mark.parametrize("where,blocks", list(cases()))
def test_examples(
    where: Place,
    blocks: Sequence[Block],
    place: Callable[[str], Any],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    place(where)
    monkeypatch.setattr("tiebreak.cli.streams.is_terminal", lambda: where == "real")
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks:
        if block.title:
            Path(block.title).write_text(block.text, encoding="utf-8")
            continue
        if block.language == "python":
            # Padded, so that a traceback names the line of the page.
            source = "\n" * block.line + block.text
            exec(compile(source, str(block.page), "exec", dont_inherit=True), names)
            printed = capsys.readouterr().out
            compare(block, block.shown, printed)
        else:
            for command, shown in commands(block):
                tiebreak_command(block, command, monkeypatch)
                compare(block, shown or None, capsys.readouterr().out)


def commands(block: Block) -> Iterator[tuple[str, str]]:
    """The commands of a console block, each with the output shown below it."""
    first, *parts = re.split(r"^\$ ", block.text, flags=re.MULTILINE)
    assert not first.strip(), f"{block.where}: a console block begins with `$ `"
    for part in parts:
        command, _, shown = part.replace("\\\n", " ").partition("\n")
        yield command, shown


def tiebreak_command(block: Block, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run one command line in this process."""
    before, pipe, ours = command.rpartition(" | ")
    program, *arguments = shlex.split(ours)
    assert program == "tiebreak", f"{block.where}: only tiebreak is run here, not {program}"
    fed = subprocess.run(["bash", "-c", before], stdout=subprocess.PIPE, check=True).stdout if pipe else b""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(fed), encoding="utf-8"))
    assert run(arguments) == 0, f"{block.where}: {command}"


def compare(block: Block, shown: str | None, printed: str) -> None:
    """Hold what a page shows against what was printed."""
    if shown is None:
        return
    assert block.place == "real", f"{block.where}: shows an output, but does not run for real"
    shown_words, printed_words = map(_words, (shown, printed))
    assert shown_words == printed_words, f"{block.where} prints:\n{printed}"
    for expected, found in zip(NUMBER.findall(shown), NUMBER.findall(printed), strict=True):
        near = math.isclose(float(expected), float(found), rel_tol=0.15, abs_tol=0.06)
        assert near, f"{block.where} shows {expected} where {found} was printed:\n{printed}"


def _words(text: str) -> str:
    """The text without bars, with every number alike and every run of spaces one."""
    return " ".join(NUMBER.sub("0", BAR.sub("", text)).split())


def test_every_page_is_looked_at() -> None:
    """A fence that the pattern above does not understand would not be run."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        fences = len(re.findall(r"^ *```\w", text, flags=re.MULTILINE))
        assert fences == len(list(blocks_of(page))), page
