"""`Adapter`: the trained weights that this package carries, read from their safetensors file.

The format is the public one of safetensors: the length of a JSON header (8 bytes, little-endian), the header (name ->
dtype, shape, data_offsets) and the data. Two of its types occur here, so this module reads it rather than ask every
user for one more compiled package.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["PATH", "Adapter", "Factors", "read"]

PATH = Path(__file__).with_name("adapter.safetensors")
"""The adapter of this package."""

_DTYPES: Mapping[str, np.dtype[Any]] = {"F32": np.dtype("<f4"), "I8": np.dtype("i1")}
# Rank times the greatest |a| |b| and a 30-bit scale must stay an exact float64 integer: 2**9 * 2**14 * 2**30 = 2**53.
_SCALE_BITS = 30
_MAX_RANK = 512


@attrs.frozen(kw_only=True, eq=False)
class Factors:
    """A change to one matrix as a product of two thin ones: `delta = (b * b_scale) @ (a * a_scale)`.

    Attributes:
        a: int8, rank x columns. a_scale: float32, one per rank.
        b: int8, rows x rank. b_scale: float32, one per rank.
    """

    a: NDArray[np.int8]
    a_scale: NDArray[np.float32]
    b: NDArray[np.int8]
    b_scale: NDArray[np.float32]

    def __attrs_post_init__(self) -> None:
        rank = self.a.shape[0]
        shapes = (self.b.shape[1], self.a_scale.size, self.b_scale.size)
        if shapes != (rank, rank, rank) or not 0 < rank <= _MAX_RANK:
            raise ValueError(f"factors of rank {rank} with {shapes} do not fit each other, or exceed {_MAX_RANK}")

    def delta(self) -> NDArray[np.float64]:
        """The change, the same to the last bit on every machine.

        Sums of floats depend on their order, and so on the BLAS, its kernels and its threads. Here every term and
        every partial sum is an integer below 2**53, which float64 holds exactly in any order: the two scales of a rank
        become one fixed-point number of 30 bits (relative error at most 2**-30 for the largest of a matrix), and the
        common power of two is put back at the end.

        Returns:
            float64, rows x columns.
        """
        scale = self.a_scale.astype(np.float64).ravel() * self.b_scale.astype(np.float64).ravel()
        exponent = int(np.frexp(scale.max())[1]) - _SCALE_BITS
        fixed = np.rint(np.ldexp(scale, -exponent))
        whole = (self.b.astype(np.float64) * fixed) @ self.a.astype(np.float64)
        found: NDArray[np.float64] = np.ldexp(whole, exponent)
        return found


@attrs.frozen(kw_only=True, eq=False)
class Adapter:
    """What changes in the base model, by the names of its GGUF tensors.

    Attributes:
        factors: matrices that get a delta.
        vectors: vectors that are replaced, float32.
    """

    factors: Mapping[str, Factors]
    vectors: Mapping[str, NDArray[np.float32]]


def read(path: Path = PATH) -> Adapter:
    """Read an adapter: `NAME.a`, `NAME.b` and their `.scale` are factors, any other tensor replaces a vector.

    Raises:
        ValueError: a tensor has another type or its partners are missing.
        OSError: the file cannot be read.
    """
    tensors = _tensors(path)
    factors = {}
    for name in [key.removesuffix(".a") for key in tensors if key.endswith(".a")]:
        try:
            a, a_scale, b, b_scale = (tensors.pop(f"{name}.{part}") for part in ("a", "a.scale", "b", "b.scale"))
        except KeyError as missing:
            raise ValueError(f"{path.name} has no tensor {missing}") from missing
        factors[name] = Factors(a=a, a_scale=a_scale, b=b, b_scale=b_scale)
    for name, values in tensors.items():
        if values.ndim != 1 or values.dtype != np.float32:
            raise ValueError(f"{path.name}: {name} is neither a factor nor a vector of float32")
    return Adapter(factors=factors, vectors=tensors)


def _tensors(path: Path) -> dict[str, NDArray[Any]]:
    content = path.read_bytes()
    start = 8 + int.from_bytes(content[:8], "little")
    found = {}
    for name, entry in json.loads(content[8:start]).items():
        if name == "__metadata__":
            continue
        if entry["dtype"] not in _DTYPES:
            raise ValueError(f"{path.name}: {name} is {entry['dtype']}; {' and '.join(_DTYPES)} are read here")
        first, end = entry["data_offsets"]
        data = content[start + first : start + end]
        found[name] = np.frombuffer(data, _DTYPES[entry["dtype"]]).reshape(entry["shape"])
    return found
