"""The hooks of the `jev` plugin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tiebreak import hookimpl
from tiebreak.doctor import Finding
from tiebreak.engine import Engine, EngineInfo
from tiebreak.models import Model
from tiebreak_jev.info import INFO
from tiebreak_jev.layout import SystemOneLayout


@hookimpl
def tiebreak_engine() -> EngineInfo:
    """Describe the engine."""
    return INFO


@hookimpl
def tiebreak_load(model: Model | None, options: Mapping[str, object]) -> Engine:
    """Make the engine object."""
    from tiebreak_jev.engine import JevEngine

    return JevEngine(model, options)


@hookimpl
def tiebreak_layout(name: str) -> SystemOneLayout | None:
    """Provide the `systemone` layout."""
    return SystemOneLayout() if name == SystemOneLayout.name else None


@hookimpl
def tiebreak_doctor() -> Sequence[Finding]:
    """Look at keys and URLs in the environment; nothing is sent."""
    from tiebreak_jev.providers import findings

    return findings()
