"""Decisions from language models: one forward pass, probabilities over your options, any engine.

    import tiebreak

    tiebreak.choose("The printer is on fire", ["facilities", "sales", "legal"]).value

Names are loaded when they are first used, so that importing the package costs little and pulls in neither an HTTP
client nor a validation library.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tiebreak.answers import Answer, CacheReport, Decision, Receipt, StageReport, Timings
    from tiebreak.calibration import Labelled, calibrate
    from tiebreak.cascade import Cascade, Gate
    from tiebreak.decider import Decider
    from tiebreak.errors import (
        AuthError,
        BadReply,
        ContextOverflow,
        EngineDied,
        EngineError,
        EngineHung,
        EngineOverloaded,
        EngineStartError,
        EngineUnavailable,
        InvalidRequest,
        MemoryRefused,
        ModelUnavailable,
        QuotaError,
        RateLimited,
        TiebreakError,
        Unsupported,
    )
    from tiebreak.hookspecs import hookimpl
    from tiebreak.questions import Option, Question, Request, choice, score, yes_no
    from tiebreak.registry import Registry
    from tiebreak.session import DecisionWarning
    from tiebreak.shared import (
        acheck,
        achoose,
        aclassify,
        adecide,
        aextract,
        arate,
        check,
        choose,
        classify,
        decide,
        default,
        extract,
        memory_limits,
        rate,
        shutdown,
        use,
    )
    from tiebreak.typed import Describe, Form, Judged, JudgedField, Levels, decision

__version__ = "0.1.0"

_HOMES = {
    "answers": ("Answer", "CacheReport", "Decision", "Receipt", "StageReport", "Timings"),
    "calibration": ("Labelled", "calibrate"),
    "cascade": ("Cascade", "Gate"),
    "decider": ("Decider",),
    "errors": (
        "AuthError",
        "BadReply",
        "ContextOverflow",
        "EngineDied",
        "EngineError",
        "EngineHung",
        "EngineOverloaded",
        "EngineStartError",
        "EngineUnavailable",
        "InvalidRequest",
        "MemoryRefused",
        "ModelUnavailable",
        "QuotaError",
        "RateLimited",
        "TiebreakError",
        "Unsupported",
    ),
    "hookspecs": ("hookimpl",),
    "questions": ("Option", "Question", "Request", "choice", "score", "yes_no"),
    "registry": ("Registry",),
    "session": ("DecisionWarning",),
    "shared": (
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
    ),
    "typed": ("Describe", "Form", "Judged", "JudgedField", "Levels", "decision"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Answer",
    "AuthError",
    "BadReply",
    "CacheReport",
    "Cascade",
    "ContextOverflow",
    "Decider",
    "Decision",
    "DecisionWarning",
    "Describe",
    "EngineDied",
    "EngineError",
    "EngineHung",
    "EngineOverloaded",
    "EngineStartError",
    "EngineUnavailable",
    "Form",
    "Gate",
    "InvalidRequest",
    "Judged",
    "JudgedField",
    "Labelled",
    "Levels",
    "MemoryRefused",
    "ModelUnavailable",
    "Option",
    "Question",
    "QuotaError",
    "RateLimited",
    "Receipt",
    "Registry",
    "Request",
    "StageReport",
    "TiebreakError",
    "Timings",
    "Unsupported",
    "acheck",
    "achoose",
    "aclassify",
    "adecide",
    "aextract",
    "arate",
    "calibrate",
    "check",
    "choice",
    "choose",
    "classify",
    "decide",
    "decision",
    "default",
    "extract",
    "hookimpl",
    "memory_limits",
    "rate",
    "score",
    "shutdown",
    "use",
    "yes_no",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'tiebreak' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"tiebreak.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
