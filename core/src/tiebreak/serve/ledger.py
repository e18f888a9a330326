"""`Ledger`: stands around every request: its id, its line in the access log, its place in the metrics."""

from __future__ import annotations

import json
import logging
import time
import uuid
from collections.abc import Mapping
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tiebreak.answers import Decision
from tiebreak.serve.metrics import Metrics

__all__ = ["ACCESS", "Entry", "JsonLines", "Ledger"]

ACCESS = logging.getLogger("tiebreak.serve.access")

ROUTES = frozenset({"/", "/page.css", "/page.js", "/v1/systemone", "/v1/models", "/health", "/metrics"})


class Entry:
    """One request: its id, and once it was decided the figures that are logged. Never what was asked."""

    __slots__ = ("figures", "request_id", "started", "status")

    def __init__(self) -> None:
        self.request_id = f"req_{uuid.uuid4().hex}"
        self.started = time.perf_counter()
        self.status = 0
        self.figures: dict[str, Any] = {}

    def decided(self, decision: Decision) -> None:
        """Note timings and cache status."""
        timings, cache = decision.timings, decision.cache
        self.figures = {
            "questions": len(decision.answers),
            "queue_ms": round(timings.queue, 2),
            "prefill_ms": None if timings.prefill is None else round(timings.prefill, 2),
            "cache": cache.status,
            "tokens": decision.receipt.prompt_tokens,
            "reused": cache.reused_tokens,
        }


class Ledger:
    """An ASGI application around another one.

    Args:
        app: what answers.
        metrics: where replies are counted.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app = app
        self.metrics = metrics
        self.draining = False
        """Whether the gateway is about to stop: every connection is then closed with its next reply."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or the lifespan."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        entry = Entry()
        scope.setdefault("state", {})["entry"] = entry

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                entry.status = message["status"]
                message["headers"].append((b"x-typesafe-request-id", entry.request_id.encode()))
                if self.draining:
                    message["headers"].append((b"connection", b"close"))
            await send(message)

        self.metrics.open.inc()
        try:
            await self.app(scope, receive, sending)
        finally:
            self.metrics.open.dec()
            self._close(entry, scope)

    def _close(self, entry: Entry, scope: Scope) -> None:
        seconds = time.perf_counter() - entry.started
        route = scope["path"] if scope["path"] in ROUTES else "other"
        self.metrics.answered(route, entry.status, seconds)
        if ACCESS.isEnabledFor(logging.INFO):
            client = scope.get("client") or ("-", 0)
            fields: dict[str, Any] = {
                "client": client[0],
                "method": scope["method"],
                "route": route,
                "status": entry.status,
                "ms": round(seconds * 1e3, 2),
                **entry.figures,
                "id": entry.request_id,
            }
            ACCESS.info("%s", _line(fields), extra={"fields": fields})


class JsonLines(logging.Formatter):
    """Access log lines as JSON objects."""

    def format(self, record: logging.LogRecord) -> str:
        """See `logging.Formatter`."""
        fields = record.__dict__.get("fields", {"message": record.getMessage()})
        return json.dumps({"time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"), **fields})


def _line(fields: Mapping[str, Any]) -> str:
    head = f"{fields['client']} {fields['method']} {fields['route']} {fields['status']}"
    rest = (f"{name}={value}" for name, value in list(fields.items())[4:] if value is not None)
    return f"{head} {' '.join(rest)}"
