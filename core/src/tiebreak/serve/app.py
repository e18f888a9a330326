"""`create_app`: the gateway as an ASGI application."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from tiebreak.answers import Decision
from tiebreak.decider import Decider
from tiebreak.errors import TiebreakError
from tiebreak.serve.asked import Asked
from tiebreak.serve.body import read
from tiebreak.serve.guard import Guard
from tiebreak.serve.interrupt import Interrupt
from tiebreak.serve.ledger import Entry, Ledger
from tiebreak.serve.metrics import Metrics
from tiebreak.serve.problem import Problem, busy, problem_of
from tiebreak.serve.served import Served
from tiebreak.serve.settings import Settings

__all__ = ["create_app"]

logger = logging.getLogger("tiebreak.serve")

PAGE = Path(__file__).parent / "page"
PAGE_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:;"
        " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "cache-control": "no-cache",
}
# As `JSONResponse` writes it, which makes an encoder for each.
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
GONE = 499  # what web servers log for a client that left; nobody receives it


def create_app(decider: Decider, settings: Settings | None = None) -> Ledger:
    """Serve a Decider over System One.

    Args:
        decider: what answers; its engine is started before the first request is accepted. Its `queue_limit` bounds how
            many requests wait: the next gets a 503. It is not closed here.
        settings: key, limits and the like; None takes the defaults.

    Returns:
        an ASGI application for any ASGI server.
    """
    gateway = _Gateway(decider, settings or Settings())
    app = Starlette(
        routes=[
            Route("/v1/systemone", gateway.systemone, methods=["POST"]),
            Route("/v1/models", gateway.models),
            Route("/health", gateway.health),
            Route("/metrics", gateway.numbers),
            *(Route(path, _file(name, media)) for path, name, media in _FILES),
        ],
        exception_handlers={Problem: _problem, HTTPException: _http, ClientDisconnect: _gone, Exception: _crash},
        lifespan=gateway.lifespan,
    )
    app.router.redirect_slashes = False  # a redirected POST would lose its body on the way
    gateway.ledger = Ledger(_Shortcut(app, gateway), gateway.metrics)
    return gateway.ledger


class _Shortcut:
    """Takes what is asked most past Starlette's middleware and routing; everything else goes through them.

    They would treat it just the same, in a tenth of a millisecond.
    """

    def __init__(self, app: ASGIApp, gateway: _Gateway) -> None:
        self.app = app
        self.gateway = gateway

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != "/v1/systemone" or scope["method"] != "POST":
            await self.app(scope, receive, send)
            return
        request = Request(scope, receive, send)
        try:
            response = await self.gateway.systemone(request)
        except Problem as error:
            response = await _problem(request, error)
        except ClientDisconnect as error:
            response = await _gone(request, error)
        except Exception as error:
            await (await _crash(request, error))(scope, receive, send)
            raise
        await response(scope, receive, send)


class _Gateway:
    """The routes, and what they share."""

    ledger: Ledger

    def __init__(self, decider: Decider, settings: Settings) -> None:
        self.decider = decider
        self.settings = settings
        self.metrics = Metrics()
        self.guard = Guard(settings)
        self.served = Served(decider, settings)
        self.open = 0

    @asynccontextmanager
    async def lifespan(self, app: Starlette) -> AsyncIterator[None]:
        await asyncio.to_thread(self.decider.start)
        yield

    async def systemone(self, request: Request) -> Response:
        """Answer `POST /v1/systemone`."""
        # Starlette's own headers search the list for every name; the first of several of one name counts here, too.
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in reversed(list(request.scope["headers"]))
        }
        self.guard.check(headers)
        if self.open >= self.settings.max_open:
            raise busy(f"{self.open} requests are open already.", self.settings.retry_after)
        self.open += 1
        try:
            asked = Asked.of(await read(request, headers, self.settings))
            self.served.check(asked.model)
            decision = await self._decide(request, asked) if asked.questions else None
        except TiebreakError as error:
            logger.warning("%s: %s", request.state.entry.request_id, error.message)
            raise problem_of(error, self.settings.retry_after) from None
        finally:
            self.open -= 1
        counted = BackgroundTask(self._count, request.state.entry, decision) if decision else None
        reply = _ENCODER.encode(self._reply(asked, decision)).encode()
        return Response(reply, media_type="application/json", background=counted)

    async def _decide(self, request: Request, asked: Asked) -> Decision:
        """Ask the engine; where the client leaves first, its place in the queue goes to the next."""
        gone = asyncio.ensure_future(_disconnected(request.receive))
        with Interrupt(ClientDisconnect()) as interrupt:
            gone.add_done_callback(interrupt)
            try:
                decision = await self.decider.adecide(asked.state, asked.questions)
            finally:
                gone.cancel()
        return decision

    async def _count(self, entry: Entry, decision: Decision) -> None:
        """Count an answer that is on its way: nobody waits for that."""
        entry.decided(decision)
        self.metrics.decided(decision)

    def _reply(self, asked: Asked, decision: Decision | None) -> dict[str, Any]:
        found = decision.answers if decision else {}
        tokens = decision.receipt.prompt_tokens if decision else 0
        return {
            "model": self.served.answered_by(decision),
            "answers": asked.answers(found, self.settings.decimals),
            # Counts are integers in the protocol; what the engine does not say is null in x_tiebreak.
            "usage": {"input_tokens": tokens or 0, "output_tokens": 0},
            "x_tiebreak": {
                "engine": self.decider.info.name,
                "input_tokens": tokens,
                "timings_ms": decision.timings.as_dict() if decision else None,
                "cache": decision.cache.as_dict() if decision else None,
                "layout": decision.receipt.layout if decision else None,
                "fingerprint": decision.receipt.fingerprint if decision else None,
                "warnings": list(decision.receipt.warnings) if decision else [],
                "answers": asked.beside(found),
            },
        }

    async def models(self, request: Request) -> Response:
        """Answer `GET /v1/models`."""
        self.guard.check(request.headers)
        return JSONResponse({"models": self.served.listing()})

    async def health(self, request: Request) -> Response:
        """Answer `GET /health`, which takes no key: ready, or about to stop."""
        draining = self.ledger.draining
        ready = self.served.ready and not draining
        body = {
            "status": "draining" if draining else "ok" if ready else "starting",
            "ready": ready,
            "engine": self.decider.info.name,
            "model": self.served.name,
            "open": self.open,
            "key": self.settings.api_key is not None,
        }
        return JSONResponse(body, 503 if draining else 200)

    async def numbers(self, request: Request) -> Response:
        """Answer `GET /metrics`."""
        self.guard.check(request.headers)
        return Response(self.metrics.text(), media_type=self.metrics.content_type)


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


_FILES = (
    ("/", "index.html", "text/html"),
    ("/page.css", "page.css", "text/css"),
    ("/page.js", "page.js", "text/javascript"),
)


def _file(name: str, media: str) -> Any:
    async def serve(request: Request) -> Response:
        return Response((PAGE / name).read_bytes(), media_type=media, headers=PAGE_HEADERS)

    return serve


async def _problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, Problem)
    return JSONResponse({"detail": error.detail}, error.status, error.headers)


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    kind = "not_found" if error.status_code == 404 else "api_usage_error"
    message = f"{request.method} {request.url.path[:200]}: {error.detail}"
    return JSONResponse({"detail": {"error_type": kind, "message": message}}, error.status_code, error.headers)


async def _gone(request: Request, error: Exception) -> Response:
    return Response(status_code=GONE)


async def _crash(request: Request, error: Exception) -> Response:
    """A defect of ours: the client gets an id, the log the traceback (from the ASGI server)."""
    message = f"An internal error; the log has it under {request.state.entry.request_id}."
    return JSONResponse({"detail": {"error_type": "internal_error", "message": message}}, 500)
