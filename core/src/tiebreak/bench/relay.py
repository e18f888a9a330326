"""`Relay` and `Instant`: a look at what goes over the wire, and a server that answers with it at once."""

from __future__ import annotations

import http.client
import multiprocessing
import signal
import socket
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple
from urllib.parse import urlsplit

__all__ = ["Exchange", "Instant", "Relay"]

LOOPBACK = "127.0.0.1"
CHUNK = 1 << 16


class Exchange(NamedTuple):
    """One request and the reply to it."""

    method: str
    path: str
    body: bytes
    reply: bytes


class Relay:
    """A server on this machine that passes every request on to another one, and keeps it with its reply.

    Args:
        upstream: base URL of the other server, plain HTTP.

    Attributes:
        url: base URL of this one.
        seen: the exchanges, in order.
    """

    def __init__(self, upstream: str) -> None:
        self.seen: list[Exchange] = []
        self._server = ThreadingHTTPServer((LOOPBACK, 0), _handler(upstream, self.seen))
        self._server.daemon_threads = True
        self.url = f"http://{LOOPBACK}:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _handler(upstream: str, seen: list[Exchange]) -> type[BaseHTTPRequestHandler]:
    address = urlsplit(upstream).netloc

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _pass_on(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            kept = {name: value for name, value in self.headers.items() if name.lower() not in ("host", "connection")}
            connection = http.client.HTTPConnection(address)
            connection.request(self.command, self.path, body or None, kept)
            answer = connection.getresponse()
            reply = answer.read()
            connection.close()
            if answer.status == http.client.OK:
                seen.append(Exchange(self.command, self.path, body, reply))
            self.send_response_only(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in ("transfer-encoding", "content-length", "connection", "keep-alive"):
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        do_GET = do_POST = _pass_on  # noqa: N815  names that http.server looks for

        def log_message(self, *arguments: object) -> None:
            """Nobody reads it."""

    return Handler


class Instant:
    """A server in a process of its own that answers what was asked before with what was answered then, at once.

    A request that was never seen gets the last reply to its method and path.

    Args:
        seen: exchanges with a real server.

    Attributes:
        url: its base URL.
    """

    def __init__(self, seen: list[Exchange]) -> None:
        replies: dict[tuple[str, ...], bytes] = {}
        for each in seen:
            head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(each.reply)}\r\n\r\n"
            whole = head.encode() + each.reply
            replies[each.method, each.path] = whole
            replies[each.method, each.path, each.body.decode("utf-8", "surrogateescape")] = whole
        # Not a thread: it would take turns with the client that is measured.
        context = multiprocessing.get_context("spawn")
        here, there = context.Pipe()
        self._process = context.Process(target=_serve, args=(replies, there), daemon=True)
        self._process.start()
        there.close()
        self.url = f"http://{LOOPBACK}:{here.recv()}"
        here.close()

    def close(self) -> None:
        """End it."""
        self._process.kill()
        self._process.join()
        self._process.close()


def _serve(replies: Mapping[tuple[str, ...], bytes], parent: multiprocessing.connection.Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is for who started this; we are ended with that
    listener = socket.create_server((LOOPBACK, 0))
    parent.send(listener.getsockname()[1])
    parent.close()
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=_answer, args=(connection, replies), daemon=True).start()


def _answer(connection: socket.socket, replies: Mapping[tuple[str, ...], bytes]) -> None:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    data = b""
    while True:
        while b"\r\n\r\n" not in data:
            more = connection.recv(CHUNK)
            if not more:
                return
            data += more
        head, _, data = data.partition(b"\r\n\r\n")
        length = int((head.lower() + b"\r\n").partition(b"content-length:")[2].split(b"\r\n")[0] or b"0")
        while len(data) < length:
            data += connection.recv(CHUNK)
        body, data = data[:length], data[length:]
        method, path, _ = head.split(b"\r\n")[0].decode("ascii").split(" ", 2)
        known = replies.get((method, path, body.decode("utf-8", "surrogateescape"))) or replies.get((method, path))
        connection.sendall(known or b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
