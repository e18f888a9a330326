"""The wires: what carries one exchange to another host, or for tasks. The one place that knows httpx.

Loopback goes through httpx's transports without the client around them: no proxies, cookies or redirects, and less
time. Other hosts go through an httpx client, which honours the proxy settings of the environment.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from tiebreak.calls import Call

if TYPE_CHECKING:
    import httpx

__all__ = ["Answered", "AsyncHttpxWire", "Broken", "HttpxWire", "NoReply", "Refused", "TimedOut"]

MOST_IDLE = 64
LONGEST_IDLE = 30.0  # seconds


class Answered(NamedTuple):
    """What came back: HTTP status, headers with lower-case names, body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class NoReply(Exception):
    """An exchange without a reply; the text says how it ended."""


class TimedOut(NoReply):
    """Nothing came within the time that was left."""


class Refused(NoReply):
    """No connection could be made."""


class Broken(NoReply):
    """The connection ended in the middle, or what came was not HTTP."""


class HttpxWire:
    """Exchanges from threads: httpx's transport alone for loopback, a client for other hosts.

    Args:
        loopback: the engine is on this machine.
        mount: replaces the wire, for tests and recordings.
    """

    def __init__(self, loopback: bool, mount: httpx.BaseTransport | None) -> None:
        import httpx

        self._client: httpx.Client | None = None
        if loopback or mount is not None:
            self._transport = mount or httpx.HTTPTransport(limits=_limits(), trust_env=False)
        else:
            self._client = httpx.Client(limits=_limits(), follow_redirects=False)

    def exchange(self, call: Call, url: str, headers: Mapping[str, str], seconds: float) -> Answered:
        """Send a call and read its reply; see `LoopbackWire.exchange`."""
        import httpx

        request = _request(call, url, headers, seconds)
        try:
            if self._client is not None:
                response = self._client.send(request, stream=True)
            else:
                response = self._transport.handle_request(request)
            try:
                body = response.read()
            finally:
                response.close()
        except httpx.HTTPError as error:
            raise _no_reply(error) from None
        return _answered(response, body)

    def close(self) -> None:
        """Close the connections."""
        (self._client or self._transport).close()


class AsyncHttpxWire:
    """The same from the tasks of one event loop; closes itself when the loop shuts down."""

    def __init__(self, loopback: bool, mount: httpx.AsyncBaseTransport | None) -> None:
        import httpx

        self._client: httpx.AsyncClient | None = None
        if loopback or mount is not None:
            self._transport = mount or httpx.AsyncHTTPTransport(limits=_limits(), trust_env=False)
        else:
            self._client = httpx.AsyncClient(limits=_limits(), follow_redirects=False)
        self._life: AsyncGenerator[None, None] | None = None

    async def attach(self) -> None:
        """Tie the wire to the running event loop."""
        # An event loop finalises its async generators before it closes: the only hook that it offers.
        self._life = self._until_shutdown()
        await self._life.asend(None)

    async def exchange(self, call: Call, url: str, headers: Mapping[str, str], seconds: float) -> Answered:
        """Send a call and read its reply; see `LoopbackWire.exchange`."""
        import httpx

        request = _request(call, url, headers, seconds)
        try:
            if self._client is not None:
                response = await self._client.send(request, stream=True)
            else:
                response = await self._transport.handle_async_request(request)
            try:
                body = await response.aread()
            finally:
                await response.aclose()
        except httpx.HTTPError as error:
            raise _no_reply(error) from None
        return _answered(response, body)

    async def _until_shutdown(self) -> AsyncGenerator[None, None]:
        try:
            yield
        finally:
            await (self._client or self._transport).aclose()


def _limits() -> httpx.Limits:
    import httpx

    return httpx.Limits(max_connections=None, max_keepalive_connections=MOST_IDLE, keepalive_expiry=LONGEST_IDLE)


def _request(call: Call, url: str, headers: Mapping[str, str], seconds: float) -> httpx.Request:
    import httpx

    timeout = {"connect": seconds, "read": seconds, "write": seconds, "pool": seconds}
    return httpx.Request(
        call.method, url + call.path, headers=headers, content=call.body or None, extensions={"timeout": timeout}
    )


def _answered(response: httpx.Response, body: bytes) -> Answered:
    return Answered(response.status_code, {name.lower(): value for name, value in response.headers.items()}, body)


def _no_reply(error: httpx.HTTPError) -> NoReply:
    import httpx

    text = f"{type(error).__name__}: {error}"
    if isinstance(error, httpx.TimeoutException):
        return TimedOut(text)
    if isinstance(error, (httpx.NetworkError, httpx.RemoteProtocolError)) and not isinstance(error, httpx.ConnectError):
        return Broken(text)
    return Refused(text)
