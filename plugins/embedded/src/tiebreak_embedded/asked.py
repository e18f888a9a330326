"""`Asked`: one plan on its way through the engine, from tokens to evidence."""

from __future__ import annotations

from typing import Protocol

import attrs

from tiebreak.answers import CacheReport, CacheStatus
from tiebreak.evidence import Outcome
from tiebreak.plan import Plan
from tiebreak.stages.cache import CachePolicy
from tiebreak_embedded.checkpoints import SavingPolicy, TreeStats
from tiebreak_embedded.context import Context
from tiebreak_embedded.prompts import Prompts
from tiebreak_embedded.stems import Leaf
from tiebreak_embedded.targets import Target, Targets

__all__ = ["Asked", "Spent"]


class Loaded(Protocol):
    """What a plan needs of a loaded model."""

    context: Context
    prompts: Prompts
    targets: Targets

    def piece(self, token: int) -> str:
        """The text of a token."""
        ...


@attrs.frozen(kw_only=True)
class Spent:
    """What one batch took, in milliseconds per phase, and the cache after it.

    Attributes:
        total: all of it, from the moment at which its turn came.
        restore, decode, read, save: its phases.
        evictions: checkpoints that were pushed out by it.
        cache: what the checkpoint tree holds now.
        resident: bytes that checkpoints and answers take.
    """

    total: float
    restore: float
    decode: float
    read: float
    save: float
    evictions: int
    cache: TreeStats
    resident: int


class Asked:
    """One plan: its rows as prompts to decode, and what became of them.

    Args:
        loaded: the model.
        plan: what is asked.

    Raises:
        ContextOverflow: a prompt is longer than the window.
    """

    def __init__(self, loaded: Loaded, plan: Plan) -> None:
        self.prompt_tokens = 0
        self.leaves: list[list[Leaf]] = []
        self.spent: Spent | None = None
        self._scope = CachePolicy.scope(plan)
        self._targets: list[Target] = []
        for row in plan.rows:
            prompt = loaded.prompts.of(row)
            target = loaded.targets.of(row)
            rows = [Leaf(tokens, reads, prompt.marks) for tokens, reads in target.prompts(prompt.tokens)]
            longest = max(len(leaf.tokens) for leaf in rows)
            if longest > loaded.context.window:
                raise loaded.context.overflow(longest)
            self.prompt_tokens += len(prompt.tokens)
            self.leaves.append(rows)
            self._targets.append(target)

    @property
    def size(self) -> int:
        """Prompts to decode."""
        return sum(map(len, self.leaves))

    def meet(self, policy: SavingPolicy) -> None:
        """Tell the saving policy which prefixes this request has, each once, and the prompts which are worth it."""
        worth: dict[bytes, bool] = {}
        for row in self.leaves:
            for leaf in row:
                for mark in leaf.marks:
                    prefix = leaf.key[: 4 * mark]
                    if prefix not in worth:
                        worth[prefix] = policy.worth(leaf.tokens[:mark])
                leaf.worth = tuple(mark for mark in leaf.marks if worth[leaf.key[: 4 * mark]])

    def share(self, leaves: dict[object, Leaf]) -> None:
        """Add the prompts to a batch, using those that are in it already."""
        self.leaves = [
            [leaves.setdefault((leaf.key, leaf.reads, not leaf.marks), leaf) for leaf in row] for row in self.leaves
        ]

    def outcome(self, loaded: Loaded, tokenised: float, waited: float, warnings: tuple[str, ...]) -> Outcome:
        """What was found, and what it took.

        Args:
            loaded: the model.
            tokenised: milliseconds that tokenising took.
            waited: milliseconds that it waited for its turn.
            warnings: what the caller should know.
        """
        spent = self.spent
        assert spent is not None
        return Outcome(
            evidence=tuple(
                target.score([leaf.readings for leaf in row], loaded.piece(row[0].readings[0].top))
                for target, row in zip(self._targets, self.leaves, strict=True)
            ),
            cache=self._report(spent),
            prefill_ms=spent.decode,
            restore_ms=spent.restore,
            engine_ms=tokenised + spent.total,
            waited_ms=waited,
            phases={
                "tokenise_ms": tokenised,
                "restore_ms": spent.restore,
                "decode_ms": spent.decode,
                "read_ms": spent.read,
                "save_ms": spent.save,
            },
            prompt_tokens=self.prompt_tokens,
            warnings=warnings,
        )

    def _report(self, spent: Spent) -> CacheReport:
        firsts = [row[0] for row in self.leaves]
        status = self._status()
        return CacheReport(
            scope="none" if status == "off" else self._scope,
            status=status,
            reused_tokens=sum(leaf.reused for leaf in firsts),
            checkpoint_bytes=max(leaf.state_bytes for leaf in firsts) or None,
            entries=spent.cache.entries,
            resident_bytes=spent.resident,
            evictions=spent.evictions,
        )

    def _status(self) -> CacheStatus:
        leaves = [leaf for row in self.leaves for leaf in row]
        if not any(leaf.marks for leaf in leaves):
            return "off"
        if any(leaf.fallback for leaf in leaves):
            return "fallback"
        return "hit" if any(leaf.reused for leaf in leaves) else "miss"
