"""`overhead` against a server of ours: who asks it, with what, and what is counted."""

from __future__ import annotations

import json
import urllib.request
from types import ModuleType
from typing import Any

import pytest

from tiebreak import InvalidRequest, Unsupported
from tiebreak.bench.methods import Field
from tiebreak.bench.overhead import MARK, OverheadPlan, overhead
from tiebreak.bench.progress import Silent
from tiebreak.bench.relay import Exchange, Instant, Relay
from tiebreak.registry import Registry


def test_every_client_asks_the_same_server(http_stub: ModuleType, stub: Any) -> None:
    bodies: list[tuple[str, bytes]] = []

    def look(handler: Any) -> bool:
        if handler.path == "/answer":
            bodies.append((handler.headers.get("user-agent", ""), handler.body))
        return False

    stub.fault = look
    field = Field(engines=("stub",), url=stub.url, registry=http_stub.registry())
    section = overhead(OverheadPlan(field=field, rounds=3), Silent(), [].append)
    found = {(row.server, row.client): row for row in section.clients}
    clients = ("tiebreak", "bare socket", "http.client", "httpx")
    assert set(found) == {(server, client) for server in ("engine", "instant") for client in clients}
    assert {found["engine", name].total.count for name in clients} == {3}
    assert {found["instant", name].total.count for name in clients} == {30}
    assert found["engine", "tiebreak"].behind is None
    assert found["instant", "bare socket"].own is None
    assert found["instant", "httpx"].own is not None
    # one to be recorded, and of every client one before it counts and three that do; all alike but for the state
    assert len(bodies) == 1 + 4 * 4
    assert len({len(body) for _, body in bodies if MARK.encode() not in body}) == 1
    assert len({body for _, body in bodies}) == len(bodies)
    assert section.methods[0].engine == "stub"


def test_an_engine_without_a_wire(registry: Registry) -> None:
    with pytest.raises(Unsupported, match="no wire"):
        overhead(OverheadPlan(field=Field(engines=("reference",), registry=registry)), Silent(), [].append)


def test_no_rounds(registry: Registry) -> None:
    with pytest.raises(InvalidRequest, match="--repeat is 0"):
        overhead(OverheadPlan(field=Field(engines=("reference",), registry=registry), rounds=0), Silent(), [].append)


def test_one_server_is_one_engine(registry: Registry) -> None:
    field = Field(engines=("reference", "other"), url="http://127.0.0.1:1", registry=registry)
    with pytest.raises(InvalidRequest, match="is one server"):
        overhead(OverheadPlan(field=field), Silent(), [].append)


def _get(url: str, body: bytes | None = None) -> bytes:
    with urllib.request.urlopen(url, body, timeout=30) as reply:
        return bytes(reply.read())


def test_a_relay_passes_on_and_keeps(stub: Any) -> None:
    relay = Relay(stub.url)
    body = json.dumps({"rows": [{"text": "x", "labels": 2}]}).encode()
    try:
        first, second = _get(f"{relay.url}/health"), _get(f"{relay.url}/answer", body)
    finally:
        relay.close()
    assert relay.seen == [Exchange("GET", "/health", b"", first), Exchange("POST", "/answer", body, second)]
    assert second == _get(f"{stub.url}/answer", body)


def test_an_instant_server_answers_as_the_real_one_did() -> None:
    seen = [
        Exchange("GET", "/health", b"", b"{}"),
        Exchange("POST", "/answer", b"one", b"1"),
        Exchange("POST", "/answer", b"two", b"2"),
    ]
    instant = Instant(seen)
    try:
        assert _get(f"{instant.url}/health") == b"{}"
        assert _get(f"{instant.url}/answer", b"one") == b"1"
        assert _get(f"{instant.url}/answer", b"three") == b"2"
    finally:
        instant.close()
