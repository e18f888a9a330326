"""Load on the System One gateway: errors, added latency, memory and open files.

    python benchmarks/gateway_load.py --connections 64 --seconds 60 --engine-ms 200 --rate 60

A gateway on a stub engine (which sleeps, so that what is measured is the gateway and not a model) runs in a process of
its own. Each of the connections sends one request after the other over one kept-alive socket, and rests a random time
between them, so that all together send `--rate` requests per second and do not march in step. The rate must leave the
machine room; `--rate 0` rests not at all, and shows the throughput instead.

Three figures, each in milliseconds beyond what the stub was told to sleep (`--engine-ms`):

- `gateway`: from the first byte of a request sent to the last byte of its reply here. The client is raw sockets in one
  event loop, in another process, and its own time counts as the gateway's.
- `direct`: the same requests at the same rate, put to `Decider.adecide` from as many tasks of a process without any
  gateway. The stub's own work, its timer's lateness and everything that the Decider does are in it.
- `added`: the difference of the two medians, which is what the gateway adds to the Decider that it serves.

Where the machine has other work to do, `chrt -r 10 python benchmarks/gateway_load.py` goes ahead of it; else what is
measured is the wait for a processor.

Then the queue is filled, and what the first refusal took is printed; then SIGTERM is sent under load, and requests that
were accepted and not answered are counted. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import math
import os
import random
import runpy
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import attrs
import httpx
import psutil

from tiebreak import Decider, choice, yes_no

STUB = Path(__file__).parent.parent / "core" / "tests" / "stubs" / "http_stub.py"
WARM = 3.0  # seconds of load before anything is measured
SETTLE = 1.0  # seconds for a gateway to notice that connections were closed
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


def stubbed(delay_ms: float, **options: Any) -> Decider:
    """A Decider on the stub engine, which sleeps so long."""
    stub = runpy.run_path(str(STUB), run_name="http_stub")
    url = "http://127.0.0.1:9"  # never connected to
    return Decider("stub", registry=stub["registry"](), url=url, mount=Sleeping(delay_ms / 1e3), **options)


def serve(options: dict[str, Any]) -> None:
    """Be the gateway; the first line printed is the URL."""
    from tiebreak.serve.app import create_app
    from tiebreak.serve.runner import run
    from tiebreak.serve.settings import Settings

    # As `tiebreak serve` does it, an access log is written; here nobody reads it.
    access = logging.getLogger("tiebreak.serve")
    access.addHandler(logging.FileHandler(os.devnull))
    access.setLevel(logging.INFO)
    settings = Settings(port=0)
    with stubbed(**options) as decider:
        run(create_app(decider, settings), settings, lambda url: print(url, flush=True))


def call(load: Load, options: dict[str, Any]) -> None:
    """Ask the same Decider without a gateway, and print the milliseconds of each call and of the processor."""
    questions = {"q1": choice("Which team?", {"billing": "Payments", "sales": None}), "q2": yes_no("Is it urgent?")}
    with stubbed(**options) as decider:

        async def ask() -> float:
            started = time.perf_counter()
            await decider.adecide(STATE, questions)
            return (time.perf_counter() - started) * 1e3

        async def everything() -> tuple[list[float], float]:
            await load.put([ask] * load.connections, seconds=WARM)
            cpu = time.process_time()
            took = await load.put([ask] * load.connections)
            return took, (time.process_time() - cpu) * 1e3 / len(took)

        took, cpu = asyncio.run(everything())
    print(json.dumps({"took": took, "cpu": cpu}))


@attrs.frozen(kw_only=True)
class Load:
    """So many connections, which together ask so many times per second (0: without rest), for so long."""

    connections: int
    seconds: float
    rate: float
    engine_ms: float

    @property
    def rest(self) -> float:
        """Seconds between a reply and the next request, on average."""
        return max(0.0, self.connections / self.rate - self.engine_ms / 1e3) if self.rate else 0.0

    async def put(self, asks: Sequence[Callable[[], Awaitable[float]]], seconds: float | None = None) -> list[float]:
        """Each asks until the time is over, with rests between; returns what they returned."""
        dice = random.Random(7)
        until = time.monotonic() + (self.seconds if seconds is None else seconds)
        found: list[float] = []

        async def one(ask: Callable[[], Awaitable[float]]) -> None:
            await asyncio.sleep(dice.uniform(0, 2 * self.rest))
            while time.monotonic() < until:
                found.append(await ask())
                await asyncio.sleep(dice.uniform(0, 2 * self.rest))

        await asyncio.gather(*(one(ask) for ask in asks))
        return found


class Gateway:
    """A gateway process on the stub."""

    def __init__(self, options: dict[str, Any]) -> None:
        arguments = [sys.executable, __file__, "--serve", json.dumps(options)]
        self.process = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().strip()
        self.host, port = self.url.removeprefix("http://").split(":")
        self.port = int(port)
        self.watched = psutil.Process(self.process.pid)

    def size(self) -> dict[str, float]:
        """Memory and open files, once the connections of before are closed on its side, too."""
        time.sleep(SETTLE)
        return {"rss_mib": round(self.watched.memory_info().rss / (1 << 20), 1), "files": self.watched.num_fds()}

    def cpu(self) -> float:
        """Processor time so far, in milliseconds: what a busy machine does not distort."""
        used = self.watched.cpu_times()
        return float(used.user + used.system) * 1e3

    def stop(self) -> None:
        """End it."""
        self.process.terminate()
        self.process.wait()


class Client(asyncio.Protocol):
    """One kept-alive connection, which notes when the last byte of a reply came."""

    def __init__(self, gateway: Gateway) -> None:
        body = json.dumps(BODY).encode()
        head = (
            f"POST /v1/systemone HTTP/1.1\r\nHost: {gateway.host}:{gateway.port}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        self._request = head.encode() + body
        self._gateway = gateway
        self._transport: asyncio.Transport | None = None
        self._came = b""
        self._reply: asyncio.Future[tuple[int, float]] | None = None

    async def ask(self) -> tuple[int, float]:
        """Status of one request, and when its reply was whole (`time.perf_counter()`).

        Raises:
            ConnectionRefusedError: nobody listens; the request was not accepted.
            ConnectionError: it was sent, and no answer came.
        """
        loop = asyncio.get_running_loop()
        if self._transport is None:
            self._transport, _ = await loop.create_connection(lambda: self, self._gateway.host, self._gateway.port)
        self._came = b""
        self._reply = loop.create_future()
        self._transport.write(self._request)
        return await self._reply

    async def timed(self) -> float:
        """Milliseconds of one request.

        Raises:
            ConnectionError: as for `ask`, or it was not answered with 200.
        """
        if self._transport is None:
            await self.ask()  # the first one connects, too
        started = time.perf_counter()
        status, finished = await self.ask()
        if status != 200:
            raise ConnectionError(f"HTTP {status}")
        return (finished - started) * 1e3

    def data_received(self, data: bytes) -> None:
        """See `asyncio.Protocol`."""
        now = time.perf_counter()
        self._came += data
        head, found, body = self._came.partition(b"\r\n\r\n")
        lower = head.lower()
        if not found or len(body) < int(lower.split(b"content-length:")[1].split(b"\r\n")[0]):
            return
        if b"connection: close" in lower:
            self.close()
        if self._reply is not None and not self._reply.done():
            self._reply.set_result((int(head.split()[1]), now))

    def connection_lost(self, error: Exception | None) -> None:
        """See `asyncio.Protocol`."""
        self._transport = None
        if self._reply is not None and not self._reply.done():
            self._reply.set_exception(ConnectionResetError("hung up"))

    def close(self) -> None:
        """Hang up."""
        if self._transport is not None:
            self._transport.close()
            self._transport = None


async def steady(gateway: Gateway, load: Load, seconds: float | None = None) -> dict[str, Any]:
    """All connections ask over the load's time."""
    errors: dict[str, int] = {}
    clients = [Client(gateway) for _ in range(load.connections)]

    def counting(client: Client) -> Callable[[], Awaitable[float]]:
        async def ask() -> float:
            try:
                return await client.timed()
            except ConnectionError as error:
                errors[str(error)] = errors.get(str(error), 0) + 1
                client.close()
                return math.nan

        return ask

    took = await load.put([counting(client) for client in clients], seconds)
    for client in clients:
        client.close()
    return {"errors": errors, "took": [ms for ms in took if not math.isnan(ms)]}


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
            except ConnectionError:
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
    parser.add_argument("--call", type=json.loads, metavar="OPTIONS", help=argparse.SUPPRESS)
    given = vars(parser.parse_args())
    options, calling = given.pop("serve"), given.pop("call")
    load = Load(**given)
    if options is not None:
        serve(options)
    elif calling is not None:
        call(load, calling)
    else:
        print(json.dumps(measured(load), indent=2))


