"""`Fault`: httpx transports that stand between an engine and its wire and break what goes through."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx

from tiebreak_conformance.cassette import Mount

__all__ = ["Broken", "Echo", "Fault", "Refusing", "Tampered", "Watching", "leaves", "replaced"]


class Fault(Mount):
    """Passes everything through until the engine is asked for evidence; subclasses say what happens then.

    The greeting goes through untouched: armed is a fault when `armed` is set.

    Args:
        wire: what to pass to; None for real connections.
    """

    def __init__(self, wire: httpx.BaseTransport | None) -> None:
        self.wire = wire or httpx.HTTPTransport()
        self._owns = wire is None
        self.armed = False

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Pass a request through, or break it."""
        if not self.armed:
            return self.pass_on(request)
        return self.broken(request)

    def finish(self) -> None:
        """Close the real connections."""
        if self._owns:
            self.wire.close()

    def pass_on(self, request: httpx.Request) -> httpx.Response:
        """Ask the wire."""
        response = self.wire.handle_request(request)
        content = response.read()
        response.close()
        headers = {k: v for k, v in response.headers.items() if k in ("content-type", "retry-after")}
        return httpx.Response(response.status_code, headers=headers, content=content)

    def broken(self, request: httpx.Request) -> httpx.Response:
        """What comes back instead."""
        raise httpx.ReadError("the fault that a test asked for", request=request)


class Refusing(Fault):
    """Answers with a status and a body.

    Args:
        wire: see `Fault`.
        status: HTTP status.
        body: as sent.
        headers: of the reply.
    """

    def __init__(
        self,
        wire: httpx.BaseTransport | None,
        status: int,
        body: bytes = b'{"error":{"message":"a fault that a test asked for"}}',
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(wire)
        self.status = status
        self.body = body
        self.headers = headers or {}

    def broken(self, request: httpx.Request) -> httpx.Response:
        """The status and the body."""
        headers = {"content-type": "application/json", **self.headers}
        return httpx.Response(self.status, headers=headers, content=self.body)


class Broken(Fault):
    """Raises one of httpx's own errors, as a broken network does.

    Args:
        wire: see `Fault`.
        error: its class.
    """

    def __init__(self, wire: httpx.BaseTransport | None, error: type[httpx.RequestError]) -> None:
        super().__init__(wire)
        self.error = error

    def broken(self, request: httpx.Request) -> httpx.Response:
        """The error."""
        raise self.error("the fault that a test asked for", request=request)


class Echo(Refusing):
    """Refuses from the first question on, and remembers the keys that it was sent.

    Args:
        wire: see `Fault`.
        status: HTTP status.
    """

    def __init__(self, wire: httpx.BaseTransport | None, status: int) -> None:
        super().__init__(wire, status, b'{"error":{"message":"refused"}}')
        self.keys: list[str] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Keep the key and go on."""
        for name in ("authorization", "x-api-key", "api-key"):
            value = request.headers.get(name, "")
            key = value.removeprefix("Bearer ").strip()
            if len(key) > 3 and key not in self.keys:
                self.keys.append(key)
        return super().handle_request(request)


class Watching(Fault):
    """Keeps the last replies, by path, and how often each path was asked."""

    def __init__(self, wire: httpx.BaseTransport | None) -> None:
        super().__init__(wire)
        self.seen: list[tuple[str, httpx.Response]] = []

    def pass_on(self, request: httpx.Request) -> httpx.Response:
        """Ask the wire and keep what it says."""
        response = super().pass_on(request)
        self.seen.append((request.url.path, response))
        return response


class Tampered(Watching):
    """Once armed, gives the kept reply of each path again, and in place of the last one `body`.

    So the engine sees exactly what it saw before, but for what was tampered with.
    """

    body: bytes | None = None

    def broken(self, request: httpx.Request) -> httpx.Response:
        """The kept reply of this path, or the body that was put in its place."""
        last_path, last = self.seen[-1]
        path = request.url.path
        if path == last_path:
            content = last.content if self.body is None else self.body
            return httpx.Response(last.status_code, headers={"content-type": "application/json"}, content=content)
        known = [response for where, response in self.seen if where == path]
        if not known:
            return self.pass_on(request)
        return httpx.Response(known[-1].status_code, headers=known[-1].headers, content=known[-1].content)


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all values inside a JSON value that hold no further ones."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    inner = list(items)
    if not inner:
        yield path
    for key, item in inner:
        yield from leaves(item, (*path, key))


def replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """A copy of a JSON value with another value at a path."""
    copy = json.loads(json.dumps(value))
    if not path:
        return new
    inner = copy
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = new
    return copy
