"""The hooks of the `pcdserver` plugin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tiebreak import hookimpl
from tiebreak.doctor import Finding
from tiebreak.engine import Engine, EngineInfo
from tiebreak.models import Model
from tiebreak.stages.layout import Layout
from tiebreak_pcdserver.info import INFO


@hookimpl
def tiebreak_engine() -> EngineInfo:
    return INFO


@hookimpl
def tiebreak_load(model: Model | None, options: Mapping[str, Any]) -> Engine:
    from tiebreak_pcdserver import engine

    return engine.PcdEngine(model, options)


@hookimpl
def tiebreak_layout(name: str) -> Layout | None:
    from tiebreak_pcdserver import layout

    return layout.FieldLayout(name) if name in INFO.layouts else None


@hookimpl
def tiebreak_doctor() -> Sequence[Finding]:
    from tiebreak_pcdserver import program

    return program.findings()
