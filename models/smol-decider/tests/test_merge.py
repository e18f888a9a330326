"""The merged file: the published bytes, and nothing changed but what the adapter changes."""

from __future__ import annotations

import hashlib
from pathlib import Path

import attrs
import gguf
import numpy as np
import pytest

from tiebreak import gguf as header
from tiebreak.models import Model
from tiebreak_smol_decider import adapter, merge
from tiebreak_smol_decider.adapter import Adapter
from tiebreak_smol_decider.info import INFO

CHANGED = {"general.name": "tiebreak smol-decider", "general.finetune": "decider", "general.file_type": 7}


def test_it_is_the_published_file(model: Model, merged: Path) -> None:
    assert model.info == INFO
    assert merged.stat().st_size == INFO.bytes
    assert hashlib.sha256(merged.read_bytes()).hexdigest() == model.sha256 == INFO.sha256


def test_progress_is_shown_to_its_end(merged: Path, said: list[tuple[int, int | None, str]]) -> None:
    told = [(done, total) for done, total, what in said if what == "merging smol-decider"]
    assert told == sorted(told)
    assert told[-1] == (INFO.bytes, INFO.bytes)
    assert {total for _, total in told} == {INFO.bytes}


def test_metadata_is_that_of_the_base_but_for_three_entries(base: Path, merged: Path) -> None:
    ours, theirs = header.check_file(merged), header.read(base)
    assert list(ours.metadata) == list(theirs.metadata)
    for key in theirs.metadata:
        assert ours.value(key) == CHANGED.get(key, theirs.value(key))
    assert [(t.name, t.shape) for t in ours.tensors] == [(t.name, t.shape) for t in theirs.tensors]


def test_each_tensor_is_what_it_should_be(base: Path, merged: Path) -> None:
    """Read with the `gguf` package, which had no part in writing it, and computed in floats."""
    changes = adapter.read()
    ours, theirs = ({t.name: t for t in gguf.GGUFReader(path).tensors} for path in (merged, base))
    assert set(changes.factors) | set(changes.vectors) | {"token_embd.weight"} == set(ours)
    assert np.array_equal(ours["token_embd.weight"].data, theirs["token_embd.weight"].data)
    for name, values in changes.vectors.items():
        assert np.array_equal(ours[name].data, values)
    for name in [name for name in changes.factors if name.startswith(("blk.0.", "blk.29."))]:
        factors = changes.factors[name]
        old = gguf.quants.dequantize(theirs[name].data, theirs[name].tensor_type).astype(float)
        wanted = old + (factors.b * factors.b_scale.astype(float)) @ (factors.a * factors.a_scale.astype(float))
        assert ours[name].tensor_type == gguf.GGMLQuantizationType.Q8_0
        found = gguf.quants.dequantize(ours[name].data, ours[name].tensor_type)
        largest = np.abs(wanted.reshape(-1, 32)).max(axis=1, keepdims=True)
        assert np.all(np.abs(found - wanted).reshape(-1, 32) <= largest / 127 * 0.57)


def test_four_bits_make_a_file_as_large_as_the_base(base: Path, merged: Path, tmp_path: Path) -> None:
    """The same matrices, rounded once more: each weight within half a step of what the large file holds."""
    path = tmp_path / "small.gguf"
    merge.merge(base, adapter.read(), path, lambda *_: None, merge.FOUR_BITS)
    assert path.stat().st_size < 100_000_000
    assert header.check_file(path).value("general.file_type") == header.read(base).value("general.file_type")
    small, large = ({t.name: t for t in gguf.GGUFReader(one).tensors} for one in (path, merged))
    assert list(small) == list(large)
    matrices = set(adapter.read().factors)
    for name in set(small) - matrices:
        assert np.array_equal(small[name].data, large[name].data)
    for name in matrices:
        assert small[name].tensor_type == gguf.GGMLQuantizationType.Q4_1
    for name in [name for name in matrices if name.startswith(("blk.0.", "blk.29."))]:
        found, exact = (gguf.quants.dequantize(one[name].data, one[name].tensor_type) for one in (small, large))
        blocks = exact.reshape(-1, 32)
        span = blocks.max(axis=1, keepdims=True) - blocks.min(axis=1, keepdims=True)
        largest = np.abs(blocks).max(axis=1, keepdims=True)
        assert np.all(np.abs(found.reshape(-1, 32) - blocks) <= span / 30 * 1.01 + largest * (1 / 127 + 2**-10))


@pytest.mark.parametrize("change", ["factors", "vectors"])
def test_an_adapter_for_another_model_is_refused(base: Path, tmp_path: Path, change: str) -> None:
    whole = adapter.read()
    name, values = next(iter(getattr(whole, change).items()))
    other = attrs.evolve(whole, **{change: {f"{name}.other": values}})
    with pytest.raises(ValueError, match=rf"{name}\.other.*the base has None"):
        merge.merge(base, other, tmp_path / "out", lambda *_: None)
    assert not (tmp_path / "out").exists()


def test_a_base_that_was_changed_already_is_refused(merged: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="is not the base"):
        merge.merge(merged, Adapter(factors={}, vectors={}), tmp_path / "out", lambda *_: None)
