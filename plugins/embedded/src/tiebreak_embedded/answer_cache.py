"""`AnswerCache`: what was read at the end of whole prompts, so that the same prompt again is not computed again."""

from __future__ import annotations

import hashlib
from array import array
from collections import OrderedDict

from tiebreak_embedded.reading import Reading
from tiebreak_embedded.stems import Leaf

__all__ = ["AnswerCache"]

_ENTRY = 205
"""Bytes of an entry beside the figures themselves (measured, CPython 3.11)."""


class AnswerCache:
    """Readings by prompt, bounded in bytes; the least recently used goes first.

    A checkpoint spares a prompt's beginning; once all of it is the same, what was read there is all that is left of
    it, and takes a thousandth of the room: a digest of the prompt and of what is read in it, and the figures. Nothing
    of a prompt whose cache is off is kept or looked up. Not thread-safe: use it under the context's lock.

    Args:
        max_bytes: of all entries; 0 keeps nothing.
    """

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self._bytes = 0
        self._kept: OrderedDict[bytes, bytes] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def bytes(self) -> int:
        """Bytes that the entries take."""
        return self._bytes

    def fill(self, leaf: Leaf) -> bool:
        """Fill in what was read when this prompt was last decoded; False: it is not known."""
        if not leaf.marks:
            return False
        leaf.digest = _digest(leaf)
        found = self._kept.get(leaf.digest)
        if found is None:
            return False
        self._kept.move_to_end(leaf.digest)
        figures = memoryview(found).cast("d")
        at = 0
        for read in leaf.reads:
            end = at + 2 + len(read.ids)
            leaf.readings.append(Reading(tuple(figures[at + 2 : end]), figures[at], int(figures[at + 1])))
            at = end
        leaf.reused = len(leaf.tokens)
        return True

    def put(self, leaf: Leaf) -> None:
        """Keep what was read in a prompt that `fill` did not know and that was decoded, but no whole row of logits."""
        if not leaf.marks or any(read.raw for read in leaf.reads):
            return
        figures = array("d")
        for reading in leaf.readings:
            figures.extend((reading.log_z, reading.top, *reading.logprobs))
        entry = figures.tobytes()
        if _size(entry) > self.max_bytes:
            return
        self._bytes += _size(entry) - _size(self._kept.pop(leaf.digest, None))
        self._kept[leaf.digest] = entry
        while self._bytes > self.max_bytes:
            self._bytes -= _size(self._kept.popitem(last=False)[1])


def _size(entry: bytes | None) -> int:
    return 0 if entry is None else _ENTRY + len(entry)


def _digest(leaf: Leaf) -> bytes:
    digest = hashlib.blake2b(leaf.key, digest_size=32)
    for read in leaf.reads:
        digest.update(array("q", (read.at, len(read.ids), *read.ids)))
    return digest.digest()
