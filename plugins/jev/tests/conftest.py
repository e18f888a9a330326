"""A System One server with injectable faults, and Deciders that ask it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from jevcompat.mock import MockConfig, Running

from tiebreak import Decider
from tiebreak.pool import Pool

KEYS = ("TYPESAFE_API_KEY", "TYPESAFE_BASE_URL", "OPENROUTER_API_KEY", "SYSTEM_ONE_API_KEY", "SYSTEM_ONE_BASE_URL")


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests say which keys they want; those of whoever runs them stay out of it."""
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def mock() -> Iterator[Callable[..., Running]]:
    """Start a mock server: `mock("fault", key=...)`."""
    with ExitStack() as running:

        def start(*faults: str, **config: Any) -> Running:
            return running.enter_context(_Closing(MockConfig(faults=frozenset(faults), **config)))

        yield start


@pytest.fixture
def jev() -> Iterator[Callable[..., Decider]]:
    """Make a Decider for the `jev` engine with a pool of its own."""
    pool = Pool()
    yield lambda *arguments, **options: Decider("jev", *arguments, pool=pool, **options)
    pool.close()


class _Closing(Running):  # type: ignore[misc]  # the package has no type information
    """The mock, quick to stop, whose thread is waited for."""

    def __init__(self, config: MockConfig) -> None:
        super().__init__(config)
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True)

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self.thread.join()
