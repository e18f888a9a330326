"""`Cassette`: what went over the wire, as sorted JSON lines; `Recorder` writes one, `Player` answers from one.

Both are httpx transports for sync and async use and go where the wire would be: `Decider(mount=...)`. The first line of
a cassette says who was recorded and when; every other line is one exchange. Request headers are not kept at all, and of
a reply's only those in `KEPT_HEADERS`: that is where keys would be.

A cassette lies in a repository, so it is kept small, and its first line says how: what most requests to a path have in
common stands there once (`usual`); a long text in a request is kept as its beginning, length and hash, which is enough
to know it again; and of replies only what `reads` declares, which the recorder proves to be all by giving the engine
no more than that.
"""

from __future__ import annotations

import asyncio
import difflib
import json
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import httpx

from tiebreak.errors import InvalidRequest
from tiebreak_conformance.excerpt import Reads, brief, excerpt, shared, usual, without

__all__ = ["Cassette", "CassetteMiss", "Exchange", "Mount", "Player", "Recorder", "SecretFound"]

KEPT_HEADERS = ("content-type", "retry-after")
NEAREST_AMONG = 400


class CassetteMiss(AssertionError):
    """A request that was never recorded; the message shows the nearest that was, as a diff."""


class SecretFound(AssertionError):
    """A recording holds a secret and was not written."""


@attrs.frozen(kw_only=True)
class Exchange:
    """One request and its reply.

    Attributes:
        scene: the check during which it happened, "" outside of any.
        turn: how many equal requests came before it in that scene.
        request: method, path and body (parsed where it is JSON).
        reply: status, kept headers and body.
    """

    scene: str
    turn: int
    request: Mapping[str, Any]
    reply: Mapping[str, Any]

    @property
    def place(self) -> str:
        """Method and path."""
        return f"{self.request['method']} {self.request['path']}"


@attrs.frozen(kw_only=True)
class Cassette:
    """A recording.

    Attributes:
        header: engine, its version, model hash, date, suite version.
        exchanges: in the order of the file.
    """

    header: Mapping[str, Any]
    exchanges: Sequence[Exchange]

    @classmethod
    def read(cls, path: Path) -> Cassette:
        """Read a file.

        Raises:
            InvalidRequest: there is none, or it is not a cassette.
        """
        if not path.is_file():
            # Asked only when it is replayed: the class that names it is also how it is recorded.
            raise InvalidRequest(f"There is no cassette {path}.", remedy="Record it with --wire=record.")
        try:
            first, *lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
            common = first.get("usual", {})
            exchanges = [
                Exchange(
                    scene=line["scene"],
                    turn=line.get("turn", 0),
                    request=line["request"] | {"body": shared(line["request"]["body"], of["request"])},
                    reply=of["reply"] | line["reply"],
                )
                for line in lines
                for of in [common[f"{line['request']['method']} {line['request']['path']}"]]
            ]
            return cls(header=first["cassette"], exchanges=exchanges)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InvalidRequest(f"{path} is not a cassette: {error}.", remedy="Record it again.") from None

    def write(self, path: Path, secrets: Sequence[str] = ()) -> None:
        """Write a file: the header, then the exchanges by scene, path, body and turn.

        Raises:
            SecretFound: one of the secrets is in it; nothing was written.
        """
        order = sorted(self.exchanges, key=lambda e: (e.scene, e.request["path"], _compact(e.request), e.turn))
        common = {
            place: {
                "request": usual([e.request["body"] for e in order if e.place == place]),
                "reply": usual([{k: e.reply[k] for k in ("status", "headers")} for e in order if e.place == place]),
            }
            for place in sorted({e.place for e in order})
        }
        lines = [_compact({"cassette": self.header, "usual": common}), *(_line(e, common[e.place]) for e in order)]
        text = "\n".join(lines) + "\n"
        for secret in secrets:
            if secret and (secret in text or json.dumps(secret)[1:-1] in text):
                raise SecretFound(f"The recording holds a secret of {len(secret)} characters; it was not written.")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


