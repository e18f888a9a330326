"""Opening: which of the two engines is made, in this process or in a child."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tiebreak.engine import Engine
from tiebreak.inprocess import with_weights
from tiebreak.models import Model
from tiebreak_embedded.info import INFO

__all__ = ["engine", "prepare"]


def engine(model: Model | None, options: Mapping[str, Any]) -> Engine:
    """The engine for these options; nothing is loaded yet.

    Raises:
        InvalidRequest: no model file, or a URL, which there is nothing to attach to.
    """
    model = with_weights(model, options, INFO.name, "a GGUF file")
    if options["isolate"]:
        from tiebreak_embedded.isolated import IsolatedEngine

        return IsolatedEngine(model, options)
    from tiebreak_embedded.engine import EmbeddedEngine

    return EmbeddedEngine(model, options)


def prepare(options: Mapping[str, Any], reference: str) -> bool:
    """Start the child process that an engine with these options and model will run in, if it will; says whether."""
    if not options["isolate"]:
        return False
    from tiebreak.startup import prepare as begin
    from tiebreak_embedded.child_command import child_command, process_options

    begin(INFO.name, child_command(options, reference), process_options(options))
    return True
