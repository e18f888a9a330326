"""One bounded cache of sequence states, keyed by the exact tokens that led to them.

State-first prompts find their state in it, schema-first prompts their questions, and both a common
system part: all are prefixes. A state of a model with recurrent layers cannot be cut back, so the
tree answers with the deepest prefix that was saved, never with a part of one.
"""

from __future__ import annotations

import hashlib
from array import array
from collections import OrderedDict
from collections.abc import Iterator, Sequence

import attrs

__all__ = ["Checkpoint", "CheckpointTree", "SavingPolicy", "TreeStats"]

_TOKEN_BYTES = 4


@attrs.frozen(eq=False)
class Checkpoint:
    """A saved sequence state.

    Attributes:
        tokens: length of the prefix that it holds.
        state: the bytes that a context saved.
    """

    tokens: int
    state: bytearray


@attrs.frozen(kw_only=True)
class TreeStats:
    """What the tree holds, and what happened to it since it was made.

    Attributes:
        hits, misses: lookups that found a prefix, and that did not.
        evictions: checkpoints pushed out by newer ones.
        declined: checkpoints not taken, because they would not fit beside the pinned ones.
        entries, pinned: checkpoints held, and those of them that are pinned.
        bytes: states and keys held.
    """

    hits: int
    misses: int
    evictions: int
    declined: int
    entries: int
    pinned: int
    bytes: int


class _Node:
    """A place in the radix tree: the key bytes from the parent to here, and what branches off."""

    __slots__ = ("checkpoint", "children", "edge", "parent", "pins")

    def __init__(self, edge: bytes, parent: _Node | None) -> None:
        self.edge = edge
        self.parent = parent
        self.children: dict[bytes, _Node] = {}
        self.checkpoint: Checkpoint | None = None
        self.pins = 0


