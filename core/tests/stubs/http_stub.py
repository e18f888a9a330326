"""A wire engine and the server that it speaks to, both made for faults: what they answer is a function of the state."""

from __future__ import annotations

import hashlib
import json
import math
import socket
import threading
import time
from collections.abc import Callable, Generator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import attrs

from tiebreak import Registry, hookimpl
from tiebreak.command import Command, Readiness
from tiebreak.engine import Call, Capabilities, EngineInfo, Limits, OptionSpec, Reply, Vocabulary, WireEngine
from tiebreak.evidence import Outcome, TokenScores
from tiebreak.memory import Footprint
from tiebreak.plan import Plan
from tiebreak.refusal import refusal

INFO = EngineInfo(
    name="stub",
    summary="answers from a hash",
    capabilities=Capabilities(concurrency=4, tolerance=0.0),
    limits=Limits(options=26),
    options=(
        OptionSpec(name="places", type=int, default=4, help="Requests at once."),
        OptionSpec(name="retries", type=int, default=0, help="Retries."),
        OptionSpec(name="cancels", type=bool, default=False, help="Stops when the client leaves."),
    ),
)


def expected(text: str, labels: int) -> list[float]:
    """The probabilities that the stub gives for a prompt, whoever asks and whenever."""
    raw = [1 + hashlib.sha256(f"{i}{text}".encode()).digest()[0] for i in range(labels)]
    return [value / sum(raw) for value in raw]


class StubEngine(WireEngine):
    """One call per plan: the rows' texts go out, numbers come back."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self.info = INFO
        self.url = options["url"]
        self.headers = {}
        self.load_timeout = 20.0
        self.capabilities = attrs.evolve(INFO.capabilities, concurrency=options["places"], cancels=options["cancels"])
        self.limits = INFO.limits
        self.vocabulary = Vocabulary()
        self._retries = options["retries"]

    def launch(self) -> Command:
        raise AssertionError("the stub is attached to")

    def footprint(self) -> Footprint:
        return Footprint(weights=1)

    def ready_call(self) -> Call:
        return Call(method="GET", path="/health")

    def readiness(self, reply: Reply) -> Readiness:
        if reply.status == 503:
            return Readiness(state="loading", text="Loading model")
        return Readiness(state="ready" if reply.status == 200 else "stranger", text=str(reply.status))

    def greeting(self) -> Generator[Call, Reply, None]:
        yield Call(method="GET", path="/health")

    def exchange(self, plan: Plan) -> Generator[Call, Reply, Outcome]:
        body = {"rows": [{"text": row.text(), "labels": len(row.labels)} for row in plan.rows]}
        reply = yield Call.post("/answer", body, retries=self._retries)
        if reply.status != 200:
            raise refusal(reply, "stub")
        rows = reply.json("stub")["rows"]
        return Outcome(
            evidence=tuple(TokenScores(logprobs=tuple(math.log(p) for p in row)) for row in rows), engine_ms=0.0
        )


class Plugin:
    """The hooks, as a module would have them."""

    @staticmethod
    @hookimpl
    def tiebreak_engine() -> EngineInfo:
        return INFO

    @staticmethod
    @hookimpl
    def tiebreak_load(options: Mapping[str, Any]) -> StubEngine:
        return StubEngine(options)


def registry() -> Registry:
    """A registry that knows the stub alone."""
    found = Registry()
    found.add(Plugin, "stub")
    return found


class Server(ThreadingHTTPServer):
    """The server. `fault` sees each request first and may answer, delay or break it.

    Attributes:
        fault: called with the handler; returns True where it has dealt with the request.
        seen: (path, monotonic time, client address) of every request.
        busy, busiest: requests at work now, and the most at once.
        connections: connections that were accepted.
    """

    daemon_threads = True
    request_queue_size = 1024

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.fault: Callable[[Handler], bool] = lambda handler: False
        self.seen: list[tuple[str, float, Any]] = []
        self.connections = 0
        self.busy = 0
        self.busiest = 0
        self.lock = threading.Lock()
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self._thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()

    def process_request(self, request: Any, client_address: Any) -> None:
        self.connections += 1
        super().process_request(request, client_address)

    def stop(self) -> None:
        self.shutdown()
        self.server_close()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Server

    def setup(self) -> None:
        super().setup()
        self.answered = 0
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def do_GET(self) -> None:
        self._handle()

    def do_POST(self) -> None:
        self._handle()

    def _handle(self) -> None:
        server = self.server
        self.body = self.rfile.read(int(self.headers.get("content-length", 0)))
        with server.lock:
            server.seen.append((self.path, time.monotonic(), self.client_address))
            server.busy += 1
            server.busiest = max(server.busiest, server.busy)
        try:
            if not server.fault(self):
                self.answer()
            self.answered += 1
        finally:
            with server.lock:
                server.busy -= 1

    def answer(self) -> None:
        """The right answer."""
        if self.path == "/health":
            self.send(200, {"status": "ok"})
            return
        rows = json.loads(self.body)["rows"]
        self.send(200, {"rows": [expected(row["text"], row["labels"]) for row in rows]})

    def send(self, status: int, body: Any, **headers: str) -> None:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""
