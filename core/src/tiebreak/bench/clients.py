"""The least that a client can do, to hold others against: bytes over a kept connection, by hand or by a library."""

from __future__ import annotations

import contextlib
import http.client
import importlib.util
import json
import socket
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    import httpx

__all__ = ["Httpx", "Kept", "Socket", "ornotto", "reported"]

CHUNK = 1 << 16


class Socket:
    """HTTP/1.1 by hand over one kept connection.

    Args:
        url: base URL of the server.
        path: where every body is posted.
    """

    def __init__(self, url: str, path: str) -> None:
        parts = urlsplit(url)
        self._address = (parts.hostname or "", parts.port or 80)
        self._head = f"POST {path} HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Type: application/json\r\n"
        self._connection: socket.socket | None = None

    def post(self, body: bytes) -> bytes:
        """The reply to a body; a kept connection that the server has closed meanwhile is made anew, once."""
        with contextlib.suppress(ConnectionError):
            return self._once(body)
        self.close()
        return self._once(body)

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _once(self, body: bytes) -> bytes:
        if self._connection is None:
            self._connection = socket.create_connection(self._address)
            self._connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._connection.sendall(f"{self._head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        data = b""
        while b"\r\n\r\n" not in data:
            data += self._more(self._connection)
        head, _, rest = data.partition(b"\r\n\r\n")
        length = int((head.lower() + b"\r\n").partition(b"content-length:")[2].split(b"\r\n")[0])
        while len(rest) < length:
            rest += self._more(self._connection)
        if b"connection: close" in head.lower() or b"max=1\r\n" in head.lower():
            self.close()
        return rest

    def _more(self, connection: socket.socket) -> bytes:
        data = connection.recv(CHUNK)
        if not data:
            raise ConnectionError("the server closed the connection")
        return data


class Kept:
    """The standard library's HTTP client with one kept connection. Arguments as for `Socket`."""

    def __init__(self, url: str, path: str) -> None:
        self._connection = http.client.HTTPConnection(urlsplit(url).netloc)
        self._path = path

    def post(self, body: bytes) -> bytes:
        """See `Socket.post`."""
        with contextlib.suppress(http.client.HTTPException, ConnectionError):
            return self._once(body)
        self._connection.close()
        return self._once(body)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _once(self, body: bytes) -> bytes:
        self._connection.request("POST", self._path, body=body, headers={"content-type": "application/json"})
        return self._connection.getresponse().read()


class Httpx:
    """An httpx client as one would write it. Arguments as for `Socket`."""

    def __init__(self, url: str, path: str) -> None:
        import httpx

        self._client: httpx.Client = httpx.Client(trust_env=False, headers={"content-type": "application/json"})
        self._url = url + path

    def post(self, body: bytes) -> bytes:
        """See `Socket.post`."""
        return self._client.post(self._url, content=body).content

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


def ornotto(engine: str, url: str, options: Sequence[str], question: str) -> Callable[[str], Any] | None:
    """Asks a state through the `ornotto` library; None where that is not installed or does not know the engine."""
    name = {"pcdserver": "pcd", "dohnuts": "dohnuts"}.get(engine)
    if name is None or importlib.util.find_spec("ornotto") is None:
        return None
    import ornotto

    decider = ornotto.Decider(engine=name, url=url)
    return lambda state: decider.choose(state, list(options), question)


def reported(body: bytes) -> float | None:
    """What an engine says in its reply that it computed, in milliseconds, None where it does not say."""
    reply = json.loads(body)
    if not isinstance(reply, dict):
        return None
    if "metrics" in reply:  # pcdServer
        return float(reply["metrics"]["elapsedMs"])
    if "elapsed_ms" in reply:  # dohnuts
        return float(reply["elapsed_ms"])
    if "timings" in reply:  # llama-server
        return float(reply["timings"]["prompt_ms"] + reply["timings"]["predicted_ms"])
    return None
