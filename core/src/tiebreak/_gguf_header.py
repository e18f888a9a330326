"""Parses the header of a GGUF file: every count and length is checked before it is believed.

The format is the public GGUF v2/v3 layout (ggml, `docs/gguf.md`): magic, version, counts, key-value
pairs, tensor table, padding, tensor data, all little-endian. Large arrays are noted by place and
not read, so that a header costs one walk; a hostile one costs neither memory nor time.
"""

from __future__ import annotations

import contextlib
import math
import mmap
import os
import reprlib
import stat
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast

import attrs

from tiebreak.errors import ModelUnavailable

__all__ = ["Array", "Cursor", "Header", "Scalar", "Tensor", "Value", "damaged", "mapped", "parse"]

Scalar = str | int | float | bool
Value = Scalar | tuple[Scalar, ...]

_VERSIONS = (2, 3)
_STRING, _ARRAY = 8, 9
# Value type number -> struct code, as the format numbers them; a bool is one byte.
_SCALARS = dict(zip((0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 12), "BbHhIif?Qqd", strict=True))
_U32, _U64 = struct.Struct("<I"), struct.Struct("<Q")

# Limits far above any real model and far below what would hurt.
_MAX_PAIRS = 1 << 16
_MAX_TENSORS = 1 << 18
_MAX_STRINGS = 1 << 23
_MAX_KEY = (1 << 16) - 1  # the format's own limit
_MAX_TEXT = 1 << 24
_MAX_DIMENSIONS = 4  # GGML_MAX_DIMS
# Arrays up to this many elements are held; larger ones stay in the file until asked for.
_HELD = 256

# Tensor type number -> (elements in a block, bytes of a block): `ggml_blck_size` and
# `ggml_type_size` of llama.cpp, read from the library itself. The gaps were withdrawn.
_BLOCKS = {
    0: (1, 4),  # F32
    1: (1, 2),  # F16
    2: (32, 18),  # Q4_0
    3: (32, 20),  # Q4_1
    6: (32, 22),  # Q5_0
    7: (32, 24),  # Q5_1
    8: (32, 34),  # Q8_0
    9: (32, 36),  # Q8_1
    10: (256, 84),  # Q2_K
    11: (256, 110),  # Q3_K
    12: (256, 144),  # Q4_K
    13: (256, 176),  # Q5_K
    14: (256, 210),  # Q6_K
    15: (256, 292),  # Q8_K
    16: (256, 66),  # IQ2_XXS
    17: (256, 74),  # IQ2_XS
    18: (256, 98),  # IQ3_XXS
    19: (256, 50),  # IQ1_S
    20: (32, 18),  # IQ4_NL
    21: (256, 110),  # IQ3_S
    22: (256, 82),  # IQ2_S
    23: (256, 136),  # IQ4_XS
    24: (1, 1),  # I8
    25: (1, 2),  # I16
    26: (1, 4),  # I32
    27: (1, 8),  # I64
    28: (1, 8),  # F64
    29: (256, 56),  # IQ1_M
    30: (1, 2),  # BF16
    34: (256, 54),  # TQ1_0
    35: (256, 66),  # TQ2_0
    39: (32, 17),  # MXFP4
    40: (64, 36),  # NVFP4
    41: (128, 18),  # Q1_0
    42: (64, 18),  # Q2_0
}


@attrs.frozen(kw_only=True)
class Array:
    """Where a large array lies in the file: `count` elements of value type `type` at `offset`."""

    type: int
    count: int
    offset: int


