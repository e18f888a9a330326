"""`Problem`: a refusal in the protocol's own shapes.

A body that does not validate is a 422 with a list of errors, each with its path; everything else is an object with
`error_type` and `message`. A request that is wrong never gets a 5xx, because clients send those again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from tiebreak.errors import (
    ContextOverflow,
    EngineHung,
    EngineOverloaded,
    InvalidRequest,
    MemoryRefused,
    TiebreakError,
    Unsupported,
)

__all__ = ["Problem", "busy", "invalid", "problem_of", "wrong"]


class Problem(Exception):
    """A reply that is not an answer.

    Args:
        status: HTTP status.
        detail: the `detail` of the body.
        headers: beyond the usual ones.
    """

    def __init__(self, status: int, detail: Any, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(status, detail)
        self.status = status
        self.detail = detail
        self.headers = dict(headers or {})

    @classmethod
    def of(cls, status: int, error_type: str, message: str, **headers: str) -> Problem:
        """A problem with a type and a message; header names are written with underscores."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return cls(status, {"error_type": error_type, "message": message}, named)


def wrong(path: Sequence[str | int], message: str, kind: str = "value_error") -> dict[str, Any]:
    """One validation error at a path inside the body."""
    return {"loc": ["body", *path], "msg": message, "type": kind}


def invalid(*errors: dict[str, Any]) -> Problem:
    """A body that does not validate."""
    return Problem(422, list(errors))


def problem_of(error: TiebreakError, retry_after: float) -> Problem:
    """What a client is told about one of our errors: what failed and what to do, never the engine's log.

    Args:
        error: what the Decider raised.
        retry_after: seconds to wait where the error does not say.
    """
    message = f"{error.message} {error.remedy}".strip()
    if isinstance(error, ContextOverflow):
        return Problem.of(413, "max_tokens_exceeded", message)
    if isinstance(error, InvalidRequest):
        return invalid(wrong([], message))
    if isinstance(error, Unsupported):
        return Problem.of(400, "api_usage_error", message)
    if isinstance(error, EngineOverloaded):
        return busy(message, retry_after if error.retry_after is None else error.retry_after)
    if isinstance(error, MemoryRefused):
        return busy(message, retry_after)
    if isinstance(error, EngineHung):
        return Problem.of(504, "timeout_error", message)
    return Problem.of(502, "engine_error", message)


def busy(message: str, retry_after: float) -> Problem:
    """No room now; `Retry-After` is in whole seconds (RFC 9110), so the exact wait goes beside it."""
    return Problem.of(
        503,
        "overloaded_error",
        message,
        retry_after=str(math.ceil(retry_after)),
        retry_after_ms=str(math.ceil(retry_after * 1e3)),
    )
