"""`LoopbackWire`: what is sent, how connections are kept, and what becomes of broken ones."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from tiebreak.calls import Call
from tiebreak.loopback import LoopbackWire
from tiebreak.wire import Broken, Refused, TimedOut

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Two: a\r\n\r\nhi"
ASK = Call(method="POST", path="/ask", body=b'{"n":1}')


class Peer:
    """A listening socket that plays one script of raw bytes per exchange, and keeps what it was sent."""

    def __init__(self, host: str = "127.0.0.1") -> None:
        self.socket = socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
        name = f"[{host}]" if ":" in host else host
        self.url = f"http://{name}:{self.socket.getsockname()[1]}"
        self.connections = 0
        self.heard: list[bytes] = []
        self.script: Callable[[int], bytes | None] = lambda _: OK
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            self.connections += 1
            with closing(connection):
                self._talk(connection)

    def _talk(self, connection: socket.socket) -> None:
        while True:
            heard = b""
            while b"\r\n\r\n" not in heard or not heard.endswith(b"}"):
                more = connection.recv(1 << 16)
                if not more:
                    return
                heard += more
            self.heard.append(heard)
            reply = self.script(len(self.heard))
            if reply is None:
                return
            connection.sendall(reply)


@pytest.fixture
def peer() -> Iterator[Peer]:
    made = Peer()
    yield made
    made.socket.close()


@pytest.fixture
def wire() -> Iterator[LoopbackWire]:
    made = LoopbackWire()
    yield made
    made.close()


def test_one_connection_serves_one_exchange_after_another(wire: LoopbackWire, peer: Peer) -> None:
    for _ in range(5):
        answered = wire.exchange(ASK, peer.url, {"x-own": "1"}, 5.0)
        assert (answered.status, answered.body, answered.headers["x-two"]) == (200, b"hi", "a")
    assert peer.connections == 1
    assert b"x-own: 1\r\n" in peer.heard[0]
    assert peer.heard[0].startswith(b"POST /ask HTTP/1.1\r\n")
    assert b"Accept-Encoding: identity\r\n" in peer.heard[0]


def test_a_base_url_may_have_a_path(wire: LoopbackWire, peer: Peer) -> None:
    wire.exchange(ASK, peer.url + "/engine", {}, 5.0)
    assert peer.heard[0].startswith(b"POST /engine/ask HTTP/1.1\r\n")


def test_ipv6_loopback() -> None:
    try:
        peer = Peer("::1")
    except OSError:
        return  # this machine has no IPv6, and so no engine on it
    with closing(LoopbackWire()) as wire, closing(peer.socket):
        assert wire.exchange(ASK, peer.url, {}, 5.0).body == b"hi"


def test_a_chunked_reply_is_put_together(wire: LoopbackWire, peer: Peer) -> None:
    peer.script = lambda _: b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n"
    assert wire.exchange(ASK, peer.url, {}, 5.0).body == b"hello"
    assert wire.exchange(ASK, peer.url, {}, 5.0).body == b"hello"
    assert peer.connections == 1


def test_a_connection_that_the_server_gives_up_is_not_kept(wire: LoopbackWire, peer: Peer) -> None:
    peer.script = lambda _: OK.replace(b"X-Two: a", b"Connection: close")
    for _ in range(2):
        wire.exchange(ASK, peer.url, {}, 5.0)
    assert peer.connections == 2


@pytest.mark.parametrize(
    "reply",
    [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi", b"SSH-2.0-OpenSSH\r\n\r\n"],
    ids=["nothing", "half", "not http"],
)
def test_a_broken_exchange_says_so_and_the_next_has_a_new_connection(
    wire: LoopbackWire, peer: Peer, reply: bytes
) -> None:
    def script(count: int) -> bytes | None:
        return OK if count != 2 else reply or None

    peer.script = script
    assert wire.exchange(ASK, peer.url, {}, 5.0).body == b"hi"
    if reply.startswith(b"HTTP"):
        # Half a body: the rest never comes, and what had come must not be taken for the next reply.
        with pytest.raises(TimedOut):
            wire.exchange(ASK, peer.url, {}, 0.2)
    else:
        with pytest.raises(Broken):
            wire.exchange(ASK, peer.url, {}, 5.0)
    assert wire.exchange(ASK, peer.url, {}, 5.0).body == b"hi"
    assert peer.connections == 2


def test_nobody_listens(wire: LoopbackWire) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(Refused, match="ConnectionRefusedError"):
        wire.exchange(ASK, url, {}, 5.0)


def test_a_header_cannot_smuggle_another(wire: LoopbackWire, peer: Peer) -> None:
    with pytest.raises(ValueError, match="Invalid header"):
        wire.exchange(ASK, peer.url, {"x": "1\r\ny: 2"}, 5.0)
    assert peer.heard == []


def test_a_refusal_that_comes_before_all_was_sent_is_heard(wire: LoopbackWire) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def refuse() -> None:
            connection, _ = server.accept()
            with closing(connection):
                connection.recv(1 << 10)
                connection.sendall(b"HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 3\r\n\r\nbig")
                connection.shutdown(socket.SHUT_WR)

        threading.Thread(target=refuse, daemon=True).start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        answered = wire.exchange(Call(method="POST", path="/ask", body=b"x" * 20_000_000), url, {}, 20.0)
    assert (answered.status, answered.body) == (413, b"big")
