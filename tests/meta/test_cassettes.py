"""Cassettes: recorded once, replayed without anything, and never with a secret in them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import attrs
import httpx
import pytest
from pydantic import BaseModel, Field

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


class Read(BaseModel):
    """What an engine reads of a reply."""

    value: float = Field(alias="theValue")
    note: str = "none"
    took_ms: float = 0.0


def served(bodies: Iterable[object], **more: Any) -> Recorder:
    """A recorder of a server that says these things, one after another."""
    said = iter(bodies)
    return Recorder(httpx.MockTransport(lambda request: httpx.Response(200, json=next(said))), **more)


def ask(mount: httpx.BaseTransport, body: object) -> Any:
    return mount.handle_request(httpx.Request("POST", "http://127.0.0.1:1/ask", json=body)).json()


def kept(recorder: Recorder, path: Path) -> tuple[Any, list[Any], Player]:
    """What a recording became: the first line, the others, and a player of them."""
    recorder.cassette({"engine": "x"}).write(path)
    first, *lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return first, lines, Player(Cassette.read(path))


def test_a_reply_is_reduced_to_what_is_read_before_the_engine_gets_it(tmp_path: Path) -> None:
    recorder = served([{"theValue": 1, "unread": [1, 2]}, {"value": "no"}], reads={"/ask": Read})
    assert ask(recorder, {"n": 1}) == {"theValue": 1.0}, "what the engine was given is what is kept"
    assert ask(recorder, {"n": 2}) == {"value": "no"}, "a body of another shape stays as it is"
    first, lines, player = kept(recorder, tmp_path / "reduced.jsonl")
    assert first["cassette"]["left_out"]["replies_of"] == ["/ask"]
    assert "unread" not in json.dumps(lines)
    assert ask(player, {"n": 1}) == {"theValue": 1.0}


def test_a_long_text_is_known_again_and_another_is_not(tmp_path: Path) -> None:
    text, ids = "word " * 1000, list(range(1000))
    recorder = served([{}, {}])
    ask(recorder, {"text": text, "rows": [{"ids": ids}]})
    _, (line,), player = kept(recorder, tmp_path / "long.jsonl")
    assert len(json.dumps(line)) < 700
    assert ask(player, {"text": text, "rows": [{"ids": ids}]}) == {}
    with pytest.raises(CassetteMiss, match='"length": 4999'):
        ask(player, {"text": text[:-1], "rows": [{"ids": ids}]})
    with pytest.raises(CassetteMiss):
        ask(player, {"text": text, "rows": [{"ids": [*ids[:-1], 0]}]})


def test_what_requests_have_in_common_stands_in_the_first_line(tmp_path: Path) -> None:
    bodies = [{"mode": "fast", "n": n} for n in range(5)] + [{"n": 5}, {"mode": "slow", "n": 6}, [1], "text"]
    recorder = served({"n": n} for n in range(len(bodies)))
    for body in bodies:
        ask(recorder, body)
    first, lines, player = kept(recorder, tmp_path / "usual.jsonl")
    assert first["usual"]["POST /ask"]["request"] == {"mode": "fast"}
    assert sum("mode" in json.dumps(line) for line in lines) == 2, "only where it is not the usual one"
    assert [ask(player, body)["n"] for body in bodies] == list(range(len(bodies)))


def test_replies_that_differ_in_times_only_are_kept_once(tmp_path: Path) -> None:
    bodies = [{"a": 1, "inner": {"took_ms": n}} for n in range(3)]
    recorder = served([*bodies, {"a": 2, "inner": {"took_ms": 0}}], clocks=("took_ms",))
    for _ in range(3):
        ask(recorder, {"n": 1})
    first, lines, _ = kept(recorder, tmp_path / "once.jsonl")
    assert len(lines) == 1 and first["cassette"]["left_out"]["times"] == ["took_ms"]
    ask(recorder, {"n": 1})
    _, _, player = kept(recorder, tmp_path / "twice.jsonl")
    assert [ask(player, {"n": 1})["a"] for _ in range(4)] == [1, 1, 1, 2]
