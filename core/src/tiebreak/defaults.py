"""The core's own answers to the stage hooks: the layouts, readouts and cache policies that engines share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tiebreak.hookspecs import hookimpl
from tiebreak.stages.cache import CachePolicy, NoCache, PrefixCache
from tiebreak.stages.chat import ChatLayout
from tiebreak.stages.decider import DeciderLayout, SchemaFirstLayout
from tiebreak.stages.layout import Layout
from tiebreak.stages.readout import DistributionReadout, LettersReadout, Readout

if TYPE_CHECKING:
    from tiebreak.models import ModelInfo

__all__ = [
    "tiebreak_cache",
    "tiebreak_layout",
    "tiebreak_models",
    "tiebreak_readout",
]

LAYOUTS: dict[str, type[Layout]] = {kind.name: kind for kind in (DeciderLayout, SchemaFirstLayout, ChatLayout)}
READOUTS: dict[str, type[Readout]] = {kind.name: kind for kind in (LettersReadout, DistributionReadout)}
CACHES: dict[str, type[CachePolicy]] = {kind.name: kind for kind in (PrefixCache, NoCache)}


@hookimpl
def tiebreak_layout(name: str) -> Layout | None:
    """The shared layout called `name`."""
    kind = LAYOUTS.get(name)
    return kind() if kind else None


@hookimpl
def tiebreak_readout(name: str) -> Readout | None:
    """The shared readout called `name`."""
    kind = READOUTS.get(name)
    return kind() if kind else None


@hookimpl
def tiebreak_cache(name: str) -> CachePolicy | None:
    """The shared cache policy called `name`."""
    kind = CACHES.get(name)
    return kind() if kind else None


@hookimpl
def tiebreak_models() -> Sequence[ModelInfo]:
    """The models that the core registers itself."""
    from tiebreak.models import REGISTERED

    return tuple(REGISTERED.values())
