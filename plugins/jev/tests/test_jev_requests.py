"""What is sent, to whom, how often, and where the key never shows."""

from __future__ import annotations

import asyncio
import json
import logging
import pickle
import re
import threading
import traceback
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

import tiebreak
from tiebreak import Decider
from tiebreak.errors import (
    AuthError,
    EngineHung,
    EngineOverloaded,
    EngineStartError,
    InvalidRequest,
    RateLimited,
    TiebreakError,
    Unsupported,
)

Make = Callable[..., Decider]
CANARY = "apikey_canary-0123456789abcdef"
URL = "https://decisions.example"
TEAM = {"team": tiebreak.choice("Which team?", ["billing", "sales"])}
ANSWER = {"team": {"type": "choice", "choice": "billing", "probabilities": {"billing": 0.75, "sales": 0.25}}}
REPLY = {"model": "m", "answers": ANSWER, "usage": {"input_tokens": 9, "output_tokens": 1}}


class Wire(httpx.MockTransport):
    """Answers and remembers what was sent; `replies` come first, one per POST."""

    def __init__(self, *replies: httpx.Response) -> None:
        self.sent: list[httpx.Request] = []
        self._replies = iter(replies)
        super().__init__(self._reply)

    def _reply(self, request: httpx.Request) -> httpx.Response:
        if request.method == "GET":
            return httpx.Response(200, json={"models": []})
        self.sent.append(request)
        return next(self._replies, None) or httpx.Response(200, json=REPLY)

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [json.loads(request.content) for request in self.sent]


def test_the_request_is_the_protocol_s(jev: Make) -> None:
    wire = Wire(httpx.Response(200, json={"model": "m", "answers": {}}))
    questions = {
        "mixed ✓": tiebreak.yes_no("Is it late?", no="It came on time"),
        "bare": tiebreak.yes_no("Is it new?"),
        "team": tiebreak.choice(None, {"b": "Payments", "a": None}),
        "anger": tiebreak.score("How angry?", {"calm": "at ease", "furious": None}),
    }
    with pytest.raises(tiebreak.BadReply):
        jev("jev-1.13.0", url=URL, mount=wire).decide({"subject": "Größe"}, questions)
    assert wire.bodies == [
        {
            "model": "jev-1.13.0",
            "state": {"subject": "Größe"},
            "questions": {
                "mixed ✓": {"type": "noul", "instructions": "Is it late?", "criteria": {"false": "It came on time"}},
                "bare": {"type": "noul", "instructions": "Is it new?"},
                "team": {
                    "type": "choice",
                    "instructions": "Which option fits best?",
                    "criteria": {"b": "Payments", "a": None},
                },
                "anger": {"type": "score", "instructions": "How angry?", "criteria": ["calm: at ease", "furious"]},
            },
        }
    ]
    assert list(wire.bodies[0]["questions"]["team"]["criteria"]) == ["b", "a"]
    assert "content-encoding" not in wire.sent[0].headers
    assert "authorization" not in wire.sent[0].headers


