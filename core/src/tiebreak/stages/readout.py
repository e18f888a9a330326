"""`Readout`: how evidence at a slot becomes an answer."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

import attrs

from tiebreak.answers import Answer
from tiebreak.engine import EvidenceKind
from tiebreak.errors import BadReply
from tiebreak.evidence import Distribution, Evidence, TokenScores
from tiebreak.plan import Plan
from tiebreak.questions import Question

__all__ = ["DistributionReadout", "LettersReadout", "Reading", "Readout", "softmax"]

THINKING = ("<think", "<|channel", "<seed:think", "[THINK", "<reasoning")


@attrs.frozen(kw_only=True)
class Reading:
    """How a session wants evidence read.

    Attributes:
        temperature: divisor of the log-probabilities per question kind; 1 changes nothing.
        calibrated: question kind -> where its temperature comes from; a kind that nobody fitted is missing.
        tolerance: how far the engine's repeats may differ; answers closer than twice that are near ties.
        min_coverage: below this mass on the labels an answer carries a warning, or in `strict` is refused.
        strict: refuse bounds and low coverage instead of marking them.
    """

    temperature: Mapping[str, float] = attrs.field(factory=dict)
    calibrated: Mapping[str, str] = attrs.field(factory=dict)
    tolerance: float = 0.0
    min_coverage: float = 0.02
    strict: bool = False


class Readout(ABC):
    """Turns the evidence of a plan into one answer per question.

    Attributes:
        name: as the user asks for it and as the receipt shows it.
        evidence: the kind of evidence that it reads.
    """

    name: str
    evidence: EvidenceKind

    @abstractmethod
    def probabilities(self, evidence: Evidence, temperature: float) -> tuple[float, ...]:
        """Probabilities of one row's labels: non-negative, summing to 1.

        Raises:
            BadReply: the evidence is not a distribution, whatever was done to it.
        """

    def read(self, plan: Plan, evidence: Sequence[Evidence], reading: Reading) -> dict[str, Answer]:
        """One answer per question, in the order asked.

        Args:
            plan: what was asked.
            evidence: one item per row of the plan.
            reading: temperature, tolerance and strictness.

        Raises:
            BadReply: evidence is missing, malformed, or in strict mode not good enough.
        """
        if len(evidence) != len(plan.rows):
            raise BadReply(f"{len(evidence)} pieces of evidence for {len(plan.rows)} rows.")
        answers = {}
        for name, indices in plan.by_question().items():
            found = [(plan.rows[i].labels, evidence[i]) for i in indices]
            answers[name] = self._answer(name, plan.request.questions[name], found, reading)
        return answers

    def _answer(
        self,
        name: str,
        question: Question,
        found: Sequence[tuple[Sequence[str], Evidence]],
        reading: Reading,
    ) -> Answer:
        for labels, item in found:
            _check(name, labels, item, reading)
        temperature = reading.temperature.get(question.kind, 1.0)
        rows = [self.probabilities(item, temperature) for _, item in found]
        native: dict[str, object] = {}
        for _, item in found:
            if isinstance(item, Distribution):
                native.update(item.native)
        if len(rows) == 1 and len(rows[0]) == len(question.options):
            probabilities = rows[0]
        else:
            # One yes/no row per level: how well each fits, shared out over the levels.
            fit = [row[1] for row in rows]
            mass = math.fsum(fit)
            if mass <= 0:
                raise BadReply(f"Question {name!r}: no level fits at all.")
            probabilities = tuple(value / mass for value in fit)
            native |= {"fit": dict(zip(question.names, fit, strict=True)), "fit_mass": mass}
        names = question.names
        ranked = sorted(probabilities, reverse=True)
        best = probabilities.index(ranked[0])
        coverages = [item.coverage for _, item in found if isinstance(item, TokenScores)]
        return Answer(
            kind=question.kind,
            value=bool(best) if question.kind == "yes_no" else names[best],
            probabilities=dict(zip(names, probabilities, strict=True)),
            coverage=min(coverages) if coverages else None,
            approximate=_approximate(question, found),
            calibrated=reading.calibrated.get(question.kind),
            near_tie=ranked[0] - ranked[1] <= 2 * reading.tolerance,
            native=native,
        )


class LettersReadout(Readout):
    """Softmax over the labels' log-probabilities, divided by the temperature.

    The softmax of log-probabilities equals that of logits, because they differ by one constant.
    """

    name = "letters"
    evidence = "tokens"

    def probabilities(self, evidence: Evidence, temperature: float) -> tuple[float, ...]:
        """See `Readout.probabilities`."""
        if not isinstance(evidence, TokenScores):
            raise BadReply("The engine returned a finished distribution where token scores were expected.")
        return softmax(evidence.logprobs, temperature)


class DistributionReadout(Readout):
    """The engine's own probabilities, checked and renormalised over the options."""

    name = "distribution"
    evidence = "distribution"

    def probabilities(self, evidence: Evidence, temperature: float) -> tuple[float, ...]:
        """See `Readout.probabilities`."""
        if not isinstance(evidence, Distribution):
            raise BadReply("The engine returned token scores where a finished distribution was expected.")
        given = evidence.probabilities
        for value in given:
            if not math.isfinite(value) or not 0 <= value <= 1:
                raise BadReply(f"{value!r} is not a probability.")
        total = math.fsum(given)
        if total <= 0:
            raise BadReply("All probabilities are zero.")
        slack = len(given) * evidence.rounding + 1e-4
        if abs(total - 1) > slack:
            raise BadReply(f"The probabilities sum to {total:.4f}; rounding explains at most {slack:.4f}.")
        if temperature == 1:
            return tuple(value / total for value in given)
        return softmax([math.log(value) if value else -math.inf for value in given], temperature)


