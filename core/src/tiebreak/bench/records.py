"""The records of a benchmark: machine, method, every single answer, and the figures made of them.

Times are milliseconds and sizes bytes everywhere. Times are kept to 0.1 microseconds and the probabilities of single
answers to six decimals, which is finer than any engine repeats itself on another machine. Intervals are of 95 %.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

__all__ = [
    "Agreement",
    "Asked",
    "Bin",
    "Calibration",
    "Estimate",
    "FileCache",
    "Load",
    "Machine",
    "Measured",
    "Method",
    "Mode",
    "OrderBias",
    "Part",
    "Role",
    "Share",
    "Skipped",
    "Summary",
]

Mode = Literal["direct", "translated"]
FileCache = Literal["cold", "warm", "unknown"]
Role = Literal["warm-up", "measured", "order"]
Milliseconds = Annotated[float, AfterValidator(lambda value: round(value, 4))]
Probability = Annotated[float, AfterValidator(lambda value: round(value, 6))]


class Part(BaseModel):
    """What all records have in common: they never change, and take nothing that the schema does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())


class Estimate(Part):
    """A figure and its 95 % interval; without one (low and high None) where there are too few values."""

    value: float
    low: float | None = None
    high: float | None = None


class Share(Part):
    """`hits` of `of`, as a Wilson score interval of 95 %; `of` is at least 1."""

    hits: int
    of: int
    low: float
    high: float

    @property
    def value(self) -> float:
        """The share itself, 0 to 1."""
        return self.hits / self.of


class Machine(Part):
    """Where it was measured. `cores` are those that this process may use; `load` the 1-minute average at the start."""

    cpu: str
    cores: int
    memory_bytes: int
    system: str
    python: str
    tiebreak: str
    load: float | None = None


class Method(Part):
    """One row of every table: engine x model x layout x readout x device, and everything else that can matter.

    Attributes:
        id: unique in its section and readable: what other records refer to.
        device: `cpu`, or what the engine was told to use.
        plugin, engine_build: distribution with version, and the build that ran.
        model_sha256, model_bytes: of the file, None where there is none.
        temperature: divisor of the log-probabilities by question kind.
        threads: that compute, None where the engine cannot be told and does not say.
        options: of the engine, as they were set, defaults included.
        fingerprint: of the receipts: equal ones were made in the same way.
    """

    id: str
    engine: str
    model: str
    layout: str
    readout: str
    cache: str
    device: str
    plugin: str
    engine_build: str
    model_sha256: str | None = None
    model_bytes: int | None = None
    temperature: dict[str, float] = Field(default_factory=dict)
    threads: int | None = None
    options: dict[str, Any] = Field(default_factory=dict)
    fingerprint: str = ""


class Load(Part):
    """One start of an engine.

    Attributes:
        method: its id.
        round: in which round.
        file_cache: whether the model file was in the page cache: `cold` after it was dropped (`posix_fadvise`),
            `warm` after it was read, `unknown` where the system offers no way to drop it.
        ready_ms: from the start of the process or the load call to ready.
        first_answer_ms: from there on to the first answer; what a user waits is the sum.
        peak_bytes: largest resident size of the engine until it was stopped, None where it runs in a place that
            cannot be looked into.
    """

    method: str
    round: int
    file_cache: FileCache
    ready_ms: Milliseconds
    first_answer_ms: Milliseconds
    peak_bytes: int | None = None


class Asked(Part):
    """One question asked once.

    Attributes:
        method, mode, wording: which method, and what was asked: `wording` names the set of option descriptions
            (`short`, `middle`, `long`; `own` for a file of the user's).
        item, round: id of the line of the set; number of the round, from 0.
        role: `warm-up` is in no figure; `measured` is in all; `order` only in the flip rate.
        repeat: how often the loaded engine was asked just this before: 0 is a first call.
        copied: it was asked once, in the other mode, because the item has no translation; this is that answer.
        rotation: the options were rotated left by so many places.
        language, expected: of the item, None where the set does not say.
        value: the answer; with `probabilities` in the order asked.
        total_ms: from the call to the decision.
        engine_ms: what the engine says that it computed, None where it does not say.
        client_ms: the rest: our own work, the wire, and what the engine does not count.
        phases: milliseconds by phase: `layout`, `queue`, `transport`, `readout` of ours and `prefill`, `restore`
            of the engine, as far as known, and `engine.NAME` for the engine's own.
        cache: status of the prefix cache; `reused_tokens` and `prompt_tokens` where known.
    """

    method: str
    mode: Mode
    wording: str
    item: str
    round: int
    role: Role
    repeat: int = 0
    copied: bool = False
    rotation: int = 0
    language: str | None = None
    expected: str | None = None
    value: str
    probabilities: dict[str, Probability]
    coverage: float | None = None
    approximate: str | None = None
    total_ms: Milliseconds
    engine_ms: Milliseconds | None = None
    client_ms: Milliseconds | None = None
    phases: dict[str, Milliseconds] = Field(default_factory=dict)
    cache: str = "unknown"
    reused_tokens: int | None = None
    prompt_tokens: int | None = None


class Bin(Part):
    """Answers whose probability was from `low` to `high`: how many, their mean probability, and how many were right."""

    low: float
    high: float
    count: int
    confidence: float
    right: int


class Calibration(Part):
    """How honest the probabilities are.

    Attributes:
        ece: expected calibration error over `bins`, 0 to 1; depends on the number of bins.
        brier: mean squared distance of the probabilities from the right answer, over all options, 0 to 2.
        bins: of equal width; empty ones are left out.
    """

    ece: Estimate
    brier: Estimate
    bins: list[Bin]


class OrderBias(Part):
    """What the order of the options did to the answers.

    Attributes:
        rotations: orders that each item was asked in.
        flipped: items that did not get one and the same answer in all of them.
        picked: for each place in the list, how many answers stood there; without bias about equal.
        expected: the same for the right options, None without labels.
    """

    rotations: int
    flipped: Share
    picked: list[int]
    expected: list[int] | None = None


class Measured(Part):
    """Milliseconds of some calls: how many, and their mean, median and 95th percentile."""

    count: int
    mean: Estimate
    median: Estimate
    p95: Estimate


class Summary(Part):
    """The figures of one method in one mode and wording; made from `Asked` rows whose role is `measured`.

    Attributes:
        total, engine, client: per query, over first calls (`repeat` is 0); None where not known for every call.
        repeats: as `total`, over calls that were asked before; None where there are none.
        phases: mean milliseconds by phase, over the calls that report it.
        accuracy: None without labels; each item counts once, by its answer in the first round.
        unstable: items that got different answers in different rounds.
        cache: how many calls had which status.
        tokens: mean prompt length, None where not known.
    """

    method: str
    mode: Mode
    wording: str
    total: Measured
    repeats: Measured | None = None
    engine: Measured | None = None
    client: Measured | None = None
    phases: dict[str, float] = Field(default_factory=dict)
    accuracy: Share | None = None
    by_label: dict[str, Share] = Field(default_factory=dict)
    by_language: dict[str, Share] = Field(default_factory=dict)
    calibration: Calibration | None = None
    order: OrderBias | None = None
    unstable: int = 0
    cache: dict[str, int] = Field(default_factory=dict)
    tokens: float | None = None


class Agreement(Part):
    """How often two methods gave one answer to the same items, and how far their probabilities were apart."""

    first: str
    second: str
    mode: Mode
    wording: str
    same: Share
    max_deviation: float
    mean_deviation: float


class Skipped(Part):
    """A method that was asked for and is not in the tables, or ended early, and why."""

    method: str
    reason: str
