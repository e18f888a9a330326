"""`AnswerCache`: what was read at the end of whole prompts, so that the same prompt again is not computed again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from tiebreak_embedded.reading import Read, Reading
from tiebreak_embedded.stems import Leaf

__all__ = ["AnswerCache"]

_ENTRY, _ID = 700, 32
"""Bytes of an entry beside its prompt, and more for every token that was read (measured, CPython 3.11)."""


class AnswerCache:
    """Readings by prompt, bounded in bytes; the least recently used goes first.

    A checkpoint spares a prompt's beginning; once all of it is the same, what was read there is all that is left of
    it, and takes a thousandth of the room. Nothing of a prompt whose cache is off is kept or looked up. Not
    thread-safe: use it under the context's lock.

    Args:
        max_bytes: of prompts and readings; 0 keeps nothing.
    """

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self._bytes = 0
        self._kept: OrderedDict[tuple[bytes, tuple[Read, ...]], Sequence[Reading]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def bytes(self) -> int:
        """Prompts and readings held."""
        return self._bytes

    def fill(self, leaf: Leaf) -> bool:
        """Fill in what was read when this prompt was last decoded; False: it is not known."""
        if not leaf.marks:
            return False
        key = (leaf.key, leaf.reads)
        found = self._kept.get(key)
        if found is None:
            return False
        self._kept.move_to_end(key)
        leaf.readings = list(found)
        leaf.reused = len(leaf.tokens)
        return True

    def put(self, leaf: Leaf) -> None:
        """Keep what was read in a prompt that was just decoded."""
        size = _size(leaf.key, leaf.reads)
        if not leaf.marks or size > self.max_bytes:
            return
        self._kept[leaf.key, leaf.reads] = tuple(leaf.readings)
        self._bytes += size
        while self._bytes > self.max_bytes:
            self._bytes -= _size(*self._kept.popitem(last=False)[0])


def _size(key: bytes, reads: tuple[Read, ...]) -> int:
    return len(key) + sum([_ENTRY + _ID * len(read.ids) for read in reads])