def test_each_provider_gets_its_own_url_and_key(jev: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TYPESAFE_API_KEY", "t-key")
    monkeypatch.setenv("OPENROUTER_API_KEY", "o-key")
    monkeypatch.setenv("SYSTEM_ONE_BASE_URL", "https://one.example/v1/")
    monkeypatch.setenv("OTHER", "x-key")
    for options, url, key in (
        ({}, "https://api.typesafe.ai/v1/systemone", "Bearer t-key"),
        ({"provider": "openrouter"}, "https://openrouter.ai/api/v1/systemone", "Bearer o-key"),
        ({"provider": "systemone"}, "https://one.example/v1/systemone", None),
        ({"url": "https://two.example"}, "https://two.example/v1/systemone", None),
        ({"url": "https://two.example", "api_key_env": "OTHER"}, "https://two.example/v1/systemone", "Bearer x-key"),
        ({"url": "https://t.example", "provider": "typesafe"}, "https://t.example/v1/systemone", "Bearer t-key"),
    ):
        wire = Wire()
        jev(mount=wire, **options).decide("x", TEAM)
        assert str(wire.sent[0].url) == url
        assert wire.sent[0].headers.get("authorization") == key


@pytest.mark.parametrize(
    "environment, options, error",
    [
        ({}, {}, AuthError),
        ({}, {"provider": "openrouter"}, AuthError),
        ({}, {"provider": "systemone"}, InvalidRequest),
        ({"TYPESAFE_API_KEY": "two words"}, {}, AuthError),
        ({"TYPESAFE_API_KEY": "line\nbreak"}, {}, AuthError),
        ({"TYPESAFE_API_KEY": "schlüssel"}, {}, AuthError),
        ({"TYPESAFE_API_KEY": "k", "TYPESAFE_BASE_URL": "http://far.example"}, {}, InvalidRequest),
        ({"SYSTEM_ONE_BASE_URL": f"https://one.example?key={CANARY}"}, {"provider": "systemone"}, InvalidRequest),
        ({}, {"url": f"https://one.example?key={CANARY}"}, InvalidRequest),
        ({}, {"url": f"https://user:{CANARY}@one.example"}, InvalidRequest),
        ({}, {"url": URL, "kinds": "yes_no,rank"}, InvalidRequest),
        ({}, {"url": URL, "layout": "decider"}, InvalidRequest),
        ({}, {"url": URL, "requests_per_minute": 0}, InvalidRequest),
    ],
)
def test_bad_settings_are_refused_before_anything_is_sent(
    jev: Make,
    monkeypatch: pytest.MonkeyPatch,
    environment: dict[str, str],
    options: dict[str, Any],
    error: type[TiebreakError],
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    wire = Wire()
    with pytest.raises(error) as caught:
        jev(mount=wire, **options).decide("x", TEAM)
    assert not wire.sent
    for secret in (*environment.values(), CANARY):
        assert secret.startswith("http") or secret == "k" or secret not in str(caught.value)


def test_kinds_narrow_what_is_asked(jev: Make) -> None:
    wire = Wire()
    with pytest.raises(Unsupported, match="yes_no only"):
        jev(url=URL, kinds="yes_no", mount=wire).decide("x", TEAM)
    assert not wire.sent


def test_eleven_levels_are_refused_before_they_are_sent(jev: Make) -> None:
    wire = Wire()
    with pytest.raises(InvalidRequest, match="11 levels"):
        jev(url=URL, mount=wire).rate("x", "How?", [f"level {n}" for n in range(11)])
    assert not wire.sent


def test_refusals_that_repeat_are_sent_once(jev: Make) -> None:
    for status in (400, 401, 402, 403, 404, 413, 422, 501):
        wire = Wire(httpx.Response(status))
        with pytest.raises(TiebreakError):
            jev(url=URL, retries=3, mount=wire).decide("x", TEAM)
        assert len(wire.sent) == 1


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504, 529])
def test_refusals_that_pass_are_sent_again(jev: Make, status: int) -> None:
    wire = Wire(httpx.Response(status, headers={"retry-after-ms": "1"}))
    decision = jev(url=URL, retries=1, mount=wire).decide("x", TEAM)
    assert decision["team"].value == "billing"
    assert len(wire.sent) == 2
    assert decision.timings.queue >= 1


def test_retries_are_bounded_by_their_number_and_by_the_deadline(jev: Make) -> None:
    busy = [httpx.Response(429, headers={"retry-after-ms": "1"}) for _ in range(9)]
    wire = Wire(*busy)
    with pytest.raises(RateLimited):
        jev(url=URL, retries=2, mount=wire).decide("x", TEAM)
    assert len(wire.sent) == 3
    wire = Wire(httpx.Response(529, headers={"retry-after": "3600"}))
    with pytest.raises(EngineOverloaded) as caught:
        jev(url=URL, retries=2, mount=wire).decide("x", TEAM)
    assert len(wire.sent) == 1
    assert caught.value.retry_after == 3600


def test_the_limiter_spaces_calls_and_refuses_what_cannot_be_in_time(jev: Make) -> None:
    wire = Wire()
    decider = jev(url=URL, requests_per_minute=600, timeout=30.0, mount=wire)
    decider.start()
    waits = [decider.decide("x", TEAM).timings.queue for _ in range(13)]
    assert max(waits) > 50
    slow = jev(url=URL, tokens_per_second=1, timeout=5.0, mount=wire)
    slow.decide("x", TEAM)
    with pytest.raises(EngineOverloaded, match="rate limits"):
        slow.decide("x", TEAM)


