"""The chapters of `bench run`: what is fast and what is right, for each mode and wording, and what loading takes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

from tiebreak.bench.records import Estimate, Load, Share, Summary
from tiebreak.bench.report import plots
from tiebreak.bench.report.blocks import Block, Chapter, Plot, Table, Text
from tiebreak.bench.report.digits import DASH, estimate, median, megabytes, milliseconds, number, percent, plain, share
from tiebreak.bench.report.naming import short_names
from tiebreak.bench.results import RunSection
from tiebreak.bench.statistics import wilson

__all__ = ["run_chapters"]

OURS = ("layout", "queue", "transport", "readout")
THEIRS = ("restore", "prefill")
REST = "not told"
"""Time that no phase accounts for."""

Rows = Sequence[tuple[str, Summary]]
"""Short name and figures of each method."""


def run_chapters(section: RunSection) -> Iterator[Chapter]:
    """One chapter for each mode and wording, one on loading."""
    names = short_names(section.methods)
    tasks = list(dict.fromkeys((each.mode, each.wording) for each in section.summaries))
    for number_, (mode, wording) in enumerate(tasks, start=1):
        rows = [
            (names[each.method], each) for each in section.summaries if (each.mode, each.wording) == (mode, wording)
        ]
        blocks = list(_task(f"run{number_}", rows, section))
        agreed = [
            (
                names[each.first],
                names[each.second],
                share(each.same),
                number(each.mean_deviation, 4),
                number(each.max_deviation, 4),
            )
            for each in section.agreements
            if (each.mode, each.wording) == (mode, wording)
        ]
        if agreed:
            blocks.append(
                Table(
                    title="Agreement",
                    columns=["method", "and", "same answer", "mean deviation", "largest deviation"],
                    rows=agreed,
                    texts=2,
                    caption="Answers to the same items in the first round, and how far probabilities (0 to 1) are "
                    "apart.",
                )
            )
        asked = "as it is" if mode == "direct" else "translated"
        yield Chapter(
            anchor=f"run-{number_}",
            title=f"{plain(section.settings.set_name)}, {asked}, wording {plain(wording)}",
            blocks=blocks,
        )
    if section.loads:
        yield Chapter(anchor="loads", title="Loading", blocks=[_loads(section.loads, names)])


def _task(name: str, rows: Rows, section: RunSection) -> Iterator[Block]:
    if not section.finished:
        yield Text(text="The run was interrupted: these are the answers that there were.", warning=True)
    yield Text(text=" ".join(_verdicts(rows)))
    yield _main(rows)
    if any(each.accuracy for _, each in rows):
        yield _speed(name, rows)
    yield from _phases(name, rows)
    calibrated = {label: each.calibration for label, each in rows if each.calibration is not None}
    if calibrated:
        title = "Are the probabilities honest?"
        table = Table(
            title=title,
            columns=["method", "probability, %", "answers", "mean, %", "right"],
            rows=[
                (
                    label,
                    f"{100 * held.low:.0f} to {100 * held.high:.0f}",
                    str(held.count),
                    number(100 * held.confidence, 0),
                    share(wilson(held.right, held.count)),
                )
                for label, each in calibrated.items()
                for held in each.bins
            ],
            caption="Answers by the probability that they came with: on the diagonal, 70 % sure is right 7 times of "
            "10. Below it a method is surer than it should be. Bars are 95 % (Wilson); larger dots hold more answers.",
        )
        yield Plot(draw=plots.reliability(f"{name}-reliability", title, calibrated), table=table)
    turned = {label: each.order for label, each in rows if each.order is not None}
    if turned:
        title = "Does the order of the options matter?"
        table = Table(
            title=title,
            columns=["method", "items that flip", "place", "answers there", "right options there"],
            rows=[
                (
                    label,
                    share(each.flipped) if place == 0 else "",
                    str(place + 1),
                    share(wilson(count, sum(each.picked))),
                    percent(each.expected[place] / sum(each.expected)) if each.expected else DASH,
                )
                for label, each in turned.items()
                for place, count in enumerate(each.picked)
            ],
            caption=f"{section.settings.order_items} items asked with their options in all rotations. An item flips "
            "when it does not get the same answer in all of them. Bars: share of answers by place, with 95 % "
            "intervals (Wilson); lines: share of the right options there. Bars far from their lines are position bias.",
        )
        yield Plot(draw=plots.places(f"{name}-places", title, turned), table=table)
    yield from _by(rows)


def _verdicts(rows: Rows) -> Iterator[str]:
    """What can be said at once, and no more than the intervals allow."""
    fast = sorted(rows, key=lambda row: row[1].total.median.value)
    yield f"Fastest by the median: {fast[0][0]}, {estimate(fast[0][1].total.median)} ms."
    if len(fast) > 1:
        yield _against(fast[0][1].total.median, fast[1][1].total.median, fast[1][0])
    right = sorted(
        ((label, each.accuracy) for label, each in rows if each.accuracy is not None), key=lambda row: -row[1].value
    )
    if right:
        yield f"Most often right: {right[0][0]}, {share(right[0][1])}."
        if len(right) > 1:
            yield _against(right[0][1], right[1][1], right[1][0])


def _against(best: Estimate | Share, second: Estimate | Share, label: str) -> str:
    if None in (best.low, best.high, second.low, second.high):
        return f"Next is {label}; without intervals nothing more can be said."
    assert best.low is not None and best.high is not None and second.low is not None and second.high is not None
    if best.high < second.low or second.high < best.low:
        return f"Its interval is clear of the next one's ({label})."
    return f"Its interval overlaps with the next one's ({label}): no difference shown."


def _main(rows: Rows) -> Table:
    return Table(
        title="Speed and accuracy",
        columns=["method", "median, ms", "mean, ms", "p95, ms", "right", "ECE", "Brier", "flips"],
        rows=[
            (
                label,
                estimate(each.total.median),
                estimate(each.total.mean),
                estimate(each.total.p95),
                share(each.accuracy),
                estimate(each.calibration.ece, 2) if each.calibration else DASH,
                estimate(each.calibration.brier, 2) if each.calibration else DASH,
                share(each.order.flipped) if each.order else DASH,
            )
            for label, each in rows
        ],
        caption="Wall clock from the call to the decision, first calls only. In brackets 95 % intervals: two-stage "
        "bootstrap for times, bootstrap for ECE (0 to 1, ten bins) and Brier (0 to 2), Wilson for shares. Lower is "
        "better but for right.",
    )


def _speed(name: str, rows: Rows) -> Plot:
    title = "Speed against accuracy"
    points = {
        label: (each.total.median.value, each.accuracy.value) for label, each in rows if each.accuracy is not None
    }
    front = plots.pareto(points)
    return Plot(
        draw=plots.speed_and_accuracy(f"{name}-speed", title, rows),
        table=Table(
            title=title,
            columns=["method", "median, ms", "right", "on the front"],
            rows=[
                (label, estimate(each.total.median), share(each.accuracy), "yes" if label in front else "no")
                for label, each in rows
                if each.accuracy is not None
            ],
            caption="Up and to the left is better. On the line are the methods that no other one beats in both (the "
            "Pareto front of the figures as measured); crosses are 95 % intervals: where they overlap, the order "
            "may be chance.",
        ),
    )


def _phases(name: str, rows: Rows) -> Iterator[Block]:
    bars = {label: _parts(each) for label, each in rows}
    used = [phase for phase in (*THEIRS, *OURS, REST) if any(parts.get(phase, 0.0) > 0 for parts in bars.values())]
    bars = {label: {phase: parts.get(phase, 0.0) for phase in used} for label, parts in bars.items()}
    if not used:
        return
    title = "Where the time goes"
    yield Plot(
        draw=plots.phases(f"{name}-phases", title, bars),
        table=Table(
            title=title,
            columns=["method", *(f"{phase}, ms" for phase in used)],
            rows=[(label, *(milliseconds(parts[phase]) for phase in used)) for label, parts in bars.items()],
            caption="Mean per first call. Prefill and restore are as the engine reports them; layout, queue, "
            "transport and readout are ours, the wire included; what no phase accounts for is not told.",
        ),
    )
    small = {label: {phase: parts[phase] for phase in used if phase in OURS} for label, parts in bars.items()}
    if set(used) - set(OURS) and any(small.values()):
        title = "The same without the engine"
        yield Plot(
            draw=plots.phases(f"{name}-client", title, small),
            table=Table(
                title=title,
                columns=["method", "engine, ms", "client, ms", "repeats, ms", "prompt, tokens", "cache"],
                rows=[
                    (
                        label,
                        median(each.engine),
                        median(each.client),
                        median(each.repeats),
                        DASH if each.tokens is None else number(each.tokens),
                        ", ".join(f"{plain(status)} {count}" for status, count in each.cache.items()),
                    )
                    for label, each in rows
                ],
                caption="The phases of ours alone. The table has medians: what the engine says that it computed, the "
                "rest (client), and calls that were asked before (repeats); and the cache status of first calls.",
            ),
        )


def _parts(summary: Summary) -> dict[str, float]:
    """Milliseconds by phase, and what is left of the whole."""
    parts = {phase: ms for phase, ms in summary.phases.items() if phase in OURS or phase in THEIRS}
    rest = summary.total.mean.value - sum(parts.values())
    # A hundredth of a per cent is rounding and two clocks, not time that is missing.
    return {**parts, REST: rest if rest > 1e-4 * summary.total.mean.value else 0.0}


def _by(rows: Rows) -> Iterator[Block]:
    for title, found in (
        ("Right answers by label", [(label, each.by_label) for label, each in rows]),
        ("Right answers by language", [(label, each.by_language) for label, each in rows]),
    ):
        keys = sorted(set(itertools.chain.from_iterable(shares for _, shares in found)))
        if len(keys) > 1:
            yield Table(
                title=title,
                columns=[title.rpartition(" ")[2], *(label for label, _ in found)],
                rows=[(plain(key), *(_counts(shares.get(key)) for _, shares in found)) for key in keys],
                caption="Right of asked, first round. Few items each: no ranking by them.",
            )


def _counts(found: Share | None) -> str:
    return DASH if found is None else f"{found.hits}/{found.of}"


def _loads(loads: Sequence[Load], names: Mapping[str, str]) -> Table:
    rows = []
    for method, label in names.items():
        for state in ("cold", "warm", "unknown"):
            some = [each for each in loads if each.method == method and each.file_cache == state]
            peaks = [each.peak_bytes for each in some if each.peak_bytes is not None]
            if some:
                rows.append(
                    (
                        label,
                        state,
                        str(len(some)),
                        _range([each.ready_ms for each in some]),
                        _range([each.first_answer_ms for each in some]),
                        megabytes(max(peaks, default=None)),
                    )
                )
    return Table(
        title="Start to first answer",
        columns=["method", "file cache", "loads", "to ready, ms", "then to the first answer, ms", "peak memory, MB"],
        rows=rows,
        texts=2,
        caption="Cold: the model file was dropped from the page cache; warm: it was read before. Smallest to largest "
        "of the loads. Peak resident memory of the engine (of what it added, where it computes in this process).",
    )


def _range(values: Sequence[float]) -> str:
    low, high = number(min(values)), number(max(values))
    return low if low == high else f"{low} to {high}"
