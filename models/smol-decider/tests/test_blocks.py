"""Quantised blocks against an independent implementation and against their own definition."""

from __future__ import annotations

import gguf
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tiebreak_smol_decider.blocks import Q4_1, Q8_0, from_q4_1, to_q4_1, to_q8_0


def random_q4_1(count: int) -> bytes:
    rng = np.random.default_rng(7)
    blocks = np.zeros(count, Q4_1)
    for part in ("scale", "minimum"):
        blocks[part] = rng.normal(size=count).astype(np.float16)
    blocks["nibbles"] = rng.integers(0, 256, (count, 16))
    return blocks.tobytes()


def test_q4_1_is_read_as_others_read_it() -> None:
    data = random_q4_1(1000)
    theirs = gguf.quants.dequantize(np.frombuffer(data, np.uint8), gguf.GGMLQuantizationType.Q4_1)
    # They compute in float32; scale x nibble is exact there, the sum is rounded once.
    assert np.array_equal(from_q4_1(data).astype(np.float32).ravel(), theirs)


def test_q8_0_is_read_by_others_within_half_a_step() -> None:
    weights = np.random.default_rng(7).normal(size=(1000, 32))
    data = to_q8_0(weights)
    theirs = gguf.quants.dequantize(np.frombuffer(data, np.uint8), gguf.GGMLQuantizationType.Q8_0).reshape(-1, 32)
    step = np.frombuffer(data, Q8_0)["scale"].astype(np.float64)[:, None]
    # Half a step, and what the largest weight loses where its scale was rounded down (2**-11 of 127 steps).
    assert np.all(np.abs(theirs - weights) <= step * (0.5 + 127 * 2**-11))


@given(st.lists(st.floats(-1e3, 1e3), min_size=32, max_size=32))
def test_a_block_is_its_scale_times_whole_steps(values: list[float]) -> None:
    block = np.frombuffer(to_q8_0(np.array([values])), Q8_0)[0]
    scale, steps = float(block["scale"]), block["steps"].astype(int)
    assert np.all(np.abs(steps) <= 127)
    if scale > 1e-4:  # a normal float16: its relative rounding is at most 2**-11
        assert np.abs(steps).max() in (126, 127)
        assert np.all(np.abs(steps * scale - np.array(values)) <= scale * (0.5 + 127 * 2**-11))


def test_q4_1_is_read_by_others_within_half_a_step() -> None:
    weights = np.random.default_rng(7).normal(size=(1000, 32))
    data = to_q4_1(weights)
    assert len(data) == 1000 * 20
    theirs = gguf.quants.dequantize(np.frombuffer(data, np.uint8), gguf.GGMLQuantizationType.Q4_1).reshape(-1, 32)
    blocks = np.frombuffer(data, Q4_1)
    step, low = (blocks[name].astype(np.float64)[:, None] for name in ("scale", "minimum"))
    # Half a step; the ends of a block lose what scale and minimum lose as float16, and theirs is float32.
    assert np.all(np.abs(theirs - weights) <= step * (0.5 + 15 * 2**-11) + np.abs(low) * 2**-11 + 1e-6)


def test_q4_1_blocks_are_written_again_as_they_were() -> None:
    """A block whose least and greatest weight use both ends of its steps is a fixed point."""
    rng = np.random.default_rng(7)
    blocks = np.zeros(500, Q4_1)
    blocks["scale"], blocks["minimum"] = rng.uniform(0.01, 1, 500), rng.normal(size=500)
    blocks["nibbles"] = rng.integers(0, 256, (500, 16))
    blocks["nibbles"][:, 0], blocks["nibbles"][:, 1] = 0x00, 0xFF
    assert to_q4_1(from_q4_1(blocks.tobytes())) == blocks.tobytes()


def test_q4_1_without_differences_is_all_minimum() -> None:
    assert to_q4_1(np.zeros((1, 32))) == bytes(20)
    assert np.array_equal(from_q4_1(to_q4_1(np.full((2, 32), -0.5))), np.full((2, 32), -0.5))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e9, -1e9])
def test_what_does_not_fit_q4_1_is_refused(value: float) -> None:
    weights: NDArray[np.float64] = np.zeros((2, 32))
    weights[1, 5] = value
    with pytest.raises(ValueError, match="beyond what Q4_1 can hold"):
        to_q4_1(weights)


def test_zeros_and_weights_below_the_smallest_scale_become_zero() -> None:
    for value in (0.0, 1e-9, -1e-9):
        assert to_q8_0(np.full((1, 32), value)) == bytes(34)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e9])
def test_what_does_not_fit_is_refused(value: float) -> None:
    weights: NDArray[np.float64] = np.zeros((2, 32))
    weights[1, 5] = value
    with pytest.raises(ValueError, match="not finite, or beyond"):
        to_q8_0(weights)
