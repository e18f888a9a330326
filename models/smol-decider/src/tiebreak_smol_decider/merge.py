"""Makes the model: base GGUF + adapter -> merged GGUF, the same bytes on every machine.

Matrices that the adapter changes become Q8_0, or Q4_1 as in the base for a smaller file; vectors are replaced, and
everything else, metadata and tokenizer included, is copied as it stands. The GGUF is written here, not with the `gguf`
package: the metadata is copied and three entries of it change, which is less code than to decode and encode it, and
cannot lose anything.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import attrs

from tiebreak.gguf import Gguf, Tensor
from tiebreak.gguf import read as read_gguf
from tiebreak.models import resolve
from tiebreak_smol_decider import adapter as adapters
from tiebreak_smol_decider.adapter import Adapter
from tiebreak_smol_decider.blocks import Q4_1, WEIGHTS, from_q4_1, to_q4_1, to_q8_0

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["BASE", "FOUR_BITS", "FULL", "Form", "make", "merge"]

BASE = "smollm2-135m"
"""The registered model that the adapter was trained on."""

_F32, _Q4_1, _Q8_0 = 0, 3, 8  # ggml_type
_STRING, _U32 = 8, 4  # GGUF value types
_AT_ONCE = 2048  # blocks: half a megabyte of float64, so that each step finds the last one's result in the cache
_HEAD = struct.Struct("<4sIQQ")  # magic, version, number of tensors, number of metadata entries
Progress = Callable[[int, "int | None", str], None]


@attrs.frozen(kw_only=True)
class Form:
    """How the changed matrices are written.

    Attributes:
        type: ggml's number of the type of tensor.
        file_type: llama.cpp's number of a file that is mostly of that type.
        blocks: from weights, blocks x 32, to bytes.
    """

    type: int
    file_type: int
    blocks: Callable[[NDArray[np.float64]], bytes]


FULL = Form(type=_Q8_0, file_type=7, blocks=to_q8_0)
"""Q8_0: nothing that training gave is lost."""
FOUR_BITS = Form(type=_Q4_1, file_type=3, blocks=to_q4_1)
"""Q4_1: as large as the base."""


def make(path: Path, progress: Progress) -> None:
    """Write the merged model to `path`; fetches the base where it is not here yet.

    Args:
        path: a new file; whoever asked checks it and gives it its place.
        progress: called with bytes so far, bytes in all and what is being done.

    Raises:
        ModelUnavailable: the base cannot be fetched.
        ValueError: adapter and base do not fit each other.
    """
    base = resolve(BASE, progress=progress).path
    assert base is not None  # it is registered with a file
    merge(base, adapters.read(), path, progress)


def merge(base: Path, adapter: Adapter, path: Path, progress: Progress, form: Form = FULL) -> None:
    """Write base + adapter to `path`.

    Args:
        base: the GGUF that the adapter was trained on.
        adapter: what changes.
        path: a new file.
        progress: called with bytes so far, bytes in all and what is being done.
        form: of the changed matrices.

    Raises:
        ValueError: the adapter changes what the base does not have, or has in another shape or type.
    """
    header = read_gguf(base)
    tensors = _laid_out(header, adapter, form)
    last = tensors[-1]
    end = last.offset + _size(last)
    with base.open("rb") as source, path.open("wb") as sink:
        head = _head(source.read(header.data_offset), header, tensors, form)
        sink.write(head)
        total = len(head) + end
        progress(len(head), total, "merging smol-decider")
        for old, new in zip(header.tensors, tensors, strict=True):
            source.seek(header.data_offset + old.offset)
            sink.write(bytes(len(head) + new.offset - sink.tell()))  # padding to the alignment
            for piece in _data(source, old, adapter, form):
                sink.write(piece)
            progress(sink.tell(), total, "merging smol-decider")


def _laid_out(base: Gguf, adapter: Adapter, form: Form) -> Sequence[Tensor]:
    """The base's tensor table with the types and offsets that the merged file has."""
    shapes = {tensor.name: (tensor.shape, tensor.type) for tensor in base.tensors}
    for name, factors in adapter.factors.items():
        rows, columns = factors.b.shape[0], factors.a.shape[1]
        if shapes.get(name) != ((columns, rows), _Q4_1) or columns % WEIGHTS:
            raise ValueError(f"the adapter changes {name}, {rows} x {columns} of Q4_1; the base has {shapes.get(name)}")
    for name, values in adapter.vectors.items():
        if shapes.get(name) != ((values.size,), _F32):
            raise ValueError(f"the adapter replaces {name}, {values.size} of F32; the base has {shapes.get(name)}")
    tensors, offset = [], 0
    for tensor in base.tensors:
        kind = form.type if tensor.name in adapter.factors else tensor.type
        tensors.append(attrs.evolve(tensor, type=kind, offset=offset))
        offset += _aligned(_size(tensors[-1]), base.alignment)
    return tensors


