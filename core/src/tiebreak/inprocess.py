"""What engines that compute in this process refuse, before anything is loaded and after a fork."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tiebreak.errors import EngineUnavailable, InvalidRequest

if TYPE_CHECKING:
    from tiebreak.models import Model

__all__ = ["refuse_fork", "with_weights"]


def with_weights(model: Model | None, options: Mapping[str, Any], engine: str, needs: str) -> Model:
    """The model, which has a path.

    Args:
        model: as it was resolved.
        options: every option of the engine, and `url`.
        engine: name for messages.
        needs: what the engine computes from ("a GGUF file").

    Raises:
        InvalidRequest: no weights, or a URL, which there is nothing to attach to.
    """
    if options.get("url") is not None:
        raise InvalidRequest(
            "There is no server to attach to: this engine runs in this process.",
            remedy="Leave url out, or use engine='slot'.",
            engine=engine,
        )
    if model is None or model.path is None:
        raise InvalidRequest(f"This engine needs {needs}.", remedy="Name a model that has one.", engine=engine)
    return model


def refuse_fork(process: int, engine: str, remedy: str = "") -> None:
    """Refuse to go on in another process than the one that loaded: native threads do not come along.

    Args:
        process: id of the process that loaded.
        engine: name for messages.
        remedy: what helps beside a later fork.

    Raises:
        EngineUnavailable: this process was forked from that one.
    """
    if process != os.getpid():
        raise EngineUnavailable(
            "The model was loaded before this process was forked, and its threads did not come along.",
            remedy=f"Ask the first question after the fork, or start workers with 'spawn'{remedy}.",
            engine=engine,
        )
