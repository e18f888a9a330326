"""The plots of a run: speed against accuracy, phases, reliability, places in the list of options."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tiebreak.bench.records import Calibration, Estimate, OrderBias, Share, Summary
from tiebreak.bench.report.canvas import HUES, INK, LINE, SOFT, Canvas, label_points, panels
from tiebreak.bench.report.digits import milliseconds, number, percent
from tiebreak.bench.report.naming import elided, wrapped
from tiebreak.bench.statistics import wilson

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["pareto", "phases", "places", "reliability", "speed_and_accuracy"]

Draw = Callable[[], str]
WIDE = 10
"""Times between the slowest and the fastest from which on an axis is logarithmic."""

PHASES = dict(zip(("prefill", "transport", "layout", "restore", "readout", "queue"), HUES, strict=False))
"""One hue for each phase in every plot; what is not told has the last one, which is grey."""


def pareto(points: Mapping[str, tuple[float, float]]) -> list[str]:
    """Names of the points that no other beats: none is as fast and as often right, and better in one of the two.

    Args:
        points: (milliseconds, share of right answers) by name.

    Returns:
        The front from the fastest to the slowest.
    """
    front = [
        name
        for name, (ms, right) in points.items()
        if not any(
            other_ms <= ms and other_right >= right and (other_ms, other_right) != (ms, right)
            for other_ms, other_right in points.values()
        )
    ]
    return sorted(front, key=points.__getitem__)


def speed_and_accuracy(name: str, title: str, summaries: Sequence[tuple[str, Summary]]) -> Draw:
    """Median milliseconds and share of right answers, with intervals, and the front of those that nothing beats."""
    found = {label: (each.total.median, each.accuracy) for label, each in summaries if each.accuracy is not None}
    middle = {label: (median.value, right.value) for label, (median, right) in found.items()}
    front = pareto(middle)

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        steps = [middle[label] for label in front]
        axes.step(
            [ms for ms, _ in steps],
            [100 * right for _, right in steps],
            where="post",
            color=HUES[0],
            alpha=0.3,
            lw=3,
        )
        for label, (median, right) in found.items():
            hue = HUES[0] if label in front else SOFT
            axes.errorbar(
                median.value,
                100 * right.value,
                xerr=_reach(median),
                yerr=_reach(right, 100),
                fmt="o",
                ms=6,
                color=hue,
                mfc=hue,
                elinewidth=0.9,
                clip_on=False,
            )
        if middle and max(ms for ms, _ in middle.values()) > WIDE * min(ms for ms, _ in middle.values()):
            axes.set_xscale("log")
        else:
            axes.set_xlim(left=0)
        axes.xaxis.set_major_formatter(lambda value, _: number(value, 0) if value >= 1 else f"{value:g}")
        axes.set_ylim(0, 104)
        axes.set_xlabel("median per query, ms")
        axes.set_ylabel("right answers, %")
        axes.grid(visible=True)
        label_points(axes, [(ms, 100 * right, elided(label)) for label, (ms, right) in middle.items()])

    return lambda: Canvas(name=name, title=title, height=330).svg(draw)


def phases(name: str, title: str, bars: Mapping[str, Mapping[str, float]]) -> Draw:
    """Mean milliseconds by phase, one bar for each method, with its sum.

    Args:
        bars: by method milliseconds by phase, all with the same phases in the same order.
    """
    names = list(dict.fromkeys(phase for parts in bars.values() for phase in parts))

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        left = [0.0] * len(bars)
        rows = range(len(bars))
        for phase in names:
            widths = [parts.get(phase, 0.0) for parts in bars.values()]
            axes.barh(rows, widths, left=left, height=0.42, color=PHASES.get(phase, HUES[-1]), label=phase)
            left = [start + width for start, width in zip(left, widths, strict=True)]
        axes.invert_yaxis()
        for row, (label, total) in enumerate(zip(bars, left, strict=True)):
            axes.annotate(elided(label, 44), (0, row), xytext=(0, 15), textcoords="offset pixels", color=INK)
            axes.annotate(
                f"{milliseconds(total)} ms", (total, row), xytext=(5, -4), textcoords="offset pixels", color=SOFT
            )
        axes.set_yticks([])
        axes.set_ylim(len(bars) - 0.5, -0.75)
        axes.set_xlim(0, 1.22 * max([*left, 1e-9]))
        axes.set_xlabel("mean per query, ms")
        axes.spines["left"].set_visible(False)
        axes.grid(visible=True, axis="x")
        figure.legend(loc="outside upper left", ncols=3, handlelength=0.9, handleheight=0.9, columnspacing=1.4)

    return lambda: Canvas(name=name, title=title, height=92 + 46 * len(bars) + 16 * ((len(names) + 2) // 3)).svg(draw)


def reliability(name: str, title: str, found: Mapping[str, Calibration]) -> Draw:
    """One panel for each method: how sure it was against how often it was right."""

    def draw(figure: Figure) -> None:
        for axes, (label, each) in zip(panels(figure, len(found)), found.items(), strict=True):
            axes.plot([0, 100], [0, 100], color=LINE, lw=1)
            most = max(held.count for held in each.bins)
            for held in each.bins:
                right = wilson(held.right, held.count)
                axes.errorbar(
                    100 * held.confidence, 100 * right.value, yerr=_reach(right, 100), color=HUES[0], elinewidth=0.9
                )
                axes.plot(
                    100 * held.confidence,
                    100 * right.value,
                    "o",
                    ms=3 + 6 * held.count / most,
                    mew=0,
                    color=HUES[0],
                    clip_on=False,
                )
            axes.set_title(f"{wrapped(label, 26)}\nECE {number(each.ece.value, 2)}")
            axes.set_xlim(0, 100)
            axes.set_ylim(0, 104)
            axes.set_xticks([0, 50, 100])
            axes.set_yticks([0, 50, 100])
            axes.grid(visible=True)
        figure.supxlabel("probability of the answer, %", fontsize=11, color=SOFT)
        figure.supylabel("right, %", fontsize=11, color=SOFT)

    return lambda: Canvas(name=name, title=title, height=40 + 190 * (-(-len(found) // 2))).svg(draw)


def places(name: str, title: str, found: Mapping[str, OrderBias]) -> Draw:
    """One panel for each method: which places of the list its answers came from, over all rotations."""

    top = max(wilson(count, sum(each.picked)).high for each in found.values() for count in each.picked)

    def draw(figure: Figure) -> None:
        for axes, (label, each) in zip(panels(figure, len(found)), found.items(), strict=True):
            total = sum(each.picked)
            shares = [wilson(count, total) for count in each.picked]
            where = range(1, len(shares) + 1)
            axes.bar(where, [100 * part.value for part in shares], width=0.6, color=HUES[0], alpha=0.45)
            for place, part in zip(where, shares, strict=True):
                axes.errorbar(place, 100 * part.value, yerr=_reach(part, 100), color=INK, elinewidth=0.9)
            if each.expected is not None:
                right = sum(each.expected)
                for place, count in zip(where, each.expected, strict=True):
                    axes.hlines(100 * count / right, place - 0.4, place + 0.4, color=HUES[1], lw=2)
            axes.set_title(f"{wrapped(label, 26)}\n{percent(each.flipped.value)} flip")
            axes.set_xticks(list(where))
            axes.set_ylim(0, 102 * top)
            axes.grid(visible=True, axis="y")
        figure.supxlabel("place in the list of options", fontsize=11, color=SOFT)
        figure.supylabel("answers, %", fontsize=11, color=SOFT)

    return lambda: Canvas(name=name, title=title, height=40 + 170 * (-(-len(found) // 2))).svg(draw)


def _reach(found: Estimate | Share, scale: float = 1.0) -> Any:
    """How far an interval goes to both sides, as matplotlib wants it; None without one."""
    if found.low is None or found.high is None:
        return None
    # A percentile interval need not hold its figure.
    below, above = max(0.0, found.value - found.low), max(0.0, found.high - found.value)
    return [[scale * below], [scale * above]]
