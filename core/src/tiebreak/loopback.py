"""`LoopbackWire`: kept connections to engines on this machine, through the standard library's HTTP client.

A decision on a warm engine is a small exchange with a process next door, made thousands of times. What httpx does for
the internet (proxies, redirects, pools with events for async) costs more there than the exchange itself.
"""

from __future__ import annotations

import contextlib
import http.client
import socket
import threading
import time
from collections import defaultdict
from collections.abc import Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from tiebreak.calls import Call
from tiebreak.wire import Answered, Broken, Refused, TimedOut

__all__ = ["LoopbackWire"]

MOST_IDLE = 64
LONGEST_IDLE = 30.0  # seconds after which a kept connection is not trusted any more


class LoopbackWire:
    """Makes plain HTTP exchanges from any thread, a connection each, and keeps the connections for the next."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: defaultdict[str, list[tuple[float, _Connection]]] = defaultdict(list)

    def exchange(self, call: Call, url: str, headers: Mapping[str, str], seconds: float) -> Answered:
        """Send a call and read its reply.

        Args:
            call: what to send.
            url: the engine's base URL, plain HTTP.
            headers: all that the exchange carries.
            seconds: longest wait for the next sign of life.

        Raises:
            TimedOut, Refused, Broken: there is no reply.
        """
        connection = self._kept(url) or _made(url)
        try:
            connection.timeout = seconds
            if connection.sock is None:
                _connect(connection)
            connection.sock.settimeout(seconds)
            connection.request(call.method, _base(url) + call.path, call.body or None, headers)
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                # Who refuses a request before all of it was there closes the connection, and has said why.
                connection.flush()
            response = connection.getresponse()
            body = response.read()
        except BaseException as error:
            # Half an exchange is on it, and the next one must not read the rest.
            connection.close()
            if isinstance(error, TimeoutError):
                raise TimedOut(str(error)) from None
            if isinstance(error, (OSError, http.client.HTTPException)):
                raise Broken(f"{type(error).__name__}: {error}") from None
            raise
        if not response.will_close:
            self._keep(url, connection)
        return Answered(response.status, {name.lower(): value for name, value in response.getheaders()}, body)

    def close(self) -> None:
        """Close the connections that are not in use."""
        with self._lock:
            kept = [connection for idle in self._idle.values() for _, connection in idle]
            self._idle.clear()
        for connection in kept:
            connection.close()

    def _kept(self, url: str) -> _Connection | None:
        """The connection used last, which is the likeliest to be alive, or None."""
        while True:
            with self._lock:
                idle = self._idle.get(url)
                if not idle:
                    return None
                since, connection = idle.pop()
            if time.monotonic() - since < LONGEST_IDLE and not _ended(connection):
                return connection
            connection.close()

    def _keep(self, url: str, connection: _Connection) -> None:
        with self._lock:
            idle = self._idle[url]
            idle.append((time.monotonic(), connection))
            oldest = idle.pop(0)[1] if len(idle) > MOST_IDLE else None
        if oldest is not None:
            oldest.close()


class _Connection(http.client.HTTPConnection):
    """Sends head and body together: apart they would wake the other side twice."""

    def __init__(self, host: str, port: int) -> None:
        super().__init__(host, port)
        self._held: list[bytes] = []

    def send(self, data: Any) -> None:
        """Hold a part back until `flush`."""
        self._held.append(data)

    def flush(self) -> None:
        """Send what was held back."""
        data = b"".join(self._held)
        self._held.clear()
        self.sock.sendall(data)


def _made(url: str) -> _Connection:
    parts = urlsplit(url)
    return _Connection(parts.hostname or "", parts.port or 80)


def _connect(connection: _Connection) -> None:
    try:
        connection.connect()
    except TimeoutError:
        raise
    except OSError as error:
        raise Refused(f"{type(error).__name__}: {error}") from None


@lru_cache(maxsize=64)
def _base(url: str) -> str:
    return urlsplit(url).path


def _ended(connection: _Connection) -> bool:
    """Whether something arrived on an idle connection: nothing was asked, so that is its end."""
    try:
        connection.sock.settimeout(0)
        connection.sock.recv(1, socket.MSG_PEEK)
    except (BlockingIOError, InterruptedError):
        return False
    except OSError:
        return True
    return True
