"""The gateway under pressure: a full queue, clients that leave, bodies that never come, and SIGTERM."""

from __future__ import annotations

import concurrent.futures
import json
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tiebreak.errors import EngineUnavailable
from tiebreak.serve.runner import run
from tiebreak.serve.settings import Settings

Serving = Callable[..., tuple["subprocess.Popen[str]", str]]
DEADLINE = 30.0
BODY = {"model": "jev-latest", "state": "x", "questions": {"q": {"type": "noul", "instructions": "Is it?"}}}
QUIET = httpx.Timeout(DEADLINE)


def health(url: str) -> dict[str, Any]:
    found: dict[str, Any] = httpx.get(f"{url}/health", timeout=QUIET, trust_env=False).json()
    return found


def until(done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def raw_post(url: str, body: bytes, announced: int | None = None) -> socket.socket:
    """A connection with a POST on the wire and its answer not read."""
    host, port = url.removeprefix("http://").split(":")
    wire = socket.create_connection((host, int(port)), timeout=DEADLINE)
    length = len(body) if announced is None else announced
    head = f"POST /v1/systemone HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/json\r\n"
    wire.sendall(f"{head}Content-Length: {length}\r\n\r\n".encode() + body)
    return wire


def test_a_full_queue_is_a_503_that_says_when_to_come_back(serving: Serving) -> None:
    _, url = serving({"delay_ms": 2000, "places": 1, "queue_limit": 2})
    wires = [raw_post(url, json.dumps(BODY).encode()) for _ in range(3)]
    until(lambda: health(url)["open"] == 3)
    refused = httpx.post(f"{url}/v1/systemone", json=BODY, timeout=QUIET, trust_env=False)
    assert refused.status_code == 503
    assert refused.json()["detail"]["error_type"] == "overloaded_error"
    assert refused.headers["retry-after"] == "1"
    for wire in wires:
        assert wire.recv(100).startswith(b"HTTP/1.1 200")
        wire.close()


def test_a_client_that_leaves_gives_its_place_to_the_next(serving: Serving) -> None:
    _, url = serving({"delay_ms": 1500, "places": 1, "queue_limit": 1})
    first = raw_post(url, json.dumps(BODY).encode())
    until(lambda: health(url)["open"] == 1)
    second = raw_post(url, json.dumps(BODY).encode())
    until(lambda: health(url)["open"] == 2)
    second.close()
    until(lambda: health(url)["open"] == 1)
    third = raw_post(url, json.dumps(BODY).encode())
    for wire in (first, third):
        assert wire.recv(100).startswith(b"HTTP/1.1 200")
        wire.close()


def test_more_open_requests_than_allowed_are_refused_before_their_bodies(serving: Serving) -> None:
    _, url = serving({}, max_open=2, body_timeout=60.0)
    wires = [raw_post(url, b"{", announced=1000) for _ in range(2)]
    until(lambda: health(url)["open"] == 2)
    refused = httpx.post(f"{url}/v1/systemone", json=BODY, timeout=QUIET, trust_env=False)
    assert refused.status_code == 503
    for wire in wires:
        wire.close()
    until(lambda: health(url)["open"] == 0)
    assert httpx.post(f"{url}/v1/systemone", json=BODY, timeout=QUIET, trust_env=False).status_code == 200


def test_a_body_that_does_not_come_is_given_up(serving: Serving) -> None:
    _, url = serving({}, body_timeout=0.2)
    wire = raw_post(url, b"{", announced=1000)
    assert wire.recv(100).startswith(b"HTTP/1.1 408")
    wire.close()


def test_many_at_once_are_all_right(serving: Serving) -> None:
    _, url = serving({"delay_ms": 1, "places": 4})
    with httpx.Client(base_url=url, timeout=QUIET, trust_env=False) as client:

        def ask(number: int) -> Any:
            reply = client.post("/v1/systemone", json={**BODY, "state": f"state {number % 7}"})
            return number % 7, reply.json()["answers"]["q"]["noul"]

        with concurrent.futures.ThreadPoolExecutor(32) as pool:
            found = list(pool.map(ask, range(200)))
    assert len(set(found)) == 7
    assert health(url)["open"] == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_under_load_loses_no_accepted_request(serving: Serving, number: signal.Signals) -> None:
    process, url = serving({"delay_ms": 20, "places": 8})
    stop = threading.Event()
    outcomes: list[str] = []

    def client() -> None:
        with httpx.Client(base_url=url, timeout=QUIET, trust_env=False) as wire:
            while not stop.is_set():
                try:
                    reply = wire.post("/v1/systemone", json=BODY)
                except httpx.ConnectError:
                    return  # nobody listens any more: this request was never accepted
                except httpx.HTTPError as error:
                    outcomes.append(f"{type(error).__name__}: {error}")
                    return
                outcomes.append(str(reply.status_code))

    threads = [threading.Thread(target=client) for _ in range(16)]
    for thread in threads:
        thread.start()
    until(lambda: len(outcomes) >= 50)
    process.send_signal(number)
    for thread in threads:
        thread.join(DEADLINE)
    stop.set()
    assert set(outcomes) == {"200"}
    out, err = process.communicate(timeout=DEADLINE)
    assert process.returncode == 0, err
    assert "drained" in out


def test_what_is_under_way_is_answered_after_sigterm(serving: Serving) -> None:
    process, url = serving({"delay_ms": 2500, "places": 4})
    idle = httpx.Client(base_url=url, timeout=QUIET, trust_env=False)
    idle.get("/health")
    wire = raw_post(url, json.dumps(BODY).encode())
    until(lambda: health(url)["open"] == 1)
    process.send_signal(signal.SIGTERM)
    answer = wire.recv(65536)
    assert answer.startswith(b"HTTP/1.1 200")
    assert b"connection: close" in answer.lower()
    wire.close()
    idle.close()
    process.communicate(timeout=DEADLINE)
    assert process.returncode == 0


def test_a_port_that_is_taken_is_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(EngineUnavailable, match=f"port {port} cannot be listened on"):
            run(None, Settings(port=port))  # type: ignore[arg-type]  # it is not reached
