"""How rows become decodes: rectangles of at least two tokens a row.

llama.cpp computes a chunk of one token per sequence with other kernels than a longer chunk (a
matrix-vector product), and their rounding differs: on a 135M model by up to 0.6 logit. A longer
prompt can end in such a chunk without anyone asking for it: 513 tokens at a micro-batch of 512, or
rows of 5 and 6 tokens decoded side by side (5 columns of both, then 1 of the longer). Answers stay
bit-identical, whatever was cached or batched, only if no such chunk is ever decoded, and if a
decode that gives logits gives them for two places or more (`batch` sees to that).

So rows are cut here, not in llama.cpp: into steps, each a rectangle `rows x width` that fits one
micro-batch, with `width >= 2`. A row that nobody continues may be filled up with tokens behind its
last one: attention and recurrence look back only, so they cannot change it. Filling up also saves
passes where rows are of nearly equal length.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import attrs

from tiebreak.errors import InvalidRequest

__all__ = ["FILL_MAX", "PASS_COST", "Part", "Step", "schedule"]

PASS_COST = 5
"""What one more pass costs, in tokens: about 8 ms against 1.6 ms a token (135M model, 2 threads)."""

FILL_MAX = 8
"""Most tokens that a row is filled up with: windows are this much larger than promised."""


@attrs.frozen
class Part:
    """A stretch of one row in one step.

    Attributes:
        row: index of the row.
        start: its first token that takes part.
        stop: one after its last token that takes part; what is missing to the step's width is fill.
    """

    row: int
    start: int
    stop: int


@attrs.frozen
class Step:
    """One decode: every part is `width` tokens wide."""

    width: int
    parts: tuple[Part, ...]


def schedule(lengths: Sequence[int], kept: Sequence[bool], micro_batch: int) -> list[Step]:
    """Cut rows into steps.

    Args:
        lengths: tokens per row, each at least 1.
        kept: whether the row's sequence is continued or saved afterwards. Such a row is never
            filled up, and is decoded by itself.
        micro_batch: most tokens in one step, at least 6.

    Returns:
        steps in the order in which they must run; a row's parts are in order and without gaps.

    Raises:
        InvalidRequest: an empty row, or a row of one token that is to be kept.
    """
    for length, keep in zip(lengths, kept, strict=True):
        if length < 1 or (keep and length < 2):
            raise InvalidRequest(
                f"A row of {length} new tokens cannot be decoded{' and kept' if keep else ''}.",
                remedy="Restore a shorter prefix, so that at least two tokens are new.",
                engine="embedded",
            )
    if len(lengths) == 1 and 2 <= lengths[0] <= micro_batch:  # the most frequent case, at no cost
        return [Step(lengths[0], (Part(0, 0, lengths[0]),))]
    steps: list[Step] = []
    for row, keep in enumerate(kept):
        if keep:
            steps += _block([Part(row, 0, lengths[row])], 0, lengths[row], micro_batch)
    free = sorted((row for row, keep in enumerate(kept) if not keep), key=lambda r: -lengths[r])
    fit = micro_batch // 3  # so that a row gets three columns or more, and equal cuts two
    for first in range(0, len(free), fit):
        rows = free[first : first + fit]
        start = 0
        for stop in _stops([lengths[row] for row in rows]):
            parts = [Part(row, start, min(stop, lengths[row])) for row in rows if lengths[row] > start]
            steps += _block(parts, start, stop, micro_batch)
            start = stop
    return steps


def _block(parts: list[Part], start: int, stop: int, micro_batch: int) -> list[Step]:
    """One rectangle, cut across into nearly equal steps that fit the micro-batch.

    With room for three columns or more, equal cuts are never one wide: a width of 4 is cut in 2 + 2.
    """
    width = stop - start
    pieces = -(-width // (micro_batch // len(parts)))
    cuts = [start + width * i // pieces for i in range(pieces + 1)]
    steps = []
    for low, high in pairwise(cuts):
        inside = tuple(Part(p.row, low, min(high, p.stop)) for p in parts if p.stop > low)
        steps.append(Step(high - low, inside))
    return steps


def _stops(lengths: Sequence[int]) -> list[int]:
    """Where the rectangles end: every row is filled up to the next stop at or after its length.

    The cheapest set of stops by dynamic programming over the lengths, a pass counted as
    `PASS_COST` tokens. There is always one: stops two or more apart, from the longest row down,
    leave no row with more than two tokens of fill.
    """
    rows = Counter(lengths)
    ends = sorted({max(2, length) for length in lengths})
    best: dict[int, tuple[int, int]] = {0: (0, 0)}  # stop -> (cost so far, the stop before)
    for index, stop in enumerate(ends):
        options = []
        fill = 0
        for inner in range(index, -1, -1):
            end = ends[inner]
            if stop - end > FILL_MAX:
                break
            fill += (stop - end) * rows[end] + ((stop - 1) * rows[1] if end == 2 else 0)
            before = ends[inner - 1] if inner else 0
            if before in best and stop - before >= 2:
                options.append((best[before][0] + PASS_COST + fill, before))
        if options:
            best[stop] = min(options)
    stops = [ends[-1]]
    while before := best[stops[-1]][1]:
        stops.append(before)
    return stops[::-1]
