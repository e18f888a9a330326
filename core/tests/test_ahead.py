"""What a command starts before it has read its own command line: what it needed last time, and nothing that stays."""

from __future__ import annotations

import json
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tiebreak import ahead, launch, startup
from tiebreak.command import Command, ProcessOptions, Readiness
from tiebreak.keepers import token
from tiebreak.process import EngineProcess

STUB = str(Path(__file__).parent / "stubs" / "stub_engine.py")
OPTIONS = ProcessOptions(grace=1.0)
CHOOSE = ("choose", "a state", "a", "b")


def command(*arguments: str, **env: str) -> Command:
    return Command(argv=(sys.executable, "-S", STUB, "--port", "{port}", "--name", "stub", *arguments), env=env)


def probe(url: str, timeout: float) -> Readiness:
    try:
        with urllib.request.urlopen(url, timeout=timeout):
            return Readiness(state="ready")
    except OSError as error:
        return Readiness(state="loading", text=str(error))


def started() -> ahead.Early | None:
    return ahead._State.early


@pytest.fixture(autouse=True)
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of notes, in a cache of its own; nothing is left running."""
    monkeypatch.setenv("TIEBREAK_CACHE", str(tmp_path))
    monkeypatch.setattr(ahead._State, "path", None)
    yield tmp_path / "ahead"
    ahead.dismiss()
    launch.LAUNCHES.dismiss()


def needs(what: Command) -> None:
    """What a plugin does when a command turns out to need this."""
    startup.prepare("stub", what, OPTIONS)


def started_again() -> ahead.Early:
    """What a second command of the same flags begins with."""
    ahead.begin(CHOOSE)
    needs(command())
    launch.LAUNCHES.dismiss()
    ahead.begin(CHOOSE)
    early = started()
    assert early is not None
    return early


def test_the_first_command_notes_what_the_second_starts_and_takes_over(notes: Path) -> None:
    ahead.begin(CHOOSE)
    assert started() is None
    needs(command())
    launch.LAUNCHES.dismiss()
    (note,) = notes.iterdir()
    written = note.read_text()

    ahead.begin(("choose", "another state", "x", "y"))
    early = started()
    assert early is not None
    needs(command())
    assert started() is None
    engine = EngineProcess("stub", command(), probe, options=OPTIONS)
    try:
        assert engine.ensure().endswith(f":{early.port}")
        assert engine.pid is not None
        keeper = psutil.Process(engine.pid).parent()
        assert keeper is not None
        assert keeper.pid == early.keeper.process.pid
    finally:
        engine.stop()
    assert not Path(early.keeper.folder).exists()
    assert note.read_text() == written


def test_what_turns_out_not_to_be_needed_is_stopped(notes: Path) -> None:
    early = started_again()
    needs(command("--load", "0.01"))
    assert early.keeper.process.returncode == 0
    assert not Path(early.keeper.folder).exists()
    (started_now,) = launch.LAUNCHES.running()
    assert "--load" in started_now.order.argv
    (note,) = notes.iterdir()
    assert "--load" in json.loads(note.read_text())["argv"]


def test_a_command_that_ends_before_it_needs_anything_leaves_nothing(notes: Path) -> None:
    early = started_again()
    ahead.dismiss()
    assert early.keeper.process.returncode == 0
    assert started() is None


def test_other_flags_have_another_note_and_the_question_has_none(notes: Path) -> None:
    same = (CHOOSE, ("check", "Is it --model?", "--", "--model", "x"), ("rate", "--json", "text", "low", "high"))
    flags = (("--model", "x"), ("--model=x",), ("--option", "threads=1"), ("--engine",))
    other = [(*CHOOSE, *each) for each in flags]
    keys = []
    for arguments in (*same, *other):
        ahead.begin(arguments)
        assert ahead._State.path is not None
        keys.append(ahead._State.path.name)
    assert len(set(keys[: len(same)])) == 1
    assert len(set(keys)) == 1 + len(other)


def test_a_secret_is_in_the_engine_and_in_no_note(notes: Path, tmp_path: Path) -> None:
    ahead.begin(CHOOSE)
    needs(command(STUB_SECRET="{token}"))
    launch.LAUNCHES.dismiss()
    (note,) = notes.iterdir()
    assert token() not in note.read_text()
    ahead.begin(CHOOSE)
    needs(command(STUB_SECRET="{token}"))
    (running,) = launch.LAUNCHES.running()
    assert running.told.wait(30)
    assert psutil.Process(running.pid).environ()["STUB_SECRET"] == token()
    assert token() not in running.log_tail(100)


WRONG_ENV = {"name": "x", "argv": ["y"], "additions": 3, "cwd": None, "grace": 1, "log_bytes": 9, "death_signal": True}


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "3", "{}", '{"name": 3}', '{"name": "x", "argv": 7}', json.dumps(WRONG_ENV)]
)
def test_a_note_that_is_none_starts_nothing(notes: Path, text: str) -> None:
    ahead.begin(CHOOSE)
    needs(command())
    launch.LAUNCHES.dismiss()
    (note,) = notes.iterdir()
    note.write_text(text)
    ahead.begin(CHOOSE)
    assert started() is None
    needs(command())
    assert json.loads(note.read_text())["name"] == "stub"


def test_outside_a_command_nothing_is_noted(notes: Path) -> None:
    needs(command())
    assert not notes.exists()


def test_a_cache_that_cannot_be_written_costs_nothing_but_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("TIEBREAK_CACHE", str(tmp_path / "file"))
    ahead.begin(CHOOSE)
    assert started() is None
    needs(command())
    assert launch.LAUNCHES.running()
