"""The arrays that one decode gets, filled a row at a time: no Python work per token."""

from __future__ import annotations

import ctypes as c
from array import array
from collections.abc import Sequence

import attrs

from tiebreak_embedded.abi import Batch
from tiebreak_embedded.reading import Read
from tiebreak_embedded.schedule import Step

__all__ = ["Item", "Packed", "Packer"]


@attrs.frozen
class Item:
    """New tokens for one sequence.

    Attributes:
        sequence: number of the sequence.
        start: position of the first token: the number of tokens already there.
        tokens: the tokens, at least one; at least two with `keep`.
        reads: where to read, `at` rising.
        keep: the sequence is continued or saved afterwards. Otherwise it must be dropped before it
            is used again: fill may lie behind its last token.
    """

    sequence: int
    start: int
    tokens: Sequence[int]
    reads: tuple[Read, ...] = ()
    keep: bool = False


@attrs.frozen(eq=False)
class Packed:
    """A batch, its memory, and what to read after it.

    Attributes:
        batch: points into `memory`, so keep this object until the decode returns.
        size: tokens in it, fill included.
        reads: index of the item, row of the batch, and what to read there.
        memory: the arrays.
    """

    batch: Batch
    size: int
    reads: tuple[tuple[int, int, Read], ...]
    memory: tuple[object, ...]


class Packer:
    """Packs steps into batches.

    Args:
        sequences: how many there are.
        micro_batch: most tokens in a step.
    """

    def __init__(self, sequences: int, micro_batch: int) -> None:
        self._ones = array("i", [1]) * micro_batch
        self._names = array("i", range(sequences))
        first, width = self._names.buffer_info()[0], self._names.itemsize
        self._pointers = [array("Q", [first + width * n]) for n in range(sequences)]

    def pack(self, step: Step, items: Sequence[Item]) -> Packed:
        """The batch of a step.

        Raises:
            OverflowError: a token is no 32-bit integer.
        """
        tokens, places, names = array("i"), array("i"), array("Q")
        flags = bytearray(step.width * len(step.parts))
        reads: list[tuple[int, int, Read]] = []
        for part in sorted(step.parts, key=lambda part: items[part.row].sequence):
            item = items[part.row]
            base = len(tokens)
            tokens.extend(item.tokens[part.start : part.stop])
            fill = base + step.width - len(tokens)
            if fill:
                tokens.extend(tokens[-1:] * fill)
            first = item.start + part.start
            places.extend(range(first, first + step.width))
            names.extend(self._pointers[item.sequence] * step.width)
            for read in item.reads:
                if part.start <= read.at < part.stop:
                    row = base + read.at - part.start
                    flags[row] = 1
                    reads.append((part.row, row, read))
        for row in _alone(reads, items, step.width):
            flags[row - 1 if row % step.width else row + 1] = 1
        marks = (c.c_char * len(flags)).from_buffer(flags)
        batch = Batch(
            n_tokens=len(tokens),
            token=tokens.buffer_info()[0],
            pos=places.buffer_info()[0],
            n_seq_id=self._ones.buffer_info()[0],
            seq_id=names.buffer_info()[0],
            logits=c.addressof(marks),
        )
        return Packed(batch, len(tokens), tuple(reads), (tokens, places, names, marks))


def _alone(reads: Sequence[tuple[int, int, Read]], items: Sequence[Item], width: int) -> list[int]:
    """Rows whose logits would be the only ones of a micro-batch.

    What comes after the last attention is computed for marked rows only, and for a single one with
    the kernels that `schedule` avoids: its neighbour must be marked too. llama.cpp makes one
    micro-batch of sequences whose numbers follow each other, so those are counted together.
    """
    runs: dict[int, list[int]] = {}
    for index, row, _ in reads:
        # equal for neighbours in a run: number and place in the batch rise together
        runs.setdefault(items[index].sequence - row // width, []).append(row)
    return [rows[0] for rows in runs.values() if len(rows) == 1]
