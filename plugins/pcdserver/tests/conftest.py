"""Fixtures of the `pcdserver` plugin's tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tiebreak import Decider
from tiebreak_conformance.scripted import Scripted

HEALTH = {
    "apiVersion": "v1",
    "backend": "CPU",
    "description": "llama 256M Q4_1",
    "model": "m.gguf",
    "ready": True,
    "status": "ok",
}


@pytest.fixture
def fake() -> Scripted:
    """A server that was given no replies yet."""
    return Scripted(health=dict(HEALTH))


@pytest.fixture
def attached(fake: Scripted) -> Iterator[Callable[..., Decider]]:
    """Makes Deciders that are attached to the fake server."""
    with fake.attached("pcdserver") as make:
        yield make


@pytest.fixture(scope="session")
def live() -> Iterator[Decider]:
    """A Decider on a real pcd_server with a real model."""
    with Decider("pcdserver", "smollm2-135m", timeout=300.0) as decider:
        yield decider
