"""The hooks of the `embedded` plugin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tiebreak import hookimpl
from tiebreak.doctor import Finding
from tiebreak.engine import Engine, EngineInfo
from tiebreak.models import Model
from tiebreak.stages.layout import Layout
from tiebreak_embedded import opening
from tiebreak_embedded.info import INFO
from tiebreak_embedded.layout import NamesLayout


@hookimpl
def tiebreak_engine() -> EngineInfo:
    """Describe the engine."""
    return INFO


@hookimpl
def tiebreak_load(model: Model | None, options: Mapping[str, Any]) -> Engine:
    """Make the engine object."""
    return opening.engine(model, options)


@hookimpl
def tiebreak_prepare(options: Mapping[str, Any], reference: str) -> bool:
    """Start the child process that would be needed."""
    return opening.prepare(options, reference)


@hookimpl
def tiebreak_layout(name: str) -> Layout | None:
    """The layout that is this plugin's own."""
    return NamesLayout() if name == NamesLayout.name else None


@hookimpl
def tiebreak_doctor() -> Sequence[Finding]:
    """Look at the installation."""
    from tiebreak_embedded.findings import findings

    return findings()