def measured(load: Load) -> dict[str, Any]:
    """All figures."""
    options = {"delay_ms": load.engine_ms, "places": load.connections}
    direct = called(load, options)
    gateway = Gateway(options)
    try:
        asyncio.run(steady(gateway, load, min(WARM, load.seconds)))
        before, cpu = gateway.size(), gateway.cpu()
        result = asyncio.run(steady(gateway, load))
        after, cpu = gateway.size(), gateway.cpu() - cpu
        drain = asyncio.run(drained(gateway, load.connections))
    finally:
        gateway.stop()
    full = Gateway({"delay_ms": 5000, "places": 2, "queue_limit": 6})
    try:
        slowest = asyncio.run(refused(full, 8, 20))
    finally:
        full.process.kill()
        full.process.wait()
    took = result["took"]
    over_http, without = (spread(ms, load.engine_ms) for ms in (took, direct["took"]))
    cpu /= len(took)
    return {
        "connections": load.connections,
        "seconds": load.seconds,
        "requests_per_second": round(len(took) / load.seconds, 1),
        "errors": result["errors"],
        "beyond_sleep_ms": {"gateway": over_http, "direct": without},
        "added_ms": round(over_http["median"] - without["median"], 3),
        "cpu_ms_per_request": {"gateway": round(cpu, 3), "direct": round(direct["cpu"], 3)},
        "before": before,
        "after": after,
        "slowest_refusal_ms": round(slowest, 2),
        "sigterm": drain,
    }


def called(load: Load, options: dict[str, Any]) -> dict[str, Any]:
    """What `call` prints, in a process of its own."""
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in attrs.asdict(load).items()]
    arguments = [sys.executable, __file__, "--call", json.dumps(options), *flags]
    found: dict[str, Any] = json.loads(subprocess.run(arguments, check=True, stdout=subprocess.PIPE).stdout)
    return found


def spread(took: list[float], slept: float) -> dict[str, float]:
    """Median and 99th percentile beyond what the stub slept."""
    return {
        "median": round(median(took) - slept, 3),
        "p99": round(sorted(took)[int(len(took) * 0.99)] - slept, 3),
    }


if __name__ == "__main__":
    main()
