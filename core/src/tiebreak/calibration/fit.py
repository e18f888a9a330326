"""`calibrate`: temperatures from answers and what was right, checked on rows that were held out.

Temperature scaling: Guo, Pleiss, Sun, Weinberger, "On Calibration of Modern Neural Networks" (2017). One number divides
all log-probabilities of a kind; it is the one under which the right answers are most probable. It changes no winner.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence

import attrs

from tiebreak.answers import Answer, Decision
from tiebreak.calibration.labelled import Labelled
from tiebreak.calibration.profile import Binding, Fitted, Profile
from tiebreak.decider import Decider
from tiebreak.errors import InvalidRequest
from tiebreak.questions import Kind
from tiebreak.stages.readout import softmax

__all__ = ["Sample", "calibrate", "error", "fit", "loss", "tempered"]

LEAST_FITTED, LEAST_HELD_OUT = 20, 5
COLDEST, HOTTEST = 0.05, 20.0
"""Temperatures are looked for between these: beyond them a model does not exaggerate, it does not answer."""

BINS = 10
FLOOR = 1e-12
"""A probability of 0 for a right answer counts as this, so that one row cannot outweigh all others."""


@attrs.frozen(kw_only=True)
class Sample:
    """One answer and what was right.

    Attributes:
        kind: the question's kind.
        answer: as it was given.
        temperature: that it was given with.
        right: index of the right option.
        held_out: it is for the check, not for the fit.
    """

    kind: Kind
    answer: Answer
    temperature: float
    right: int
    held_out: bool


def calibrate(decider: Decider, rows: Iterable[Labelled], *, held_out: float = 0.2) -> Profile:
    """Ask a Decider what is known already, and fit its temperatures.

    Rows about the same state are all fitted on or all held out; which ones depends on the states alone.

    Args:
        decider: as it will be used; its present temperatures are what the result is compared with.
        rows: requests with their right answers.
        held_out: share of the states that the check is made on, between 0 and 1.

    Returns:
        a profile for this model, layout and readout, with a temperature for each kind that has enough rows.

    Raises:
        InvalidRequest: no row, a share that is none, too few rows of every kind, or a model that nobody can identify.
        TiebreakError: as in `Decider.decide`.
    """
    given = list(rows)
    if not 0 < held_out < 1:
        raise InvalidRequest(f"held_out is {held_out!r}; it is a share between 0 and 1.")
    if not given:
        raise InvalidRequest("There is no labelled row.", remedy="Give some dozens of each kind.")
    binding = Binding.of(decider.session.opened, decider.session.stages)
    groups = sorted({row.group for row in given})
    aside = set(groups[: max(1, round(len(groups) * held_out))])
    samples: dict[Kind, list[Sample]] = defaultdict(list)
    decisions = decider.decide_many((row.state, row.questions) for row in given)
    engine = ""
    for row, decision in zip(given, decisions, strict=True):
        assert isinstance(decision, Decision)  # errors are raised
        engine = f"{decision.receipt.engine} {decision.receipt.engine_version}".strip()
        for name, answer in decision.answers.items():
            samples[answer.kind].append(
                Sample(
                    kind=answer.kind,
                    answer=answer,
                    temperature=decision.receipt.temperature[answer.kind],
                    right=row.index(name),
                    held_out=row.group in aside,
                )
            )
    kinds: dict[str, Fitted] = {kind: found for kind, some in samples.items() if (found := fit(some)) is not None}
    if not kinds:
        counts = ", ".join(f"{len(some)} of {kind}" for kind, some in samples.items())
        raise InvalidRequest(
            f"Too few labelled answers: {counts}.",
            remedy=f"At least one kind needs {LEAST_FITTED} to fit on and {LEAST_HELD_OUT} held out.",
        )
    return Profile(binding=binding, kinds=kinds, engine=engine)


def fit(samples: Sequence[Sample]) -> Fitted | None:
    """The temperature of one kind, and how good it is on what was held out; None where there are too few."""
    used = [sample for sample in samples if not sample.held_out]
    aside = [sample for sample in samples if sample.held_out]
    if len(used) < LEAST_FITTED or len(aside) < LEAST_HELD_OUT:
        return None
    temperature = _least(used)
    before = [tempered(sample, sample.temperature) for sample in aside]
    after = [tempered(sample, temperature) for sample in aside]
    right = [sample.right for sample in aside]
    return Fitted(
        temperature=temperature,
        fitted_on=len(used),
        held_out=len(aside),
        loss_before=loss(before, right),
        loss_after=loss(after, right),
        error_before=error(before, right),
        error_after=error(after, right),
    )


def tempered(sample: Sample, temperature: float) -> Sequence[float]:
    """The probabilities of an answer as another temperature would have given them.

    Log-probabilities at one temperature are scores divided by it, less a constant that the softmax drops. A rubric that
    was judged level by level is as many yes/no answers, each with its temperature, shared out over the levels.
    """
    ratio = sample.temperature / temperature
    levels = sample.answer.native.get("fit")
    if levels is None:
        return softmax([math.log(p) * ratio if p else -math.inf for p in sample.answer.probabilities.values()])
    fits = [softmax([_log(1 - p) * ratio, _log(p) * ratio])[1] for p in levels.values()]
    mass = math.fsum(fits)
    return [value / mass for value in fits]


def loss(given: Sequence[Sequence[float]], right: Sequence[int]) -> float:
    """Mean negative log-probability of the right answers, in nats: lower is better, 0 is certainty that was right."""
    return math.fsum(-_log(each[index]) for each, index in zip(given, right, strict=True)) / len(right)


def error(given: Sequence[Sequence[float]], right: Sequence[int]) -> float:
    """Expected calibration error, 0 to 1: how far the best options' probabilities are from how often they are right.

    In ten bins of equal width, weighted by what lies in them (Guo et al. 2017, equation 3).
    """
    bins: dict[int, list[tuple[float, bool]]] = defaultdict(list)
    for each, index in zip(given, right, strict=True):
        top = max(each)
        bins[min(BINS - 1, int(top * BINS))].append((top, list(each).index(top) == index))
    total = len(right)
    return math.fsum(abs(math.fsum(top - hit for top, hit in some)) for some in bins.values()) / total


def _least(samples: Sequence[Sample]) -> float:
    """The temperature with the least loss: a coarse walk over its logarithm, then golden-section search."""
    right = [sample.right for sample in samples]

    def at(x: float) -> float:
        return loss([tempered(sample, math.exp(x)) for sample in samples], right)

    low, high = math.log(COLDEST), math.log(HOTTEST)
    step = (high - low) / 24
    best = min((low + step * number for number in range(25)), key=at)
    low, high = max(low, best - step), min(high, best + step)
    golden = (math.sqrt(5) - 1) / 2
    while high - low > 1e-3:
        left, right_ = high - golden * (high - low), low + golden * (high - low)
        low, high = (low, right_) if at(left) <= at(right_) else (left, high)
    return math.exp((low + high) / 2)


def _log(p: float) -> float:
    return math.log(max(p, FLOOR))
