"""Blocks of quantised weights: Q4_1 read and written, Q8_0 written, by rules that give the same bytes on every machine.

The layouts are those of ggml (`ggml-common.h`): 32 weights a block; Q4_1 is scale and minimum (float16) and 16 bytes
of two nibbles, the low ones first; Q8_0 is a scale (float16) and 32 signed bytes. Each step below is one IEEE operation
per element, so no order of summation, thread or instruction set can change a bit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Q4_1", "Q8_0", "WEIGHTS", "from_q4_1", "to_q4_1", "to_q8_0"]

WEIGHTS = 32
"""Weights of one block."""

Q4_1 = np.dtype([("scale", "<f2"), ("minimum", "<f2"), ("nibbles", "u1", (16,))])
Q8_0 = np.dtype([("scale", "<f2"), ("steps", "i1", (WEIGHTS,))])


def from_q4_1(data: bytes) -> NDArray[np.float64]:
    """The weights of Q4_1 blocks, exactly: scale x nibble + minimum needs fewer bits than float64 has.

    Returns:
        float64, blocks x 32.
    """
    blocks = np.frombuffer(data, Q4_1)
    nibbles = np.concatenate([blocks["nibbles"] & 15, blocks["nibbles"] >> 4], axis=1)
    scale, minimum = (blocks[name].astype(np.float64)[:, None] for name in ("scale", "minimum"))
    weights: NDArray[np.float64] = nibbles * scale + minimum
    return weights


def to_q4_1(weights: NDArray[np.float64]) -> bytes:
    """Weights as Q4_1 blocks: 15 steps from each block's least to its greatest.

    Steps are counted from the minimum and in the scale as they are stored.

    Args:
        weights: blocks x 32.

    Returns:
        20 bytes a block.

    Raises:
        ValueError: a weight is not finite, or too large for float16.
    """
    low, high = weights.min(axis=1), weights.max(axis=1)
    scale, minimum = ((high - low) / 15).astype(np.float32), low.astype(np.float32)
    if not np.all(np.maximum(scale, np.abs(minimum)) < np.finfo(np.float16).max):  # also false for NaN
        raise ValueError("a weight is not finite, or beyond what Q4_1 can hold")
    blocks = np.empty(len(weights), Q4_1)
    blocks["scale"], blocks["minimum"] = scale.astype(np.float16), minimum.astype(np.float16)
    step = blocks["scale"].astype(np.float64)
    step[step == 0] = 1.0  # a block without differences that float16 could hold is all minimum
    steps = (weights - blocks["minimum"].astype(np.float64)[:, None]) / step[:, None]
    np.rint(steps, out=steps)
    np.clip(steps, 0, 15, out=steps)
    nibbles = steps.astype(np.uint8)
    blocks["nibbles"] = nibbles[:, :16] | nibbles[:, 16:] << 4
    return blocks.tobytes()


def to_q8_0(weights: NDArray[np.float64]) -> bytes:
    """Weights as Q8_0 blocks: each block's largest magnitude is 127 steps of its scale.

    Steps are counted in the scale as it is stored, so that its rounding costs no accuracy twice.

    Args:
        weights: blocks x 32.

    Returns:
        34 bytes a block.

    Raises:
        ValueError: a weight is not finite, or too large for a float16 scale.
    """
    largest = np.abs(weights).max(axis=1)
    # To float32 first: a conversion straight to float16 may go through float32 or not, depending on the machine.
    scale = (largest / 127).astype(np.float32)
    if not np.all(scale < np.finfo(np.float16).max):  # also false for NaN
        raise ValueError("a weight is not finite, or beyond what Q8_0 can hold")
    blocks = np.empty(len(weights), Q8_0)
    blocks["scale"] = scale.astype(np.float16)
    step = blocks["scale"].astype(np.float64)
    step[step == 0] = 1.0  # weights below the smallest float16 scale become zero
    steps = weights / step[:, None]
    np.rint(steps, out=steps)
    np.clip(steps, -127, 127, out=steps)
    blocks["steps"] = steps
    return blocks.tobytes()
