"""`LowRank`: the trained change of the base: two thin factors per matrix, and the norms."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from tiebreak_smol_decider.adapter import Adapter, Factors
from training.adapters import factors
from training.base import MATRICES, Shape
from training.model import Weights

Vector = NDArray[np.float32]

__all__ = ["LowRank"]


class LowRank:
    """Factors `a` (layers x rank x columns) and `b` (layers x rows x rank) of every matrix, and norms of their own.

    Args:
        weights: of the base; they stay as they are.
        rank: of the change.
        seed: of the first `a`; `b` begins at zero, so the model begins as the base.
    """

    def __init__(self, weights: Weights, rank: int, seed: int) -> None:
        self._base = weights
        generator = torch.Generator().manual_seed(seed)
        self.a: dict[str, nn.Parameter] = {}
        self.b: dict[str, nn.Parameter] = {}
        for name, stack in weights.matrices.items():
            layers, rows, columns = stack.shape
            start = torch.randn(layers, rank, columns, generator=generator) / math.sqrt(columns)
            self.a[name] = nn.Parameter(start.to(stack.device))
            self.b[name] = nn.Parameter(torch.zeros(layers, rows, rank, device=stack.device))
        self.norms = [
            nn.Parameter(norm.clone()) for norm in (weights.norm_attention, weights.norm_feed, weights.norm_last)
        ]

    @property
    def thin(self) -> list[nn.Parameter]:
        """All factors."""
        return [*self.a.values(), *self.b.values()]

    def weights(self) -> Weights:
        """Base and change together."""
        return Weights(
            matrices={
                name: torch.baddbmm(stack, self.b[name], self.a[name]) for name, stack in self._base.matrices.items()
            },
            norm_attention=self.norms[0],
            norm_feed=self.norms[1],
            norm_last=self.norms[2],
        )

    @torch.no_grad()
    def load(self, adapter: Adapter) -> None:
        """Begin where an adapter ended.

        Raises:
            ValueError: it is of another rank or of another base.
        """
        for layer, name, key in self._matrices():
            found = adapter.factors[key]
            a, b = found.a * found.a_scale.reshape(-1, 1), found.b * found.b_scale.reshape(1, -1)
            if a.shape != self.a[name].shape[1:] or b.shape != self.b[name].shape[1:]:
                raise ValueError(f"{key} of the adapter is {b.shape} x {a.shape}, here {tuple(self.b[name].shape[1:])}")
            self.a[name][layer] = torch.from_numpy(a)
            self.b[name][layer] = torch.from_numpy(b)
        for norm, values in zip(self.norms, _norms(adapter, self._layers), strict=True):
            norm.copy_(torch.from_numpy(values.copy()))

    @torch.no_grad()
    def adapter(self) -> Adapter:
        """The change as it is written to a file, factors rounded to int8."""
        found: dict[str, Factors] = {}
        for layer, name, key in self._matrices():
            found[key] = factors(self.a[name][layer].cpu().numpy(), self.b[name][layer].cpu().numpy())
        attention, feed, last = (norm.detach().float().cpu().numpy().copy() for norm in self.norms)
        vectors = {f"blk.{layer}.attn_norm.weight": attention[layer] for layer in range(self._layers)}
        vectors |= {f"blk.{layer}.ffn_norm.weight": feed[layer] for layer in range(self._layers)}
        return Adapter(factors=found, vectors={**vectors, "output_norm.weight": last})

    @property
    def _layers(self) -> int:
        return len(self.norms[0])

    def _matrices(self) -> Iterator[tuple[int, str, str]]:
        for layer in range(self._layers):
            for name, long in MATRICES.items():
                yield layer, name, f"blk.{layer}.{long}.weight"


@torch.no_grad()
def changed(base: Weights, shape: Shape, mix: list[tuple[float, Adapter]]) -> Weights:
    """The base with a weighted sum of adapters added, not reduced to any rank.

    Args:
        base: the base's own weights.
        shape: of the base.
        mix: weights, which add up to 1, and adapters.
    """
    matrices = {}
    for name, long in MATRICES.items():
        stack = base.matrices[name].clone()
        for layer in range(shape.layers):
            for share, adapter in mix:
                one = adapter.factors[f"blk.{layer}.{long}.weight"]
                a = torch.from_numpy(one.a * one.a_scale.reshape(-1, 1)).to(stack)
                b = torch.from_numpy(one.b * one.b_scale.reshape(1, -1)).to(stack)
                stack[layer].addmm_(b, a, alpha=share)
        matrices[name] = stack
    attention, feed, last = (
        torch.from_numpy(np.sum([share * norm for share, norm in column], axis=0, dtype=np.float32)).to(stack)
        for column in zip(*([(share, norm) for norm in _norms(one, shape.layers)] for share, one in mix), strict=True)
    )
    return Weights(matrices=matrices, norm_attention=attention, norm_feed=feed, norm_last=last)


def _norms(adapter: Adapter, layers: int) -> tuple[Vector, Vector, Vector]:
    attention, feed = (
        np.stack([adapter.vectors[f"blk.{layer}.{name}.weight"] for layer in range(layers)])
        for name in ("attn_norm", "ffn_norm")
    )
    return attention, feed, adapter.vectors["output_norm.weight"]
