"""`Served`: the model behind the gateway and the names under which it may be asked for."""

from __future__ import annotations

import re
from datetime import datetime, timezone
from typing import Any

from tiebreak.answers import Decision
from tiebreak.decider import Decider
from tiebreak.names import unknown
from tiebreak.serve.problem import Problem
from tiebreak.serve.settings import Settings

__all__ = ["Served"]

ALIASES = ("jev-latest", "jev-preview")
"""What every client of the protocol sends when it is not told otherwise."""


class Served:
    """Names of the one model that a gateway serves.

    Args:
        decider: what answers.
        settings: for further aliases.
    """

    def __init__(self, decider: Decider, settings: Settings) -> None:
        self._decider = decider
        self._started = datetime.now(timezone.utc).date().isoformat()
        self._aliases = (*ALIASES, *settings.aliases)

    @property
    def name(self) -> str:
        """The model's short name; the engine's where it brings its own model. Never a path on this machine."""
        reference = self._decider.session.opened.model
        if not reference:
            return self._decider.info.name
        return reference if self._decider.info.capabilities.hosted else _short(reference)

    @property
    def ready(self) -> bool:
        """Whether the engine would answer at once."""
        return self._decider.session.ready

    def check(self, asked: str) -> None:
        """Refuse a model that is not served: another one must not answer in its name.

        Raises:
            Problem: 400, as the hosted service says it.
        """
        known = (self.name, self._decider.info.name, *self._aliases)
        if asked not in known:
            raise Problem.of(400, "api_usage_error", f"Unknown model: {asked[:100]}. {unknown('model', asked, known)}")

    def answered_by(self, decision: Decision | None) -> str:
        """The versioned id that a reply names."""
        return (decision.receipt.resolved_model if decision else None) or self.name

    def listing(self) -> list[dict[str, Any]]:
        """The models as the protocol lists them; the release date is the day on which the gateway started."""
        engine = self._decider.info
        about = {self.name: f"{engine.name}: {engine.summary}"}
        about |= dict.fromkeys(self._aliases, f"Alias of {self.name}.")
        return [{"name": n, "description": text, "release_date": self._started} for n, text in about.items()]


def _short(reference: str) -> str:
    """The last part of a model reference: no directory, revision or ending."""
    return re.split(r"[/\\]", reference)[-1].partition("@")[0].removesuffix(".gguf")
