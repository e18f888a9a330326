"""`ConformanceSuite`: all topics in one class, and `run`, which runs a suite without pytest."""

from __future__ import annotations

import contextlib

from tiebreak_conformance.card import ReportCard
from tiebreak_conformance.claims import claims_of
from tiebreak_conformance.subject import Subject
from tiebreak_conformance.target import Target
from tiebreak_conformance.topics.cache import CacheChecks
from tiebreak_conformance.topics.concurrency import ConcurrencyChecks
from tiebreak_conformance.topics.errors import ErrorChecks
from tiebreak_conformance.topics.layout import LayoutChecks
from tiebreak_conformance.topics.lifecycle import LifecycleChecks
from tiebreak_conformance.topics.readout import ReadoutChecks
from tiebreak_conformance.topics.spec import SpecChecks
from tiebreak_conformance.topics.typed_failures import TypedFailureChecks

__all__ = ["ConformanceSuite", "run"]


class ConformanceSuite(
    SpecChecks,
    LifecycleChecks,
    LayoutChecks,
    ReadoutChecks,
    CacheChecks,
    ErrorChecks,
    ConcurrencyChecks,
    TypedFailureChecks,
):
    """Every check. A plugin's tests inherit it and set `target`; pytest collects the rest."""


def run(target: Target, suite: type = ConformanceSuite) -> ReportCard:
    """Run every check of a suite on an engine.

    Args:
        target: the engine.
        suite: a topic class or several in one.

    Returns:
        the report card; `ok` says whether the engine conforms.

    Raises:
        TiebreakError: the engine cannot be opened at all.
    """
    with Subject(target) as subject:
        checks = suite()
        for _, method in claims_of(suite).values():
            with contextlib.suppress(AssertionError):  # the subject keeps what failed and why
                getattr(checks, method)(subject)
        return ReportCard.of(subject, suite)
