"""What the client costs per decision, beside a raw HTTP client and a bare socket, on one running engine.

    python benchmarks/overhead.py [ENGINE] [--rounds N]

All ask the same running server the same things, in turns, so that the machine's mood falls on all of them alike. The
bytes that tiebreak sends are recorded first and then sent again by a bare socket, by `http.client`, by an httpx client
and, for pcdserver and dohnuts where it is installed, by the `ornotto` library. Every round has a state of its own, of
the same length. Printed are medians with 95 % bootstrap intervals in milliseconds:

    total        wall clock of one decision
    engine       what the engine says that it computed (None where it does not say)
    over         total minus engine: client, wire and whatever the server does not count
    own          total minus the bare socket's in the same round: what the client itself costs
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import importlib.util
import random
import socket
import statistics
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import httpx

import tiebreak
from tiebreak import Decider, choice

OPTIONS = ["roads", "waste", "noise"]
QUESTION = "Which team should handle this?"
ENGINE_PHASES = {
    "slot": ("prompt_ms", "predicted_ms"),
    "pcdserver": ("elapsedMs",),
    "dohnuts": ("elapsed_ms",),
}
"""The engine's own timings that add up to what it says that it computed."""


def states(seed: int) -> Callable[[], str]:
    """States of one length that were never asked before."""
    dice = random.Random(seed)
    return lambda: f"Complaint {dice.randrange(10**8):08d}: the bar downstairs plays techno until four"


class Recorder(httpx.BaseTransport):
    """Passes calls on and keeps the last."""

    def __init__(self) -> None:
        self.inner = httpx.HTTPTransport(trust_env=False)
        self.last: httpx.Request | None = None

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.read()
        self.last = request
        return self.inner.handle_request(request)


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
    made = Decider(flags.engine).start()
    server = made.session.opened.server
    assert server is not None, "a local engine has no wire; see embedded_speed.py"
    recorder = Recorder()
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
    rows: dict[str, list[float]] = {}
    engine: list[float] = []
    template = body("STATE-MARK")
    for _ in range(flags.rounds):
        turns: list[tuple[str, Callable[[], object]]] = [
            ("tiebreak", lambda: made.decide(fresh(), question)),
            ("bare socket", lambda: _again(bare, template.replace(b"STATE-MARK", fresh().encode()))),
            ("http.client", lambda: _kept(kept, path, template.replace(b"STATE-MARK", fresh().encode()))),
            (
                "httpx client",
                lambda: (
                    client.post(server.url + path, content=template.replace(b"STATE-MARK", fresh().encode())).content
                ),
            ),
        ]
        if ornotto is not None:
            turns.append(("ornotto", lambda: ornotto.choose(fresh(), OPTIONS, QUESTION)))
        random.shuffle(turns)
        for name, turn in turns:
            started = time.perf_counter()
            result = turn()
            rows.setdefault(name, []).append((time.perf_counter() - started) * 1e3)
            if name == "tiebreak":
                spent = result.timings  # type: ignore[attr-defined]
                computed = sum(spent.engine.get(phase, 0.0) for phase in ENGINE_PHASES[flags.engine])
                engine.append(computed if spent.transport is not None else float("nan"))
    version = made.session.engine.version
    print(f"engine {flags.engine}, {version}, {flags.rounds} rounds, POST {path}, {len(template)} bytes")
    floor = rows["bare socket"]
    for name, values in rows.items():
        own = [a - b for a, b in zip(values, floor, strict=True)]
        ratio = statistics.median(values) / statistics.median(floor)
        print(f"  {name:13} total {_interval(values)}   own {_interval(own)}   ratio {ratio:.3f}")
    over = [a - b for a, b in zip(rows["tiebreak"], engine, strict=True) if b == b]
    if over:
        print(f"  tiebreak's total minus what the engine says that it computed: {_interval(over)}")
    if "ornotto" in rows:
        less = [a - b for a, b in zip(rows["ornotto"], rows["tiebreak"], strict=True)]
        print(f"  tiebreak is faster than ornotto by {_interval(less)} ms per decision")
    tiebreak.shutdown()
    made.close()
    recorded.close()


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
