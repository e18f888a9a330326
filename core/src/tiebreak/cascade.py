"""`Cascade`: a fast engine first, a better one where the answer is unsure; `Gate` says what unsure is."""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Iterable, Mapping, Sequence
from types import TracebackType

import attrs

from tiebreak.answers import Answer, Decision, Receipt, StageReport, Timings
from tiebreak.asking import Asking
from tiebreak.decider import Decider
from tiebreak.errors import InvalidRequest
from tiebreak.questions import JSON, Question, Request

__all__ = ["Cascade", "Gate"]


@attrs.frozen(kw_only=True)
class Gate:
    """What an answer must reach to be believed.

    Args:
        min_probability: least probability of the value, 0 to 1.
        min_margin: least distance from the best option to the second, 0 to 1.

    Raises:
        InvalidRequest: a bound is not a number from 0 to 1.
    """

    min_probability: float = 0.0
    min_margin: float = 0.0

    def __attrs_post_init__(self) -> None:
        for name in ("min_probability", "min_margin"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
                raise InvalidRequest(f"{name} is {value!r}; it is a number from 0 to 1.")

    def passes(self, answer: Answer) -> bool:
        """Whether an answer reaches both bounds."""
        return answer.probability >= self.min_probability and answer.margin >= self.min_margin

    def unsure(self, answers: Mapping[str, Answer]) -> list[str]:
        """The names of the answers that do not pass, in order."""
        return [name for name, answer in answers.items() if not self.passes(answer)]


class Cascade(Asking):
    """Asks one Decider after the other, each only what those before it were unsure about.

    It is asked like a Decider. The last one's answers are taken as they are. A decision's `stages` say what each was
    asked, what it settled and what that took; timings, token counts and warnings of the whole are their sums.

    Args:
        deciders: at least two, the cheapest first. The Cascade closes them with itself.
        gate: when an answer is taken: one for all stages, or one for each but the last.

    Raises:
        InvalidRequest: fewer than two Deciders, or gates that do not fit their number.
    """

    def __init__(self, deciders: Iterable[Decider], gate: Gate | Sequence[Gate]) -> None:
        self.deciders = tuple(deciders)
        if len(self.deciders) < 2:
            raise InvalidRequest(f"{len(self.deciders)} Deciders make no cascade.", remedy="Give at least two.")
        borders = len(self.deciders) - 1
        self.gates = (gate,) * borders if isinstance(gate, Gate) else tuple(gate)
        if len(self.gates) != borders:
            raise InvalidRequest(
                f"{len(self.gates)} gates for {len(self.deciders)} Deciders.",
                remedy=f"Give one for all, or {borders}: the last one's answers are taken as they are.",
            )

    def __repr__(self) -> str:
        return f"Cascade({list(self.deciders)!r})"

    def __enter__(self) -> Cascade:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close every Decider. A second call does nothing."""
        for decider in self.deciders:
            decider.close()

    def decide(self, state: JSON, questions: Mapping[str, Question]) -> Decision:
        """Answer several questions about one state; see `Decider.decide` for arguments and errors."""
        run = self._run(Request.of(state, questions))
        try:
            decider, asked = next(run)
            while True:
                decider, asked = run.send(decider.decide(state, asked))
        except StopIteration as done:
            return _whole(done.value, questions, self.gates)

    async def adecide(self, state: JSON, questions: Mapping[str, Question]) -> Decision:
        """The same from a task; the event loop is never blocked. See `decide`."""
        run = self._run(Request.of(state, questions))
        try:
            decider, asked = next(run)
            while True:
                decider, asked = run.send(await decider.adecide(state, asked))
        except StopIteration as done:
            return _whole(done.value, questions, self.gates)

    def _run(
        self, request: Request
    ) -> Generator[tuple[Decider, Mapping[str, Question]], Decision, list[tuple[Decision, list[str]]]]:
        """Whom to ask what; is sent each decision, and returns them with the names that they settled."""
        left = dict(request.questions)
        found: list[tuple[Decision, list[str]]] = []
        for decider, gate in zip(self.deciders, (*self.gates, Gate()), strict=True):
            decision = yield decider, left
            unsure = gate.unsure(decision.answers)
            found.append((decision, [name for name in left if name not in unsure]))
            left = {name: left[name] for name in unsure}
            if not left:
                break
        return found


def _whole(
    found: Sequence[tuple[Decision, Sequence[str]]], questions: Mapping[str, Question], gates: Sequence[Gate]
) -> Decision:
    """One decision from those of the stages."""
    decisions = [decision for decision, _ in found]
    settled = {name: decision.answers[name] for decision, names in found for name in names}
    return Decision(
        answers={name: settled[name] for name in questions},
        timings=_sum([decision.timings for decision in decisions]),
        cache=decisions[-1].cache,
        receipt=_receipt([decision.receipt for decision in decisions], gates),
        stages=tuple(
            StageReport(
                asked=tuple(decision.answers),
                settled=tuple(names),
                timings=decision.timings,
                cache=decision.cache,
                receipt=decision.receipt,
            )
            for decision, names in found
        ),
    )


def _sum(timings: Sequence[Timings]) -> Timings:
    """The sums; what one stage cannot say, nobody can say of the whole."""

    def add(values: Iterable[float | None]) -> float | None:
        known = list(values)
        return None if None in known else sum(value for value in known if value is not None)

    return Timings(
        queue=sum(each.queue for each in timings),
        layout=sum(each.layout for each in timings),
        transport=add(each.transport for each in timings),
        prefill=add(each.prefill for each in timings),
        restore=add(each.restore for each in timings),
        readout=sum(each.readout for each in timings),
        total=sum(each.total for each in timings),
    )


def _receipt(receipts: Sequence[Receipt], gates: Sequence[Gate]) -> Receipt:
    """Who answered, joined by ` > `; the fingerprint covers every stage that was asked and every gate."""

    def joined(name: str) -> str:
        return " > ".join(getattr(receipt, name) for receipt in receipts)

    tokens = [receipt.prompt_tokens for receipt in receipts]
    parts = ([receipt.fingerprint for receipt in receipts], [attrs.astuple(gate) for gate in gates])
    return Receipt(
        engine=joined("engine"),
        engine_version=joined("engine_version"),
        plugin=joined("plugin"),
        model=joined("model"),
        layout=joined("layout"),
        readout=joined("readout"),
        cache=joined("cache"),
        fingerprint=hashlib.sha256(repr(parts).encode()).hexdigest()[:12],
        prompt_tokens=None if None in tokens else sum(count for count in tokens if count is not None),
        warnings=tuple(warning for receipt in receipts for warning in receipt.warnings),
    )
