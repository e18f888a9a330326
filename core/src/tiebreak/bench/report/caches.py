"""The chapters of `bench prefix` and `bench schemas`: what caches give, and where they stop giving it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tiebreak.bench.report.blocks import Block, Chapter, Listed, Plot, Table
from tiebreak.bench.report.canvas import HUES, INK, SOFT, Canvas
from tiebreak.bench.report.digits import estimate, median, megabytes, number, plain
from tiebreak.bench.report.naming import elided, short_names
from tiebreak.bench.results import PrefixRow, PrefixSection, SchemasPoint, SchemasSection

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["prefix_chapter", "schemas_chapter"]


def prefix_chapter(sections: Sequence[PrefixSection]) -> Chapter:
    """Off and on, and what changed."""
    blocks: list[Block] = []
    for count, section in enumerate(sections, start=1):
        names = short_names(section.methods)
        title = "What the prefix cache gives" + (f" ({count})" if len(sections) > 1 else "")
        blocks.append(
            Plot(
                draw=_speed_ups(f"prefix{count}", title, [(names[row.method], row) for row in section.rows]),
                table=Table(
                    title=title,
                    columns=[
                        "method",
                        "scenario",
                        "prompts",
                        "off, ms",
                        "on, ms",
                        "speed-up",
                        "largest deviation",
                        "flips",
                        "cache",
                    ],
                    rows=[
                        (
                            names[row.method],
                            plain(row.scenario),
                            str(row.rows),
                            median(row.off),
                            median(row.on),
                            f"{estimate(row.speed_up, 2)}x",
                            number(row.max_deviation, 4),
                            str(row.flips),
                            ", ".join(f"{plain(status)} {calls}" for status, calls in row.status.items()),
                        )
                        for row in section.rows
                    ],
                    texts=2,
                    caption="The same request with the cache off and on, one right after the other, in "
                    f"{section.rounds} rounds; the speed-up is the median of off / on over the pairs, with its 95 % "
                    "bootstrap interval. Right of the line the cache helps. Deviation and flips are what it did to "
                    "probabilities and answers.",
                ),
            )
        )
    return Chapter(anchor="prefix", title="Prefix caches", blocks=blocks)


def schemas_chapter(sections: Sequence[SchemasSection]) -> Chapter:
    """The cliff, one picture for each method."""
    blocks: list[Block] = []
    for count, section in enumerate(sections, start=1):
        names = short_names(section.methods)
        for method, label in names.items():
            points = [point for point in section.points if point.method == method]
            if not points:
                continue
            title = f"Question sets in rotation: {label}"
            blocks.append(
                Plot(
                    draw=_cliff(f"schemas{count}", title, points, section.fits),
                    table=Table(
                        title=title,
                        columns=["question sets", "order", "median, ms", "p95, ms", "hits", "misses"],
                        rows=[
                            (
                                str(point.schemas),
                                point.order,
                                median(point.total),
                                estimate(point.total.p95),
                                str(point.hits),
                                str(point.misses),
                            )
                            for point in points
                        ],
                        texts=2,
                        caption="In turns: a, b, c, a, b, c. Grouped: the same requests, those of one set together. "
                        f"Bands are 95 % bootstrap intervals of the median. {_room(section)}",
                    ),
                )
            )
        advice = list(dict.fromkeys(plain(point.advice) for point in section.points if point.advice))
        if advice:
            blocks.append(Listed(title="What the receipts advised", lines=advice))
    return Chapter(anchor="schemas", title="Where question sets stop fitting", blocks=blocks)


def _room(section: SchemasSection) -> str:
    """What the cache holds, as far as it says."""
    parts = []
    if section.budget_bytes is not None:
        parts.append(f"{megabytes(section.budget_bytes)} MB")
    if section.budget_entries is not None:
        parts.append(f"{section.budget_entries} entries")
    told = f"The cache is limited to {' and '.join(parts)}" if parts else "The engine does not say what its cache holds"
    size = f"; one entry takes {megabytes(section.checkpoint_bytes)} MB" if section.checkpoint_bytes else ""
    fits = f": {section.fits} fit (dashed line)." if section.fits is not None else "."
    return told + size + fits


def _speed_ups(name: str, title: str, rows: Sequence[tuple[str, PrefixRow]]) -> Callable[[], str]:
    several = len({label for label, _ in rows}) > 1

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        axes.axvline(1, color=SOFT, lw=1)
        hues = {label: HUES[place % len(HUES)] for place, label in enumerate(dict.fromkeys(label for label, _ in rows))}
        high = 1.0
        for place, (label, row) in enumerate(rows):
            found = row.speed_up
            if found.low is not None and found.high is not None:
                axes.hlines(place, found.low, found.high, color=hues[label], lw=2)
            axes.plot(found.value, place, "o", ms=6, color=hues[label])
            high = max(high, found.high or found.value)
            text = f"{elided(label, 24)}: {row.scenario}" if several else row.scenario
            axes.annotate(elided(text, 56), (0, place), xytext=(2, 10), textcoords="offset pixels", color=INK)
            axes.annotate(
                f"{number(found.value, 2)}x",
                (found.high or found.value, place),
                xytext=(7, -4),
                textcoords="offset pixels",
                color=SOFT,
            )
        axes.set_yticks([])
        axes.set_ylim(len(rows) - 0.6, -0.9)
        axes.set_xlim(0, 1.2 * high)
        axes.set_xlabel("speed-up, times")
        axes.spines["left"].set_visible(False)
        axes.grid(visible=True, axis="x")

    return lambda: Canvas(name=name, title=title, height=60 + 44 * len(rows)).svg(draw)


def _cliff(name: str, title: str, points: Sequence[SchemasPoint], fits: int | None) -> Callable[[], str]:
    orders = {"rotation": ("in turns", HUES[0]), "grouped": ("grouped", HUES[1])}

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        most = max(point.schemas for point in points)
        for order, (label, hue) in orders.items():
            some = sorted((point for point in points if point.order == order), key=lambda point: point.schemas)
            if not some:
                continue
            where = [point.schemas for point in some]
            medians = [point.total.median for point in some]
            axes.plot(where, [each.value for each in medians], "o-", ms=5, color=hue)
            low = [each.value if each.low is None else each.low for each in medians]
            high = [each.value if each.high is None else each.high for each in medians]
            axes.fill_between(where, low, high, color=hue, alpha=0.18, lw=0)
            axes.annotate(label, (where[-1], medians[-1].value), xytext=(8, -4), textcoords="offset pixels", color=hue)
        axes.set_ylim(bottom=0)
        if fits is not None and fits < most:
            axes.axvline(fits + 0.5, color=SOFT, lw=1, ls=(0, (4, 3)))
            axes.annotate(
                f"{fits} fit",
                (fits + 0.5, 0),
                xytext=(-5, 6),
                textcoords="offset pixels",
                ha="right",
                color=SOFT,
            )
        axes.set_xticks(range(1, most + 1, 1 + most // 12))
        axes.set_xlim(0.7, most + 0.18 * most + 0.5)
        axes.set_xlabel("question sets that take turns")
        axes.set_ylabel("median per request, ms")
        axes.grid(visible=True, axis="y")

    return lambda: Canvas(name=name, title=title, height=290).svg(draw)
