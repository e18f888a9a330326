"""The guess that a child loads before it is told what: what it is, and that a wrong one costs nothing but time."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tiebreak_embedded import recent
from tiebreak_embedded.child import _Child
from tiebreak_embedded.child_command import child_command
from tiebreak_embedded.info import INFO
from tiebreak_embedded.recent import Recent

OPTIONS = INFO.check_options({})


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TIEBREAK_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def file(hybrid_path: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(hybrid_path, tmp_path / "model.gguf"))


def test_what_was_noted_is_the_guess(file: Path) -> None:
    assert Recent("smol").guess() is None
    Recent("smol").note(file, False)
    assert Recent("smol").guess() == (file, False)
    assert Recent("other").guess() is None


def test_a_reference_in_another_folder_is_another_one(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Recent("./model.gguf").note(file, True)
    monkeypatch.chdir(tmp_path)
    assert Recent("./model.gguf").guess() is None


def test_a_file_that_changed_or_went_is_no_guess(file: Path) -> None:
    Recent("smol").note(file, True)
    os.utime(file, ns=(1, 1))
    assert Recent("smol").guess() is None
    Recent("smol").note(file, True)
    assert Recent("smol").guess() == (file, True)
    file.unlink()
    assert Recent("smol").guess() is None


def test_a_large_file_is_not_noted(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recent, "_MOST", file.stat().st_size - 1)
    Recent("smol").note(file, True)
    assert Recent("smol").guess() is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"path": 3}', '{"path": "x", "repack": true, "state": []}'])
def test_a_note_that_is_none_is_no_guess(file: Path, cache: Path, text: str) -> None:
    Recent("smol").note(file, True)
    (note,) = (cache / "recent").iterdir()
    note.write_text(text)
    assert Recent("smol").guess() is None


def test_a_cache_that_cannot_be_written_is_no_error(file: Path, cache: Path) -> None:
    cache.write_text("not a folder")
    Recent("smol").note(file, True)
    assert Recent("smol").guess() is None


def test_commands_of_one_reference_stay_equal_when_it_leads_elsewhere(file: Path) -> None:
    first = child_command(OPTIONS, "a reference of this test")
    Recent("a reference of this test").note(file, True)
    assert child_command(OPTIONS, "a reference of this test") == first
    Recent("another of this test").note(file, True)
    assert str(file) in child_command(OPTIONS, "another of this test").argv[-1]
    assert str(file) not in child_command({**OPTIONS, "gpu_layers": 1}, "another of this test").argv[-1]


def test_a_child_takes_what_it_began_to_load_if_that_is_ordered(file: Path) -> None:
    child = _Child()
    child.expect(file, OPTIONS, True)
    early = child._early
    assert early is not None
    assert child._weights(file, OPTIONS, True) is early
    model = early.take()
    assert model.vocabulary_size > 0
    model.close()


@pytest.mark.parametrize("repack", [True, False])
def test_a_child_frees_what_nobody_ordered(file: Path, hybrid_path: Path, repack: bool) -> None:
    child = _Child()
    child.expect(file, OPTIONS, True)
    early = child._early
    assert early is not None
    other = child._weights(file if not repack else hybrid_path, OPTIONS, repack)
    assert other is not early
    other.take().close()
    early._thread.join()
    dropped = early.drop()
    dropped.join()
    assert early._model is not None
    assert early._model._handle is None


def test_a_child_loads_a_file_that_was_replaced_again(file: Path, hybrid_path: Path) -> None:
    child = _Child()
    child.expect(file, OPTIONS, True)
    early = child._early
    assert early is not None
    early._thread.join()
    file.unlink()
    shutil.copy(hybrid_path, file)
    weights = child._weights(file, OPTIONS, True)
    assert weights is not early
    weights.take().close()


def test_a_child_that_was_told_expects_nothing(file: Path) -> None:
    child = _Child()
    child._told = True
    child.expect(file, OPTIONS, True)
    assert child._early is None
