"""Fixtures of the `dohnuts` plugin's tests."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import attrs
import httpx
import pytest

from tiebreak import Decider

HEALTH = {
    "status": "ok",
    "model": "decider",
    "backend": "llama 256M Q4_1 on CPU",
    "max_questions": 64,
    "batching": False,
}


@attrs.define
class Fake:
    """A dohnuts server that answers what the test says, and remembers what it was asked."""

    replies: list[httpx.Response] = attrs.field(factory=list)
    health: dict[str, Any] = attrs.field(factory=lambda: dict(HEALTH))
    asked: list[dict[str, Any]] = attrs.field(factory=list)
    headers: dict[str, str] = attrs.field(factory=dict)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.headers = dict(request.headers)
        if request.url.path == "/health":
            return httpx.Response(200, json=self.health)
        assert request.url.path == "/predict"
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
        decider = Decider("dohnuts", url="http://127.0.0.1:9", mount=httpx.MockTransport(fake), **options)
        made.append(decider)
        return decider

    yield make
    for decider in made:
        decider.close()


@pytest.fixture(scope="session")
def live() -> Iterator[Decider]:
    """A Decider on a real dohnuts-cli with a real model; one thread, because test machines are busy."""
    with Decider("dohnuts", "smollm2-135m", layout="decider", threads=1, timeout=300.0) as decider:
        yield decider