def test_the_limiter_holds_for_tasks_too(jev: Make) -> None:
    wire = Wire()
    decider = jev(url=URL, requests_per_minute=1200, timeout=30.0, mount=wire)

    async def ask() -> list[float]:
        decisions = await asyncio.gather(*(decider.adecide("x", TEAM) for _ in range(25)))
        return [decision.timings.queue for decision in decisions]

    assert sum(wait > 1 for wait in asyncio.run(ask())) >= 5


class _Echo(BaseHTTPRequestHandler):
    """A server that repeats the key it was sent in whatever it answers."""

    status = 200

    def do_GET(self) -> None:
        self._reply()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self._reply()

    def _reply(self) -> None:
        body = f'{{"detail": "you sent {self.headers["authorization"]}'.encode()
        self.send_response(self.status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def echo() -> Iterator[Callable[[int], str]]:
    servers: list[tuple[ThreadingHTTPServer, threading.Thread]] = []

    def start(status: int) -> str:
        handler = type("Handler", (_Echo,), {"status": status})
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        servers.append((server, thread))
        return f"http://127.0.0.1:{server.server_port}"

    yield start
    for server, thread in servers:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.mark.parametrize("status", [200, 401, 404, 422, 429, 500])
def test_the_key_shows_nowhere(
    jev: Make,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    echo: Callable[[int], str],
    status: int,
) -> None:
    monkeypatch.setenv("SYSTEM_ONE_API_KEY", CANARY)
    caplog.set_level(logging.DEBUG)
    decider = jev(url=echo(status), retries=0)
    with pytest.raises(TiebreakError) as caught:
        decider.decide("x", TEAM)
    _assert_silent(decider, caught.value, caplog.text)
    with pytest.raises(TiebreakError) as caught:
        asyncio.run(decider.adecide("x", TEAM))
    _assert_silent(decider, caught.value, caplog.text)


@pytest.mark.parametrize("url", ["http://127.0.0.1:9", "https://no-such-host.invalid", "slow"])
def test_the_key_shows_nowhere_when_nobody_answers(
    jev: Make, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, url: str
) -> None:
    monkeypatch.setenv("SYSTEM_ONE_API_KEY", CANARY)
    caplog.set_level(logging.DEBUG)

    def too_slow(request: httpx.Request) -> httpx.Response:
        if request.method == "GET":
            return httpx.Response(200)
        raise httpx.ReadTimeout("too slow", request=request)

    options = {"url": URL, "mount": httpx.MockTransport(too_slow)} if url == "slow" else {"url": url}
    decider = jev(retries=0, **options)
    with pytest.raises((EngineStartError, EngineHung)) as caught:
        decider.decide("x", TEAM)
    _assert_silent(decider, caught.value, caplog.text)


def _assert_silent(decider: Decider, error: TiebreakError, log: str) -> None:
    shown = traceback.TracebackException.from_exception(error, capture_locals=True)
    engine: Any = decider.session.engine
    texts = {
        "str": str(error),
        "repr": repr(error),
        "vars": repr(vars(error)),
        "traceback": "".join(shown.format()),
        "log": log,
        "decider": repr(vars(decider)),
        "engine": repr(vars(engine)),
        "target": repr(engine._target),
    }
    assert [where for where, text in texts.items() if CANARY in text] == []
    with pytest.raises(TypeError):
        pickle.dumps(engine._target.key)


def test_the_readme_runs(monkeypatch: pytest.MonkeyPatch, mock: Callable[..., Any], capsys: Any) -> None:
    monkeypatch.setenv("TYPESAFE_API_KEY", "apikey_1")
    monkeypatch.setenv("TYPESAFE_BASE_URL", mock(key="apikey_1").url)
    text = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
    examples = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(examples) == 2
    try:
        for example in examples:
            exec(compile(example, "README.md", "exec"), {})
    finally:
        tiebreak.shutdown()
    assert "jevcompat-mock" in capsys.readouterr().out
