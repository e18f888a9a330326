"""`Results`: what a benchmark leaves behind, `results.json`: every single answer, and the figures made of them.

One file holds up to five sections, each written by its own command: `run`, `prefix`, `schemas`, `overhead`, `parity`.
Files are read back by `tiebreak bench compare`, so they are validated: what is not in the schema is an error.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from tiebreak.bench.records import (
    Agreement,
    Asked,
    Estimate,
    Load,
    Machine,
    Measured,
    Method,
    Mode,
    Part,
    Share,
    Skipped,
    Summary,
)
from tiebreak.errors import InvalidRequest

__all__ = [
    "SCHEMA",
    "Client",
    "OverheadSection",
    "ParityRow",
    "ParitySection",
    "PrefixRow",
    "PrefixSection",
    "Results",
    "RunSection",
    "RunSettings",
    "SchemasPoint",
    "SchemasSection",
    "Section",
    "enter",
    "read",
    "write",
]

SCHEMA = 1
"""Version of the file format; raised when a reader of the old one would misread a new file."""

FILE = "results.json"


class RunSettings(Part):
    """What was asked for; a run is only resumed with the same.

    Attributes:
        layouts: empty for each engine's own.
        rounds: how often every method is loaded and asked the whole set, in turns.
        again: items that are asked a second time in each round.
        order_items: items that are also asked with their options in all rotations, in the first round.
        threads: that engines were told to use.
        url: of a running server that was attached to.
        options: engine options that were set, for the engines that have them.
    """

    engines: list[str]
    models: list[str]
    layouts: list[str] = Field(default_factory=list)
    set_name: str
    set_sha256: str
    items: int
    modes: list[Mode]
    wordings: list[str]
    rounds: int
    again: int
    order_items: int
    threads: int | None = None
    url: str | None = None
    options: dict[str, Any] = Field(default_factory=dict)


class Section(Part):
    """What all sections have in common: where, how and when, on which methods, and what had to be left out."""

    machine: Machine
    command: str
    started: str  # ISO 8601, UTC
    seconds: float
    notes: list[str] = Field(default_factory=list)
    methods: list[Method]
    skipped: list[Skipped] = Field(default_factory=list)


class RunSection(Section):
    """`tiebreak bench run`: accuracy and speed on a set. `finished` is False where it was interrupted."""

    settings: RunSettings
    finished: bool
    loads: list[Load]
    asked: list[Asked]
    summaries: list[Summary]
    agreements: list[Agreement]


class PrefixRow(Part):
    """One scenario on one method with the prefix cache off and on.

    Attributes:
        scenario: `1 question`, `3 questions`, `2 questions, state seen before` or `1 question, asked before`.
        rows: prompts that the scenario takes (a score of five levels may be five).
        off, on: milliseconds, in pairs: the same request, one right after the other.
        speed_up: median of off / on over the pairs.
        max_deviation, flips: what the cache did to probabilities and answers.
        status: how many calls with the cache on had which cache status.
    """

    method: str
    scenario: str
    rows: int
    off: Measured
    on: Measured
    speed_up: Estimate
    max_deviation: float
    flips: int
    status: dict[str, int]
    state_tokens: int | None = None
    prompt_tokens: int | None = None


class PrefixSection(Section):
    """`tiebreak bench prefix`: what prefix reuse gives."""

    rounds: int
    rows: list[PrefixRow]


class SchemasPoint(Part):
    """`schemas` question sets in one order: `rotation` asks them in turns, `grouped` one after the other.

    `hits` and `misses` are those that were seen after the first time around; `advice` is what the receipts said.
    """

    method: str
    schemas: int
    order: Literal["rotation", "grouped"]
    total: Measured
    hits: int
    misses: int
    advice: str | None = None


class SchemasSection(Section):
    """`tiebreak bench schemas`: the cliff where the question sets stop fitting the cache.

    `budget_bytes` and `budget_entries` are the cache's limits, `checkpoint_bytes` one entry, None where not known;
    `fits` is how many go in by that.
    """

    budget_bytes: int | None = None
    budget_entries: int | None = None
    checkpoint_bytes: int | None = None
    fits: int | None = None
    points: list[SchemasPoint]


class Client(Part):
    """One way to ask the same running server.

    Attributes:
        server: `engine` is the real one; `instant` answers at once with its last reply.
        client: `tiebreak`, `bare socket`, `http.client`, `httpx` or `ornotto`.
        total: of one decision.
        over: total minus what the engine says that it computed, None where it cannot be told.
        own: over minus the bare socket's in the same round: what the client itself costs.
        behind: total minus tiebreak's in the same round, None for tiebreak itself.
    """

    method: str
    server: Literal["engine", "instant"]
    client: str
    total: Measured
    over: Measured | None = None
    own: Measured | None = None
    behind: Measured | None = None


class OverheadSection(Section):
    """`tiebreak bench overhead`: what a client costs per decision."""

    rounds: int
    clients: list[Client]


class ParityRow(Part):
    """How far one method is from the reference over a set.

    Attributes:
        max_deviation, mean_deviation: of a probability, over all options and items (the mean over all options).
        same: items with the same answer.
        flips: ids of the others.
        worst: id of the item with the largest deviation.
    """

    method: str
    same: Share
    max_deviation: float
    mean_deviation: float
    flips: list[str]
    worst: str


class ParitySection(Section):
    """`tiebreak bench parity`: other engines against a reference. `reference` is a method's id."""

    reference: str
    set_name: str
    items: int
    rows: list[ParityRow]


