"""Averages adapters: `python -m training.average OUT.safetensors 0.5:A.safetensors 0.5:B.safetensors`.

The mean of independent runs is better than each of them (Wortsman and others, Model soups, 2022). The sum of products
has the sum of ranks; it is cut back to one rank by its singular values, and rounded to int8.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import numpy as np

from tiebreak_smol_decider.adapter import Adapter, Factors
from training import adapters

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Average", "average", "main"]


@attrs.frozen(kw_only=True)
class Average:
    """An averaged adapter, and the share of its squared change that the cut to one rank cost, matrix by matrix."""

    adapter: Adapter
    lost: tuple[float, ...]


def average(shares: Sequence[tuple[float, Adapter]], rank: int) -> Average:
    """The weighted mean of adapters.

    Args:
        shares: weights, which add up to 1, and adapters of one base.
        rank: of the result; a sum of less rank keeps its own.

    Raises:
        ValueError: weights that do not add up to 1, or adapters that change different tensors.
    """
    total = sum(share for share, _ in shares)
    if abs(total - 1) > 1e-3:
        raise ValueError(f"the weights add up to {total:g}, not 1")
    first = shares[0][1]
    for _, other in shares[1:]:
        if other.factors.keys() != first.factors.keys() or other.vectors.keys() != first.vectors.keys():
            raise ValueError("the adapters change different tensors")
    found: dict[str, Factors] = {}
    lost = []
    with ThreadPoolExecutor() as pool:  # linear algebra runs without the interpreter's lock
        cuts = pool.map(lambda name: _cut([(share, one.factors[name]) for share, one in shares], rank), first.factors)
        for name, (cut, cost) in zip(first.factors, cuts, strict=True):
            found[name] = cut
            lost.append(cost)
    vectors = {
        name: np.sum([share * one.vectors[name].astype(np.float64) for share, one in shares], axis=0).astype(np.float32)
        for name in first.vectors
    }
    return Average(adapter=Adapter(factors=found, vectors=vectors), lost=tuple(lost))


def _cut(shares: Sequence[tuple[float, Factors]], rank: int) -> tuple[Factors, float]:
    """The best approximation of a sum of products by one product of `rank` (Eckart and Young 1936)."""
    a = np.concatenate([_scaled(one.a, one.a_scale, 1) for _, one in shares])
    b = np.concatenate([share * _scaled(one.b, one.b_scale, 0) for share, one in shares], axis=1)
    # Orthonormal bases of both sides leave a small matrix in the middle with the same singular values.
    left, left_small = np.linalg.qr(b)
    right, right_small = np.linalg.qr(a.T)
    u, values, v = np.linalg.svd(left_small @ right_small.T)
    root = np.sqrt(values[:rank])
    energy = float((values**2).sum())
    cost = float((values[rank:] ** 2).sum()) / energy if energy else 0.0
    return adapters.factors(root[:, None] * (v[:rank] @ right.T), (left @ u[:, :rank]) * root), cost


def _scaled(steps: NDArray[np.int8], scale: NDArray[np.float32], axis: int) -> NDArray[np.float64]:
    shape = (-1, 1) if axis == 1 else (1, -1)
    return steps.astype(np.float64) * scale.astype(np.float64).reshape(shape)


def main() -> None:
    """Averages and says what the cut cost."""
    options = argparse.ArgumentParser(prog="training.average", description=__doc__)
    options.add_argument("out", type=Path)
    options.add_argument("parts", nargs="+", metavar="WEIGHT:ADAPTER", help="an adapter in one file or in parts")
    options.add_argument("--rank", type=int, default=64)
    options.add_argument("--split", type=int, default=1, help="write so many files")
    given = options.parse_args()
    shares = []
    for part in given.parts:
        weight, _, path = part.partition(":")
        shares.append((float(weight), adapters.read(Path(path))))
    found = average(shares, given.rank)
    written = adapters.write(found.adapter, given.out, parts=given.split)
    print(
        json.dumps(
            {
                "files": {str(path): path.stat().st_size for path in written},
                "energy lost": {"mean": round(float(np.mean(found.lost)), 5), "most": round(max(found.lost), 5)},
            }
        )
    )


if __name__ == "__main__":
    main()
