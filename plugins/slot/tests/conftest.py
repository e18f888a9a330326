"""A real llama-server on the real model, started once, and a mock of one for faults."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tiebreak import Decider, models
from tiebreak.pool import Pool
from tiebreak_conformance.hybrid import write_hybrid

Answering = Callable[[httpx.Request], "httpx.Response | None"]


@pytest.fixture(scope="session")
def pool() -> Iterator[Pool]:
    """The engines of this test run; all are stopped at its end."""
    made = Pool()
    yield made
    made.close()


@pytest.fixture(scope="session")
def live(pool: Pool) -> Decider:
    """The slot engine on the registered model, as a user gets it, but with one thread: test machines are busy."""
    return Decider("slot", threads=1, pool=pool).start()


class Mock(httpx.BaseTransport):
    """A llama-server as far as the engine talks to it; `fault` may answer instead.

    The tokenizer makes one token of every character; every label is as probable as its place says.
    """

    def __init__(self) -> None:
        self.asked: list[tuple[str, Any]] = []
        self.fault: Answering = lambda request: None
        self.listed = {65: -1.0, 66: -2.0, 67: -3.0}

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.read()
        self.asked.append((request.url.path, json.loads(request.content) if request.content else None))
        given = self.fault(request)
        return given if given is not None else self.right(request)

    def right(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content) if request.content else {}
        if request.url.path == "/props":
            settings = {"n_ctx": 512}
            return httpx.Response(
                200, json={"total_slots": 2, "default_generation_settings": settings, "build_info": "b7-mock"}
            )
        if request.url.path == "/tokenize":
            content = body["content"]
            texts = content if isinstance(content, list) else [content]
            tokens: list[Any] = [ord(c) for text in texts for c in text]
            if body.get("with_pieces"):
                tokens = [{"id": t, "piece": chr(t)} for t in tokens]
            return httpx.Response(200, json={"tokens": tokens})
        if request.url.path == "/apply-template":
            text = body["messages"][0]["content"]
            return httpx.Response(200, json={"prompt": f"<|user|>{text}<|end|><|assistant|>"})
        return httpx.Response(200, json=self.completion())

    def completion(self, **timings: Any) -> dict[str, Any]:
        top = [{"id": i, "token": chr(i), "bytes": [i], "logprob": p} for i, p in self.listed.items()]
        return {
            "index": 0,
            "completion_probabilities": [{**top[0], "top_logprobs": top}],
            "timings": {"cache_n": 0, "prompt_n": 10, "prompt_ms": 5.0, "predicted_ms": 0.5, **timings},
        }

    def calls(self, path: str) -> list[Any]:
        """Bodies that were sent to a path."""
        return [body for asked, body in self.asked if asked == path]


@pytest.fixture
def mock() -> Mock:
    """A mock server."""
    return Mock()


@pytest.fixture
def mocked(mock: Mock) -> Iterator[Callable[..., Decider]]:
    """Makes Deciders that talk to the mock server."""
    pool = Pool()

    def make(**options: Any) -> Decider:
        return Decider("slot", url="http://127.0.0.1:1", mount=mock, pool=pool, **options)

    yield make
    pool.close()


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that loads at once, for tests of processes, which are the same whatever they compute."""
    return write_hybrid(tmp_path_factory.mktemp("models") / "tiny.gguf")


@pytest.fixture(scope="session")
def smol() -> Path:
    """The registered model's file."""
    path = models.resolve("smollm2-135m").path
    assert path is not None
    return path
