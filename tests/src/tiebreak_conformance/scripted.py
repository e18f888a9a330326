"""`Scripted`: a server that answers what a test says; for the tests of an engine's own protocol."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import attrs
import httpx

from tiebreak.decider import Decider
from tiebreak_conformance.subject import REPLAY_URL

__all__ = ["Scripted"]


@attrs.define(kw_only=True)
class Scripted:
    """A server with a route that says how it is and one that answers; remembers what it was asked.

    Attributes:
        health: what `/health` says.
        replies: what the other route says, one after another.
        asked: the bodies that came there.
        headers: of the last request to either.
    """

    health: dict[str, Any]
    replies: list[httpx.Response] = attrs.field(factory=list)
    asked: list[dict[str, Any]] = attrs.field(factory=list)
    headers: Mapping[str, str] = attrs.field(factory=dict)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.headers = dict(request.headers)
        if request.url.path == "/health":
            return httpx.Response(200, json=self.health)
        self.asked.append(json.loads(request.content))
        return self.replies.pop(0)

    @contextmanager
    def attached(self, engine: str) -> Iterator[Callable[..., Decider]]:
        """Makes Deciders of an engine that are attached to this server, and closes them at the end."""
        with ExitStack() as made:
            yield lambda **options: made.enter_context(
                Decider(engine, url=REPLAY_URL, mount=httpx.MockTransport(self), **options)
            )
