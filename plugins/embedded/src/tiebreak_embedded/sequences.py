"""`Sequences`: what the context's sequences hold, and how a prompt's beginning gets into one of them."""

from __future__ import annotations

import time
from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING

import attrs

from tiebreak_embedded.checkpoints import CheckpointTree
from tiebreak_embedded.context import Context, StateRefused
from tiebreak_embedded.stems import Leaf, Source, common

if TYPE_CHECKING:
    from tiebreak_embedded.store import CheckpointStore

__all__ = ["Resident", "Sequences"]


@attrs.frozen(eq=False)
class Resident:
    """What a sequence holds.

    Attributes:
        leaf: the prompt, of which it holds the first `length` tokens.
        length: see there.
        clean: nothing lies behind them; otherwise fill may, which a recurrent model cannot forget.
    """

    leaf: Leaf
    length: int
    clean: bool


class Sequences:
    """The sequences of a context between batches: they keep the last prompts, which may begin the next ones.

    A model without recurrent layers goes back to any place of a prompt that is still in memory, at no
    cost, so its checkpoints are saved only when a prompt has to make room. Use it under the context's lock.

    Args:
        context: whose sequences they are; nobody else may use them.
        tree: where checkpoints are kept.
        store: files of checkpoints, where there are any.
    """

    def __init__(self, context: Context, tree: CheckpointTree, store: CheckpointStore | None = None) -> None:
        self.context = context
        self.tree = tree
        self.store = store
        self.count = context.options.sequences
        self.rewinds = not context.model.recurrent
        self.restore_ms = self.save_ms = 0.0
        self._residents: list[Resident | None] = [None] * self.count
        self._used = [0] * self.count
        self._moment = 0

    def find(self, leaf: Leaf) -> Source:
        """The deepest beginning of a prompt that is there, in a sequence or as a checkpoint."""
        if not leaf.marks:
            return Source()
        best = Source()
        least = leaf.key[: 4 * leaf.marks[0]]
        for number, resident in enumerate(self._residents):
            if resident is None or not resident.leaf.marks or not resident.leaf.key.startswith(least):
                continue
            depth = min(common(leaf.key, resident.leaf.key), resident.length, leaf.limit)
            if not self.rewinds and not (resident.clean and depth == resident.length):
                continue
            if depth > best.depth and depth >= leaf.marks[0]:  # less is not worth it
                best = Source(depth, sequence=number, cached=depth)
        if best.depth < leaf.marks[-1]:
            found = self.tree.find(leaf.tokens, leaf.limit)
            if found is not None and found.tokens > best.depth:
                best = Source(found.tokens, found.state, found.tokens, cached=found.tokens)
        return best if self.store is None else self._filed(leaf, best, self.store)

    def _filed(self, leaf: Leaf, best: Source, store: CheckpointStore) -> Source:
        """A deeper beginning out of a file, where there is one."""
        for mark in reversed(leaf.marks):
            if best.depth < mark <= leaf.limit:
                state = store.get(leaf.tokens[:mark])
                if state is not None:
                    self.tree.put(leaf.tokens[:mark], state)
                    return Source(mark, state, mark, cached=mark)
        return best

    def last_used(self, number: int) -> int:
        """When a sequence was used last: a count that rises."""
        return self._used[number]

    def window(self, leaves: Sequence[Leaf]) -> int:
        """The first of the neighbouring sequences for some prompts: those that hold most of their
        beginnings, else those that were used longest ago."""
        starts = range(self.count - len(leaves) + 1)
        kept = any(leaf.source.sequence is not None for leaf in leaves)

        def value(start: int) -> tuple[int, int]:
            held = sum(self.holds(start + i, leaf, leaf.source.depth) for i, leaf in enumerate(leaves)) if kept else 0
            return held, -max(self._used[start : start + len(leaves)])

        return max(starts, key=value)

    def holds(self, number: int, leaf: Leaf, depth: int) -> bool:
        """Whether a sequence can go on behind the first `depth` tokens of a prompt as it is."""
        resident = self._residents[number]
        if resident is None or not depth or not resident.leaf.marks:
            return False
        fits = self.rewinds or (resident.clean and resident.length == depth)
        return fits and resident.length >= depth and common(resident.leaf.key, leaf.key) >= depth

    def place(self, number: int, leaf: Leaf, source: Source) -> int:
        """Put the beginning of a prompt into a sequence.

        Args:
            number: the sequence; what else it held is saved where that is worth it, and lost.
            leaf: the prompt.
            source: where its beginning comes from; in `sequence` only where that is `number` itself.

        Returns:
            the tokens that are there now: the source's depth, or 0 where a stored state was refused.
        """
        self._moment += 1
        self._used[number] = self._moment
        if self.holds(number, leaf, source.depth):
            self.make_room(number, source.depth)
            if not self.rewinds or self.context.rewind(number, source.depth):
                self._residents[number] = Resident(leaf, source.depth, clean=True)
                return source.depth
        self.make_room(number, 0)
        self._residents[number] = None
        if source.state is None:
            self.context.drop(number)
            return 0
        started = time.perf_counter()
        taken = self._restore(number, source.state, source)
        self.restore_ms += (time.perf_counter() - started) * 1e3
        if not taken:
            self.context.drop(number)
            self.tree.discard(leaf.tokens[: source.depth])
            if self.store is not None:
                self.store.discard(leaf.tokens[: source.depth])
            leaf.fallback = True
            return 0
        self._residents[number] = Resident(leaf, source.depth, clean=True)
        return source.depth

    def _restore(self, number: int, state: bytearray, source: Source) -> bool:
        try:
            self.context.restore(number, state, source.held)
        except StateRefused:
            return False
        return source.held == source.depth or self.context.rewind(number, source.depth)

    def decoded(self, number: int, leaf: Leaf, length: int, *, clean: bool) -> None:
        """Note what a decode has left in a sequence."""
        self._residents[number] = Resident(leaf, length, clean)

    def save(self, number: int) -> bytearray:
        """The state of a sequence."""
        started = time.perf_counter()
        state = self.context.save(number)
        self.save_ms += (time.perf_counter() - started) * 1e3
        return state

    def length(self, number: int) -> int:
        """Tokens in a sequence, fill included."""
        return self.context.length(number)

    def make_room(self, number: int, depth: int) -> None:
        """Save those checkpoints of a sequence that are worth it and longer than what will stay in it."""
        resident = self._residents[number]
        if resident is None or not self.rewinds:
            return
        for mark in sorted(resident.leaf.worth, reverse=True):
            tokens = resident.leaf.tokens[:mark]
            if depth < mark <= resident.length and self.tree.peek(tokens) is None:
                self.context.rewind(number, mark)
                self.tree.put(tokens, self.save(number))
                resident = self._residents[number] = Resident(resident.leaf, mark, clean=True)

    def empty(self) -> None:
        """Save every checkpoint that is worth it, and empty every sequence."""
        for number in range(self.count):
            self.make_room(number, 0)
        self.forget()

    def flush(self) -> None:
        """Save every checkpoint that is worth it, to files where there are any."""
        self.empty()
        if self.store is not None:
            for prefix in self.tree:
                tokens = array("i", prefix)
                checkpoint = self.tree.peek(tokens)
                assert checkpoint is not None
                self.store.put(tokens, checkpoint.state)

    def forget(self) -> None:
        """Empty every sequence: after an error nobody knows what they hold."""
        self._residents = [None] * self.count
        for number in range(self.count):
            self.context.drop(number)