class Mount(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """A transport that outlives the event loops it is used from."""

    scene = ""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        # In a thread: the wire below may block, and an async one would belong to a single loop.
        return await asyncio.to_thread(self.handle_request, request)

    def close(self) -> None:
        """Nothing: it is closed by who made it."""

    async def aclose(self) -> None:
        """Nothing: it is closed by who made it."""

    def finish(self) -> None:
        """Close what this transport itself opened."""


class Recorder(Mount):
    """Passes requests on and keeps what came back.

    Args:
        inner: the wire; None for real connections.
        volatile: names in request bodies that are not kept.
        reads: path -> the type that the engine reads its replies with. What is not of it is neither kept nor given to
            the engine, so that whatever it does read is in the cassette.
        clocks: names in replies whose values are times: replies that differ in nothing else are kept once.
        folders: folders of this machine, which replies name and nobody else need know.
    """

    def __init__(
        self,
        inner: httpx.BaseTransport | None = None,
        volatile: Sequence[str] = (),
        reads: Reads | None = None,
        clocks: Sequence[str] = (),
        folders: Sequence[str] = (),
    ) -> None:
        self._inner = inner or httpx.HTTPTransport()
        self._owns = inner is None
        self._volatile = frozenset(volatile)
        self._reads = reads or {}
        self._clocks = frozenset(clocks)
        self._folders = [json.dumps(folder)[1:-1].encode() for folder in folders]
        self._lock = threading.Lock()
        self._turns: dict[tuple[str, str], int] = {}
        self.exchanges: list[Exchange] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Ask the wire and keep the answer."""
        asked = _request(request, self._volatile)
        response = self._inner.handle_request(request)
        content = response.read()
        response.close()
        for folder in self._folders:
            content = content.replace(folder, b"/models")
        headers = {name: response.headers[name] for name in KEPT_HEADERS if name in response.headers}
        reads = self._reads.get(request.url.path)
        if reads is not None and response.status_code == 200:
            content = excerpt(content, reads)
        reply = {"status": response.status_code, "headers": headers, "body": _body(content)}
        with self._lock:
            key = (self.scene, _compact(asked))
            turn = self._turns.get(key, 0)
            self._turns[key] = turn + 1
            self.exchanges.append(Exchange(scene=self.scene, turn=turn, request=asked, reply=reply))
        return httpx.Response(response.status_code, headers=headers, content=content)

    def finish(self) -> None:
        """Close the real connections."""
        if self._owns:
            self._inner.close()

    def cassette(self, header: Mapping[str, Any]) -> Cassette:
        """What was recorded so far; the header also says what was left out."""
        left_out: dict[str, Any] = {"requests": "of long texts and lists all but beginning, length and SHA-256"}
        if self._reads:
            left_out["replies"] = "what the engine does not read: it was given no more"
            left_out["replies_of"] = sorted(self._reads)
        if self._clocks:
            left_out["repeats"] = "replies that differ from another in times only"
            left_out["times"] = sorted(self._clocks)
        with self._lock:
            return Cassette(header={**header, "left_out": left_out}, exchanges=_distinct(self.exchanges, self._clocks))


class Player(Mount):
    """Answers from a cassette.

    Equal requests of a scene get their replies in the order of the recording, the last one from then on. A request
    that its scene did not record (a greeting, say, when one check runs alone) gets the first reply of another scene.

    Args:
        cassette: what to answer from.
        volatile: as for the recorder.
    """

    def __init__(self, cassette: Cassette, volatile: Sequence[str] = ()) -> None:
        self._volatile = frozenset(volatile)
        self._lock = threading.Lock()
        self._by_scene: dict[tuple[str, str], list[Exchange]] = {}
        self._anywhere: dict[str, Exchange] = {}
        for exchange in sorted(cassette.exchanges, key=lambda e: e.turn):
            key = _compact(exchange.request)
            self._by_scene.setdefault((exchange.scene, key), []).append(exchange)
            self._anywhere.setdefault(key, exchange)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Answer one request.

        Raises:
            CassetteMiss: it was never recorded.
        """
        asked = _request(request, self._volatile)
        key = _compact(asked)
        with self._lock:
            known = self._by_scene.get((self.scene, key))
            if known:
                exchange: Exchange | None = known.pop(0) if len(known) > 1 else known[0]
            else:
                exchange = self._anywhere.get(key)
        if exchange is None:
            raise CassetteMiss(self._nearest(asked))
        body = exchange.reply["body"]
        content = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)
        return httpx.Response(exchange.reply["status"], headers=exchange.reply["headers"], content=content.encode())

    def _nearest(self, asked: Mapping[str, Any]) -> str:
        what = f"{asked['method']} {asked['path']} was not recorded in scene {self.scene!r} or any other."
        same = [e for e in self._anywhere.values() if e.request["path"] == asked["path"]][:NEAREST_AMONG]
        if not same:
            return f"{what} Nothing was recorded for that path."
        wanted = _compact(asked)
        near = max(same, key=lambda e: difflib.SequenceMatcher(None, wanted, _compact(e.request)).quick_ratio())
        lines = difflib.unified_diff(_indented(near.request), _indented(asked), "recorded", "asked", lineterm="", n=1)
        return "\n".join([f"{what} The nearest, of scene {near.scene!r}:", *list(lines)[:60]])


def _line(exchange: Exchange, common: Mapping[str, Any]) -> str:
    """An exchange as one line of JSON, without what is usual."""
    request = {**exchange.request, "body": without(exchange.request["body"], common["request"])}
    reply = {name: value for name, value in exchange.reply.items() if common["reply"].get(name) != value}
    turn = {"turn": exchange.turn} if exchange.turn else {}
    return _compact({"scene": exchange.scene, **turn, "request": request, "reply": reply})


def _distinct(exchanges: Sequence[Exchange], clocks: frozenset[str]) -> Sequence[Exchange]:
    """The exchanges, with one of those requests that always got the same reply: a player looks in every scene."""
    replies: dict[str, set[str]] = {}
    for exchange in exchanges:
        replies.setdefault(_compact(exchange.request), set()).add(_compact(_timeless(exchange.reply, clocks)))
    kept: dict[str, Exchange] = {}
    for number, exchange in enumerate(exchanges):
        key = _compact(exchange.request)
        if len(replies[key]) == 1:
            kept.setdefault(key, exchange)
        else:
            kept[f"{number} {key}"] = exchange
    return tuple(kept.values())


def _request(request: httpx.Request, volatile: frozenset[str]) -> dict[str, Any]:
    body = _body(request.read())
    if isinstance(body, dict):
        body = {name: value for name, value in body.items() if name not in volatile}
    return {"method": request.method, "path": request.url.raw_path.decode(), "body": brief(body)}


def _timeless(value: Any, clocks: frozenset[str]) -> Any:
    """A JSON value without the members that are times."""
    if isinstance(value, dict):
        return {name: _timeless(item, clocks) for name, item in value.items() if name not in clocks}
    return [_timeless(item, clocks) for item in value] if isinstance(value, list) else value


def _body(content: bytes) -> Any:
    """JSON as a value, anything else as text."""
    try:
        value = json.loads(content)
    except ValueError:
        return content.decode(errors="replace")
    return content.decode() if isinstance(value, str) else value


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _indented(value: Any) -> list[str]:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, indent=1).splitlines()
