"""Typed failures: whatever goes wrong on the wire is one of tiebreak's errors, and never an answer."""

from __future__ import annotations

import json
import pickle
from functools import partial
from typing import TYPE_CHECKING, Any

import httpx

from tiebreak.errors import (
    AuthError,
    BadReply,
    ContextOverflow,
    EngineDied,
    EngineError,
    EngineHung,
    EngineOverloaded,
    InvalidRequest,
    QuotaError,
    TiebreakError,
    Unsupported,
)
from tiebreak_conformance.claims import Topic, check
from tiebreak_conformance.faults import Broken, Refusing, Tampered, leaves, replaced
from tiebreak_conformance.samples import state
from tiebreak_conformance.subject import distance, overshoot, refused

if TYPE_CHECKING:
    from tiebreak.decider import Decider
    from tiebreak_conformance.faults import Fault
    from tiebreak_conformance.subject import Subject

__all__ = ["TypedFailureChecks"]

NO_WIRE = "it is not reached over HTTP"
MOST_LEAVES = 40
MEANT = {
    401: (AuthError,),
    402: (QuotaError,),
    403: (AuthError,),
    404: (Unsupported, InvalidRequest),
    429: (EngineOverloaded,),
    503: (EngineOverloaded,),
    500: (EngineError,),
}


