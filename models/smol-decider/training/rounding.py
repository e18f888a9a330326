"""Rounding of matrices to 4 bits while training, so that the model learns to be right when its file is rounded.

The blocks are those that `tiebreak_smol_decider.blocks.to_q4_1` writes; there in float64, here in the precision of
training, so a weight close to the middle of a step may fall to its other side.
"""

from __future__ import annotations

import attrs
import torch
from torch import Tensor

from tiebreak_smol_decider.blocks import WEIGHTS
from training.model import Weights

__all__ = ["Rounds", "rounded", "rounded_weights"]

_STEPS = 15


@torch.no_grad()
def rounded(stack: Tensor) -> Tensor:
    """Matrices as they are read from Q4_1 blocks; their last dimension is a multiple of 32."""
    blocks = stack.reshape(-1, WEIGHTS)
    low, high = blocks.amin(-1, keepdim=True), blocks.amax(-1, keepdim=True)
    scale, minimum = (values.half().float() for values in ((high - low) / _STEPS, low))
    steps = ((blocks - minimum) / torch.where(scale > 0, scale, 1.0)).round().clamp_(0, _STEPS)
    return (steps * scale + minimum).reshape(stack.shape)


def rounded_weights(weights: Weights) -> Weights:
    """All matrices rounded; gradients pass as if they were not (straight through: Bengio and others, 2013)."""
    return attrs.evolve(
        weights, matrices={name: stack + (rounded(stack) - stack.detach()) for name, stack in weights.matrices.items()}
    )


@attrs.frozen(kw_only=True)
class Rounds:
    """Which steps of a run see rounded matrices.

    Attributes:
        bits: 4, or 0 for none.
        start: progress (0 to 1) from which on.
        share: of the steps from there on; the others keep the model good as it is.
    """

    bits: int = 0
    start: float = 0.8
    share: float = 0.5

    def __attrs_post_init__(self) -> None:
        if self.bits not in (0, 4):
            raise ValueError(f"matrices can be rounded to 4 bits, not {self.bits}")
        if not (0 <= self.start <= 1 and 0 <= self.share <= 1):
            raise ValueError(f"start {self.start} and share {self.share} are not both from 0 to 1")

    def now(self, step: int, progress: float) -> bool:
        """Whether this step does; those that do lie as evenly as they can."""
        return bool(self.bits) and progress >= self.start and int((step + 1) * self.share) > int(step * self.share)
