"""What the client costs per decision, beside a raw HTTP client and a bare socket, on one running engine.

    python benchmarks/overhead.py [ENGINE] [--rounds N]

All ask the same running server the same things, in turns, so that the machine's mood falls on all of them alike. The
bytes that tiebreak sends are recorded first and then sent again by a bare socket, by `http.client`, by an httpx client
and, for pcdserver and dohnuts where it is installed, by the `ornotto` library. Every round has a state of its own, of
the same length. Printed are medians with 95 % bootstrap intervals in milliseconds:

    total        wall clock of one decision
    over         total minus what the engine says that it computed: client, wire, and what the server does not count
    own          over minus the bare socket's over in the same round: what the client itself costs

After 300 ms of inference a client's code is cold in every cache. So a second table shows the same against a server that
answers at once with the last reply of the real one: what the client costs when nothing else runs.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import importlib.util
import json
import os
import random
import signal
import socket
import statistics
import threading
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import httpx

import tiebreak
from tiebreak import Decider, Decision, Question, choice

OPTIONS = ["roads", "waste", "noise"]
QUESTION = "Which team should handle this?"


def reported(body: bytes) -> float:
    """What an engine says that it computed, in milliseconds, from its reply."""
    reply = json.loads(body)
    if "metrics" in reply:
        return float(reply["metrics"]["elapsedMs"])
    if "elapsed_ms" in reply:
        return float(reply["elapsed_ms"])
    return float(reply["timings"]["prompt_ms"] + reply["timings"]["predicted_ms"])


def states(seed: int) -> Callable[[], str]:
    """States of one length that were never asked before."""
    dice = random.Random(seed)
    return lambda: f"Complaint {dice.randrange(10**8):08d}: the bar downstairs plays techno until four"


class Recorder(httpx.BaseTransport):
    """Passes calls on and keeps the last, and its reply."""

    def __init__(self) -> None:
        self.inner = httpx.HTTPTransport(trust_env=False)
        self.last: httpx.Request | None = None
        self.reply: httpx.Response | None = None
        self.port: int | None = None

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.read()
        self.last = request
        if self.port is not None:
            request.url = request.url.copy_with(port=self.port)
        self.reply = self.inner.handle_request(request)
        return self.reply


class Canned:
    """A server that answers every request with the same bytes, at once; in a process of its own."""

    def __init__(self, body: bytes) -> None:
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        listener = socket.create_server(("127.0.0.1", 0))
        self.port = listener.getsockname()[1]
        self.pid = os.fork()
        if self.pid == 0:
            while True:
                connection, _ = listener.accept()
                threading.Thread(target=_answer, args=(connection, head.encode() + body), daemon=True).start()
        listener.close()


def _answer(connection: socket.socket, reply: bytes) -> None:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    data = b""
    while True:
        while b"\r\n\r\n" not in data:
            more = connection.recv(1 << 16)
            if not more:
                return
            data += more
        head, _, data = data.partition(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
        while len(data) < length:
            data += connection.recv(1 << 16)
        data = data[length:]
        connection.sendall(reply)


class Socket:
    """HTTP/1.1 by hand over one kept connection: the least that a client can do."""

    def __init__(self, url: str, path: str) -> None:
        parts = urlsplit(url)
        self.address = (parts.hostname, parts.port)
        self.head = f"POST {path} HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Type: application/json\r\n"
        self.connection: socket.socket | None = None

    def __call__(self, body: bytes) -> bytes:
        if self.connection is None:
            self.connection = socket.create_connection(self.address)
            self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.connection.sendall(f"{self.head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        data = b""
        while b"\r\n\r\n" not in data:
            data += self._more()
        head, _, rest = data.partition(b"\r\n\r\n")
        length = next(
            int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")
        )
        while len(rest) < length:
            rest += self._more()
        if b"connection: close" in head.lower() or b"max=1\r\n" in head.lower():
            self.connection.close()
            self.connection = None
        return rest

    def _more(self) -> bytes:
        assert self.connection is not None
        data = self.connection.recv(1 << 16)
        if not data:
            raise ConnectionError("closed")
        return data


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engine", nargs="?", default="slot")
    parser.add_argument("--rounds", type=int, default=200)
    flags = parser.parse_args()
    measured, recorder = Recorder(), Recorder()
    made = Decider(flags.engine, mount=measured).start()
    server = made.session.opened.server
    assert server is not None, "a local engine has no wire; see embedded_speed.py"
    recorded = Decider(flags.engine, url=server.url, model=made.session.opened.model, mount=recorder).start()
    question = {"q": choice(QUESTION, OPTIONS)}
    recorded.decide("warm-up", question)
    assert recorder.last is not None
    path = recorder.last.url.path
    bare = Socket(server.url, path)
    kept = http.client.HTTPConnection(*bare.address)
    client = httpx.Client(trust_env=False)
    ornotto = _ornotto(flags.engine, server.url)

    def body(state: str) -> bytes:
        recorded.session.decide(tiebreak.Request.of(state, question), 60)
        assert recorder.last is not None
        return recorder.last.content

    fresh = states(1)
    template = body("STATE-MARK")

    def filled() -> bytes:
        return template.replace(b"STATE-MARK", fresh().encode())

    def posted(content: bytes) -> bytes:
        return client.post(server.url + path, content=content).content

    turns: dict[str, Callable[[], object]] = {
        "tiebreak": lambda: made.decide(fresh(), question),
        "bare socket": lambda: _again(bare, filled()),
        "http.client": lambda: _kept(kept, path, filled()),
        "httpx client": lambda: posted(filled()),
    }
    if ornotto is not None:
        turns["ornotto"] = lambda: ornotto.choose(fresh(), OPTIONS, QUESTION)
    total: dict[str, list[float]] = {name: [] for name in turns}
    over: dict[str, list[float]] = {name: [] for name in turns}
    for _ in range(flags.rounds):
        for name in random.sample(list(turns), len(turns)):
            started = time.perf_counter()
            result = turns[name]()
            wall = (time.perf_counter() - started) * 1e3
            total[name].append(wall)
            if isinstance(result, bytes):
                over[name].append(wall - reported(result))
            elif isinstance(result, Decision):
                assert measured.reply is not None
                over[name].append(wall - reported(measured.reply.content))
    version = made.session.engine.version
    print(f"engine {flags.engine}, {version}, {flags.rounds} rounds, POST {path}, {len(template)} bytes")
    for name, values in total.items():
        line = f"  {name:13} total {_interval(values)}"
        if over[name]:
            own = [a - b for a, b in zip(over[name], over["bare socket"], strict=True)]
            line += f"   over {_interval(over[name])}   own {_interval(own)}"
        print(line)
    if ornotto is not None:
        less = [a - b for a, b in zip(total["ornotto"], total["tiebreak"], strict=True)]
        print(f"  tiebreak is faster than ornotto by {_interval(less)} ms per decision")
    assert measured.reply is not None
    _hot(made, measured, question, path, template, flags.rounds * 10)
    made.close()
    recorded.close()


def _hot(
    made: Decider, measured: Recorder, question: dict[str, Question], path: str, template: bytes, rounds: int
) -> None:
    """The second table: against a server that answers at once."""
    assert measured.reply is not None
    canned = Canned(measured.reply.content)
    measured.port = canned.port
    url = f"http://127.0.0.1:{canned.port}"
    bare, client, fresh = Socket(url, path), httpx.Client(trust_env=False), states(2)

    def filled() -> bytes:
        return template.replace(b"STATE-MARK", fresh().encode())

    turns: dict[str, Callable[[], object]] = {
        "tiebreak": lambda: made.decide(fresh(), question),
        "bare socket": lambda: bare(filled()),
        "httpx client": lambda: client.post(url + path, content=filled()).content,
    }
    total: dict[str, list[float]] = {name: [] for name in turns}
    try:
        for _ in range(rounds):
            for name in random.sample(list(turns), len(turns)):
                started = time.perf_counter()
                turns[name]()
                total[name].append((time.perf_counter() - started) * 1e3)
    finally:
        os.kill(canned.pid, signal.SIGKILL)
        os.waitpid(canned.pid, 0)
        measured.port = None
    print(f"  the same against a server that answers at once, {rounds} rounds")
    for name, values in total.items():
        own = [a - b for a, b in zip(values, total["bare socket"], strict=True)]
        print(f"  {name:13} total {_interval(values)}   own {_interval(own)}")


def _again(bare: Socket, body: bytes) -> bytes:
    with contextlib.suppress(ConnectionError):
        return bare(body)
    bare.connection = None
    return bare(body)


def _kept(connection: http.client.HTTPConnection, path: str, body: bytes) -> bytes:
    with contextlib.suppress(http.client.HTTPException, ConnectionError):
        connection.request("POST", path, body=body, headers={"content-type": "application/json"})
        return connection.getresponse().read()
    connection.close()
    connection.request("POST", path, body=body, headers={"content-type": "application/json"})
    return connection.getresponse().read()


def _ornotto(engine: str, url: str) -> Any:
    name = {"pcdserver": "pcd", "dohnuts": "dohnuts"}.get(engine)
    if name is None or importlib.util.find_spec("ornotto") is None:
        return None
    import ornotto

    return ornotto.Decider(engine=name, url=url)


def _interval(values: list[float], draws: int = 400) -> str:
    dice = random.Random(0)
    medians = sorted(statistics.median(dice.choices(values, k=len(values))) for _ in range(draws))
    return f"{statistics.median(values):7.3f} [{medians[int(draws * 0.025)]:.3f}, {medians[int(draws * 0.975)]:.3f}]"


if __name__ == "__main__":
    main()
