"""`Runner`: decodes a batch of prompts, each token once where they share it or had it before.

In order: the beginnings that are there already, in a sequence or as a checkpoint, are found; what
several prompts share beyond them is decoded once (a stem) and handed on as a saved state, which is
quicker than copying a whole window inside llama.cpp; all that is left is decoded side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import attrs

from tiebreak_embedded.batch import Item
from tiebreak_embedded.checkpoints import CheckpointTree
from tiebreak_embedded.context import Context
from tiebreak_embedded.reading import Read
from tiebreak_embedded.sequences import Sequences
from tiebreak_embedded.stems import Leaf, Source, Stem, stems

if TYPE_CHECKING:
    from tiebreak_embedded.store import CheckpointStore

__all__ = ["Runner"]


class Runner:
    """Runs batches on one context. Use it from one thread at a time.

    Args:
        context: the model; nobody else may use its sequences.
        tree: where checkpoints are kept.
        store: files of checkpoints, where there are any.
    """

    def __init__(self, context: Context, tree: CheckpointTree, store: CheckpointStore | None = None) -> None:
        self.context = context
        self.tree = tree
        self.sequences = Sequences(context, tree, store)

    def run(self, leaves: Sequence[Leaf]) -> None:
        """Decode prompts and fill in what was asked of them.

        Args:
            leaves: no two alike, each shorter than the window.

        Raises:
            EngineError: a decode failed; all sequences are empty then.
        """
        try:
            self._fit(leaves)
            self._run(leaves)
        except BaseException:
            self.sequences.forget()
            raise

    def keep(self, leaf: Leaf, length: int) -> bool:
        """Make sure that there is a checkpoint of a prompt's first tokens; False: the cache has no room for it."""
        tokens = leaf.tokens[:length]
        if self.tree.peek(tokens) is not None:
            return True
        try:
            self._fit((leaf,))
            leaf.source = self.sequences.find(leaf)
            number = self._spare((leaf,))
            source = self._own(leaf, number)
            self._advance(number, leaf, source if length - source.depth != 1 else Source(), length)
            return self.tree.put(tokens, self.sequences.save(number))
        except BaseException:
            self.sequences.forget()
            raise

    def _fit(self, leaves: Sequence[Leaf]) -> None:
        """Have room for the longest of some prompts; a context that grows loses its sequences."""
        longest = max(len(leaf.tokens) for leaf in leaves)
        if longest > self.context.room:
            self.sequences.empty()
            self.context.grow(longest)

    def _run(self, leaves: Sequence[Leaf]) -> None:
        for leaf in leaves:
            leaf.source = self.sequences.find(leaf)
        if len(leaves) == 1 and (self.sequences.rewinds or not leaves[0].worth):
            self._decode(leaves, self._place_of(leaves[0]))  # the most frequent case, without the detours of the others
            return
        if not self.sequences.rewinds:
            self._save_worth(leaves)
        if any(isinstance(part, Stem) for part in stems(leaves, rewinds=self.sequences.rewinds)):
            self._settle(leaves)
            for part in stems(leaves, rewinds=self.sequences.rewinds):
                if isinstance(part, Stem):
                    self._grow(part, Source())
        ordered = sorted(leaves, key=lambda leaf: leaf.source.depth - len(leaf.tokens))
        chunks = [ordered[at : at + self.sequences.count] for at in range(0, len(ordered), self.sequences.count)]
        start = self.sequences.window(chunks[0])
        self._settle([leaf for place, leaf in enumerate(ordered, start) if not self._stays(place, leaf)])
        for index, chunk in enumerate(chunks):
            self._decode(chunk, 0 if index else start)

    def _stays(self, place: int, leaf: Leaf) -> bool:
        """Whether the sequence that a prompt will be decoded in holds its beginning already."""
        return place < self.sequences.count and self.sequences.holds(place, leaf, leaf.source.depth)

    def _settle(self, leaves: Sequence[Leaf]) -> None:
        """Save the sequences that these prompts begin with, so that they can go on in others."""
        states: dict[int, tuple[bytearray, int]] = {}
        for leaf in leaves:
            source = leaf.source
            if source.sequence is None or source.state is not None:
                continue
            if source.sequence not in states:
                states[source.sequence] = (
                    self.sequences.save(source.sequence),
                    self.sequences.length(source.sequence),
                )
            state, held = states[source.sequence]
            leaf.source = attrs.evolve(source, state=state, held=held)

    def _save_worth(self, leaves: Sequence[Leaf]) -> None:
        """Decode up to each boundary that is worth a checkpoint, and save it there: such a model cannot go back."""
        for leaf in leaves:
            for mark in leaf.worth:
                missing = mark - leaf.source.depth  # one token alone cannot be decoded and kept
                if mark > leaf.limit or missing < 2 or self.tree.peek(leaf.tokens[:mark]) is not None:
                    continue
                cached = leaf.source.cached
                number = self._spare(leaves)
                self._advance(number, leaf, self._own(leaf, number), mark)
                state = self.sequences.save(number)
                self.tree.put(leaf.tokens[:mark], state)
                self._share(leaves, leaf, Source(mark, state, mark, number, cached))

    def _share(self, leaves: Sequence[Leaf], first: Leaf, source: Source) -> None:
        """Give a new beginning to all prompts that begin so."""
        prefix = first.key[: 4 * source.depth]
        for leaf in leaves:
            nearer = leaf.source.depth < source.depth <= leaf.limit
            if nearer and leaf.marks and leaf.key.startswith(prefix):
                leaf.source = attrs.evolve(source, cached=leaf.source.cached)

    def _grow(self, stem: Stem, around: Source) -> None:
        """Decode a stem and all stems that branch off it."""
        source = stem.source if stem.source.depth > around.depth else around
        number = self._spare(())
        depth = self._advance(number, stem.first, source, stem.stop)
        cached = min(depth, source.cached)  # 0 where a stored state was refused
        grown = Source(stem.stop, self.sequences.save(number), stem.stop, cached=cached)
        for part in stem.parts:
            if isinstance(part, Stem):
                self._grow(part, grown)
            elif part.source.depth < grown.depth:
                part.fallback |= depth < source.depth
                part.source = grown

    def _advance(self, number: int, leaf: Leaf, source: Source, stop: int) -> int:
        """Make a sequence hold exactly the first `stop` tokens of a prompt; returns how many it had not to decode."""
        depth = self.sequences.place(number, leaf, source)
        if depth < stop:
            self.context.decode([Item(number, depth, leaf.tokens[depth:stop], keep=True)])
            self.sequences.decoded(number, leaf, stop, clean=True)
        return depth

    def _decode(self, leaves: Sequence[Leaf], start: int) -> None:
        """Decode what is left of some prompts side by side, in neighbouring sequences from `start` on.

        The first should be the longest, see `Context.decode`.
        """
        items = []
        for number, leaf in enumerate(leaves, start):
            source = leaf.source
            depth = self.sequences.place(number, leaf, source)
            if depth == source.depth:  # otherwise a stored state was refused: cold, and nothing of it was reused
                leaf.reused = source.cached
                leaf.state_bytes = len(source.state or b"")
            leaf.source = Source()  # its state must not live on with the resident prompt
            reads = tuple(Read(read.at - depth, read.ids, read.raw) for read in leaf.reads)
            items.append(Item(number, depth, leaf.tokens[depth:], reads))
        for item, leaf, found in zip(items, leaves, self.context.decode(items), strict=True):
            leaf.readings = found
            self.sequences.decoded(item.sequence, leaf, len(leaf.tokens), clean=False)

    def _place_of(self, leaf: Leaf) -> int:
        """The sequence for a prompt that is decoded alone: the one that holds its beginning, else the oldest."""
        if leaf.source.sequence is not None:
            return leaf.source.sequence
        return self._spare(())

    def _spare(self, leaves: Sequence[Leaf]) -> int:
        """A sequence that no prompt begins in, else the oldest."""
        taken = {leaf.source.sequence for leaf in leaves if leaf.source.state is None}
        free = [number for number in range(self.sequences.count) if number not in taken]
        return min(free or range(self.sequences.count), key=self.sequences.last_used)

    def _own(self, leaf: Leaf, number: int) -> Source:
        """A prompt's source, as it can be used in another sequence."""
        source = leaf.source
        if source.sequence is None or source.sequence == number or source.state is not None:
            return source
        state = self.sequences.save(source.sequence)
        return attrs.evolve(source, state=state, held=self.sequences.length(source.sequence))
