"""Load on the System One gateway: errors, added latency, memory and open files.

    python benchmarks/gateway_load.py --connections 64 --seconds 60 --engine-ms 200 --rate 60

A gateway on a stub engine (which sleeps, so that what is measured is the gateway and not a model) runs in a process of
its own. Each of the connections sends one request after the other over one kept-alive socket, and rests a random time
between them, so that all together send `--rate` requests per second and do not march in step. The latency that the
gateway adds is what a reply took minus what the stub slept, so the rate must leave the machine room; `--rate 0` rests
not at all, and shows the throughput instead. The client is raw sockets in one event loop, in another process, and its
own time counts as the gateway's.

Then the queue is filled, and what the first refusal took is printed; then SIGTERM is sent under load, and requests that
were accepted and not answered are counted. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import runpy
import signal
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

import httpx
import psutil

STUB = Path(__file__).parent.parent / "core" / "tests" / "stubs" / "http_stub.py"
STATE = "I was charged twice in March and the refund I was promised has not arrived. " * 4
BODY = {
    "model": "jev-latest",
    "state": STATE,
    "questions": {
        "team": {"type": "choice", "instructions": "Which team?", "criteria": {"billing": "Payments", "sales": None}},
        "urgent": {"type": "noul", "instructions": "Is it urgent?"},
    },
}


class Sleeping(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """The wire to the stub engine: it answers after a while, without a thread for each call."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """See `httpx.BaseTransport`; only asked whether the engine is ready."""
        return httpx.Response(200, json={"status": "ok"})

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """See `httpx.AsyncBaseTransport`."""
        rows = json.loads(await request.aread())["rows"]
        await asyncio.sleep(self._seconds)
        return httpx.Response(200, json={"rows": [[1 / row["labels"]] * row["labels"] for row in rows]})


def serve(delay_ms: float, **options: Any) -> None:
    """Be the gateway; the first line printed is the URL."""
    from tiebreak import Decider
    from tiebreak.serve.app import create_app
    from tiebreak.serve.runner import run
    from tiebreak.serve.settings import Settings

    stub = runpy.run_path(str(STUB), run_name="http_stub")
    settings = Settings(port=0)
    mount = Sleeping(delay_ms / 1e3)
    url = "http://127.0.0.1:9"  # never connected to
    with Decider("stub", registry=stub["registry"](), url=url, mount=mount, **options) as decider:
        run(create_app(decider, settings), settings, lambda url: print(url, flush=True))


class Gateway:
    """A gateway process on the stub."""

    def __init__(self, **options: Any) -> None:
        arguments = [sys.executable, __file__, "--serve", json.dumps(options)]
        self.process = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().strip()
        self.host, port = self.url.removeprefix("http://").split(":")
        self.port = int(port)
        self.watched = psutil.Process(self.process.pid)

    def size(self) -> dict[str, float]:
        """Memory and open files now."""
        return {"rss_mib": round(self.watched.memory_info().rss / (1 << 20), 1), "files": self.watched.num_fds()}

    def cpu(self) -> float:
        """Processor time so far, in milliseconds: what a busy machine does not distort."""
        used = self.watched.cpu_times()
        return float(used.user + used.system) * 1e3

    def stop(self) -> None:
        """End it."""
        self.process.terminate()
        self.process.wait()


class Client:
    """One kept-alive connection."""

    def __init__(self, gateway: Gateway) -> None:
        body = json.dumps(BODY).encode()
        head = (
            f"POST /v1/systemone HTTP/1.1\r\nHost: {gateway.host}:{gateway.port}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        self._request = head.encode() + body
        self._gateway = gateway
        self._wire: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self) -> tuple[int, float]:
        """Status and milliseconds of one request.

        Raises:
            ConnectionRefusedError: nobody listens; the request was not accepted.
            ConnectionError: it was sent, and no answer came.
        """
        if self._wire is None:
            self._wire = await asyncio.open_connection(self._gateway.host, self._gateway.port)
        reader, writer = self._wire
        started = time.perf_counter()
        writer.write(self._request)
        head = await reader.readuntil(b"\r\n\r\n")
        lower = head.lower()
        length = int(lower.split(b"content-length:")[1].split(b"\r\n")[0])
        await reader.readexactly(length)
        took = (time.perf_counter() - started) * 1e3
        if b"connection: close" in lower:
            self.close()
        return int(head.split()[1]), took

    def close(self) -> None:
        """Hang up."""
        if self._wire is not None:
            self._wire[1].close()
            self._wire = None


async def steady(gateway: Gateway, connections: int, seconds: float, rest: float) -> dict[str, Any]:
    """Every connection asks until the time is over, and rests `rest` seconds on average between."""
    dice = random.Random(7)
    took: list[float] = []
    errors: dict[str, int] = {}
    until = time.monotonic() + seconds

    async def one() -> None:
        client = Client(gateway)
        while time.monotonic() < until:
            await asyncio.sleep(dice.uniform(0, 2 * rest))
            try:
                status, ms = await client.ask()
            except (ConnectionError, asyncio.IncompleteReadError) as error:
                errors[type(error).__name__] = errors.get(type(error).__name__, 0) + 1
                client.close()
                continue
            if status == 200:
                took.append(ms)
            else:
                errors[str(status)] = errors.get(str(status), 0) + 1
        client.close()

    await asyncio.gather(*(one() for _ in range(connections)))
    return {"requests": len(took), "errors": errors, "took": took}


async def refused(gateway: Gateway, places: int, times: int) -> float:
    """The slowest of several refusals by a full queue, in milliseconds."""
    waiting = [asyncio.create_task(Client(gateway).ask()) for _ in range(places)]
    await asyncio.sleep(0.5)
    slowest = 0.0
    for _ in range(times):
        client = Client(gateway)
        started = time.perf_counter()
        status, _ = await client.ask()
        assert status == 503, status
        slowest = max(slowest, (time.perf_counter() - started) * 1e3)
        client.close()
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    return slowest


async def drained(gateway: Gateway, connections: int) -> dict[str, int]:
    """SIGTERM under load: how many requests were answered, and how many were accepted and lost."""
    answered = lost = 0

    async def one() -> None:
        nonlocal answered, lost
        client = Client(gateway)
        while True:
            try:
                status, _ = await client.ask()
            except ConnectionRefusedError:
                return
            except (ConnectionError, asyncio.IncompleteReadError):
                lost += 1
                return
            answered += status == 200

    async def later() -> None:
        await asyncio.sleep(1.0)
        gateway.process.send_signal(signal.SIGTERM)

    await asyncio.gather(later(), *(one() for _ in range(connections)))
    return {"answered": answered, "lost": lost, "exit_code": await asyncio.to_thread(gateway.process.wait)}


def main() -> None:
    """Run all of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--engine-ms", type=float, default=200.0)
    parser.add_argument("--rate", type=float, default=60.0, help="requests per second of all together; 0: no rest")
    parser.add_argument("--serve", type=json.loads, metavar="OPTIONS", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve is not None:
        serve(**given.serve)
        return
    rest = max(0.0, given.connections / given.rate - given.engine_ms / 1e3) if given.rate else 0.0
    gateway = Gateway(delay_ms=given.engine_ms, places=given.connections)
    try:
        asyncio.run(steady(gateway, given.connections, min(3.0, given.seconds), rest))  # warm
        before, cpu = gateway.size(), gateway.cpu()
        result = asyncio.run(steady(gateway, given.connections, given.seconds, rest))
        after, cpu = gateway.size(), gateway.cpu() - cpu
        took = sorted(result["took"])
        drain = asyncio.run(drained(gateway, given.connections))
    finally:
        gateway.stop()
    full = Gateway(delay_ms=5000, places=2, queue_limit=6)
    try:
        slowest = asyncio.run(refused(full, 8, 20))
    finally:
        full.process.kill()
        full.process.wait()
    print(
        json.dumps(
            {
                "connections": given.connections,
                "seconds": given.seconds,
                "requests_per_second": round(result["requests"] / given.seconds, 1),
                "errors": result["errors"],
                "added_ms": {
                    "median": round(median(took) - given.engine_ms, 3),
                    "p99": round(took[int(len(took) * 0.99)] - given.engine_ms, 3),
                },
                "cpu_ms_per_request": round(cpu / result["requests"], 3),
                "before": before,
                "after": after,
                "slowest_refusal_ms": round(slowest, 2),
                "sigterm": drain,
            },
            indent=2,
        )
    )


if __name__ == "__main__":
    main()
