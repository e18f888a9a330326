"""Fixtures of the `dohnuts` plugin's tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tiebreak import Decider
from tiebreak_conformance.scripted import Scripted

HEALTH = {
    "status": "ok",
    "model": "decider",
    "backend": "llama 256M Q4_1 on CPU",
    "max_questions": 64,
    "batching": False,
}


@pytest.fixture
def fake() -> Scripted:
    """A server that was given no replies yet."""
    return Scripted(health=dict(HEALTH))


@pytest.fixture
def attached(fake: Scripted) -> Iterator[Callable[..., Decider]]:
    """Makes Deciders that are attached to the fake server."""
    with fake.attached("dohnuts") as make:
        yield make


@pytest.fixture(scope="session")
def live() -> Iterator[Decider]:
    """A Decider on a real dohnuts-cli with a real model; one thread, because test machines are busy."""
    with Decider("dohnuts", "smollm2-135m", layout="decider", threads=1, timeout=300.0) as decider:
        yield decider
