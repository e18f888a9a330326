"""Cassettes: recorded once, replayed without anything, and never with a secret in them."""

from __future__ import annotations

import json
from pathlib import Path

import attrs
import httpx
import pytest

from tiebreak.errors import InvalidRequest
from tiebreak_conformance import Cassette, Player, Recorder, Target, run
from tiebreak_conformance.cassette import CassetteMiss, Exchange, SecretFound
from tiebreak_conformance.reference import ReferencePlugin, evidence_of
from tiebreak_conformance.reference_wire import WIRE_INFO, ReferenceService, ReferenceWire
from tiebreak_conformance.subject import CANARY

LIVE = Target(
    engine=WIRE_INFO.name,
    plugin=ReferencePlugin(ReferenceWire, WIRE_INFO),
    options={"api_key": CANARY},
    mount=ReferenceService,
    oracle=evidence_of,
)


def nobody() -> httpx.BaseTransport:
    """A wire that must not be used."""
    raise AssertionError("a replay opened the wire")


def test_a_recording_replays_without_an_engine(tmp_path: Path) -> None:
    path = tmp_path / "wire.jsonl"
    recorded = run(attrs.evolve(LIVE, wire="record", cassette=path))
    assert recorded.ok, recorded.markdown()
    replay = attrs.evolve(LIVE, wire="replay", cassette=path, mount=nobody)
    card = run(replay)
    assert card.ok, card.markdown()
    assert card.count("passed") == recorded.count("passed") - 1, "CONC-06 says nothing in replay"
    text = path.read_text(encoding="utf-8")
    assert CANARY not in text and "authorization" not in text.lower()
    header, *lines = [json.loads(line) for line in text.splitlines()]
    assert header["cassette"]["engine"] == WIRE_INFO.name
    assert header["cassette"]["engine_version"] == "1"
    assert lines == sorted(lines, key=lambda line: (line["scene"], line["request"]["path"])), "it is not sorted"


def test_a_miss_shows_the_nearest_request() -> None:
    asked = {"method": "POST", "path": "/ask", "body": {"text": "the parcel came late", "n": 1}}
    other = {"method": "POST", "path": "/ask", "body": {"text": "something else altogether", "n": 9}}
    reply = {"status": 200, "headers": {}, "body": {}}
    exchanges = [Exchange(scene="", turn=0, request=item, reply=reply) for item in (asked, other)]
    player = Player(Cassette(header={}, exchanges=exchanges))
    player.scene = "READ-01"
    request = httpx.Request("POST", "http://127.0.0.1:1/ask", json={"text": "the parcel came early", "n": 1})
    with pytest.raises(CassetteMiss) as miss:
        player.handle_request(request)
    text = str(miss.value)
    assert "READ-01" in text
    assert '-  "text": "the parcel came late"' in text
    assert '+  "text": "the parcel came early"' in text
    with pytest.raises(CassetteMiss, match="Nothing was recorded for that path"):
        player.handle_request(httpx.Request("GET", "http://127.0.0.1:1/else"))


def test_a_secret_cannot_be_written(tmp_path: Path) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(401, json={"error": f"bad key {request.headers['authorization']}"})

    recorder = Recorder(httpx.MockTransport(answer))
    recorder.handle_request(
        httpx.Request("POST", "http://127.0.0.1:1/ask", headers={"authorization": f"Bearer {CANARY}"}, content=b"{}")
    )
    path = tmp_path / "secret.jsonl"
    with pytest.raises(SecretFound, match="was not written") as found:
        recorder.cassette({}).write(path, [CANARY])
    assert CANARY not in str(found.value)
    assert not path.exists()


def test_only_listed_headers_are_kept(tmp_path: Path) -> None:
    headers = {"content-type": "application/json", "set-cookie": "session=1", "retry-after": "2", "x-id": "7"}
    recorder = Recorder(httpx.MockTransport(lambda request: httpx.Response(200, headers=headers, content=b"{}")))
    response = recorder.handle_request(httpx.Request("GET", "http://127.0.0.1:1/a", headers={"cookie": "session=1"}))
    path = tmp_path / "headers.jsonl"
    recorder.cassette({"engine": "x"}).write(path)
    assert "session" not in path.read_text(encoding="utf-8")
    assert set(response.headers) <= {"content-type", "retry-after", "content-length"}
    (exchange,) = Cassette.read(path).exchanges
    assert set(exchange.reply["headers"]) == {"content-type", "retry-after"}


def test_replies_to_equal_requests_come_in_order_and_volatile_names_do_not_count() -> None:
    numbers = iter(range(3))
    recorder = Recorder(
        httpx.MockTransport(lambda request: httpx.Response(200, json={"n": next(numbers)})), volatile=["slot"]
    )
    for slot in range(3):
        recorder.handle_request(httpx.Request("POST", "http://127.0.0.1:1/ask", json={"slot": slot}))
    player = Player(recorder.cassette({}), volatile=["slot"])
    ask = httpx.Request("POST", "http://127.0.0.1:1/ask", json={"slot": 7})
    assert [player.handle_request(ask).json()["n"] for _ in range(4)] == [0, 1, 2, 2]


def test_what_is_no_cassette_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "not.jsonl"
    path.write_text("hello\n", encoding="utf-8")
    with pytest.raises(InvalidRequest, match="is not a cassette"):
        Cassette.read(path)
    with pytest.raises(InvalidRequest, match="There is no cassette"):
        Cassette.read(tmp_path / "none.jsonl")
    with pytest.raises(InvalidRequest, match="needs a cassette"):
        attrs.evolve(LIVE, wire="replay")
