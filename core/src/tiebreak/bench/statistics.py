"""Intervals and calibration figures, from the standard library alone: equal input gives equal output.

Everything random is drawn from a generator with a fixed seed, so that two people who read one file see one figure.
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from tiebreak.bench.records import Bin, Calibration, Estimate, Measured, Share

__all__ = ["bootstrap", "brier", "calibration", "measured", "quantile", "ratio", "wilson"]

T = TypeVar("T")

DRAWS = 1000
BINS = 10
Z = 1.959963984540054
"""The 97.5th percentile of the normal distribution: two-sided intervals of 95 %."""


def wilson(hits: int, of: int) -> Share:
    """A share with its score interval, which stays inside 0 and 1 and is honest for few trials.

    Source: E. B. Wilson, Probable inference, the law of succession, and statistical inference, JASA 22 (1927).

    Args:
        hits: 0 to `of`.
        of: trials, at least 1.
    """
    share, square = hits / of, Z * Z
    centre = (share + square / (2 * of)) / (1 + square / of)
    half = Z / (1 + square / of) * math.sqrt(share * (1 - share) / of + square / (4 * of * of))
    # At the ends the interval reaches 0 and 1; what floats make of it may not.
    low = 0.0 if hits == 0 else centre - half
    high = 1.0 if hits == of else centre + half
    return Share(hits=hits, of=of, low=low, high=high)


def quantile(ordered: Sequence[float], share: float) -> float:
    """The value below which `share` of the sorted values lie, interpolated linearly.

    Source: R. J. Hyndman and Y. Fan, Sample quantiles in statistical packages (1996), definition 7.

    Args:
        ordered: values in ascending order, at least one.
        share: 0 to 1.
    """
    place = (len(ordered) - 1) * share
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def bootstrap(groups: Sequence[Sequence[T]], figure: Callable[[Sequence[T]], float], *, draws: int = DRAWS) -> Estimate:
    """A figure of some values, with its percentile interval; see `measured` for what groups are."""
    (found,) = _bootstrap(groups, lambda values: (figure(values),), draws)
    return found


def measured(groups: Sequence[Sequence[float]]) -> Measured:
    """Mean, median and 95th percentile of some durations, each with its interval.

    The percentile bootstrap (B. Efron, 1979) in two stages: groups are drawn with replacement, then values within each
    (A. C. Davison and D. V. Hinkley, Bootstrap Methods and their Application, 1997, section 3.8). Calls of one round
    share the machine's mood, so drawing them one by one would promise too narrow an interval.

    Args:
        groups: milliseconds by round, at least one value in all; one round is resampled by itself.
    """
    mean, median, p95 = _bootstrap(groups, _three, DRAWS)
    return Measured(count=sum(map(len, groups)), mean=mean, median=median, p95=p95)


def ratio(pairs: Sequence[tuple[float, float]]) -> Estimate:
    """The median of first / second over pairs that were measured together, with its interval."""
    return bootstrap([[first / second for first, second in pairs]], statistics.median)


def brier(probabilities: Mapping[str, float], right: str) -> float:
    """Squared distance of a distribution from the right answer: 0 is certain and right, 2 certain and wrong.

    Source: G. W. Brier, Verification of forecasts expressed in terms of probability (1950), the form over all classes.
    """
    return sum((p - (name == right)) ** 2 for name, p in probabilities.items())


def calibration(answers: Sequence[tuple[Mapping[str, float], str]], *, bins: int = BINS) -> Calibration:
    """How honest some distributions are about the right answers.

    Expected calibration error over bins of equal width: M. P. Naeini, G. F. Cooper and M. Hauskrecht (2015), in the
    form of C. Guo and others, On calibration of modern neural networks (2017), equation 3.

    Args:
        answers: (option -> probability, the right option), at least one.
        bins: of the reliability diagram.
    """
    pairs = []
    for probabilities, right in answers:
        best = max(probabilities, key=probabilities.__getitem__)
        pairs.append((probabilities[best], best == right))
    return Calibration(
        ece=bootstrap([pairs], lambda some: _ece(some, bins)),
        brier=bootstrap([[brier(*answer) for answer in answers]], statistics.fmean),
        bins=_bins(pairs, bins),
    )


def _bins(pairs: Sequence[tuple[float, bool]], bins: int) -> list[Bin]:
    filled: dict[int, list[tuple[float, bool]]] = {}
    for pair in pairs:
        filled.setdefault(min(bins - 1, int(pair[0] * bins)), []).append(pair)
    return [
        Bin(
            low=place / bins,
            high=(place + 1) / bins,
            count=len(held),
            confidence=statistics.fmean(p for p, _ in held),
            right=sum(right for _, right in held),
        )
        for place, held in sorted(filled.items())
    ]


def _ece(pairs: Sequence[tuple[float, bool]], bins: int) -> float:
    # |mean probability - share right| weighted by count is |sum - right| over all.
    sums = [0.0] * bins
    for probability, right in pairs:
        sums[min(bins - 1, int(probability * bins))] += probability - right
    return sum(map(abs, sums)) / len(pairs)


def _three(values: Sequence[float]) -> tuple[float, float, float]:
    ordered = sorted(values)
    return statistics.fmean(ordered), quantile(ordered, 0.5), quantile(ordered, 0.95)


def _bootstrap(
    groups: Sequence[Sequence[T]], figures: Callable[[Sequence[T]], tuple[float, ...]], draws: int
) -> list[Estimate]:
    held = [group for group in groups if group]
    everything = [value for group in held for value in group]
    found = figures(everything)
    if len(everything) < 2:
        return [Estimate(value=value) for value in found]
    dice = random.Random(1)  # noqa: S311  repeatable on purpose
    samples: list[tuple[float, ...]] = []
    for _ in range(draws):
        drawn: list[T] = []
        for group in dice.choices(held, k=len(held)) if len(held) > 1 else held:
            drawn += dice.choices(group, k=len(group))
        samples.append(figures(drawn))
    estimates = []
    for value, spread in zip(found, zip(*samples, strict=True), strict=True):
        ordered = sorted(spread)
        estimates.append(Estimate(value=value, low=quantile(ordered, 0.025), high=quantile(ordered, 0.975)))
    return estimates
