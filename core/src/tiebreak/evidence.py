"""What an engine found at a slot, before anyone turned it into an answer."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import attrs

from tiebreak.answers import CacheReport

__all__ = ["Distribution", "Evidence", "Outcome", "TokenScores"]


@attrs.frozen(kw_only=True)
class TokenScores:
    """Log-probabilities of the labels of one row, out of the softmax over the whole vocabulary.

    Attributes:
        logprobs: natural logarithm per label, in the row's order, at temperature 1 (a label of several
            tokens: the sum of its tokens' conditional log-probabilities).
        bounds: indices of labels that the engine did not report; their value is an upper bound.
        top: text of the most probable token at the slot, label or not, where known.
    """

    logprobs: tuple[float, ...]
    bounds: frozenset[int] = frozenset()
    top: str | None = None

    @property
    def coverage(self) -> float:
        """Mass on the labels together, 0 to 1 (an upper bound where `bounds` is not empty)."""
        return min(1.0, math.fsum(map(math.exp, self.logprobs)))


@attrs.frozen(kw_only=True)
class Distribution:
    """Finished probabilities of the labels of one row, from an engine that shows nothing else.

    Attributes:
        probabilities: one per label, in the row's order, summing to about 1.
        approximate: why they are not exactly the model's, or None.
        rounding: largest rounding error of one probability (0.005 for two decimals, 0 for full floats).
        native: the engine's own numbers beside them, under its names.
    """

    probabilities: tuple[float, ...]
    approximate: str | None = None
    rounding: float = 0.0
    native: Mapping[str, Any] = attrs.field(factory=dict)


Evidence = TokenScores | Distribution


@attrs.frozen(kw_only=True)
class Outcome:
    """All that an engine has to say about one plan.

    Attributes:
        evidence: one per row of the plan, in its order.
        cache: what was reused.
        prefill_ms, restore_ms: the engine's own figures, None where it does not say.
        engine_ms: all that the engine says it computed, None where it does not say: what is left of
            the exchange is transport.
        waited_ms: of the exchange, waiting on our side for other requests of the same engine.
        phases: the engine's own timings under its own names, milliseconds.
        prompt_tokens: length of the prompts over all rows, cached or not.
        resolved_model, request_id, usage: what a hosted engine adds.
        warnings: what the caller should know.
    """

    evidence: tuple[Evidence, ...]
    cache: CacheReport = attrs.field(factory=CacheReport)
    prefill_ms: float | None = None
    restore_ms: float | None = None
    engine_ms: float | None = None
    waited_ms: float = 0.0
    phases: Mapping[str, float] = attrs.field(factory=dict)
    prompt_tokens: int | None = None
    resolved_model: str | None = None
    request_id: str | None = None
    usage: Mapping[str, Any] = attrs.field(factory=dict)
    warnings: tuple[str, ...] = ()