class Results(Part):
    """The whole file."""

    schema_version: int = SCHEMA
    run: RunSection | None = None
    prefix: list[PrefixSection] = Field(default_factory=list)
    schemas: list[SchemasSection] = Field(default_factory=list)
    overhead: OverheadSection | None = None
    parity: list[ParitySection] = Field(default_factory=list)


def read(path: str | os.PathLike[str]) -> Results:
    """The results in a file, or in the `results.json` of a directory.

    Raises:
        InvalidRequest: there is none, it is of another version, or it is not what the schema says; with its path.
    """
    file = Path(path)
    if file.is_dir():
        file /= FILE
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidRequest(
            f"{file} cannot be read: {error.strerror or error}.", remedy="Name a directory that `bench` wrote."
        ) from error
    except ValueError as error:
        raise InvalidRequest(f"{file} is not JSON: {error}.") from error
    version = data.get("schema_version") if isinstance(data, dict) else None
    if version != SCHEMA:
        raise InvalidRequest(
            f"{file} has schema version {version!r}; this tiebreak reads {SCHEMA}.",
            remedy="Run the benchmark again, or install the tiebreak that wrote the file.",
        )
    try:
        return Results.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise InvalidRequest(f"{file} is not a result of `tiebreak bench`: {where}: {first['msg']}.") from error


def enter(directory: Path, **sections: Any) -> Path:
    """Put sections into the `results.json` of a directory, beside those that it has; a list of sections grows.

    Raises:
        InvalidRequest: the file that is there cannot be read.
    """
    before = read(directory) if (directory / FILE).exists() else Results()
    grown = {
        name: [*getattr(before, name), value] if isinstance(getattr(before, name), list) else value
        for name, value in sections.items()
    }
    return write(before.model_copy(update=grown), directory)


def write(results: Results, directory: Path) -> Path:
    """Write `results.json` into a directory, whole or not at all, and return its path."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / FILE
    fresh = path.with_suffix(".json.new")
    fresh.write_text(_text(results), encoding="utf-8")
    fresh.replace(path)
    return path


def _text(results: Results) -> str:
    """JSON with one answer per line: a diff of two runs can be read, and the file stays small."""
    data = results.model_dump(mode="json")
    rows = None
    if results.run is not None:
        del data["run"]["asked"]
        rows = [row.model_dump(mode="json", exclude_defaults=True) for row in results.run.asked]
    text = json.dumps(data, ensure_ascii=False, indent=1, allow_nan=False)
    if rows is None:
        return text + "\n"
    lines = ",\n".join("   " + json.dumps(row, ensure_ascii=False, allow_nan=False) for row in rows)
    return text.replace('"run": {', f'"run": {{\n  "asked": [\n{lines}\n  ],', 1) + "\n"
