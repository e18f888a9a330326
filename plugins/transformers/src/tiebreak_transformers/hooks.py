"""The hooks of the `transformers` plugin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tiebreak import hookimpl
from tiebreak.doctor import Finding
from tiebreak.engine import Engine, EngineInfo
from tiebreak.models import Model
from tiebreak_transformers.info import INFO


@hookimpl
def tiebreak_engine() -> EngineInfo:
    """Describe the engine."""
    return INFO


@hookimpl
def tiebreak_load(model: Model | None, options: Mapping[str, Any]) -> Engine:
    """Make the engine object."""
    from tiebreak_transformers.engine import open_engine

    return open_engine(model, options)


@hookimpl
def tiebreak_doctor() -> Sequence[Finding]:
    """Look at the installation."""
    from tiebreak_transformers.findings import findings

    return findings()
