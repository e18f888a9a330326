"""`Prefixes`: keys and values of prompt prefixes, kept on the device, the least recently used thrown out first."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import attrs

__all__ = ["Ids", "Prefix", "Prefixes"]

Ids = tuple[int, ...]


@attrs.define(eq=False)
class Prefix:
    """What a model computed for the first tokens of a prompt.

    Attributes:
        ids: those tokens.
        states: keys and values of shape (layers, 2, tokens, heads, width).
        bytes: their size.
        pins: how often it was pinned and not unpinned.
    """

    ids: Ids
    states: Any
    bytes: int
    pins: int = 0


class Prefixes:
    """Prefixes by their exact tokens, bounded in bytes and number. Use it from one thread at a time.

    Args:
        max_bytes: of all of them together.
        max_entries: how many.

    Attributes:
        bytes: what they take now.
        evictions: prefixes that were thrown out so far.
    """

    def __init__(self, *, max_bytes: int, max_entries: int) -> None:
        self.max_bytes = max_bytes
        self.max_entries = max_entries
        self.bytes = 0
        self.evictions = 0
        self._held: OrderedDict[Ids, Prefix] = OrderedDict()

    def __len__(self) -> int:
        return len(self._held)

    def get(self, ids: Ids) -> Prefix | None:
        """The prefix with these tokens, now the most recently used."""
        found = self._held.get(ids)
        if found is not None:
            self._held.move_to_end(ids)
        return found

    def put(self, prefix: Prefix) -> bool:
        """Keep a prefix; False where there is no room for it beside those that are pinned."""
        if prefix.ids in self._held:
            return True
        pinned = [held for held in self._held.values() if held.pins]
        if sum(held.bytes for held in pinned) + prefix.bytes > self.max_bytes or len(pinned) + 1 > self.max_entries:
            return False
        self._held[prefix.ids] = prefix
        self.bytes += prefix.bytes
        while self.bytes > self.max_bytes or len(self._held) > self.max_entries:
            oldest = next(held for held in self._held.values() if not held.pins and held is not prefix)
            self._drop(oldest)
            self.evictions += 1
        return True

    def pin(self, ids: Ids) -> bool:
        """Keep a prefix until it is unpinned as often; False where it is not held."""
        found = self._held.get(ids)
        if found is None:
            return False
        found.pins += 1
        return True

    def unpin(self, ids: Ids) -> None:
        """Take one pin away; without one, nothing happens."""
        found = self._held.get(ids)
        if found is not None and found.pins:
            found.pins -= 1

    def _drop(self, prefix: Prefix) -> None:
        del self._held[prefix.ids]
        self.bytes -= prefix.bytes
