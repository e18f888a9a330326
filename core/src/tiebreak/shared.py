"""The Decider that the module-level functions share, made when it is first needed."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

import attrs

from tiebreak.answers import Answer, Decision
from tiebreak.asking import Labels
from tiebreak.decider import Decider
from tiebreak.errors import InvalidRequest
from tiebreak.names import unknown
from tiebreak.pool import PROCESS
from tiebreak.questions import JSON, Question

if TYPE_CHECKING:
    from tiebreak.typed.judged import Judged

__all__ = [
    "acheck",
    "achoose",
    "aclassify",
    "adecide",
    "aextract",
    "arate",
    "check",
    "choose",
    "classify",
    "decide",
    "default",
    "extract",
    "memory_limits",
    "rate",
    "shutdown",
    "use",
]

T = TypeVar("T")


class _Shared:
    """What module-level functions share."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.decider: Decider | None = None


_shared = _Shared()


def memory_limits(**limits: Any) -> None:
    """Set what the memory guard allows in this process; arguments as for `tiebreak.memory.MemoryLimits`.

    Limits that are not named get their defaults back. Engines that run are held to the new ones, too.

    Raises:
        InvalidRequest: there is no such limit, or its value cannot be right.
    """
    from tiebreak.memory import MemoryLimits

    known = {field.name for field in attrs.fields(MemoryLimits)}
    for name in limits:
        if name not in known:
            raise InvalidRequest(unknown("memory limit", name, known))
    PROCESS.pool().guard.limits = MemoryLimits(**limits)


def use(engine: str | None = None, model: str | None = None, **options: Any) -> Decider:
    """Make the module-level functions ask this engine and model; arguments as for `Decider`.

    Returns:
        the Decider that they now share.
    """
    decider = Decider(engine, model, **options)
    with _shared.lock:
        before, _shared.decider = _shared.decider, decider
    if before is not None:
        before.close()
    return decider


def default() -> Decider:
    """The Decider that the module-level functions share."""
    with _shared.lock:
        if _shared.decider is None:
            _shared.decider = Decider()
        return _shared.decider


def shutdown() -> None:
    """Stop every engine that this process started and forget the default Decider. Safe to call twice."""
    with _shared.lock:
        decider, _shared.decider = _shared.decider, None
    if decider is not None:
        decider.close()
    PROCESS.close()


def decide(state: JSON, questions: Mapping[str, Question]) -> Decision:
    """`Decider.decide` on the default Decider."""
    return default().decide(state, questions)


async def adecide(state: JSON, questions: Mapping[str, Question]) -> Decision:
    """`Decider.adecide` on the default Decider."""
    return await default().adecide(state, questions)


def choose(state: JSON, options: Iterable[str] | Mapping[str, str | None], question: str | None = None) -> Answer:
    """`Decider.choose` on the default Decider."""
    return default().choose(state, options, question)


async def achoose(
    state: JSON, options: Iterable[str] | Mapping[str, str | None], question: str | None = None
) -> Answer:
    """`Decider.achoose` on the default Decider."""
    return await default().achoose(state, options, question)


def check(state: JSON, question: str, *, yes: str | None = None, no: str | None = None) -> Answer:
    """`Decider.check` on the default Decider."""
    return default().check(state, question, yes=yes, no=no)


async def acheck(state: JSON, question: str, *, yes: str | None = None, no: str | None = None) -> Answer:
    """`Decider.acheck` on the default Decider."""
    return await default().acheck(state, question, yes=yes, no=no)


def rate(state: JSON, question: str | None, levels: Iterable[str] | Mapping[str, str | None]) -> Answer:
    """`Decider.rate` on the default Decider."""
    return default().rate(state, question, levels)


async def arate(state: JSON, question: str | None, levels: Iterable[str] | Mapping[str, str | None]) -> Answer:
    """`Decider.arate` on the default Decider."""
    return await default().arate(state, question, levels)


@overload
def extract(model: type[T], state: JSON, *, probabilities: Literal[False] = ...) -> T: ...
@overload
def extract(model: type[T], state: JSON, *, probabilities: Literal[True]) -> Judged[T]: ...
def extract(model: type[T], state: JSON, *, probabilities: bool = False) -> T | Judged[T]:
    """`Decider.extract` on the default Decider."""
    if probabilities:
        return default().extract(model, state, probabilities=True)
    return default().extract(model, state)


@overload
async def aextract(model: type[T], state: JSON, *, probabilities: Literal[False] = ...) -> T: ...
@overload
async def aextract(model: type[T], state: JSON, *, probabilities: Literal[True]) -> Judged[T]: ...
async def aextract(model: type[T], state: JSON, *, probabilities: bool = False) -> T | Judged[T]:
    """`Decider.aextract` on the default Decider."""
    if probabilities:
        return await default().aextract(model, state, probabilities=True)
    return await default().aextract(model, state)


@overload
def classify(
    state: JSON, labels: Labels[T], question: str | None = ..., *, probabilities: Literal[False] = ...
) -> T: ...
@overload
def classify(
    state: JSON, labels: Labels[T], question: str | None = ..., *, probabilities: Literal[True]
) -> Judged[T]: ...
def classify(
    state: JSON, labels: Labels[T], question: str | None = None, *, probabilities: bool = False
) -> T | Judged[T]:
    """`Decider.classify` on the default Decider."""
    if probabilities:
        return default().classify(state, labels, question, probabilities=True)
    return default().classify(state, labels, question)


@overload
async def aclassify(
    state: JSON, labels: Labels[T], question: str | None = ..., *, probabilities: Literal[False] = ...
) -> T: ...
@overload
async def aclassify(
    state: JSON, labels: Labels[T], question: str | None = ..., *, probabilities: Literal[True]
) -> Judged[T]: ...
async def aclassify(
    state: JSON, labels: Labels[T], question: str | None = None, *, probabilities: bool = False
) -> T | Judged[T]:
    """`Decider.aclassify` on the default Decider."""
    if probabilities:
        return await default().aclassify(state, labels, question, probabilities=True)
    return await default().aclassify(state, labels, question)
