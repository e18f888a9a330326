"""`JoinedWrites`: uvicorn's HTTP protocol, with the head and the body of a reply in one packet.

uvicorn writes them apart. On loopback the first packet wakes the client, which may take the processor, reads half a
reply and goes back to sleep before the second one is written.
"""

from __future__ import annotations

import asyncio
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

__all__ = ["JoinedWrites"]

MOST_HELD = 1 << 16  # bytes; asyncio's own mark for a writer that should wait


class JoinedWrites(HttpToolsProtocol):
    """One connection: what is written is held until the reply is whole, or the event loop has its turn."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """See `asyncio.Protocol`."""
        self._holding = _Holding(transport, self.loop)
        super().connection_made(cast("asyncio.Transport", self._holding))

    def on_response_complete(self) -> None:
        """See `HttpToolsProtocol`, which calls it when the last part of a reply was written."""
        self._holding.flush()
        super().on_response_complete()


class _Holding:
    """A transport that holds what is written for a moment, and passes on all else at once."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._held: list[bytes] = []
        self._size = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Send data together with what follows in the same turn of the event loop."""
        if not self._held:
            # Not everything is a part of a reply that is whole in this turn: `100 Continue`, a stream.
            self._loop.call_soon(self.flush)
        self._held.append(data)
        self._size += len(data)
        if self._size > MOST_HELD:
            self.flush()

    def flush(self) -> None:
        """Send what is held."""
        if self._held:
            data = b"".join(self._held)
            self._held.clear()
            self._size = 0
            self._transport.write(data)

    def close(self) -> None:
        """Send what is held, then close."""
        self.flush()
        self._transport.close()
