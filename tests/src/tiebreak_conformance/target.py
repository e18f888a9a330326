"""`Target`: the engine under test, and how the suite reaches it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import attrs

from tiebreak.errors import InvalidRequest
from tiebreak.evidence import Evidence
from tiebreak.plan import Plan
from tiebreak_conformance.excerpt import Reads

__all__ = ["Oracle", "Target", "WireMode"]

WireMode = Literal["live", "record", "replay"]
Oracle = Callable[[Plan], Sequence[Evidence]]


@attrs.frozen(kw_only=True)
class Target:
    """What a suite is run on.

    Attributes:
        engine: the engine's name, as its entry point calls it.
        model: a model reference; None takes the engine's default.
        options: the engine's own options.
        url: a running server to attach to, or the base URL of a hosted engine.
        wire: `live` runs the engine; `record` does, too, and writes what went over the wire into the cassette;
            `replay` answers from the cassette, with no network, binary or model file.
        cassette: the file to write or read, for a wire engine.
        volatile: names in request bodies that do not matter for finding a reply (a slot number, say).
        reads: path -> the type with which the engine reads replies; a recording keeps nothing else of them.
        clocks: names in replies whose values are times; a recording keeps one of replies that differ in them only.
        mount: makes the httpx transport that stands for the wire, for an engine that has a stub for a server.
        plugin: a module or object with the hooks, for an engine that is not installed.
        env: environment variables while the suite runs; for a key, a made-up one that replay needs.
        secrets: names of environment variables whose values may never be seen anywhere.
        stages: layout, readout or cache (a name or an object) that every Decider is opened with.
        known_failures: id -> reason. Strict: one that passes fails the run.
        oracle: the evidence that the engine must find for a plan, where it is known without asking it.
        rounds: random sequences of operations that CACH-10 tries; more find more and take longer.
        patience: seconds for threads, processes and ports to go away after close; only a failure takes that long.
    """

    engine: str
    model: str | None = None
    options: Mapping[str, Any] = attrs.field(factory=dict)
    url: str | None = None
    wire: WireMode = "live"
    cassette: Path | None = None
    volatile: Sequence[str] = ()
    reads: Reads = attrs.field(factory=dict)
    clocks: Sequence[str] = ()
    mount: Callable[[], Any] | None = None
    plugin: object | None = None
    env: Mapping[str, str] = attrs.field(factory=dict)
    secrets: Sequence[str] = ()
    stages: Mapping[str, Any] = attrs.field(factory=dict)
    known_failures: Mapping[str, str] = attrs.field(factory=dict)
    oracle: Oracle | None = None
    rounds: int = 4
    patience: float = 30.0

    def __attrs_post_init__(self) -> None:
        if self.wire not in ("live", "record", "replay"):
            raise InvalidRequest(f"The wire mode is {self.wire!r}; it is live, record or replay.")
        if self.wire != "live" and self.cassette is None:
            raise InvalidRequest(
                f"Wire mode {self.wire} needs a cassette.", remedy="Pass cassette=Path(...), or run it live."
            )
        for id, reason in self.known_failures.items():
            if not reason.strip():
                raise InvalidRequest(f"Known failure {id} has no reason.", remedy="Say why it fails.")
