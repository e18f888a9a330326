"""`ReferenceWire`: the reference engine behind HTTP; `ReferenceService`: a server for it, as an httpx transport."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Annotated, Any, cast

import attrs
import httpx
from pydantic import BaseModel, ConfigDict, Field

from tiebreak.answers import CacheReport
from tiebreak.command import Command, Readiness
from tiebreak.engine import Call, Capabilities, EngineInfo, Limits, OptionSpec, Reply, Vocabulary, WireEngine
from tiebreak.errors import BadReply, ContextOverflow, EngineUnavailable, TiebreakError
from tiebreak.evidence import Outcome, TokenScores
from tiebreak.memory import Footprint
from tiebreak.plan import Plan, Row, Segment
from tiebreak.questions import Request
from tiebreak.refusal import refusal
from tiebreak_conformance import reference
from tiebreak_conformance.reference import ReferenceEngine

__all__ = ["WIRE_INFO", "ReferenceService", "ReferenceWire"]

URL = "http://127.0.0.1:1"
WIRE_INFO: EngineInfo = attrs.evolve(
    reference.INFO,
    name="reference-wire",
    summary="The reference engine behind HTTP.",
    options=(
        *reference.INFO.options,
        OptionSpec(name="api_key", default="", help="Sent as a bearer token."),
    ),
)


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True)


class _Cache(_Strict):
    status: str
    reused: Annotated[int, Field(ge=0)]
    entries: Annotated[int, Field(ge=0)] | None
    evictions: Annotated[int, Field(ge=0)] | None


class _Found(_Strict):
    rows: list[list[Annotated[float, Field(le=0, allow_inf_nan=False)]]]
    cache: _Cache
    ms: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    tokens: Annotated[int, Field(ge=0)]


class ReferenceWire(WireEngine):
    """Speaks to a `ReferenceService`.

    Args:
        options: every option of `WIRE_INFO`, and `url`.
        info: what it says about itself.
    """

    def __init__(self, options: Mapping[str, Any], info: EngineInfo = WIRE_INFO) -> None:
        self.info = info
        self.url = options["url"] or URL
        key = options["api_key"]
        self.headers = {"authorization": f"Bearer {key}"} if key else {}
        self.capabilities: Capabilities = info.capabilities
        self.limits: Limits = attrs.evolve(info.limits, window_tokens=options["window"])
        self.vocabulary = Vocabulary()

    def launch(self) -> Command:
        """See `WireEngine.launch`: there is nothing to start."""
        raise EngineUnavailable("It has no program.", remedy="Mount a ReferenceService.", engine=self.info.name)

    def footprint(self) -> Footprint:
        """See `WireEngine.footprint`."""
        return Footprint(weights=0)

    def ready_call(self) -> Call:
        """See `WireEngine.ready_call`."""
        return Call(method="GET", path="/hello")

    def readiness(self, reply: Reply) -> Readiness:
        """See `WireEngine.readiness`."""
        return Readiness(state="ready" if reply.status == 200 else "stranger")

    def greeting(self) -> Generator[Call, Reply, None]:
        """See `WireEngine.greeting`."""
        reply = yield self.ready_call()
        self.version = reply.json(self.info.name)["version"]
        self.vocabulary = ReferenceEngine({"window": 1, "entries": 1, "salt": ""}).vocabulary

    def exchange(self, plan: Plan) -> Generator[Call, Reply, Outcome]:
        """See `WireEngine.exchange`."""
        reply = yield Call.post("/evidence", {"direction": plan.direction, "rows": [_row(row) for row in plan.rows]})
        if reply.status != 200:
            raise self.refused(reply)
        try:
            found = _Found.model_validate_json(reply.body)
        except ValueError as error:
            raise BadReply(f"/evidence answered what it should not: {error}", engine=self.info.name) from None
        if [len(row) for row in found.rows] != [len(row.labels) for row in plan.rows]:
            raise BadReply("/evidence answered for other labels.", engine=self.info.name)
        return Outcome(
            evidence=tuple(TokenScores(logprobs=tuple(row)) for row in found.rows),
            cache=CacheReport(
                status=self._status(found.cache.status),
                reused_tokens=found.cache.reused,
                entries=found.cache.entries,
                evictions=found.cache.evictions,
            ),
            prefill_ms=found.ms,
            engine_ms=found.ms,
            prompt_tokens=found.tokens,
        )

    def tokens(self, plan: Plan) -> Generator[Call, Reply, Sequence[Sequence[Sequence[int]]]]:
        """See `WireEngine.tokens`."""
        reply = yield Call.post("/tokens", {"direction": plan.direction, "rows": [_row(row) for row in plan.rows]})
        if reply.status != 200:
            raise self.refused(reply)
        return cast(Sequence[Sequence[Sequence[int]]], reply.json(self.info.name))

    def refused(self, reply: Reply) -> TiebreakError:
        """The error for a reply that is not an answer."""
        if reply.status == 413:
            said = reply.json(self.info.name)
            return ContextOverflow(
                f"The prompt is {said['tokens']} tokens long; one request has {said['window']}.",
                tokens=said["tokens"],
                window=said["window"],
                remedy="Shorten the state, or raise the option window.",
                engine=self.info.name,
            )
        return refusal(reply, self.info.name)

    def _status(self, said: str) -> Any:
        if said not in ("hit", "miss", "off"):
            raise BadReply(f"The cache status is {said!r}.", engine=self.info.name)
        return said


class ReferenceService(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """A server for `ReferenceWire` without a socket: mount it in a Decider.

    Args:
        engine: who answers; None makes a reference engine.
    """

    def __init__(self, engine: Callable[[], ReferenceEngine] | None = None) -> None:
        options = {"window": 6_000, "entries": 4, "salt": ""}
        self.engine = engine() if engine else ReferenceEngine(options)
        self.engine.start()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Answer one request."""
        if request.url.path == "/hello":
            return httpx.Response(200, json={"version": self.engine.version})
        said = json.loads(request.read())
        plan = Plan(
            request=Request(state="", questions={}),
            rows=tuple(_parse(row) for row in said["rows"]),
            layout="",
            direction=said["direction"],
        )
        if request.url.path == "/tokens":
            return httpx.Response(200, json=self.engine.tokens(plan))
        try:
            (found,) = self.engine.evidence([plan], lambda: False)
        except ContextOverflow as error:
            return httpx.Response(413, json={"tokens": error.tokens, "window": error.window})
        rows = [list(item.logprobs) for item in found.evidence if isinstance(item, TokenScores)]
        cache = {
            "status": found.cache.status,
            "reused": found.cache.reused_tokens,
            "entries": found.cache.entries,
            "evictions": found.cache.evictions,
        }
        body = {"rows": rows, "cache": cache, "ms": found.engine_ms, "tokens": found.prompt_tokens}
        # Not `json=`: httpx refuses NaN, which a broken server may well send.
        return httpx.Response(200, headers={"content-type": "application/json"}, content=json.dumps(body))

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Answer one request of a task."""
        return self.handle_request(request)


def _row(row: Row) -> dict[str, Any]:
    return {
        "segments": [[segment.text, segment.join, segment.control] for segment in row.segments],
        "labels": list(row.labels),
        "cut": row.cut,
    }


def _parse(row: Any) -> Row:
    return Row(
        question="",
        segments=tuple(Segment(role="state", text=t, join=j, control=c) for t, j, c in row["segments"]),
        labels=tuple(row["labels"]),
        cut=row["cut"],
    )