class TypedFailureChecks(Topic):
    """Whatever goes wrong on the wire is one of tiebreak's errors, and never an answer."""

    @check(
        "TYPE-01",
        since="0.1",
        claim="HTTP 401, 402, 403, 404, 429, 500 and 503 each are their own kind of error.",
        note="See tiebreak.refusal: call it for every status that is not 200.",
    )
    def test_type_01_statuses(self, subject: Subject) -> str | None:
        if not subject.is_wire:
            return NO_WIRE
        for status, kinds in MEANT.items():
            decider, _ = _armed(subject, partial(Refusing, status=status))
            error = refused(partial(_ask, subject, decider), *kinds)
            assert error.engine == subject.target.engine, f"HTTP {status}: the error does not name the engine"
        return None

    @check(
        "TYPE-02",
        since="0.1",
        claim="A body that is not JSON, cut short, empty or of another shape is BadReply.",
        note="Read bodies through pydantic models; never index into what was not validated.",
    )
    def test_type_02_bodies(self, subject: Subject) -> str | None:
        if not subject.is_wire:
            return NO_WIRE
        for body in (b"", b"<html>busy</html>", b'{"rows": [', b"null", b"[]", b"{}", b"42", b'"text"', b"\xff\xfe"):
            decider, _ = _armed(subject, partial(Refusing, status=200, body=body))
            refused(partial(_ask, subject, decider), BadReply)
        return None

    @check(
        "TYPE-03",
        since="0.1",
        claim="A lost connection is an engine error, not an exception of the HTTP client.",
        note="Let the core's transport make the calls.",
    )
    def test_type_03_lost_connections(self, subject: Subject) -> str | None:
        if not subject.is_wire:
            return NO_WIRE
        for error in (httpx.ConnectError, httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError):
            decider, _ = _armed(subject, partial(Broken, error=error))
            refused(partial(_ask, subject, decider), EngineError, EngineDied)
        return None

    @check(
        "TYPE-04",
        since="0.1",
        claim="A reply that does not come in time is EngineHung.",
        note="Let the core's transport keep the deadline.",
    )
    def test_type_04_no_reply(self, subject: Subject) -> str | None:
        if not subject.is_wire:
            return NO_WIRE
        for error in (httpx.ReadTimeout, httpx.ConnectTimeout):
            decider, _ = _armed(subject, partial(Broken, error=error))
            refused(partial(_ask, subject, decider), EngineHung)
        return None

    @check(
        "TYPE-05",
        since="0.1",
        claim="A value of a reply that turns into null, text or true changes no answer silently.",
        note="Every field that an answer comes from is required and strict in the pydantic model.",
    )
    def test_type_05_tampered_values(self, subject: Subject) -> str | None:
        if not subject.is_wire:
            return NO_WIRE
        decider, fault = subject.through(Tampered)
        decider.start()
        before = _ask(subject, decider)
        fault.armed = True
        body = json.loads(fault.seen[-1][1].content)
        paths = list(leaves(body))
        step = max(1, len(paths) // MOST_LEAVES)
        for path in paths[::step]:
            for new in (None, "text", True):
                fault.body = json.dumps(replaced(body, path, new)).encode()
                try:
                    after = _ask(subject, decider)
                except TiebreakError:
                    continue
                assert after.approximate or distance(before, after) <= subject.tolerance, (
                    f"{_spelt(path)} = {new!r} changed the answer from {before.value!r} to {after.value!r} silently"
                )
        return None

    @check(
        "TYPE-06",
        since="0.1",
        claim="A reply without one of its parts is BadReply, or the answer is as before, or says it is approximate.",
        note="A list that is too short is not filled up, a missing label not taken as zero.",
    )
    def test_type_06_missing_parts(self, subject: Subject) -> str | None:
        if not subject.is_wire:
            return NO_WIRE
        decider, fault = subject.through(Tampered)
        decider.start()
        before = _ask(subject, decider)
        fault.armed = True
        body = json.loads(fault.seen[-1][1].content)
        for path in _parts(body):
            fault.body = json.dumps(_without(body, path)).encode()
            try:
                after = _ask(subject, decider)
            except TiebreakError:
                continue
            assert after.approximate or distance(before, after) <= subject.tolerance, (
                f"without {_spelt(path)} the answer is another"
            )
        return None

    @check(
        "TYPE-07",
        since="0.1",
        claim="After a failure on the wire the next answer is as before.",
        note="An exchange is a generator: keep nothing of a failed one.",
    )
    def test_type_07_recovers(self, subject: Subject) -> str | None:
        if not subject.is_wire:
            return NO_WIRE
        decider, fault = _armed(subject, partial(Refusing, status=500))
        fault.armed = False
        before = _ask(subject, decider)
        fault.armed = True
        refused(lambda: _ask(subject, decider), EngineError)
        fault.armed = False
        subject.same(before, _ask(subject, decider), "after a failure")
        return None

    @check(
        "TYPE-08",
        since="0.1",
        claim="Errors survive pickling: text, engine, remedy and numbers.",
        note="Do not add required arguments to subclasses of TiebreakError.",
    )
    def test_type_08_errors_are_picklable(self, subject: Subject) -> None:
        errors = [refused(lambda: subject.open(no_such_option=1), InvalidRequest)]
        text = overshoot(subject)
        if text:
            errors.append(refused(lambda: subject.ask(text), ContextOverflow, InvalidRequest))
        for error in errors:
            again = pickle.loads(pickle.dumps(error))
            assert (type(again), str(again)) == (type(error), str(error)), f"{error!r} became {again!r}"
            for name in ("engine", "remedy", "tokens", "window"):
                assert getattr(again, name, None) == getattr(error, name, None), f"{name} was lost"


def _armed(subject: Subject, make: Any) -> tuple[Decider, Fault]:
    """A started Decider whose every further request meets a fault."""
    decider, fault = subject.through(make)
    decider.start()
    fault.armed = True
    return decider, fault


def _ask(subject: Subject, decider: Decider) -> Any:
    return subject.ask(state("typed failures"), decider=decider)


def _spelt(path: tuple[Any, ...]) -> str:
    return ".".join(map(str, path)) or "the whole"


def _parts(body: Any) -> list[tuple[Any, ...]]:
    """Paths of list items and object members, the outer ones first, at most `MOST_LEAVES`."""
    found = sorted({path[:n] for path in leaves(body) for n in range(1, len(path) + 1)}, key=lambda p: (len(p), str(p)))
    step = max(1, len(found) // MOST_LEAVES)
    return found[::step]


def _without(body: Any, path: tuple[Any, ...]) -> Any:
    copy = json.loads(json.dumps(body))
    inner = copy
    for key in path[:-1]:
        inner = inner[key]
    del inner[path[-1]]
    return copy