class CheckpointTree:
    """A radix tree of checkpoints, bounded in bytes and entries; the least recently used goes first.

    Not thread-safe: use it under the context's lock. Checkpoints are not copied; nobody may change
    one that was put.

    Args:
        max_bytes: states and keys together.
        max_entries: number of checkpoints.
    """

    def __init__(self, *, max_bytes: int = 256 << 20, max_entries: int = 1024) -> None:
        self.max_bytes = max_bytes
        self.max_entries = max_entries
        self._root = _Node(b"", None)
        self._order: OrderedDict[_Node, int] = OrderedDict()  # node -> bytes, oldest first
        self._pinned: set[_Node] = set()
        self._bytes = 0
        self._hits = self._misses = self._evictions = self._declined = 0

    def find(self, tokens: Sequence[int], limit: int | None = None) -> Checkpoint | None:
        """The deepest checkpoint that is a prefix of a prompt; it becomes the most recently used.

        Args:
            tokens: the prompt.
            limit: longest prefix that is of use, in tokens; None for the whole prompt.
        """
        found = self._deepest(_key(tokens if limit is None else tokens[:limit]))
        if found is None:
            self._misses += 1
            return None
        self._hits += 1
        self._order.move_to_end(found)
        return found.checkpoint

    def peek(self, tokens: Sequence[int]) -> Checkpoint | None:
        """The checkpoint of exactly these tokens, without counting or touching it."""
        node = self._exact(_key(tokens))
        return None if node is None else node.checkpoint

    def put(self, tokens: Sequence[int], state: bytearray) -> bool:
        """Keep a checkpoint, pushing out the least recently used that are not pinned.

        Args:
            tokens: the prefix, at least one token. A checkpoint that it had is replaced.
            state: its state.

        Returns:
            whether it was kept. False: it is larger than what the pinned ones leave of the budget;
            nothing was changed.
        """
        key = _key(tokens)
        size = len(state) + len(key)
        old = self._exact(key)
        old_size = self._order.get(old, 0) if old is not None else 0
        pinned = [node for node in self._pinned if node is not old]
        taken = sum(self._order[node] for node in pinned)
        if not key or taken + size > self.max_bytes or len(pinned) >= self.max_entries:
            self._declined += 1
            return False
        node = self._insert(key)
        node.checkpoint = Checkpoint(len(tokens), state)
        self._order[node] = size
        self._order.move_to_end(node)
        self._bytes += size - old_size
        self._shrink(node)
        return True

    def pin(self, tokens: Sequence[int]) -> bool:
        """Keep a checkpoint until it is unpinned as often as it was pinned; False: there is none."""
        node = self._exact(_key(tokens))
        if node is None:
            return False
        node.pins += 1
        self._pinned.add(node)
        return True

    def unpin(self, tokens: Sequence[int]) -> bool:
        """Take one pin away; False: there was none."""
        node = self._exact(_key(tokens))
        if node is None or not node.pins:
            return False
        node.pins -= 1
        if not node.pins:
            self._pinned.discard(node)
        return True

    def discard(self, tokens: Sequence[int]) -> bool:
        """Forget a checkpoint, pinned or not (it did not restore, say); False: there is none."""
        node = self._exact(_key(tokens))
        if node is None:
            return False
        self._remove(node)
        return True

    def clear(self) -> None:
        """Forget every checkpoint; the counters stay."""
        self._root = _Node(b"", None)
        self._order.clear()
        self._pinned.clear()
        self._bytes = 0

    def stats(self) -> TreeStats:
        """Counters and sizes as they are now."""
        return TreeStats(
            hits=self._hits,
            misses=self._misses,
            evictions=self._evictions,
            declined=self._declined,
            entries=len(self._order),
            pinned=len(self._pinned),
            bytes=self._bytes,
        )

    def __len__(self) -> int:
        return len(self._order)

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        """The prefixes held, least recently used first."""
        for node in self._order:
            yield _tokens(node)

    def _walk(self, key: bytes) -> Iterator[tuple[_Node, int]]:
        """The nodes along a key and the bytes of it that each accounts for."""
        node, at = self._root, 0
        while at < len(key):
            child = node.children.get(key[at : at + _TOKEN_BYTES])
            if child is None or not key.startswith(child.edge, at):
                return
            node, at = child, at + len(child.edge)
            yield node, at

    def _deepest(self, key: bytes) -> _Node | None:
        found = None
        for node, _ in self._walk(key):
            if node.checkpoint is not None:
                found = node
        return found

    def _exact(self, key: bytes) -> _Node | None:
        for node, at in self._walk(key):
            if at == len(key):
                return node if node.checkpoint is not None else None
        return None

    def _insert(self, key: bytes) -> _Node:
        """The node of a key, made by splitting edges where it must be."""
        node, at = self._root, 0
        while at < len(key):
            first = key[at : at + _TOKEN_BYTES]
            child = node.children.get(first)
            if child is None:
                child = node.children[first] = _Node(key[at:], node)
                return child
            shared = _common(child.edge, key, at)
            if shared < len(child.edge):
                middle = node.children[first] = _Node(child.edge[:shared], node)
                child.edge, child.parent = child.edge[shared:], middle
                middle.children[child.edge[:_TOKEN_BYTES]] = child
                child = middle
            node, at = child, at + shared
        return node

    def _shrink(self, newest: _Node) -> None:
        while self._bytes > self.max_bytes or len(self._order) > self.max_entries:
            oldest = next(n for n in self._order if not n.pins and n is not newest)
            self._remove(oldest)
            self._evictions += 1

    def _remove(self, node: _Node) -> None:
        """Forget a node's checkpoint; drop or join the nodes that no longer tell keys apart."""
        self._bytes -= self._order.pop(node)
        self._pinned.discard(node)
        node.checkpoint, node.pins = None, 0
        while node.parent is not None and node.checkpoint is None and not node.children:
            del node.parent.children[node.edge[:_TOKEN_BYTES]]
            node = node.parent
        if node.parent is not None and node.checkpoint is None and len(node.children) == 1:
            (child,) = node.children.values()
            node.parent.children[node.edge[:_TOKEN_BYTES]] = child
            child.edge, child.parent = node.edge + child.edge, node.parent


class SavingPolicy:
    """Learns which prefixes are worth a checkpoint: those that come again.

    A state that is asked about once would only push useful checkpoints out, and saving it costs
    time. So a prefix is saved when it is met the second time.

    Args:
        times: how often a prefix must be met before it is worth saving.
        memory: prefixes remembered (by a 16-byte digest); the least recently met is forgotten.
    """

    def __init__(self, *, times: int = 2, memory: int = 4096) -> None:
        self.times = times
        self.memory = memory
        self._met: OrderedDict[bytes, int] = OrderedDict()

    def worth(self, tokens: Sequence[int]) -> bool:
        """Count one meeting with a prefix, and say whether it is worth saving now."""
        digest = hashlib.blake2b(_key(tokens), digest_size=16).digest()
        count = self._met.pop(digest, 0) + 1
        self._met[digest] = count
        if len(self._met) > self.memory:
            self._met.popitem(last=False)
        return count >= self.times


def _key(tokens: Sequence[int]) -> bytes:
    return array("i", tokens).tobytes()


def _tokens(node: _Node) -> tuple[int, ...]:
    edges = []
    place: _Node | None = node
    while place is not None:
        edges.append(place.edge)
        place = place.parent
    return tuple(array("i", b"".join(reversed(edges))))


def _common(edge: bytes, key: bytes, at: int) -> int:
    """Bytes that an edge shares with a key from `at` on, in whole tokens (by bisection)."""
    low, high = 0, min(len(edge), len(key) - at) // _TOKEN_BYTES
    while low < high:
        middle = (low + high + 1) // 2
        if key.startswith(edge[: middle * _TOKEN_BYTES], at):
            low = middle
        else:
            high = middle - 1
    return low * _TOKEN_BYTES
