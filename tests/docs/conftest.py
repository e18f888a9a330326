"""Where examples run: in memory, against a gateway of our own, or for real."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tiebreak
from tiebreak.registry import Registry
from tiebreak_conformance.reference import ReferencePlugin

ROOT = Path(__file__).parent.parent.parent


class MemoryRegistry(Registry):
    """A registry whose default engine is the suite's reference engine, which needs neither model nor process."""

    def __init__(self) -> None:
        super().__init__()
        self.add(ReferencePlugin(), "reference")

    def default_engine(self) -> str:
        return "reference"


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let whoever names no engine ask the reference engine."""
    monkeypatch.setattr("tiebreak.registry.Registry", MemoryRegistry)
    monkeypatch.setattr("tiebreak.decider.Registry", MemoryRegistry)
    monkeypatch.setitem(vars(tiebreak), "Registry", MemoryRegistry)


@pytest.fixture
def gateway(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Let the `jev` engine ask a gateway of ours in place of the hosted service; yields its URL."""
    import uvicorn

    from tiebreak.pool import Pool
    from tiebreak.serve.app import create_app
    from tiebreak.serve.settings import Settings

    pool = Pool()
    decider = tiebreak.Decider("reference", registry=MemoryRegistry(), pool=pool)
    app = create_app(decider, Settings(aliases=("jev-1.13.0",)))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="on"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        deadline = time.monotonic() + 30
        while not server.started and time.monotonic() < deadline:
            time.sleep(0.01)
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        monkeypatch.setenv("TYPESAFE_BASE_URL", url)
        monkeypatch.setenv("TYPESAFE_API_KEY", "an-example")
        try:
            yield url
        finally:
            server.should_exit = True
            thread.join(30)
            decider.close()
            pool.close()


@pytest.fixture
def place(request: pytest.FixtureRequest) -> Callable[[str], Any]:
    """Prepare the place called `memory`, `hosted` or `real`."""
    fixtures = {"memory": "memory", "hosted": "gateway"}

    def prepare(name: str) -> Any:
        return request.getfixturevalue(fixtures[name]) if name in fixtures else None

    return prepare


@pytest.fixture(autouse=True)
def _fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An empty folder to work in, and nothing that runs afterwards."""
    monkeypatch.chdir(tmp_path)
    tiebreak.shutdown()
    yield
    tiebreak.shutdown()
