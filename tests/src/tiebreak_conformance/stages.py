"""`stage_target`: one stage alone, held to its topic on the reference engine.

class TestCompact(LayoutChecks):
    target = stage_target(layout=CompactLayout())
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from tiebreak.engine import EngineInfo
from tiebreak.evidence import Distribution, TokenScores
from tiebreak.plan import Row
from tiebreak.stages.cache import CachePolicy
from tiebreak.stages.decider import DeciderLayout
from tiebreak.stages.layout import Layout
from tiebreak.stages.readout import DistributionReadout, LettersReadout, Readout, softmax
from tiebreak_conformance.reference import INFO, ReferenceEngine, ReferencePlugin
from tiebreak_conformance.target import Target

__all__ = ["stage_target"]


def stage_target(
    *, layout: Layout | None = None, readout: Readout | None = None, cache: CachePolicy | None = None
) -> Target:
    """A target that is the reference engine with these stages.

    Args:
        layout: held to `LayoutChecks`.
        readout: held to `ReadoutChecks`.
        cache: held to `CacheChecks`.

    Returns:
        a target for a test class of those topics. The engine returns the kind of evidence that the stages want.
    """
    kinds = [stage.evidence for stage in (layout, readout) if stage is not None]
    finished = "distribution" in kinds
    usual: dict[str, Any] = {
        "layout": _FinishedLayout() if finished else DeciderLayout(),
        "readout": DistributionReadout() if finished else LettersReadout(),
    }
    given = {"layout": layout, "readout": readout, "cache": cache}
    stages = usual | {name: stage for name, stage in given.items() if stage is not None}
    plugin = ReferencePlugin(_FinishedReference, FINISHED_INFO) if finished else ReferencePlugin()
    return Target(engine=INFO.name, plugin=plugin, stages=stages)


FINISHED_INFO: EngineInfo = attrs.evolve(
    INFO,
    capabilities=attrs.evolve(INFO.capabilities, evidence="distribution", coverage=False),
    readouts=("distribution",),
)


class _FinishedReference(ReferenceEngine):
    """The reference engine, showing nothing but finished probabilities."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        super().__init__(options, FINISHED_INFO)

    def judge(self, state: Any, row: Row) -> TokenScores | Distribution:
        found = super().judge(state, row)
        assert isinstance(found, TokenScores)
        return Distribution(probabilities=softmax(found.logprobs))


class _FinishedLayout(DeciderLayout):
    """The decider layout for engines that return finished probabilities."""

    evidence = "distribution"
