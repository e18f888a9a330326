"""What comes back: answers with probabilities, and an account of how they were reached."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import attrs

from tiebreak.questions import Kind

__all__ = ["Answer", "CacheReport", "Decision", "Receipt", "StageReport", "Timings"]

CacheScope = Literal["schema", "state", "none"]
CacheStatus = Literal["hit", "miss", "fallback", "off", "unknown"]


@attrs.frozen(kw_only=True)
class Answer:
    """One answer: a value that is always one of the options, and the probability of each.

    Attributes:
        kind: `choice`, `yes_no` or `score`.
        value: the most probable option: its name, or True/False for yes/no. On a tie the first listed.
        probabilities: option name -> probability, in the order asked; they sum to 1 within float error.
        coverage: mass that the model put on the allowed labels before it was renormalised over them
            (0 to 1; the lowest of the rows where a question took several), None where the engine hides it.
        approximate: why the probabilities are not exactly the model's, or None.
        calibrated: where the temperature comes from that was fitted to make them honest, or None.
        near_tie: the two best options are closer than the engine repeats itself.
        native: numbers that the engine or layout reported in its own words, under its own names.
    """

    kind: Kind
    value: str | bool
    probabilities: Mapping[str, float]
    coverage: float | None = None
    approximate: str | None = None
    calibrated: str | None = None
    near_tie: bool = False
    native: Mapping[str, Any] = attrs.field(factory=dict)

    @property
    def probability(self) -> float:
        """The probability of `value`."""
        name = ("no", "yes")[self.value] if isinstance(self.value, bool) else self.value
        return self.probabilities[name]

    @property
    def margin(self) -> float:
        """How far the best option is ahead of the second: 0 is a tie, 1 is certain."""
        first, second = sorted(self.probabilities.values(), reverse=True)[:2]
        return first - second

    @property
    def expected(self) -> float | None:
        """For a score, the mean level index (0 is the first level); None for other kinds."""
        if self.kind != "score":
            return None
        return sum(index * p for index, p in enumerate(self.probabilities.values()))

    def as_dict(self) -> dict[str, Any]:
        """The answer as JSON-able values, as `tiebreak --json` prints it."""
        out: dict[str, Any] = {
            "kind": self.kind,
            "value": self.value,
            "probabilities": dict(self.probabilities),
            "probability": self.probability,
            "margin": self.margin,
            "coverage": self.coverage,
            "approximate": self.approximate,
            "calibrated": self.calibrated,
            "near_tie": self.near_tie,
        }
        if self.kind == "score":
            out["expected"] = self.expected
        if self.native:
            out["native"] = dict(self.native)
        return out


@attrs.frozen(kw_only=True)
class Timings:
    """Where the time of one request went, in milliseconds; None where nobody can say.

    Attributes:
        queue: waiting on our side for a free place at the engine.
        layout: checking the request and laying out the prompt.
        transport: wall clock of the exchange minus what the engine says it computed.
        prefill: prompt evaluation, as the engine reports it.
        restore: putting a checkpoint back, as the engine reports it.
        readout: turning evidence into answers.
        total: from the call to the decision.
        engine: the engine's own phases, untouched, under its own names.
    """

    queue: float = 0.0
    layout: float = 0.0
    transport: float | None = None
    prefill: float | None = None
    restore: float | None = None
    readout: float = 0.0
    total: float = 0.0
    engine: Mapping[str, float] = attrs.field(factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """The figures as JSON-able values."""
        return {**_values(self), "engine": dict(self.engine)}


@attrs.frozen(kw_only=True)
class CacheReport:
    """What was reused, as far as it was observed: a hit that nobody saw is never reported.

    Attributes:
        scope: what the reusable prefix holds: the questions (`schema`), the `state`, or `none`.
        status: `hit` part of the prompt was restored; `miss` nothing was; `fallback` a stored state
            could not be used; `off` reuse is switched off; `unknown` the engine does not say.
        reused_tokens: prompt tokens that were not computed again, None where unknown.
        checkpoint_bytes: size of the stored state that was used or made, None where unknown.
        entries, resident_bytes: what the cache holds now, None where unknown.
        evictions: entries dropped for this request, None where unknown.
    """

    scope: CacheScope = "none"
    status: CacheStatus = "unknown"
    reused_tokens: int | None = None
    checkpoint_bytes: int | None = None
    entries: int | None = None
    resident_bytes: int | None = None
    evictions: int | None = None

    def as_dict(self) -> dict[str, Any]:
        """The report as JSON-able values."""
        return _values(self)


@attrs.frozen(kw_only=True)
class Receipt:
    """Who answered and how: everything that can change an answer is named here.

    Attributes:
        engine, engine_version: the engine's name and the build that ran.
        plugin: the distribution and version that drove it.
        model: the model as it was asked for; `model_sha256` the file, where there is one.
        resolved_model: what a hosted engine says really answered.
        layout, readout, cache: the names of the stages.
        temperature: the divisor of the log-probabilities, per question kind.
        fingerprint: a short hash of all of the above: two receipts with the same fingerprint
            were made in the same way.
        prompt_tokens: length of the prompt over all rows, cached or not, where known.
        request_id: the engine's own id for the exchange, where it gives one.
        warnings: what the caller should know about this decision.
    """

    engine: str
    engine_version: str = ""
    plugin: str = ""
    model: str = ""
    model_sha256: str | None = None
    resolved_model: str | None = None
    layout: str = ""
    readout: str = ""
    cache: str = ""
    temperature: Mapping[str, float] = attrs.field(factory=dict)
    fingerprint: str = ""
    prompt_tokens: int | None = None
    request_id: str | None = None
    usage: Mapping[str, Any] = attrs.field(factory=dict)
    warnings: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """The receipt as JSON-able values."""
        return {
            **_values(self),
            "temperature": dict(self.temperature),
            "usage": dict(self.usage),
            "warnings": list(self.warnings),
        }


@attrs.frozen(kw_only=True)
class StageReport:
    """What one stage of a cascade was asked, and what that took.

    Attributes:
        asked: names of the questions that it was asked.
        settled: those whose answers were taken from it.
        timings, cache, receipt: as in the decision that it gave.
    """

    asked: tuple[str, ...]
    settled: tuple[str, ...]
    timings: Timings
    cache: CacheReport
    receipt: Receipt

    def as_dict(self) -> dict[str, Any]:
        """The report as JSON-able values."""
        return {
            "asked": list(self.asked),
            "settled": list(self.settled),
            "timings_ms": self.timings.as_dict(),
            "cache": self.cache.as_dict(),
            "receipt": self.receipt.as_dict(),
        }


@attrs.frozen(kw_only=True)
class Decision:
    """The answers to one request, with timings, cache report and receipt.

    Attributes:
        answers: question name -> answer, in the order asked.
        timings, cache, receipt: where the time went, what was reused, and who answered.
        stages: one report for each stage that a cascade asked; empty where one engine answered alone.
    """

    answers: Mapping[str, Answer]
    timings: Timings
    cache: CacheReport
    receipt: Receipt
    stages: tuple[StageReport, ...] = ()

    def __getitem__(self, name: str) -> Answer:
        return self.answers[name]

    def as_dict(self) -> dict[str, Any]:
        """The decision as JSON-able values, as `tiebreak --json` prints it."""
        out: dict[str, Any] = {
            "answers": {name: answer.as_dict() for name, answer in self.answers.items()},
            "timings_ms": self.timings.as_dict(),
            "cache": self.cache.as_dict(),
            "receipt": self.receipt.as_dict(),
        }
        if self.stages:
            out["stages"] = [stage.as_dict() for stage in self.stages]
        return out


def _values(record: Any) -> dict[str, Any]:
    """The attributes of a record by name, themselves as they are; `attrs.asdict` takes several times as long."""
    return {name: getattr(record, name) for name in _NAMES[type(record)]}


_NAMES = {kind: tuple(field.name for field in attrs.fields(kind)) for kind in (Timings, CacheReport, Receipt)}