def _data(source: BinaryIO, tensor: Tensor, adapter: Adapter, form: Form) -> Iterator[bytes]:
    """The bytes of one tensor of the merged file; `source` stands at its bytes in the base."""
    replaced = adapter.vectors.get(tensor.name)
    if replaced is not None:
        yield replaced.astype("<f4").tobytes()
        return
    data = source.read(_size(tensor))
    factors = adapter.factors.get(tensor.name)
    if factors is None:
        yield data
        return
    delta = factors.delta().reshape(-1, WEIGHTS)
    for start in range(0, len(delta), _AT_ONCE):
        part = delta[start : start + _AT_ONCE]
        yield form.blocks(from_q4_1(data[start * Q4_1.itemsize :][: len(part) * Q4_1.itemsize]) + part)


def _head(head: bytes, base: Gguf, tensors: Sequence[Tensor], form: Form) -> bytes:
    """Everything before the tensor data: the base's, with the changed entries and the new table."""
    _, version, _, pairs = _HEAD.unpack_from(head)
    table = head.rfind(_table(base.tensors))
    metadata = head[_HEAD.size : table]
    changes = _changes(form)
    if table < 0 or any(metadata.count(_entry(key, old)) != 1 for key, old, _ in changes):
        raise ValueError(f"{base.path} is not the base that the adapter was trained on")
    for key, old, new in changes:
        metadata = metadata.replace(_entry(key, old), _entry(key, new))
    written = _HEAD.pack(b"GGUF", version, len(tensors), pairs) + metadata + _table(tensors)
    return written.ljust(_aligned(len(written), base.alignment), b"\0")


def _changes(form: Form) -> Sequence[tuple[str, str | int, str | int]]:
    """What of the base's metadata does not hold for the merged file: key, old and new value."""
    return (
        ("general.name", "Smollm2 135M 8k Lc100K Mix1 Ep2", "tiebreak smol-decider"),
        ("general.finetune", "8k-lc100k-mix1-ep2", "decider"),
        ("general.file_type", FOUR_BITS.file_type, form.file_type),
    )


def _table(tensors: Sequence[Tensor]) -> bytes:
    parts = []
    for tensor in tensors:
        shape = struct.pack(f"<I{len(tensor.shape)}Q", len(tensor.shape), *tensor.shape)
        parts += [_text(tensor.name), shape, struct.pack("<IQ", tensor.type, tensor.offset)]
    return b"".join(parts)


def _entry(key: str, value: str | int) -> bytes:
    if isinstance(value, str):
        return _text(key) + struct.pack("<I", _STRING) + _text(value)
    return _text(key) + struct.pack("<II", _U32, value)


def _text(text: str) -> bytes:
    raw = text.encode()
    return struct.pack("<Q", len(raw)) + raw


def _size(tensor: Tensor) -> int:
    size = tensor.size
    if size is None:
        raise ValueError(f"tensor {tensor.name} has the unknown type {tensor.type}")
    return size


def _aligned(at: int, alignment: int) -> int:
    return -(-at // alignment) * alignment
