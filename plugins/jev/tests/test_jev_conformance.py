"""The conformance suite on the `jev` engine, over the protocol's own reference server and over what that once said."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from jevcompat.mock import MockConfig, Running

from tiebreak_conformance import ConformanceSuite, Target
from tiebreak_conformance.subject import REPLAY_URL

CASSETTE = Path(__file__).parent / "cassettes" / "jev.jsonl"


class TestJev(ConformanceSuite):
    """Every check; the reference server answers from a hash, exactly and at once. `--wire=record` records it."""

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def _server(cls) -> Iterator[None]:
        running = Running(MockConfig())
        running.thread = threading.Thread(target=running.server.serve_forever, args=(0.01,), daemon=True)
        with running:
            cls.target = Target(engine="jev", url=running.url, cassette=CASSETTE)
            yield
        running.thread.join()


class TestJevReplayed(ConformanceSuite):
    """Every check, without a server."""

    target = Target(engine="jev", url=REPLAY_URL, wire="replay", cassette=CASSETTE)
