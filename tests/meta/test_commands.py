"""`tiebreak conformance` and `tiebreak cards`, and the suite through pytest's command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tiebreak.cli import run as tiebreak
from tiebreak.registry import Registry
from tiebreak_conformance import Target, run
from tiebreak_conformance.reference import INFO, ReferenceEngine, ReferencePlugin
from tiebreak_conformance.subject import Subject
from tiebreak_conformance.topics.spec import SpecChecks

REFERENCE = Target(engine=INFO.name, plugin=ReferencePlugin(), rounds=1)


class LateClose(ReferenceEngine):
    """Wrong in one way."""

    def close(self) -> None:
        """Nothing is let go."""


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Makes the reference engine known by name, as if it were installed."""

    def pretend(target: Target) -> None:
        with Subject(target) as subject:
            plugin = subject.registry.plugin(INFO.name)
        found = Registry.plugin
        monkeypatch.setattr(
            Registry,
            "plugin",
            lambda self, name, *more: plugin if name == INFO.name else found(self, name, *more),
        )

    pretend(REFERENCE)
    return monkeypatch


def test_the_command_prints_a_card_and_says_by_its_exit_code_whether_it_conforms(
    installed: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    installed.setattr(SpecChecks, "test_spec_02_describing_is_light", SpecChecks.test_spec_01_describes_itself)
    code = tiebreak(["conformance", INFO.name, "--option", "entries=3", "--card", str(tmp_path), "--json"])
    said = json.loads(capsys.readouterr().out)
    assert said["engine"] == INFO.name
    assert said["results"]["READ-01"]["outcome"] == "passed"
    # One check was replaced by another: that is a problem of the run, whatever its results.
    assert code == 1
    assert any("SPEC-02" in problem for problem in said["problems"])
    assert json.loads((tmp_path / "report-card.json").read_text(encoding="utf-8"))[0] == said
    assert tiebreak(["conformance", INFO.name, "--option", "entires=3"]) == 2
    assert "entries" in capsys.readouterr().err


def test_cards_become_one_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = run(REFERENCE), run(Target(engine=INFO.name, plugin=ReferencePlugin(LateClose), rounds=1, patience=0.3))
    for name, card in (("good", good), ("bad", bad)):
        (tmp_path / name).mkdir()
        card.write(tmp_path / name)
    readme, page = tmp_path / "README.md", tmp_path / "table.md"
    readme.write_text("# Mine\n\n<!-- cards -->\nold\n<!-- /cards -->\n\nThe end.\n", encoding="utf-8")
    where = [str(tmp_path / "good"), str(tmp_path / "bad")]
    assert tiebreak(["cards", *where, "--into", str(readme), "--page", str(page)]) == 0
    table = capsys.readouterr().out
    assert table.count("| reference | live |") == 2
    written = readme.read_text(encoding="utf-8")
    assert table.strip() in written
    assert written.startswith("# Mine") and written.endswith("The end.\n") and "old" not in written
    assert table.strip() in page.read_text(encoding="utf-8")
    readme.write_text("no markers\n", encoding="utf-8")
    assert tiebreak(["cards", *where, "--into", str(readme)]) == 2
    assert readme.read_text(encoding="utf-8") == "no markers\n"
    assert tiebreak(["cards", str(tmp_path)]) == 2


def test_pytest_asks_which_engine_and_refuses_what_it_cannot_use(tmp_path: Path) -> None:
    def said(*arguments: str) -> str:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--pyargs", "tiebreak_conformance"]
        command += ["-k", "spec_01"]  # each check would say the same
        done = subprocess.run([*command, *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=300)
        assert done.returncode != 0
        return done.stdout + done.stderr

    assert "Say which engine: --engine=NAME" in said()
    assert "There is no engine 'imaginary'" in said("--engine=imaginary")
    assert "needs a cassette" in said("--engine=imaginary", "--wire=replay")
