"""What the gateway's HTTP protocol puts on the wire at once, and what it does not hold back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from uvicorn.config import Config
from uvicorn.server import ServerState

from tiebreak.serve.joined import MOST_HELD, JoinedWrites

HEAD = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n"
START = {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"6")]}
CHUNKED = {"type": "http.response.start", "status": 200, "headers": []}


class Wire(asyncio.Transport):
    """A transport that notes what reaches it."""

    def __init__(self) -> None:
        super().__init__()
        self.events: list[bytes] = []

    def write(self, data: Any) -> None:
        self.events.append(data)

    def close(self) -> None:
        self.events.append(b"closed")

    def is_closing(self) -> bool:
        return b"closed" in self.events

    def pause_reading(self) -> None:
        """There is nothing to pause."""

    def resume_reading(self) -> None:
        """See above."""


def part(body: bytes, *, more: bool = False) -> dict[str, Any]:
    return {"type": "http.response.body", "body": body, "more_body": more}


def wire_of(
    app: Callable[..., Awaitable[None]], request: bytes = HEAD + b"\r\n{}", wire: Wire | None = None
) -> list[bytes]:
    """What reached the wire of one request."""
    wire = wire or Wire()

    async def exchange() -> list[bytes]:
        state = ServerState()
        protocol = JoinedWrites(Config(app, log_config=None, ws="none"), state, {})
        protocol.connection_made(wire)
        protocol.data_received(request)
        await asyncio.gather(*state.tasks)
        await asyncio.sleep(0)
        return wire.events

    return asyncio.run(exchange())


def test_head_and_body_are_one_write() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send(START)
        await send(part(b"answer"))

    (reply,) = wire_of(app)
    assert reply == b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nanswer"


def test_a_reply_leaves_before_the_application_goes_on() -> None:
    wire, seen = Wire(), []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send(START)
        await send(part(b"answer"))
        seen.append(len(wire.events))

    wire_of(app, wire=wire)
    assert seen == [1]


def test_a_connection_that_ends_sends_everything_first() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({**START, "headers": [(b"content-length", b"6"), (b"connection", b"close")]})
        await send(part(b"answer"))

    reply, closed = wire_of(app)
    assert reply.endswith(b"answer")
    assert closed == b"closed"


def test_a_reply_that_breaks_off_sends_what_there_was() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send(START)
        await send(part(b"ans", more=True))
        raise ZeroDivisionError

    reply, closed = wire_of(app)
    assert reply.endswith(b"\r\n\r\nans")
    assert closed == b"closed"


def test_a_client_that_waits_to_be_told_to_go_on_is_told() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        body = asyncio.ensure_future(receive())
        await asyncio.sleep(0.01)
        body.cancel()
        await send(START)
        await send(part(b"answer"))

    go_on, reply = wire_of(app, HEAD + b"Expect: 100-continue\r\n\r\n")
    assert go_on == b"HTTP/1.1 100 Continue\r\n\r\n"
    assert reply.endswith(b"answer")


def test_parts_that_come_one_by_one_are_not_held() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send(CHUNKED)
        for _ in range(2):
            await send(part(b"x", more=True))
            await asyncio.sleep(0.01)
        await send(part(b""))

    first, second, last = wire_of(app)
    assert first.endswith(b"1\r\nx\r\n")
    assert second == b"1\r\nx\r\n"
    assert last == b"0\r\n\r\n"


def test_much_is_not_held() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send(CHUNKED)
        for _ in range(4):
            await send(part(b"x" * MOST_HELD, more=True))
        await send(part(b""))

    *parts, last = wire_of(app)
    assert len(parts) == 4
    assert last == b"0\r\n\r\n"
