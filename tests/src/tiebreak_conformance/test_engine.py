"""What `pytest --pyargs tiebreak_conformance --engine=NAME` collects."""

from __future__ import annotations

from tiebreak_conformance.suite import ConformanceSuite


class TestEngine(ConformanceSuite):
    """Every check, on the engine of the command line."""
