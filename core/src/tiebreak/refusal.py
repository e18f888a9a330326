"""`refusal`: what an HTTP reply that is not an answer means, as one of our errors."""

from __future__ import annotations

import json
from typing import Any

from tiebreak.engine import Reply
from tiebreak.errors import (
    AuthError,
    BadReply,
    EngineError,
    EngineOverloaded,
    InvalidRequest,
    QuotaError,
    RateLimited,
    TiebreakError,
    Unsupported,
)
from tiebreak.transport import retry_after

__all__ = ["message_of", "refusal"]

LONGEST = 300


def refusal(reply: Reply, engine: str) -> TiebreakError:
    """The error for a reply whose status is not 200, from its status and the engine's own words.

    Plugins look for the cases that are special to their engine first.
    """
    said = message_of(reply)
    text = f"HTTP {reply.status}: {said}"
    status = reply.status
    if status in (401, 403):
        return AuthError(text, remedy="Check the key and where it is set.", engine=engine)
    if status == 402:
        return QuotaError(text, remedy="Top up the account.", engine=engine)
    if status == 429:
        return RateLimited(
            text,
            retry_after=retry_after(reply.headers),
            remedy="Send less per minute, or ask again later.",
            engine=engine,
        )
    if status in (503, 529):
        return EngineOverloaded(
            text, retry_after=retry_after(reply.headers), remedy="Ask again later, or less at once.", engine=engine
        )
    if status in (404, 405, 501):
        return Unsupported(text, remedy="Is this the right server, in a version that offers this?", engine=engine)
    if status in (400, 413, 415, 422):
        return InvalidRequest(text, remedy="The engine refused the request as it was laid out.", engine=engine)
    if status >= 500:
        return EngineError(text, remedy="Look at the engine's log.", engine=engine)
    return BadReply(f"{text} was not expected.", engine=engine)


def message_of(reply: Reply) -> str:
    """What a server says about an error, in any of the shapes that are in use, at most 300 characters.

    Read are `error` (text or `.message`), `message`, and `detail` (text, `.message` or `.error_type`, or a
    list of validation errors); else the start of the body.
    """
    try:
        body = json.loads(reply.body)
    except ValueError:
        body = None
    said = ""
    if isinstance(body, dict):
        said = _said(body.get("error")) or _said(body.get("message")) or _said(body.get("detail"))
    text = said or reply.body[: 2 * LONGEST].decode(errors="replace").strip() or "an empty body"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def _said(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return _said(value.get("message")) or _said(value.get("error_type")) or _said(value.get("msg"))
    if isinstance(value, list):
        return "; ".join(_problem(item) for item in value if isinstance(item, dict))
    return ""


def _problem(item: dict[str, Any]) -> str:
    path = ".".join(str(part) for part in item.get("loc", ()) if part != "body")
    return f"{path}: {_said(item.get('msg'))}" if path else _said(item.get("msg"))