@attrs.frozen(kw_only=True)
class Tensor:
    """One row of the tensor table. `offset` is in bytes from the start of the tensor data."""

    name: str
    shape: tuple[int, ...]
    type: int
    offset: int

    @property
    def size(self) -> int | None:
        """Its length in bytes, or None where its ggml type is newer or private: not known here."""
        block = _BLOCKS.get(self.type)
        if block is None:
            return None
        elements, size = block
        row = self.shape[0] if self.shape else 1
        return -(-row // elements) * size * math.prod(self.shape[1:])


@attrs.frozen(kw_only=True)
class Header:
    """What the header says, unread arrays by place. `end` is the first byte after it."""

    version: int
    metadata: Mapping[str, Value | Array]
    tensors: tuple[Tensor, ...]
    alignment: int
    end: int


class Cursor:
    """Walks over a mapped file; every read is checked against the end of it."""

    def __init__(self, path: Path, view: mmap.mmap, *, at: int = 0) -> None:
        self.path, self.view, self.at, self.end = path, view, at, len(view)

    def claim(self, length: int, what: str) -> int:
        """Step over `length` bytes and return where they start."""
        start = self.at
        if length > self.end - start:
            why = f"{what} at byte {start:,} takes {length:,} bytes, past the end of the file"
            raise damaged(self.path, why)
        self.at = start + length
        return start

    def u32(self, what: str) -> int:
        return cast("int", _U32.unpack_from(self.view, self.claim(4, what))[0])

    def u64(self, what: str) -> int:
        return cast("int", _U64.unpack_from(self.view, self.claim(8, what))[0])

    def text(self, what: str, limit: int = _MAX_TEXT) -> str:
        """One string; bytes that are not UTF-8 are kept as surrogates, so nothing is lost."""
        length = self.u64(what)
        if length > limit:
            raise damaged(self.path, f"{what} at byte {self.at:,} claims {length:,} bytes of text")
        start = self.claim(length, what)
        return self.view[start : start + length].decode("utf-8", "surrogateescape")

    def skip_texts(self, count: int, what: str) -> None:
        at, view, unpack = self.at, self.view, _U64.unpack_from
        try:
            for _ in range(count):
                at += 8 + unpack(view, at)[0]
        except (struct.error, OverflowError) as error:
            raise damaged(self.path, f"{what} runs past the end of the file") from error
        self.claim(at - self.at, what)

    def elements(self, kind: int, count: int, what: str) -> Iterator[Scalar]:
        """`count` values of one scalar or string type."""
        if kind == _STRING:
            for _ in range(count):
                yield self.text(what)
            return
        layout = struct.Struct(f"<{self.code(kind, what)}")
        start = self.claim(layout.size * count, what)
        for (item,) in layout.iter_unpack(self.view[start : self.at]):
            yield item

    def code(self, kind: int, what: str) -> str:
        code = _SCALARS.get(kind)
        if code is None:
            why = f"{what} has value type {kind:,}, which the format does not define"
            raise damaged(self.path, why)
        return code


@contextlib.contextmanager
def mapped(path: Path) -> Iterator[mmap.mmap]:
    """A read-only map of a regular file that is not empty; nothing stays open afterwards.

    Raises:
        ModelUnavailable: there is no such file, or it cannot be read.
    """
    try:
        view = _map(path)
    except FileNotFoundError as error:
        raise ModelUnavailable(f"There is no file {path}.", remedy="Check the path.") from error
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise ModelUnavailable(
            f"{path} ({_size(path)}) cannot be read: {why}.",
            remedy="Check its permissions and its disk.",
        ) from error
    with view:
        yield view


def _map(path: Path) -> mmap.mmap:
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        raise ModelUnavailable(f"{path} is a directory, not a GGUF file.", remedy="Name the file inside it.")
    if not stat.S_ISREG(mode):  # opening a pipe would wait for its writer
        raise ModelUnavailable(f"{path} is not a regular file.", remedy="Save the model to a file.")
    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            raise ModelUnavailable(
                f"{path} is empty: 0 bytes (a download that never started?).",
                remedy="Fetch or copy it again.",
            )
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def parse(path: Path, view: mmap.mmap) -> Header:
    """Parse the header of a mapped file.

    Raises:
        ModelUnavailable: it is not GGUF version 2 or 3, or the header is damaged.
    """
    if view[:4] != b"GGUF":
        raise _foreign(path, view[:512])
    cursor = Cursor(path, view, at=4)
    version = cursor.u32("the version")
    if version not in _VERSIONS:
        raise _unread_version(path, version)
    n_tensors, n_pairs = cursor.u64("the tensor count"), cursor.u64("the metadata count")
    if n_tensors > _MAX_TENSORS or n_pairs > _MAX_PAIRS:
        why = f"it claims {n_tensors:,} tensors and {n_pairs:,} metadata entries"
        raise damaged(path, why)
    metadata: dict[str, Value | Array] = {}
    for _ in range(n_pairs):
        key = cursor.text("a metadata key", _MAX_KEY)
        if not key or key in metadata:
            raise damaged(path, f"metadata key {reprlib.repr(key)} is empty or appears twice")
        metadata[key] = _value(cursor, f"metadata {reprlib.repr(key)}")
    alignment = metadata.get("general.alignment", 32)
    if not isinstance(alignment, int) or alignment <= 0 or alignment & (alignment - 1):
        raise damaged(path, f"general.alignment is {alignment!r}, not a power of two")
    tensors = tuple(_tensor(cursor, alignment) for _ in range(n_tensors))
    return Header(version=version, metadata=metadata, tensors=tensors, alignment=alignment, end=cursor.at)


def _value(cursor: Cursor, what: str) -> Value | Array:
    kind = cursor.u32(what)
    if kind == _STRING:
        return cursor.text(what)
    if kind != _ARRAY:
        return next(cursor.elements(kind, 1, what))
    inner, count = cursor.u32(what), cursor.u64(what)
    if inner == _ARRAY:  # the format allows it, llama.cpp refuses it, no known file has it
        raise damaged(cursor.path, f"{what} is an array of arrays")
    start = cursor.at
    if inner == _STRING:
        if count > min(_MAX_STRINGS, (cursor.end - start) // 8):
            raise damaged(cursor.path, f"{what} claims {count:,} strings")
        cursor.skip_texts(count, what)
    else:
        cursor.claim(count * struct.calcsize(f"<{cursor.code(inner, what)}"), what)
    if count > _HELD or cursor.at - start > _MAX_KEY:
        return Array(type=inner, count=count, offset=start)
    cursor.at = start
    return tuple(cursor.elements(inner, count, what))


def _tensor(cursor: Cursor, alignment: int) -> Tensor:
    name = cursor.text("a tensor name", _MAX_KEY)
    what = f"tensor {reprlib.repr(name)}"
    dimensions = cursor.u32(what)
    if dimensions > _MAX_DIMENSIONS:
        raise damaged(cursor.path, f"{what} claims {dimensions:,} dimensions")
    shape = tuple(cursor.u64(what) for _ in range(dimensions))
    tensor = Tensor(name=name, shape=shape, type=cursor.u32(what), offset=cursor.u64(what))
    # ggml counts elements and bytes in signed 64 bits: anything near that is damage.
    if math.prod(shape) >= 1 << 60 or tensor.offset >= 1 << 60 or tensor.offset % alignment:
        raise damaged(cursor.path, f"{what} claims shape {shape} at offset {tensor.offset:,}")
    return tensor


def damaged(path: Path, why: str) -> ModelUnavailable:
    """The error for a header that cannot be right."""
    return ModelUnavailable(
        f"{path} ({_size(path)}) has a damaged GGUF header: {why}.",
        remedy="Fetch or copy it again.",
    )


def _unread_version(path: Path, version: int) -> ModelUnavailable:
    if int.from_bytes(version.to_bytes(4, "little"), "big") in _VERSIONS:
        return ModelUnavailable(
            f"{path} ({_size(path)}) is a big-endian GGUF.",
            remedy="Use the little-endian file of this model.",
        )
    remedy = "Convert the model again with a current llama.cpp." if version < 2 else ""
    return ModelUnavailable(
        f"{path} ({_size(path)}) is GGUF version {version:,}; versions 2 and 3 are read here.",
        remedy=remedy or "Update tiebreak, or use a file of version 3.",
    )


def _foreign(path: Path, start: bytes) -> ModelUnavailable:
    text = start.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if text.startswith((b"<!doctype", b"<html", b"<?xml", b"<head")):
        found = "a web page (a login or error page saved in place of the model?)"
    elif text.startswith(b"version https://git-lfs"):
        found = "a Git LFS pointer, not the file that it points to"
    elif start.startswith(b"PK\x03\x04"):
        found = "a zip archive or a wheel"
    else:
        found = f"something that starts with {start[:8]!r}"
    return ModelUnavailable(
        f"{path} ({_size(path)}) is not a GGUF file: it is {found}.",
        remedy="Fetch the model file itself.",
    )


def _size(path: Path) -> str:
    try:
        return f"{path.stat().st_size:,} bytes"
    except OSError:
        return "size unknown"
