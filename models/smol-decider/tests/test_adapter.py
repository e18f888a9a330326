"""The adapter: what is read, and that its arithmetic is exact and so the same everywhere."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tiebreak_smol_decider import adapter
from tiebreak_smol_decider.adapter import Adapter, Factors

NAMES = {np.dtype("f4"): "F32", np.dtype("i1"): "I8", np.dtype("f2"): "F16"}

DIGEST = """
import hashlib
from tiebreak_smol_decider import adapter
digest = hashlib.sha256()
for name, factors in sorted(adapter.read().factors.items()):
    if name.startswith("blk.7."):
        digest.update(factors.delta().tobytes())
print(digest.hexdigest())
"""


@pytest.fixture(scope="module")
def shipped() -> Adapter:
    return adapter.read()


def write(path: Path, tensors: dict[str, NDArray[Any]]) -> Path:
    header, data = {}, b""
    for name, values in tensors.items():
        span = [len(data), len(data) + values.nbytes]
        header[name] = {"dtype": NAMES[values.dtype], "shape": list(values.shape), "data_offsets": span}
        data += values.tobytes()
    text = json.dumps({"__metadata__": {"format": "pt"}, **header}).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return path


def small(rank: int = 2) -> dict[str, NDArray[Any]]:
    return {
        "m.a": np.arange(3 * rank, dtype=np.int8).reshape(rank, 3),
        "m.a.scale": np.linspace(0.5, 1, rank, dtype=np.float32).reshape(rank, 1),
        "m.b": np.arange(4 * rank, dtype=np.int8).reshape(4, rank),
        "m.b.scale": np.linspace(0.1, 0.3, rank, dtype=np.float32).reshape(1, rank),
        "norm": np.ones(5, np.float32),
    }


def test_a_file_is_read(tmp_path: Path) -> None:
    given = small()
    found = adapter.read(write(tmp_path / "a", given))
    assert list(found.factors) == ["m"]
    assert np.array_equal(found.vectors["norm"], given["norm"])
    floats = (given["m.b"] * given["m.b.scale"].astype(float)) @ (given["m.a"] * given["m.a.scale"].astype(float))
    assert np.allclose(found.factors["m"].delta(), floats, rtol=0, atol=1e-7)


@pytest.mark.parametrize(
    "changes, said",
    [
        ({"m.b": None}, "no tensor 'm.b'"),
        ({"m.a.scale": None}, r"no tensor 'm.a.scale'"),
        ({"norm": np.ones(5, np.float16)}, "norm is F16"),
        ({"norm": np.ones((5, 1), np.float32)}, "neither a factor nor a vector"),
        ({"norm": np.ones(5, np.int8)}, "neither a factor nor a vector"),
        ({"m.b": np.ones((4, 3), np.int8)}, "do not fit each other"),
    ],
)
def test_a_file_that_cannot_be_right_is_refused(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    tensors = {name: values for name, values in {**small(), **changes}.items() if values is not None}
    with pytest.raises(ValueError, match=said):
        adapter.read(write(tmp_path / "a", tensors))


def test_the_shipped_adapter_is_complete(shipped: Adapter) -> None:
    assert len(shipped.factors) == 30 * 7
    assert len(shipped.vectors) == 30 * 2 + 1
    assert {factors.a.shape[0] for factors in shipped.factors.values()} == {64}


def test_the_product_is_exact(shipped: Adapter) -> None:
    """The same sum in 64-bit integers, where nothing can be rounded."""
    for name in ("blk.0.attn_k.weight", "blk.13.ffn_down.weight", "blk.29.ffn_up.weight"):
        factors = shipped.factors[name]
        scale = factors.a_scale.astype(float).ravel() * factors.b_scale.astype(float).ravel()
        exponent = int(np.frexp(scale.max())[1]) - 30
        fixed = np.rint(np.ldexp(scale, -exponent)).astype(np.int64)
        whole = (factors.b.astype(np.int64) * fixed) @ factors.a.astype(np.int64)
        assert np.abs(whole).max() < 2**53
        assert np.array_equal(np.ldexp(factors.delta(), -exponent).astype(np.int64), whole)


def test_the_product_is_close_to_that_of_the_floats(shipped: Adapter) -> None:
    factors = shipped.factors["blk.3.ffn_gate.weight"]
    b, a = factors.b * factors.b_scale.astype(float), factors.a * factors.a_scale.astype(float)
    exact = b @ a
    assert np.abs(factors.delta() - exact).max() < 1e-7 * np.abs(exact).max()


def test_the_greatest_rank_is_still_exact() -> None:
    a, b = np.full((512, 2), -128, np.int8), np.full((3, 512), -128, np.int8)
    b[:, ::2] = 127
    ones = np.ones(512, np.float32)
    found = Factors(a=a, a_scale=ones, b=b, b_scale=ones * np.float32(1.5)).delta()
    assert np.all(found == 256 * (-128 * -128 - 128 * 127) * 1.5)
    with pytest.raises(ValueError, match="exceed 512"):
        Factors(a=a[[0] * 513], a_scale=ones[[0] * 513], b=b[:, [0] * 513], b_scale=ones[[0] * 513])


@pytest.mark.parametrize(
    "settings",
    [
        {"OPENBLAS_NUM_THREADS": "1", "OPENBLAS_CORETYPE": "Prescott"},
        {"OPENBLAS_NUM_THREADS": "2", "OPENBLAS_CORETYPE": "Nehalem", "MKL_NUM_THREADS": "2"},
    ],
)
def test_kernels_and_threads_change_no_bit(shipped: Adapter, settings: dict[str, str]) -> None:
    digest = hashlib.sha256()
    for name, factors in sorted(shipped.factors.items()):
        if name.startswith("blk.7."):
            digest.update(factors.delta().tobytes())
    command = [sys.executable, "-c", DIGEST]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **settings}, check=True)
    assert done.stdout.strip() == digest.hexdigest()
