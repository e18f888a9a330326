"""`refused`: what a System One server means by a status that is not 200, with the remedy for this provider."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tiebreak.engine import Reply
from tiebreak.errors import (
    AuthError,
    BadReply,
    ContextOverflow,
    EngineError,
    EngineHung,
    EngineOverloaded,
    InvalidRequest,
    ModelUnavailable,
    QuotaError,
    RateLimited,
    TiebreakError,
    Unsupported,
)
from tiebreak.refusal import message_of, refusal
from tiebreak.transport import retry_after
from tiebreak_jev.providers import Target

__all__ = ["refused"]

ENGINE = "jev"
OVERFLOW = (
    "max_tokens",
    "context_size",
    "context size",
    "context length",
    "context window",
    "token budget",
    "too many tokens",
)
CREDIT = ("credit", "insufficient funds", "insufficient balance", "payment required", "quota")
DENIALS = ("unknown", "not ", "no such", "invalid")
OUR_ERROR = "This is how the request was laid out: what the server says names the field."


def refused(reply: Reply, target: Target, model: str) -> TiebreakError:
    """The error for a reply whose status is not 200.

    Args:
        reply: without the key in it.
        target: who was asked.
        model: the id that was sent.
    """
    said = message_of(reply)
    if 300 <= reply.status < 400:
        return BadReply(
            f"HTTP {reply.status}: {target.url} redirects.",
            remedy="It was not followed, so that the key goes nowhere else: correct the URL.",
            engine=ENGINE,
        )
    status = _by_status(reply, target, said)
    return status or _by_words(reply, target, said, model) or refusal(reply, ENGINE)


def _by_status(reply: Reply, target: Target, said: str) -> TiebreakError | None:
    """The error of a status that says all by itself."""
    text = f"HTTP {reply.status}: {said}"
    if reply.status in (401, 403) and not _has(said, CREDIT):
        missing = "" if target.key else f" {target.key_env} is not set, so no key was sent."
        return AuthError(
            f"{text}.{missing}" if missing else text,
            remedy=f"Check the key in {target.key_env}: is it whole, not expired, and one of {target.provider.name}?",
            engine=ENGINE,
        )
    if reply.status == 402 or (reply.status == 403 and _has(said, CREDIT)):
        return QuotaError(text, remedy=target.provider.billing, engine=ENGINE)
    if reply.status == 408:
        return EngineHung(text, remedy="The server gave up waiting; ask again, or less at once.", engine=ENGINE)
    if reply.status == 429:
        return RateLimited(
            text,
            retry_after=retry_after(reply.headers),
            remedy="Set requests_per_minute and tokens_per_second to what the account allows, or raise retries.",
            engine=ENGINE,
        )
    if reply.status in (503, 529):
        return EngineOverloaded(
            text,
            retry_after=retry_after(reply.headers),
            remedy="The server is overloaded, not you: ask again later, or raise retries and timeout.",
            engine=ENGINE,
        )
    if reply.status >= 500 and reply.status != 501:
        return EngineError(text, remedy="The fault is on the server's side; ask again later.", engine=ENGINE)
    return None


def _by_words(reply: Reply, target: Target, said: str, model: str) -> TiebreakError | None:
    """The error of a status that several things share, told apart by what the server says."""
    text = f"HTTP {reply.status}: {said}"
    fields = _fields(reply)
    kind = f"{fields.get('error_type', '')} {fields.get('type', '')}"
    if reply.status in (400, 413, 422) and _has(f"{kind} {said}", OVERFLOW):
        return ContextOverflow(
            text,
            tokens=_count(fields.get("n_prompt_tokens")),
            window=_count(fields.get("n_ctx")),
            remedy="Shorten the state or ask fewer questions: nothing is ever cut silently.",
            engine=ENGINE,
        )
    if reply.status in (400, 404) and "model" in said.lower() and _has(said, DENIALS):
        return ModelUnavailable(
            f"{target.provider.name} does not serve {model!r}: {text}.",
            remedy=f"See what it serves: GET {target.url}/v1/models.",
            engine=ENGINE,
        )
    if reply.status in (404, 405, 501):
        return Unsupported(
            f"{target.url} offers no System One endpoint: {text}.",
            remedy="The URL is the root of the server, to which /v1/systemone is appended.",
            engine=ENGINE,
        )
    if reply.status == 413:
        return InvalidRequest(text, remedy="The request is too large for this server: ask less at once.", engine=ENGINE)
    if reply.status in (400, 415, 422):
        return InvalidRequest(text, remedy=OUR_ERROR, engine=ENGINE)
    return None


def _fields(reply: Reply) -> Mapping[str, Any]:
    """The object that describes the error, wherever the server put it."""
    try:
        body = json.loads(reply.body)
    except ValueError:
        return {}
    if not isinstance(body, dict):
        return {}
    for value in (body.get("detail"), body.get("error"), body):
        if isinstance(value, dict):
            return value
    return {}


def _has(text: str, words: tuple[str, ...]) -> bool:
    lowered = text.lower()
    return any(word in lowered for word in words)


def _count(value: object) -> int | None:
    return value if type(value) is int else None
