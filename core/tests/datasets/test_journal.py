"""The journal: whatever is cut off of it, what stays is whole, and no row is lost or there twice."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tiebreak import InvalidRequest
from tiebreak.datasets.journal import SYNC_SECONDS, Journal

SETTINGS = {"input": "sha", "columns": ["a"]}
ROWS: list[list[Any]] = [
    ["sales", 0.1 + 0.2, 1e-320, None],
    [None, None, None, "BadRow: \u00e9\n"],
    [True, 1.0, 0.0, None],
]


def written(path: Path) -> bytes:
    with Journal(path, SETTINGS) as journal:
        journal.bind("engine")
        for cells in ROWS:
            journal.append(cells)
    return path.read_bytes()


def test_it_goes_on_where_it_was_cut_off_at_any_byte(tmp_path: Path) -> None:
    path = tmp_path / "j"
    whole = written(path)
    lengths = set()
    for end in range(len(whole) + 1):
        path.write_bytes(whole[:end])
        with Journal(path, SETTINGS) as journal:
            journal.bind("engine")
            lengths.add(journal.rows)
            for cells in ROWS[journal.rows :]:
                journal.append(cells)
            assert list(journal.cells()) == ROWS
        assert path.read_bytes() == whole
    assert lengths == {0, 1, 2, 3}


def test_what_a_power_cut_left_blank_is_no_row(tmp_path: Path) -> None:
    path = tmp_path / "j"
    whole = written(path)
    lines = whole.splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:3]) + bytes(len(lines[3])) + lines[4])
    with Journal(path, SETTINGS) as journal:
        assert journal.rows == 1
    assert path.read_bytes() == b"".join(lines[:3])


@pytest.mark.parametrize("content", [b"mine\n", b"mine", b"a\nb\n", b"00000000 {}\n"])
def test_another_file_of_that_name_is_left_alone(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "j"
    path.write_bytes(content)
    with pytest.raises(InvalidRequest, match="is in the way"):
        Journal(path, SETTINGS)
    assert path.read_bytes() == content


def test_other_settings_and_other_engines_are_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "j"
    whole = written(path)
    with pytest.raises(InvalidRequest, match="had another input and columns"):
        Journal(path, {"input": "other", "columns": ["b"]})
    with Journal(path, SETTINGS) as journal, pytest.raises(InvalidRequest, match="another engine, build, model"):
        journal.bind("other")
    assert path.read_bytes() == whole
    with Journal(path, {"input": "other"}, again=True) as journal:
        assert (journal.rows, journal.engine) == (0, "")


def test_one_process_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "j"
    with Journal(path, SETTINGS), pytest.raises(InvalidRequest, match="Another run is working on"):
        Journal(path, SETTINGS)
    with Journal(path, SETTINGS) as journal:
        journal.remove()
    assert not path.exists()


def test_it_is_synced_every_few_seconds_and_not_for_every_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    now = 0.0
    with Journal(tmp_path / "j", SETTINGS, clock=lambda: now) as journal:
        journal.bind("engine")
        begun = len(synced)
        for _ in range(100):
            journal.append(ROWS[0])
        assert len(synced) == begun
        now += SYNC_SECONDS
        for _ in range(100):
            journal.append(ROWS[0])
        assert len(synced) == begun + 1
