"""Wire engines that are wrong in one way each: what they make of a bad reply, and what they keep."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping
from typing import Any

import pytest

from tiebreak.engine import Call, Reply
from tiebreak.errors import EngineError, TiebreakError
from tiebreak.evidence import Outcome, TokenScores
from tiebreak.plan import Plan
from tiebreak_conformance import Target, run
from tiebreak_conformance.reference import ReferencePlugin, evidence_of
from tiebreak_conformance.reference_wire import WIRE_INFO, ReferenceService, ReferenceWire
from tiebreak_conformance.subject import CANARY

Exchange = Generator[Call, Reply, Outcome]


class AllAlike(ReferenceWire):
    """Every refusal is the same error."""

    def refused(self, reply: Reply) -> TiebreakError:
        if reply.status == 413:
            return super().refused(reply)
        return EngineError(f"HTTP {reply.status}", remedy="Look.", engine=self.info.name)


class QuotesItsHeaders(ReferenceWire):
    """Says with which headers it was refused."""

    def refused(self, reply: Reply) -> TiebreakError:
        error = super().refused(reply)
        error.message += f" Sent: {dict(self.headers)}"
        return error


def patched(engine: ReferenceWire, plan: Plan, patch: Callable[[Any, Plan], Any]) -> Exchange:
    """The exchange, with the reply's JSON patched before it is read."""
    steps = ReferenceWire.exchange(engine, plan)
    reply = yield next(steps)
    if reply.status == 200:
        try:
            body = json.dumps(patch(json.loads(reply.body), plan)).encode()
            reply = Reply(status=200, headers=reply.headers, body=body, wall_ms=reply.wall_ms)
        except (ValueError, TypeError, KeyError, AttributeError):
            pass  # not of a shape that this mutant patches
    try:
        steps.send(reply)
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]
    raise AssertionError("one call was expected")


class NullIsZero(ReferenceWire):
    """Takes what is no number for nothing (field case F62)."""

    def exchange(self, plan: Plan) -> Exchange:
        def patch(body: Any, plan: Plan) -> Any:
            rows = [[x if type(x) in (int, float) else 0.0 for x in row] for row in body["rows"]]
            return {**body, "rows": rows}

        return patched(self, plan, patch)


class FillsUp(ReferenceWire):
    """Takes a label that is missing for an unlikely one (field case F10)."""

    def exchange(self, plan: Plan) -> Exchange:
        def patch(body: Any, plan: Plan) -> Any:
            rows = [[*row, *([-30.0] * len(plan.rows[0].labels))][: len(plan.rows[0].labels)] for row in body["rows"]]
            return {**body, "rows": rows}

        return patched(self, plan, patch)


class UniformForRubbish(ReferenceWire):
    """Answers with equal probabilities where there is nothing to read (field case F1)."""

    def exchange(self, plan: Plan) -> Exchange:
        reply = yield next(ReferenceWire.exchange(self, plan))
        try:
            json.loads(reply.body)["rows"][0][0]
        except (ValueError, TypeError, KeyError, IndexError):
            if reply.status == 200:
                rows = tuple(TokenScores(logprobs=(-3.0,) * len(row.labels)) for row in plan.rows)
                return Outcome(evidence=rows)
        steps = ReferenceWire.exchange(self, plan)
        next(steps)
        try:
            steps.send(reply)
        except StopIteration as done:
            return done.value  # type: ignore[no-any-return]
        raise AssertionError("one call was expected")


class RemembersFailure(ReferenceWire):
    """Gives up for good after the first failure."""

    broken = False

    def exchange(self, plan: Plan) -> Exchange:
        if self.broken:
            raise EngineError("It failed before.", remedy="Start again.", engine=self.info.name)
        return (yield from super().exchange(plan))

    def refused(self, reply: Reply) -> TiebreakError:
        self.broken = reply.status == 500
        return super().refused(reply)


class Late(ReferenceService):
    """A server that answers each question with the reply to the one before."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: Any = None

    def handle_request(self, request: Any) -> Any:
        response = super().handle_request(request)
        if request.url.path != "/evidence" or response.status_code != 200:
            return response
        before, self.kept = self.kept, response
        same = before is not None and [len(r) for r in before.json()["rows"]] == [
            len(r) for r in response.json()["rows"]
        ]
        return before if same else response


WIRES: Mapping[type[ReferenceWire], set[str]] = {
    AllAlike: {"TYPE-01"},
    QuotesItsHeaders: {"ERRO-05"},
    NullIsZero: {"TYPE-05"},
    FillsUp: {"CONC-07", "READ-02", "READ-03", "READ-07", "READ-09", "READ-10", "SPEC-14", "TYPE-06"},
    UniformForRubbish: {"TYPE-02", "TYPE-06"},
    RemembersFailure: {"TYPE-07"},
}


def target_of(kind: type[ReferenceWire], mount: Callable[[], Any] = ReferenceService) -> Target:
    return Target(
        engine=WIRE_INFO.name,
        plugin=ReferencePlugin(kind, WIRE_INFO),
        options={"api_key": CANARY},
        mount=mount,
        oracle=evidence_of,
        rounds=2,
    )


def tripped(target: Target) -> set[str]:
    return {id for id, result in run(target).results.items() if result.outcome == "failed"}


@pytest.mark.parametrize("kind", WIRES, ids=lambda kind: kind.__name__)
def test_a_wire_mutant_trips_its_own_checks(kind: type[ReferenceWire]) -> None:
    assert tripped(target_of(kind)) == WIRES[kind]


def test_a_server_that_is_one_reply_late_is_found_out() -> None:
    assert {"READ-17", "CACH-03", "CONC-01", "CONC-02"} <= tripped(target_of(ReferenceWire, Late))
