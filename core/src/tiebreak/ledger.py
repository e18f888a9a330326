"""`Ledger`: what a session has seen of its prefix cache, and the advice that follows from it."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict

import attrs

from tiebreak.answers import CacheReport
from tiebreak.plan import Plan

__all__ = ["Budget", "Ledger", "prefix_key"]

REMEMBERED = 512
MIB = 1 << 20


@attrs.frozen(kw_only=True)
class Budget:
    """How much an engine's prefix cache may hold; None where there is no such limit or nobody knows it.

    Attributes:
        bytes: of stored states together.
        entries: stored states.
        option: the engine's option that raises the limit of bytes, for advice.
        entries_option: the one that raises the limit of entries.
        unit: bytes in one unit of `option`: 1, or 2**20 where it is in MiB.
    """

    bytes: int | None = None
    entries: int | None = None
    option: str = ""
    entries_option: str = ""
    unit: int = 1


class Ledger:
    """Counts prefixes, hits and misses, and says once when the working set does not fit the budget.

    A prefix that was stored, came back and was not found has been pushed out by the others. If those that came
    since then need more room than there is, every one of them will be: then the cache costs and gives nothing.
    """

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.hits = 0
        self.misses = 0
        self._lock = threading.Lock()
        self._sizes: OrderedDict[int, int | None] = OrderedDict()
        self._advised = False

    def note(self, plan: Plan, report: CacheReport) -> str | None:
        """Enter one request.

        Args:
            plan: what was asked.
            report: what the engine said of its cache.

        Returns:
            advice, the first time that there is reason for it; else None.
        """
        if report.status not in ("hit", "miss", "fallback"):
            return None
        key = hash(_prefix(plan))
        with self._lock:
            came_back = key in self._sizes
            self.hits += report.status == "hit"
            self.misses += report.status != "hit"
            # Walks over what came since, so only where it may be needed: most prefixes are new, or were hit.
            between = self._since(key) if came_back and report.status == "miss" and not self._advised else []
            self._sizes[key] = report.checkpoint_bytes or self._sizes.get(key)
            self._sizes.move_to_end(key)
            while len(self._sizes) > REMEMBERED:
                self._sizes.popitem(last=False)
            if self._advised or not came_back or report.status != "miss":
                return None
            advice = self._advice(between, report)
            self._advised = advice is not None
            return advice

    def _since(self, key: int) -> list[int | None]:
        """Sizes of the prefixes that were used after this one was."""
        sizes: list[int | None] = []
        for other, size in reversed(self._sizes.items()):
            if other == key:
                break
            sizes.append(size)
        return sizes

    def _advice(self, between: list[int | None], report: CacheReport) -> str | None:
        count = len(between) + 1
        if count < 2:  # one prefix alone that is never kept is its engine's to explain
            return None
        limit = self.budget.entries
        if limit is not None and count > limit:
            return (
                f"cache: {count} prefixes take turns in a cache of {limit} entries, so each pushes the others out. "
                f"Raise {self.budget.entries_option} to {count}, or ask requests with the same prefix together "
                "(decide_many orders them)."
            )
        known = [value for value in (*between, report.checkpoint_bytes) if value is not None]
        if not known and report.entries and report.resident_bytes:
            # None was seen to be used, as happens where each is pushed out in time: then those that are there will do.
            known = [report.resident_bytes // report.entries]
        if self.budget.bytes is None or not known:
            return None
        needed = sum(known) * count // len(known)
        if needed <= self.budget.bytes:
            return None
        have, each = self.budget.bytes / MIB, sum(known) / len(known) / MIB
        enough = -(-needed * 11 // 10 // self.budget.unit)
        return (
            f"cache: {count} prefixes of about {each:.1f} MiB take turns, {needed / MIB:.0f} MiB together, in a cache "
            f"of {have:.0f} MiB, so each pushes the others out. Raise {self.budget.option} to at least "
            f"{enough}, or ask requests with the same prefix together (decide_many orders them)."
        )


def prefix_key(plan: Plan) -> bytes:
    """A digest of the reusable prefixes of a plan, the same in every process: equal where they can share a state."""
    return hashlib.blake2b(repr(_prefix(plan)).encode(), digest_size=16).digest()


def _prefix(plan: Plan) -> tuple[str, ...]:
    """The text before the cut of every row, as it was laid out; an empty one ends each row."""
    return tuple([text for row in plan.rows for text in (*(s.text for s in row.segments[: row.cut]), "")])
