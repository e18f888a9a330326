"""The hooks of the `slot` plugin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tiebreak import hookimpl
from tiebreak.engine import Engine, EngineInfo
from tiebreak_slot.info import INFO

if TYPE_CHECKING:
    from tiebreak.doctor import Finding
    from tiebreak.models import Model


@hookimpl
def tiebreak_engine() -> EngineInfo:
    """Describe the engine."""
    return INFO


@hookimpl
def tiebreak_load(model: Model | None, options: Mapping[str, Any]) -> Engine:
    """Make the engine object."""
    from tiebreak_slot.engine import SlotEngine

    return SlotEngine(model, options)


@hookimpl
def tiebreak_doctor() -> Sequence[Finding]:
    """Look at the installation."""
    from tiebreak_slot.program import findings

    return findings()
