"""Adapter files: written here, read by `tiebreak_smol_decider.adapter`; in parts where one file is too large."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tiebreak_smol_decider import adapter as shipped
from tiebreak_smol_decider.adapter import Adapter, Factors

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["factors", "read", "write"]


def factors(a: NDArray[np.floating], b: NDArray[np.floating]) -> Factors:
    """Two thin matrices (rank x columns, rows x rank) rounded to int8, with one scale for each of the rank."""
    a_steps, a_scale = _rounded(a, 1)
    b_steps, b_scale = _rounded(b, 0)
    return Factors(a=a_steps, a_scale=a_scale, b=b_steps, b_scale=b_scale)


def write(adapter: Adapter, path: Path, parts: int = 1) -> list[Path]:
    """Write an adapter as one file, or as `STEM.1.safetensors`, `STEM.2.safetensors`, ...

    Args:
        adapter: what is written.
        path: `STEM.safetensors`.
        parts: number of files.

    Returns:
        the files.
    """
    from safetensors.numpy import save_file

    tensors: dict[str, NDArray[np.generic]] = {}
    for name, one in adapter.factors.items():
        tensors |= {
            f"{name}.a": one.a,
            f"{name}.a.scale": one.a_scale,
            f"{name}.b": one.b,
            f"{name}.b.scale": one.b_scale,
        }
    tensors |= adapter.vectors
    names = list(adapter.factors) + list(adapter.vectors)
    written = []
    for part in range(parts):
        own = set(names[part::parts])
        file = path if parts == 1 else path.with_name(f"{path.stem}.{part + 1}{path.suffix}")
        chosen = {key: np.ascontiguousarray(value) for key, value in tensors.items() if _owner(key) in own}
        save_file(chosen, file)
        written.append(file)
    return written


def read(path: Path) -> Adapter:
    """Read an adapter from one file, or from its parts.

    Raises:
        FileNotFoundError: neither is there.
        ValueError: a file is damaged.
    """
    if path.exists():
        return shipped.read(path)
    parts = sorted(path.parent.glob(f"{path.stem}.[0-9]{path.suffix}"))
    if not parts:
        raise FileNotFoundError(f"neither {path} nor {path.stem}.1{path.suffix} exists")
    all_factors: dict[str, Factors] = {}
    vectors: dict[str, NDArray[np.float32]] = {}
    for part in parts:
        one = shipped.read(part)
        all_factors |= one.factors
        vectors |= one.vectors
    return Adapter(factors=all_factors, vectors=vectors)


def _owner(key: str) -> str:
    """The tensor of the model that a tensor of the file belongs to."""
    name = key.removesuffix(".scale")
    return name.removesuffix(".a").removesuffix(".b")


def _rounded(values: NDArray[np.floating], axis: int) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    scale = (np.maximum(np.abs(values).max(axis, keepdims=True), 1e-9) / 127).astype(np.float32)
    return np.clip(np.round(values / scale), -127, 127).astype(np.int8), scale
