"""`Link`: messages between an isolated engine and its child process, over one loopback connection.

A message is its length (8 bytes, big-endian) and a pickle. Whoever connects says a secret first, which
travels in the child's environment, so that nobody else on the machine can talk to it; the parent makes
sure before that the port is its child's. Both sides are this package, so pickles are as safe as the
child's memory.
"""

from __future__ import annotations

import contextlib
import hmac
import pickle
import socket
import struct
import threading
from typing import Any

__all__ = ["SECRET", "Link", "Message"]

SECRET = "TIEBREAK_EMBEDDED_SECRET"  # noqa: S105  a name, not a value
"""The variable that holds the secret in the child's environment."""

Message = tuple[int, str, Any]
"""Number of the request, what is asked or answered, and its content."""

_LENGTH = struct.Struct(">Q")


class Link:
    """One end of a connection. `send` may be called by several threads, `receive` by one.

    Args:
        connection: a connected socket, from now on the link's.
    """

    def __init__(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket = connection
        self._lock = threading.Lock()

    @classmethod
    def connect(cls, port: int, secret: str, timeout: float) -> Link:
        """Connect to a child.

        Raises:
            OSError: nobody listens there.
        """
        connection = socket.create_connection(("127.0.0.1", port), timeout)
        connection.settimeout(None)
        connection.sendall(secret.encode())
        return cls(connection)

    @classmethod
    def accept(cls, listener: socket.socket, secret: str) -> Link | None:
        """Wait for a connection; None where its first bytes are not the secret."""
        connection, _ = listener.accept()
        connection.settimeout(5.0)
        try:
            said = _exactly(connection, len(secret.encode()))
        except OSError:
            said = None
        if said is None or not hmac.compare_digest(bytes(said), secret.encode()):
            connection.close()
            return None
        connection.settimeout(None)
        return cls(connection)

    def send(self, message: Message) -> None:
        """Send a message.

        Raises:
            OSError: the other side is gone.
        """
        data = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
        with self._lock:
            self._socket.sendall(_LENGTH.pack(len(data)) + data)

    def receive(self) -> Message | None:
        """The next message; None where the other side is gone."""
        try:
            head = _exactly(self._socket, _LENGTH.size)
            data = None if head is None else _exactly(self._socket, _LENGTH.unpack(head)[0])
        except OSError:
            return None
        return None if data is None else pickle.loads(data)  # noqa: S301  see the top of the file

    def close(self) -> None:
        """End the connection; a second call does nothing."""
        with contextlib.suppress(OSError):  # the other side was faster
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


def _exactly(connection: socket.socket, size: int) -> bytearray | None:
    data = bytearray(size)
    view = memoryview(data)
    while view:
        got = connection.recv_into(view)
        if not got:
            return None
        view = view[got:]
    return data
