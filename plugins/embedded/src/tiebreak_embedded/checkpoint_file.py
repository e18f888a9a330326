"""A checkpoint in a file, so that a program started cold is warm at once.

Layout: 8 bytes of magic; the length of the header (4 bytes, little-endian); the header (JSON); the
tokens (int32, little-endian); the state. The header says what the state was made with, and the
SHA-256 of tokens and state. A state is read by native code, which trusts it: a digest shows damage,
not malice, so a file that others could have written is refused on POSIX.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import struct
import sys
import tempfile
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import attrs

from tiebreak.errors import EngineError

__all__ = ["Binding", "CheckpointRefused", "read_checkpoint", "write_checkpoint"]

_MAGIC = b"TIEBCKP1"
_HEADER_MAX = 1 << 16
_LENGTH = struct.Struct("<I")


class CheckpointRefused(EngineError):
    """A checkpoint file is not one, is damaged, or was made with something else. Prefill it cold."""


@attrs.frozen(kw_only=True)
class Binding:
    """What a state depends on: it is read back only where all of it is the same.

    Attributes:
        model_sha256: hash of the model file.
        build: `Library.build`.
        settings: whatever else changes a state (GPU layers, say), in words.
    """

    model_sha256: str
    build: str
    settings: str = ""


def write_checkpoint(path: Path, tokens: Sequence[int], state: bytes | bytearray, binding: Binding) -> None:
    """Write a checkpoint: whole or not at all, and readable by its owner only.

    Raises:
        OSError: the file cannot be written.
    """
    keys = _little(array("i", tokens))
    header = {
        "binding": attrs.asdict(binding),
        "tokens": len(tokens),
        "state": len(state),
        "sha256": _digest(keys, state),
    }
    text = json.dumps(header).encode()
    descriptor, name = tempfile.mkstemp(prefix=path.name, dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            for part in (_MAGIC, _LENGTH.pack(len(text)), text, keys, state):
                file.write(part)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def read_checkpoint(path: Path, binding: Binding) -> tuple[tuple[int, ...], bytearray]:
    """The tokens and the state of a checkpoint file.

    Nothing is allocated by what the header says before it agrees with the file's size.

    Raises:
        CheckpointRefused: not a checkpoint, damaged, made with another model, build or settings, or
            writable by others. The message says which.
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        info = os.fstat(file.fileno())
        if not stat.S_ISREG(info.st_mode):
            raise _refused(path, "it is not a regular file")
        if sys.platform != "win32" and (
            info.st_uid not in (0, os.geteuid()) or info.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        ):
            raise _refused(path, "other users own it or may write to it")
        header = _header(path, file)
        keys_size, state_size = _sizes(path, header, info.st_size - file.tell())
        found = header.get("binding")
        for name, value in attrs.asdict(binding).items():
            if not isinstance(found, dict) or found.get(name) != value:
                other = found.get(name) if isinstance(found, dict) else None
                raise _refused(path, f"its {name} is {str(other)[:200]!r}, not {value!r}")
        keys, state = bytearray(keys_size), bytearray(state_size)
        if file.readinto(keys) != keys_size or file.readinto(state) != state_size:
            raise _refused(path, "it ended early")
    if header.get("sha256") != _digest(keys, state):
        raise _refused(path, "its content does not match its SHA-256")
    tokens = array("i", bytes(keys))
    if sys.byteorder == "big":
        tokens.byteswap()
    return tuple(tokens), state


def _header(path: Path, file: BinaryIO) -> dict[str, Any]:
    start = file.read(len(_MAGIC) + _LENGTH.size)
    if len(start) < len(_MAGIC) + _LENGTH.size or not start.startswith(_MAGIC):
        raise _refused(path, "it is not a checkpoint file of this version")
    (length,) = _LENGTH.unpack(start[len(_MAGIC) :])
    if length > _HEADER_MAX:
        raise _refused(path, f"its header claims {length:,} bytes")
    try:
        header = json.loads(file.read(length))
    except (ValueError, RecursionError) as error:
        raise _refused(path, f"its header is not JSON ({error})") from None
    if not isinstance(header, dict):
        raise _refused(path, "its header is not an object")
    return header


def _sizes(path: Path, header: dict[str, Any], left: int) -> tuple[int, int]:
    tokens, state = header.get("tokens"), header.get("state")
    if type(tokens) is not int or type(state) is not int or tokens < 1 or state < 1:
        raise _refused(path, f"its header says {tokens!r:.50} tokens and {state!r:.50} state bytes")
    if 4 * tokens + state != left:
        raise _refused(path, f"it holds {left:,} bytes where its header says {4 * tokens + state:,}")
    return 4 * tokens, state


def _digest(keys: bytes | bytearray, state: bytes | bytearray) -> str:
    digest = hashlib.sha256(keys)
    digest.update(state)
    return digest.hexdigest()


def _little(tokens: array[int]) -> bytes:
    if sys.byteorder == "big":
        tokens.byteswap()
    return tokens.tobytes()


def _refused(path: Path, why: str) -> CheckpointRefused:
    return CheckpointRefused(
        f"{path} is not used: {why}.",
        remedy="Delete it; it is made again when the prefix is saved.",
        engine="embedded",
    )
