"""The conformance suite on the `jev` engine, over the protocol's own reference server."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from jevcompat.mock import MockConfig, Running

from tiebreak_conformance import ConformanceSuite, Target


class TestJev(ConformanceSuite):
    """Every check; the reference server answers from a hash, exactly and at once."""

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def _server(cls) -> Iterator[None]:
        running = Running(MockConfig())
        running.thread = threading.Thread(target=running.server.serve_forever, args=(0.01,), daemon=True)
        with running:
            cls.target = Target(engine="jev", url=running.url)
            yield
        running.thread.join()
