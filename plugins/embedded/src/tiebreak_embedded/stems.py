"""`Stem`: tokens that several prompts of one batch begin with, decoded once for all of them."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import pairwise

import attrs

from tiebreak_embedded.reading import Read, Reading
from tiebreak_embedded.schedule import PASS_COST

__all__ = ["Leaf", "Source", "Stem", "common", "stems"]

_WIDTH = 4
_RESTORE_COST = 0.5
"""What one more restore costs, in tokens: 0.2 to 0.8 ms against 1.6 ms a token (135M model)."""


@attrs.frozen(eq=False)
class Source:
    """Where the beginning of a prompt comes from instead of being computed.

    Attributes:
        depth: tokens of it that are of use.
        state: a saved state, None where `sequence` holds it.
        held: tokens in that state.
        sequence: a sequence that holds it.
        cached: tokens that were there before this batch.
    """

    depth: int = 0
    state: bytearray | None = None
    held: int = 0
    sequence: int | None = None
    cached: int = 0


@attrs.define(eq=False)
class Leaf:
    """One prompt to decode, and what became of it.

    Attributes:
        tokens, key: the prompt, as integers and as bytes.
        reads: what is read in it, places rising.
        marks: prefixes that may be reused and kept; empty: decode it whole, from its first token.
        worth: those of them that are worth a checkpoint.
        source: where its beginning comes from.
        readings: one per read, once it was decoded.
        fallback: a stored state could not be used.
        reused: tokens that were not computed again, because an earlier batch had left them.
        state_bytes: size of the checkpoint that they came from, 0 where they were still in a sequence.
        digest: of the prompt and its reads; what the answer cache knows it by.
    """

    tokens: array[int]
    reads: tuple[Read, ...]
    marks: tuple[int, ...]
    key: bytes = attrs.field(default=attrs.Factory(lambda self: self.tokens.tobytes(), takes_self=True))
    worth: tuple[int, ...] = ()
    source: Source = attrs.field(factory=Source)
    readings: list[Reading] = attrs.field(factory=list)
    fallback: bool = False
    reused: int = 0
    state_bytes: int = 0
    digest: bytes = b""

    @property
    def limit(self) -> int:
        """Longest prefix that is of use: the first token that is read behind must be decoded."""
        return self.reads[0].at


@attrs.frozen(eq=False)
class Stem:
    """A shared beginning.

    Attributes:
        stop: its length in tokens.
        first: one of the prompts that begin with it.
        source: the best of their sources that it can go on from; depth 0 where the stem around it is better.
        parts: what branches off.
    """

    stop: int
    first: Leaf
    source: Source
    parts: tuple[Stem | Leaf, ...]


def common(one: bytes, other: bytes) -> int:
    """Tokens that two keys begin with alike: as large numbers, they differ from their first unequal byte on."""
    size = min(len(one), len(other))
    unequal = int.from_bytes(one[:size], "big") ^ int.from_bytes(other[:size], "big")
    return (size - (unequal.bit_length() + 7) // 8) // _WIDTH


def stems(leaves: Sequence[Leaf], *, rewinds: bool) -> list[Stem | Leaf]:
    """Leaves grouped under those shared beginnings that are cheaper decoded once.

    Args:
        leaves: with their sources set, no two alike.
        rewinds: a source may be used at any depth below its own.
    """
    alone: list[Stem | Leaf] = [leaf for leaf in leaves if not leaf.marks]
    shared = sorted((leaf for leaf in leaves if leaf.marks), key=lambda leaf: leaf.key)
    if not shared:
        return alone
    steps = [common(a.key, b.key) for a, b in pairwise(shared)]
    return alone + _grow(shared, steps, 0, rewinds)


def _grow(leaves: list[Leaf], steps: list[int], base: int, rewinds: bool) -> list[Stem | Leaf]:
    """The parts of a run of neighbours.

    Args:
        leaves: sorted by key.
        steps: tokens that each shares with the next.
        base: tokens that the stem around them gives them.
        rewinds: see `stems`.
    """
    if not steps:
        return list(leaves)
    shared = min(steps)
    stop = min(shared, min(leaf.limit for leaf in leaves))
    own = [leaf.source.depth for leaf in leaves]
    usable = [min(depth, stop) if rewinds or depth <= stop else 0 for depth in own]
    best = max(range(len(leaves)), key=usable.__getitem__)
    start = max(usable[best], base)
    missing = sum(max(0, stop - max(depth, base)) for depth in own)
    worth = stop - start >= 2 and missing - (stop - start) > PASS_COST + _RESTORE_COST * len(leaves)
    parts: list[Stem | Leaf] = []
    first = 0
    for index in (*(i for i, step in enumerate(steps) if step == shared), len(steps)):
        run = leaves[first : index + 1]
        parts += _grow(run, steps[first:index], stop if worth else base, rewinds)
        first = index + 1
    if not worth:
        return parts
    source = leaves[best].source
    given = attrs.evolve(source, depth=usable[best]) if usable[best] > base else Source()
    return [Stem(stop, leaves[best], given, tuple(parts))]
