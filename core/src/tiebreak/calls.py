"""`Call` and `Reply`: one HTTP exchange as data, so that an engine can ask for it without doing it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import attrs

from tiebreak.errors import BadReply

__all__ = ["Call", "Reply", "Spent"]


def _size(body: bytes) -> str:
    """Bodies hold what users asked, and at times what a server repeats of a key: a repr says their size."""
    return f"<{len(body)} bytes>"


@attrs.frozen(kw_only=True)
class Call:
    """One HTTP request that a wire engine wants made.

    Attributes:
        method, path: `POST`, `/completion`; the path is appended to the engine's base URL.
        body: JSON text in UTF-8, or b"" for none.
        headers: beyond the engine's own.
        retries: how often it may be sent again after 429, 529, 5xx or a lost connection (0: never;
            a stale keep-alive connection is always replaced once, since a decision only reads).
        tokens: what it is expected to cost, for an engine that keeps a pace.
    """

    method: str
    path: str
    body: bytes = attrs.field(default=b"", repr=_size)
    headers: Mapping[str, str] = attrs.field(factory=dict)
    retries: int = 0
    tokens: int = 0

    @classmethod
    def post(cls, path: str, value: object, **more: Any) -> Call:
        """A POST of a value as JSON, keys in the order given, non-ASCII kept."""
        body = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
        return cls(method="POST", path=path, body=body, **more)


@attrs.frozen(kw_only=True)
class Reply:
    """What came back for a `Call`.

    Attributes:
        status: HTTP status.
        headers: lower-case names.
        body: as received, decompressed.
        wall_ms: from the first byte sent to the last byte received.
        waited_ms: spent on our side before that: for the engine's pace, and between attempts.
    """

    status: int
    headers: Mapping[str, str] = attrs.field(factory=dict)
    body: bytes = attrs.field(default=b"", repr=_size)
    wall_ms: float = 0.0
    waited_ms: float = 0.0

    def json(self, engine: str) -> Any:
        """The body as JSON.

        Raises:
            BadReply: it is not JSON (NaN and Infinity are not).
        """
        try:
            return json.loads(self.body, parse_constant=_no_constant)
        except ValueError as error:
            start = self.body[:120].decode(errors="replace")
            raise BadReply(
                f"HTTP {self.status} with a body that is not JSON ({error}): {start!r}",
                engine=engine,
            ) from None


@attrs.frozen(kw_only=True)
class Spent:
    """What the calls of one exchange took, in milliseconds: on the wire, and waiting on our side before and between."""

    wall_ms: float = 0.0
    waited_ms: float = 0.0

    def plus(self, reply: Reply) -> Spent:
        """The same with one more reply."""
        return Spent(wall_ms=self.wall_ms + reply.wall_ms, waited_ms=self.waited_ms + reply.waited_ms)


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")
