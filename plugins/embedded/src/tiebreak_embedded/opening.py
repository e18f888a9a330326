"""Opening: which of the two engines is made, in this process or in a child."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tiebreak.engine import Engine
from tiebreak.errors import InvalidRequest
from tiebreak.models import Model
from tiebreak_embedded.info import INFO

__all__ = ["engine"]


def engine(model: Model | None, options: Mapping[str, Any]) -> Engine:
    """The engine for these options; nothing is loaded yet.

    Raises:
        InvalidRequest: no model file, or a URL, which there is nothing to attach to.
    """
    if options.get("url") is not None:
        raise InvalidRequest(
            "There is no server to attach to: this engine runs in this process.",
            remedy="Leave url out, or use engine='slot'.",
            engine=INFO.name,
        )
    if model is None or model.path is None:
        raise InvalidRequest("This engine needs a GGUF file.", remedy="Name a model that has one.", engine=INFO.name)
    if options["isolate"]:
        from tiebreak_embedded.isolated import IsolatedEngine

        return IsolatedEngine(model, options)
    from tiebreak_embedded.engine import EmbeddedEngine

    return EmbeddedEngine(model, options)