def softmax(scores: Sequence[float], temperature: float = 1.0) -> tuple[float, ...]:
    """exp(score / temperature), normalised; shifted by the maximum so that no score overflows.

    Raises:
        BadReply: a score is NaN or +inf, or all are -inf.
    """
    top = max(scores)
    weights = [math.exp((score - top) / temperature) for score in scores] if math.isfinite(top) else [math.nan]
    total = math.fsum(weights)
    if math.isnan(total):
        raise BadReply(f"Scores {list(scores)!r} make no distribution.")
    return tuple([weight / total for weight in weights])


def _check(name: str, labels: Sequence[str], item: Evidence, reading: Reading) -> None:
    count = len(item.logprobs if isinstance(item, TokenScores) else item.probabilities)
    if count != len(labels):
        raise BadReply(f"Question {name!r}: {count} values for {len(labels)} labels.")
    if not isinstance(item, TokenScores):
        return
    if item.top is not None and item.top.strip().startswith(THINKING):
        raise BadReply(
            f"Question {name!r}: the model wants to think first (its most probable token is {item.top!r}).",
            remedy="Thinking is not disabled: use a layout that closes the thinking block, or another model.",
        )
    if not reading.strict:
        return
    if item.bounds:
        missing = ", ".join(labels[i] for i in sorted(item.bounds))
        raise BadReply(
            f"Question {name!r}: the engine did not report label {missing}.",
            remedy="Raise top_n, or drop strict to get upper bounds.",
        )
    if item.coverage < reading.min_coverage:
        raise BadReply(
            f"Question {name!r}: the labels hold {item.coverage:.2%} of the mass, "
            f"strict wants at least {reading.min_coverage:.2%}.",
            remedy="The model does not answer in this layout; try another layout or model.",
        )


def _approximate(question: Question, found: Sequence[tuple[Sequence[str], Evidence]]) -> str | None:
    for labels, item in found:
        if isinstance(item, Distribution):
            if item.approximate:
                return item.approximate
        elif item.bounds:
            names = question.names if len(labels) == len(question.options) else ("no", "yes")
            return "upper bound for " + ", ".join(repr(names[i]) for i in sorted(item.bounds))
    return None
