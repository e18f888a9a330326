"""`schemas`: question sets that take turns in a small cache: where they stop fitting, and what ordering saves."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

import attrs

from tiebreak.answers import Decision
from tiebreak.bench.machine import describe, now
from tiebreak.bench.methods import Field, Loaded, Wish, load, model_of, quietly, timed
from tiebreak.bench.omissions import Omissions
from tiebreak.bench.progress import Progress
from tiebreak.bench.records import Method, Skipped
from tiebreak.bench.results import SchemasPoint, SchemasSection
from tiebreak.bench.statistics import measured
from tiebreak.bench.words import Words
from tiebreak.errors import InvalidRequest, Unsupported
from tiebreak.ledger import Budget
from tiebreak.questions import Question, choice, yes_no

__all__ = ["SchemasPlan", "schemas"]

Order = Literal["rotation", "grouped"]

ORDERS: Sequence[Order] = ("rotation", "grouped")
ENTRIES = 4
"""Checkpoints that the cache is told to keep, so that the cliff comes soon; where it can be told by number."""
WARM_UP = 2
"""Times around that do not count: an engine may only keep what it has met twice."""


@attrs.frozen(kw_only=True)
class SchemasPlan:
    """What to measure.

    Attributes:
        field: the methods; where no layout is named, the one that puts the questions first.
        most: the largest number of question sets; every number from 1 on is measured.
        rounds: times around that count.
    """

    field: Field
    most: int = 8
    rounds: int = 3
    command: str = ""


def schemas(plan: SchemasPlan, progress: Progress, keep: Callable[[SchemasSection], object]) -> list[SchemasSection]:
    """Measure, one section for each method.

    For each number of question sets they are asked in turns (`rotation`: a, b, c, a, b, c ...), and then the same
    requests with those of one set together (`grouped`: a, a, ..., b, b ...), as `decide_many` would order them; there
    the first of each set counts, too, since it has to be computed.

    Args:
        plan: what to measure.
        progress: told about every step.
        keep: called with each section once it is there, and with what there is of it where it was interrupted.

    Raises:
        InvalidRequest, EngineUnavailable: the plan is wrong; nothing was started.
        TiebreakError: no method could be measured at all; the last one's reason.
    """
    for name, value in (("--schemas", plan.most), ("--repeat", plan.rounds)):
        if value < 1:
            raise InvalidRequest(f"{name} is {value}; it is at least 1.")
    wishes, skipped = plan.field.wishes()
    calls = sum(count * (2 * plan.rounds + WARM_UP) for count in range(1, plan.most + 1))
    progress.plan({wish.name: calls for wish in wishes}, {wish.name: 1 for wish in wishes})
    sections: list[SchemasSection] = []
    omissions = Omissions(skipped, progress)
    try:
        for wish in wishes:
            series = _Series(plan, wish, progress)
            try:
                with omissions.around(wish):
                    series.measure()
            finally:
                sections += series.sections(skipped if not sections else [])
    finally:
        for section in sections:
            keep(section)
    omissions.refuse_nothing(sections)
    return sections


class _Series:
    """One method with ever more question sets."""

    def __init__(self, plan: SchemasPlan, wish: Wish, progress: Progress) -> None:
        self.plan = plan
        self.wish = wish
        self.progress = progress
        self.head: dict[str, Any] = {"machine": describe(), "command": plan.command, "started": now()}
        self.began = time.monotonic()
        self.heard: dict[str, None] = {}
        self.method: Method | None = None
        self.budget = Budget()
        self.points: list[SchemasPoint] = []
        self.size = 0

    def measure(self) -> None:
        registry = self.plan.field.registry
        with quietly(self.heard):
            model_of(self.wish, registry)
            with load(_limited(self.plan, self.wish), registry) as loaded:
                session = loaded.decider.session
                layout = session.stages.layout
                if layout.direction != "schema-first":
                    raise Unsupported(
                        f"The layout {layout.name!r} does not put the questions first: they are not reused.",
                        remedy="Name one that does with --layouts, or another engine.",
                        engine=self.wish.engine,
                    )
                self.progress.loaded(self.wish.name, loaded.ready_ms / 1e3)
                self.method, self.budget = loaded.method, session.engine.cache_budget
                for count in range(1, self.plan.most + 1):
                    for order in ORDERS:
                        self.points.append(self._point(loaded, count, order))

    def sections(self, skipped: list[Skipped]) -> list[SchemasSection]:
        """The section, as far as it was measured; none where nothing was."""
        if self.method is None or not self.points:
            return []
        fits = self.budget.bytes // self.size if self.budget.bytes is not None and self.size else None
        limits = [limit for limit in (self.budget.entries, fits) if limit is not None]
        return [
            SchemasSection(
                **self.head,
                seconds=time.monotonic() - self.began,
                notes=list(self.heard),
                methods=[self.method],
                skipped=skipped,
                budget_bytes=self.budget.bytes,
                budget_entries=self.budget.entries,
                checkpoint_bytes=self.size or None,
                fits=min(limits) if limits else None,
                points=self.points,
            )
        ]

    def _point(self, loaded: Loaded, count: int, order: Order) -> SchemasPoint:
        """One number of question sets in one order."""
        decider = loaded.beside()  # a session of its own: its ledger has seen nothing yet
        words = Words(count)
        asked = [_schema(f"{order} {count}", number) for number in range(count)]
        times: list[list[float]] = [[] for _ in range(self.plan.rounds)]
        hits = misses = 0
        advice: str | None = None
        for around, each in _turns(asked, order, self.plan.rounds):
            decision, ms = timed(decider, words.state(2), each)
            self.progress.asked(self.wish.name, ms / 1e3)
            advice = advice or _advice(decision)
            self.size = max(self.size, decision.cache.checkpoint_bytes or 0)
            if around >= 0:
                times[around].append(ms)
                hits += decision.cache.status == "hit"
                misses += decision.cache.status in ("miss", "fallback")
        decider.close()
        return SchemasPoint(
            method=loaded.method.id,
            schemas=count,
            order=order,
            total=measured(times),
            hits=hits,
            misses=misses,
            advice=advice,
        )


def _limited(plan: SchemasPlan, wish: Wish) -> Wish:
    """The method with a small cache, where nobody said how large, and a layout that reuses questions."""
    info = plan.field.registry.plugin(wish.engine).engine()
    options = dict(wish.options)
    if any(spec.name == "cache_entries" for spec in info.options) and not any("cache" in name for name in options):
        options["cache_entries"] = ENTRIES
    layout = wish.layout or ("schema-first" if "schema-first" in info.layouts else None)
    return attrs.evolve(wish, options=options, layout=layout)


def _turns(
    asked: Sequence[dict[str, Question]], order: Order, rounds: int
) -> Iterator[tuple[int, dict[str, Question]]]:
    """(time around, question set); negative for those that do not count."""
    if order == "rotation":
        for around in range(-WARM_UP, rounds):
            for each in asked:
                yield around, each
    else:
        for each in asked:
            for around in range(rounds):
                yield around, each


def _schema(series: str, number: int) -> dict[str, Question]:
    """A question set that no other shares a beginning with."""
    name = f"{number} of {series}"
    return {
        f"team {name}": choice(
            f"{name}: which team of the town hall should look at this report first?",
            {
                "roads": "holes, lamps, bridges and everything that one drives or walks on",
                "waste": "bins, litter, and what was left at the side of a road",
                "noise": "music, works at night, and neighbours",
                "parks": "trees, benches, and playgrounds",
            },
        ),
        f"today {name}": yes_no(f"{name}: does somebody have to go there today?", yes="a person could be hurt"),
    }


def _advice(decision: Decision) -> str | None:
    return next((note for note in decision.receipt.warnings if note.startswith("cache:")), None)
