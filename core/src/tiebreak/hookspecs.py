"""The map of the hooks, by phase. A plugin implements those that it needs, in one small module.

    phase        hook                   asked of
    describe     tiebreak_engine        the chosen engine's plugin
    open         tiebreak_load          the chosen engine's plugin
                 tiebreak_layout        the named extension, the engine's plugin, then the core
                 tiebreak_readout       the same
                 tiebreak_cache         the same
                 tiebreak_observers     every loaded plugin
    on demand    tiebreak_models        every plugin, each on its own
                 tiebreak_doctor        the plugin asked about

All are called when things open, never per request: a request runs through plain method calls on the objects that
these hooks returned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pluggy

if TYPE_CHECKING:
    from tiebreak.doctor import Finding
    from tiebreak.engine import Engine, EngineInfo
    from tiebreak.models import Model, ModelInfo
    from tiebreak.session import Observer, Session
    from tiebreak.stages.cache import CachePolicy
    from tiebreak.stages.layout import Layout
    from tiebreak.stages.readout import Readout

__all__ = ["hookimpl", "hookspec"]

hookspec = pluggy.HookspecMarker("tiebreak")
hookimpl = pluggy.HookimplMarker("tiebreak")


@hookspec(firstresult=True)
def tiebreak_engine() -> EngineInfo | None:
    """Describe the engine.

    Called: when the plugin is loaded. Must not import the engine's module.
    Returns: name, summary, capabilities, limits, stage names, options.
    """


@hookspec(firstresult=True)
def tiebreak_load(info: EngineInfo, model: Model | None, options: Mapping[str, Any]) -> Engine | None:
    """Make the engine object; it starts on its first request, or when `start()` is called.

    Called: when a session opens.
    Args: info: what `tiebreak_engine` returned. model: the resolved model, None where none was named.
        options: every option of the engine with its value, checked, plus `url`.
    Returns: the engine.
    """


@hookspec(firstresult=True)
def tiebreak_prepare(info: EngineInfo, options: Mapping[str, Any], reference: str) -> bool | None:
    """Begin what takes long and needs no model file, such as starting a process; `tiebreak_load` may find it.

    Called: by a program that asks once, such as the command line, before it looks for the model. Never by a Decider.
    Args: info: what `tiebreak_engine` returned. options: every option of the engine with its value, checked.
        reference: the model as the user named it, or the engine's default; nobody has looked at it. Empty: none.
    Returns: whether something was begun.
    """


@hookspec(firstresult=True)
def tiebreak_layout(info: EngineInfo, model: Model | None, name: str) -> Layout | None:
    """Provide the layout called `name`.

    Called: when a session opens.
    Returns: the layout, or None if the name is not this plugin's.
    """


@hookspec(firstresult=True)
def tiebreak_readout(info: EngineInfo, model: Model | None, name: str) -> Readout | None:
    """Provide the readout called `name`.

    Called: when a session opens.
    Returns: the readout, or None if the name is not this plugin's.
    """


@hookspec(firstresult=True)
def tiebreak_cache(info: EngineInfo, model: Model | None, name: str) -> CachePolicy | None:
    """Provide the cache policy called `name`.

    Called: when a session opens.
    Returns: the policy, or None if the name is not this plugin's.
    """


@hookspec
def tiebreak_observers(session: Session) -> Sequence[Observer]:  # type: ignore[empty-body]
    """Provide context managers that stand around each request; they can never change an answer.

    Called: when a session opens.
    Returns: functions of a request that return a context manager.
    """


@hookspec
def tiebreak_models() -> Sequence[ModelInfo]:  # type: ignore[empty-body]
    """Name the models that this plugin knows.

    Called: on demand, by `tiebreak models` and when a model is named.
    Returns: one entry per model: source, size, hash, licence, trained layouts, temperatures.
    """


@hookspec
def tiebreak_doctor() -> Sequence[Finding]:  # type: ignore[empty-body]
    """Look at the installation: binary, version, device, port, model files.

    Called: on demand, by `tiebreak doctor`.
    Returns: findings, each with its remedy.
    """
