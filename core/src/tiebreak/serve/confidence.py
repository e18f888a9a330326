"""`confidence` as the hosted service shows it, from the probabilities alone.

Formulas: TypeSafe's open adapter library. Both are 1 where all mass is on one outcome and 0 where it is spread evenly.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["choice_confidence", "score_confidence"]


def choice_confidence(probabilities: Sequence[float]) -> float:
    """How far the best of n options is above an even spread: (max p - 1/n) / (1 - 1/n)."""
    count = len(probabilities)
    if count == 1:
        return 1.0
    return min(1.0, max(0.0, (max(probabilities) - 1 / count) / (1 - 1 / count)))


def score_confidence(probabilities: Sequence[float]) -> float:
    """How close the levels' mass lies to the likeliest level k: 1 - E|i - k| / D, at least 0.

    D is the mean distance of n levels from their middle, (1/n) * sum |i - (n-1)/2|.
    """
    count = len(probabilities)
    if count == 1:
        return 1.0
    mode = max(range(count), key=probabilities.__getitem__)
    spread = sum(p * abs(level - mode) for level, p in enumerate(probabilities))
    even = sum(abs(level - (count - 1) / 2) for level in range(count)) / count
    return min(1.0, max(0.0, 1 - spread / even))
