"""`read`: a request body within its limits, decompressed and parsed."""

from __future__ import annotations

import asyncio
import json
import sys
import zlib
from collections.abc import Mapping
from typing import Any, Protocol

from starlette.requests import ClientDisconnect, Request

from tiebreak.serve.interrupt import Interrupt
from tiebreak.serve.problem import Problem, invalid, wrong
from tiebreak.serve.settings import Settings

__all__ = ["read"]

ENCODINGS = "gzip, zstd"


class _Stream(Protocol):
    """What zlib and zstd decompressors have in common."""

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


async def read(request: Request, headers: Mapping[str, str], settings: Settings) -> Any:
    """The JSON value of a request's body.

    Args:
        request: of which only the body is read.
        headers: of the request, names in lower case.
        settings: the limits.

    Raises:
        Problem: it is too large, too slow, not JSON, or encoded in a way that is not understood.
        ClientDisconnect: the client left before it was whole.
    """
    _check_type(headers.get("content-type", ""))
    encoding = headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("identity", "gzip", "x-gzip", "zstd"):
        raise Problem.of(
            415, "api_usage_error", f"Content-Encoding {encoding[:40]!r} is not understood.", accept_encoding=ENCODINGS
        )
    late = Problem.of(408, "timeout_error", f"The body did not arrive within {settings.body_timeout:g} s.")
    with Interrupt(late) as interrupt:
        timer = asyncio.get_running_loop().call_later(settings.body_timeout, interrupt)
        try:
            raw = await _receive(request, headers.get("content-length", ""), settings.max_body)
        finally:
            timer.cancel()
    if encoding != "identity":
        raw = _decompress(raw, encoding, settings.max_body)
    return _parse(raw)


def _check_type(content_type: str) -> None:
    media = content_type.split(";")[0].strip().lower()
    if media and media != "application/json" and not media.endswith("+json"):
        # A page of another site can post text and forms without asking, but not JSON.
        raise Problem.of(
            415, "api_usage_error", f"Content-Type {media[:60]!r} is not application/json; images are not supported."
        )


async def _receive(request: Request, declared: str, limit: int) -> bytes:
    if declared.isdecimal() and int(declared) > limit:
        raise _too_large(limit)
    parts, size, more = [], 0, True
    while more:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        part = message.get("body", b"")
        size += len(part)
        if size > limit:
            raise _too_large(limit)
        parts.append(part)
        more = message.get("more_body", False)
    return b"".join(parts)


def _decompress(raw: bytes, encoding: str, limit: int) -> bytes:
    """The content of all gzip members or zstd frames, of which never more than `limit` bytes come to be."""
    out: list[bytes] = []
    room = limit + 1
    try:
        while raw:
            stream = _stream(encoding)
            part = stream.decompress(raw, room)
            out.append(part)
            room -= len(part)
            if room <= 0:
                raise _too_large(limit)
            if not stream.eof:
                raise invalid(wrong([], f"The {encoding} body ends in the middle.", "encoding_error"))
            raw = stream.unused_data
    except (zlib.error, _zstd_error()) as error:
        raise invalid(wrong([], f"The body is not {encoding}: {error}", "encoding_error")) from None
    return b"".join(out)


def _stream(encoding: str) -> _Stream:
    stream: _Stream = _zstd_module().ZstdDecompressor() if encoding == "zstd" else zlib.decompressobj(wbits=31)
    return stream


def _zstd_error() -> type[Exception]:
    error: type[Exception] = _zstd_module().ZstdError
    return error


def _zstd_module() -> Any:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd


def _parse(raw: bytes) -> Any:
    try:
        return _DECODER.decode(raw.decode())
    except UnicodeDecodeError as error:
        raise invalid(wrong([error.start], "The body is not UTF-8", "json_invalid")) from None
    except json.JSONDecodeError as error:
        raise invalid(wrong([error.pos], f"JSON decode error: {error.msg}", "json_invalid")) from None
    except ValueError as error:  # NaN, a repeated key, a number of thousands of digits
        raise invalid(wrong([], str(error), "json_invalid")) from None
    except RecursionError:
        raise invalid(wrong([], "The body is nested too deeply", "json_invalid")) from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object without repeated keys: of two options with one name, one would be lost."""
    value = dict(pairs)
    if len(value) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise ValueError(f"Key {key[:60]!r} is given twice in one object")
            seen.add(key)
    return value


def _constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


# Made once: `json.loads` makes one for every call that is not the plainest.
_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant)


def _too_large(limit: int) -> Problem:
    return Problem.of(413, "request_too_large", f"The body is larger than {limit:,} bytes.", connection="close")
