from __future__ import annotations

import json
import struct
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tiebreak_embedded.checkpoint_file import (
    Binding,
    CheckpointRefused,
    read_checkpoint,
    write_checkpoint,
)

BINDING = Binding(model_sha256="ab" * 32, build="build 1")
TOKENS, STATE = (5, 49_151, 0, 7), bytes(range(200))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "schema.checkpoint"
    write_checkpoint(path, TOKENS, STATE, BINDING)
    return path


def test_what_was_written_is_read(file: Path) -> None:
    tokens, state = read_checkpoint(file, BINDING)
    assert tokens == TOKENS
    assert bytes(state) == STATE
    assert [p.name for p in file.parent.iterdir()] == [file.name]


@pytest.mark.parametrize(
    "other",
    [
        Binding(model_sha256="cd" * 32, build="build 1"),
        Binding(model_sha256="ab" * 32, build="build 2"),
        Binding(model_sha256="ab" * 32, build="build 1", settings="gpu_layers=4"),
    ],
)
def test_another_model_build_or_setting_is_refused(file: Path, other: Binding) -> None:
    with pytest.raises(CheckpointRefused, match=r"its (model_sha256|build|settings) is"):
        read_checkpoint(file, other)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_change_of_a_byte_is_refused(file: Path, data: st.DataObject) -> None:
    good = file.read_bytes()
    at = data.draw(st.integers(0, len(good) - 1))
    bad = bytearray(good)
    bad[at] ^= data.draw(st.integers(1, 255))
    other = file.with_name("bad")
    other.write_bytes(bad)
    other.chmod(0o600)
    with pytest.raises(CheckpointRefused):
        read_checkpoint(other, BINDING)


@pytest.mark.parametrize("size", [0, 5, 11, 40, -1])
def test_a_cut_file_is_refused(file: Path, size: int) -> None:
    file.write_bytes(file.read_bytes()[:size])
    with pytest.raises(CheckpointRefused):
        read_checkpoint(file, BINDING)


def test_a_huge_claim_allocates_nothing(file: Path) -> None:
    header = json.dumps({"tokens": 1 << 60, "state": 1 << 62, "binding": {}, "sha256": ""}).encode()
    file.write_bytes(b"TIEBCKP1" + struct.pack("<I", len(header)) + header)
    with pytest.raises(CheckpointRefused, match="holds 0 bytes"):
        read_checkpoint(file, BINDING)
    file.write_bytes(b"TIEBCKP1" + struct.pack("<I", 0xFFFFFFFF))
    with pytest.raises(CheckpointRefused, match="header claims"):
        read_checkpoint(file, BINDING)


@pytest.mark.parametrize("header", [b"[]", b"null", b'{"tokens": true, "state": 1}', b"[" * 60_000])
def test_a_nonsense_header_is_refused(file: Path, header: bytes) -> None:
    file.write_bytes(b"TIEBCKP1" + struct.pack("<I", len(header)) + header)
    with pytest.raises(CheckpointRefused):
        read_checkpoint(file, BINDING)


if sys.platform != "win32":

    def test_a_file_that_others_may_write_is_refused(file: Path) -> None:
        file.chmod(0o620)
        with pytest.raises(CheckpointRefused, match="other users"):
            read_checkpoint(file, BINDING)
