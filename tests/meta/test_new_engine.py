"""A stranger's plugin: scaffolded outside of this repository, installed with pip, found, asked, and conforming."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
import venv
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tiebreak import Decider
from tiebreak.cli import run as tiebreak
from tiebreak.cli.scaffold import Scaffold
from tiebreak.errors import InvalidRequest
from tiebreak_conformance import ConformanceSuite, LayoutChecks, Target, run
from tiebreak_conformance.subject import Subject

ROOT = Path(__file__).parent.parent.parent
TUTORIAL = ROOT / "docs" / "tutorial-engine.md"
HELD = {"SPEC-02"}
"""Silent for a plugin that is handed over as an object."""


@pytest.fixture
def imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Scaffold, Any], ModuleType]]:
    """Writes a scaffold, with some files replaced, and imports its hooks."""
    before = set(sys.modules)

    def make(scaffold: Scaffold, replaced: dict[str, str]) -> ModuleType:
        root = tmp_path / scaffold.name
        scaffold.write(root)
        for inside, text in replaced.items():
            (root / inside).write_text(text, encoding="utf-8")
        monkeypatch.syspath_prepend(str(root / "src"))
        # A child that runs the plugin's server has to find it, too.
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(root / "src"), os.environ.get("PYTHONPATH", "")]))
        return importlib.import_module(f"{scaffold.package}.hooks")

    yield make
    for name in set(sys.modules) - before:
        if name.startswith("tiebreak_"):
            del sys.modules[name]


@pytest.mark.parametrize("kind", ["local", "wire"])
def test_a_scaffold_conforms_as_it_is_written(kind: str, imported: Callable[..., ModuleType]) -> None:
    scaffold = Scaffold(name=f"made-{kind}", kind=kind)
    card = run(Target(engine=scaffold.name, plugin=imported(scaffold, {}), rounds=1))
    assert card.ok, card.markdown()
    assert card.count("passed") >= (64 if kind == "local" else 72)


def test_the_tutorial_builds_an_engine_that_scores(imported: Callable[..., ModuleType]) -> None:
    page = TUTORIAL.read_text(encoding="utf-8")
    (found,) = re.findall(r"<!-- file: (\S+) -->\n```python\n(.*?)```", page, re.DOTALL)
    inside, code = found
    assert len([line for line in code.splitlines() if line.strip()]) < 40
    hooks = imported(Scaffold(name="ngram", kind="local"), {inside: code})
    card = run(Target(engine="ngram", plugin=hooks, rounds=1))
    assert card.ok, card.markdown()
    (example,) = re.findall(r"```python\nimport tiebreak\n(.*?)```\n\n```text\n", page, re.DOTALL)
    (shown,) = re.findall(r"```text\n(.*?)```", page, re.DOTALL)
    said: list[object] = []
    with Subject(Target(engine="ngram", plugin=hooks)) as subject:

        class Asking:
            @staticmethod
            def Decider(name: str, **options: Any) -> Decider:  # noqa: N802
                return Decider(name, registry=subject.registry, pool=subject.pool, **options)

        exec(compile(example, str(TUTORIAL), "exec"), {"tiebreak": Asking, "print": said.append})
    assert said == [shown.strip()]


def test_the_manual_of_the_suite_shows_code_that_works() -> None:
    from tiebreak.stages.decider import DeciderLayout

    page = (ROOT / "docs" / "conformance.md").read_text(encoding="utf-8")
    whole, stage = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names: dict[str, Any] = {"MyLayout": DeciderLayout}
    exec(compile(whole, "conformance.md", "exec"), names)
    exec(compile(stage, "conformance.md", "exec"), names)
    assert issubclass(names["TestMyEngine"], ConformanceSuite)
    assert run(names["TestMyLayout"].target, LayoutChecks).ok


def test_a_name_that_cannot_be_one_is_refused(tmp_path: Path) -> None:
    for name in ("Big", "9lives", "a_b", "a--b", "", "class", "slot", "conformance", "../up"):
        with pytest.raises(InvalidRequest):
            Scaffold(name=name, kind="local")
    (tmp_path / "kept.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(InvalidRequest, match="not an empty directory"):
        Scaffold(name="fine", kind="local").write(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["kept.txt"]


def test_the_command_says_what_it_wrote(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = tmp_path / "new"
    assert tiebreak(["new-engine", "my-engine", "--dir", str(root), "--kind", "wire"]) == 0
    printed = capsys.readouterr()
    paths = [Path(line) for line in printed.out.splitlines()]
    assert root / "src" / "tiebreak_my_engine" / "engine.py" in paths
    assert all(path.is_file() for path in paths)
    assert "pip install" in printed.err
    assert len((root / "src" / "tiebreak_my_engine" / "hooks.py").read_text(encoding="utf-8").splitlines()) <= 40
    assert tiebreak(["new-engine", "my-engine", "--dir", str(root)]) == 2


@pytest.mark.network
def test_a_stranger_installs_a_scaffold_and_it_works(tmp_path: Path) -> None:
    """The commands of the tutorial, in an empty directory and a fresh environment."""
    home = tmp_path / "env"
    venv.create(home)  # our own pip installs into it: making one for it would take as long as the rest
    bin_ = home / ("Scripts" if sys.platform == "win32" else "bin")
    variables = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    variables |= {"TIEBREAK_CACHE": str(tmp_path / "cache"), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    place = tmp_path / "empty"
    place.mkdir()

    def sh(program: str, *arguments: str) -> str:
        done = subprocess.run(
            [str(bin_ / program), *arguments], cwd=place, env=variables, capture_output=True, text=True, timeout=900
        )
        assert done.returncode == 0, f"{program} {arguments}:\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
        return done.stdout

    def install(*what: str) -> None:
        # Without --no-compile every module of every dependency is compiled, and a tenth of them is imported below.
        sh(sys.executable, "-m", "pip", "--python", str(bin_ / "python"), "install", "-q", "--no-compile", *what)

    install(str(ROOT / "core"), str(ROOT / "tests"))
    sh("tiebreak", "new-engine", "ngram")
    install("-e", "tiebreak-ngram[test]")
    assert re.search(r"^ngram\tok\ttiebreak-ngram 0\.1\.0", sh("tiebreak", "engines"), re.MULTILINE)
    asked = ("The printer is on fire", "facilities", "sales", "legal")
    assert sh("tiebreak", "choose", *asked, "--engine", "ngram").strip() in asked[1:]
    assert "passed" in sh("pytest", "-q", "tiebreak-ngram")
    assert "passed" in sh("pytest", "-q", "--pyargs", "tiebreak_conformance", "--engine=ngram", "--card", str(place))
    assert (place / "report-card.json").is_file()
    assert "SPEC-02\tok" in sh("tiebreak", "conformance", "ngram")
    assert "| ngram | live |" in sh("tiebreak", "cards", str(place))
