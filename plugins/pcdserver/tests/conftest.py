"""Fixtures of the `pcdserver` plugin's tests."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import attrs
import httpx
import pytest

from tiebreak import Decider

HEALTH = {
    "apiVersion": "v1",
    "backend": "CPU",
    "description": "llama 256M Q4_1",
    "model": "m.gguf",
    "ready": True,
    "status": "ok",
}


@attrs.define
class Fake:
    """A pcd_server that answers what the test says, and remembers what it was asked."""

    replies: list[httpx.Response] = attrs.field(factory=list)
    health: dict[str, Any] = attrs.field(factory=lambda: dict(HEALTH))
    asked: list[dict[str, Any]] = attrs.field(factory=list)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if request.url.path == "/health":
            return httpx.Response(200, json=self.health)
        self.asked.append(json.loads(request.content))
        return self.replies.pop(0)


@pytest.fixture
def fake() -> Fake:
    """A server that was given no replies yet."""
    return Fake()


@pytest.fixture
def attached(fake: Fake) -> Iterator[Callable[..., Decider]]:
    """Makes Deciders that are attached to the fake server."""
    made: list[Decider] = []

    def make(**options: Any) -> Decider:
        decider = Decider("pcdserver", url="http://127.0.0.1:9", mount=httpx.MockTransport(fake), **options)
        made.append(decider)
        return decider

    yield make
    for decider in made:
        decider.close()


@pytest.fixture(scope="session")
def live() -> Iterator[Decider]:
    """A Decider on a real pcd_server with a real model."""
    with Decider("pcdserver", "smollm2-135m", timeout=300.0) as decider:
        yield decider
