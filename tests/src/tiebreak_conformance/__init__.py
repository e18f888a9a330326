"""Checks that hold a tiebreak engine to what it says: probabilities, caches, errors, threads, processes.

    class TestSlot(ConformanceSuite):
        target = Target(engine="slot")

Names are loaded when they are first used, because pytest imports this package in every session.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tiebreak_conformance.card import ReportCard
    from tiebreak_conformance.cassette import Cassette, Player, Recorder
    from tiebreak_conformance.claims import Claim, Topic, check
    from tiebreak_conformance.stages import stage_target
    from tiebreak_conformance.suite import ConformanceSuite, run
    from tiebreak_conformance.target import Target
    from tiebreak_conformance.topics.cache import CacheChecks
    from tiebreak_conformance.topics.concurrency import ConcurrencyChecks
    from tiebreak_conformance.topics.errors import ErrorChecks
    from tiebreak_conformance.topics.layout import LayoutChecks
    from tiebreak_conformance.topics.lifecycle import LifecycleChecks
    from tiebreak_conformance.topics.readout import ReadoutChecks
    from tiebreak_conformance.topics.spec import SpecChecks
    from tiebreak_conformance.topics.typed_failures import TypedFailureChecks

__version__ = "0.1.0"

_HOMES = {
    "card": ("ReportCard",),
    "cassette": ("Cassette", "Player", "Recorder"),
    "claims": ("Claim", "Topic", "check"),
    "stages": ("stage_target",),
    "suite": ("ConformanceSuite", "run"),
    "target": ("Target",),
    "topics.cache": ("CacheChecks",),
    "topics.concurrency": ("ConcurrencyChecks",),
    "topics.errors": ("ErrorChecks",),
    "topics.layout": ("LayoutChecks",),
    "topics.lifecycle": ("LifecycleChecks",),
    "topics.readout": ("ReadoutChecks",),
    "topics.spec": ("SpecChecks",),
    "topics.typed_failures": ("TypedFailureChecks",),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "CacheChecks",
    "Cassette",
    "Claim",
    "ConcurrencyChecks",
    "ConformanceSuite",
    "ErrorChecks",
    "LayoutChecks",
    "LifecycleChecks",
    "Player",
    "ReadoutChecks",
    "Recorder",
    "ReportCard",
    "SpecChecks",
    "Target",
    "Topic",
    "TypedFailureChecks",
    "check",
    "run",
    "stage_target",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'tiebreak_conformance' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"tiebreak_conformance.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
