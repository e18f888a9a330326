"""The tables that `tiebreak bench` prints; the whole of it is in results.json."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tiebreak.cli.listing import Listing

if TYPE_CHECKING:
    from tiebreak.bench.compare import Comparison
    from tiebreak.bench.records import Estimate, Measured, Share
    from tiebreak.bench.results import OverheadSection, ParitySection, PrefixSection, RunSection, SchemasSection

__all__ = [
    "compare_json",
    "compare_table",
    "overhead_table",
    "parity_table",
    "prefix_table",
    "run_table",
    "schemas_table",
]


def run_table(section: RunSection) -> Listing:
    """Speed and accuracy: one row for each method, mode and wording."""
    loads: dict[str, dict[str, float]] = {}
    for load in section.loads:
        loads.setdefault(load.method, {}).setdefault(load.file_cache, load.ready_ms + load.first_answer_ms)
    rows = []
    for each in section.summaries:
        waited = loads.get(each.method, {})
        rows.append(
            (
                each.method,
                each.mode,
                each.wording,
                estimate(each.total.mean),
                estimate(each.total.median),
                estimate(each.total.p95),
                f"{each.client.median.value:.2f}" if each.client else "-",
                share(each.accuracy),
                f"{each.calibration.ece.value:.2f}" if each.calibration else "-",
                share(each.order.flipped) if each.order else "-",
                _load(waited, "cold"),
                _load(waited, "warm"),
            )
        )
    columns = ["METHOD", "MODE", "WORDING", "MEAN", "MEDIAN", "P95", "CLIENT", "RIGHT", "ECE", "FLIPS", "COLD", "WARM"]
    return Listing(columns=columns, rows=rows, empty="nothing was measured")


def prefix_table(section: PrefixSection) -> Listing:
    """What the cache gives: one row for each method and scenario."""
    rows = [
        (
            row.method,
            row.scenario,
            str(row.rows),
            median(row.off),
            median(row.on),
            f"{estimate(row.speed_up)}x",
            f"{row.max_deviation:.4f}",
            str(row.flips),
        )
        for row in section.rows
    ]
    return Listing(columns=["METHOD", "SCENARIO", "PROMPTS", "OFF", "ON", "SPEED-UP", "DEVIATION", "FLIPS"], rows=rows)


def schemas_table(sections: Sequence[SchemasSection]) -> Listing:
    """The cliff: one row for each method, number of question sets and order."""
    rows = [
        (point.method, str(point.schemas), point.order, median(point.total), str(point.hits), str(point.misses))
        for section in sections
        for point in section.points
    ]
    return Listing(columns=["METHOD", "SCHEMAS", "ORDER", "MEDIAN", "HITS", "MISSES"], rows=rows)


def overhead_table(section: OverheadSection) -> Listing:
    """What clients cost: one row for each server and client."""
    rows = [
        (
            row.method,
            row.server,
            row.client,
            estimate(row.total.median, 3),
            median(row.over, 3),
            median(row.own, 3),
            median(row.behind, 3),
        )
        for row in section.clients
    ]
    return Listing(columns=["METHOD", "SERVER", "CLIENT", "TOTAL", "OVER", "OWN", "BEHIND"], rows=rows)


def parity_table(sections: Sequence[ParitySection]) -> Listing:
    """How far engines are from the reference: one row for each of them and model."""
    rows = [
        (
            row.method,
            section.reference,
            share(row.same),
            f"{row.max_deviation:.4f}",
            f"{row.mean_deviation:.4f}",
            row.worst,
            ", ".join(row.flips) or "-",
        )
        for section in sections
        for row in section.rows
    ]
    return Listing(columns=["METHOD", "REFERENCE", "SAME", "MAX", "MEAN", "WORST", "FLIPS"], rows=rows)


def compare_table(found: Comparison) -> Listing:
    """Two runs: one row for each method, mode and wording that both have."""
    rows = [
        (
            row.method,
            row.mode,
            row.wording,
            str(row.queries),
            f"{estimate(row.time, 2)}x",
            row.speed_verdict,
            share(row.right_a),
            share(row.right_b),
            row.accuracy_verdict or "-",
            estimate(row.brier, 3) if row.brier is not None else "-",
            share(row.same),
        )
        for row in found.rows
    ]
    columns = [
        "METHOD",
        "MODE",
        "WORDING",
        "QUERIES",
        "TIME",
        "SPEED",
        "RIGHT A",
        "RIGHT B",
        "ANSWERS",
        "BRIER",
        "SAME",
    ]
    return Listing(columns=columns, rows=rows, empty="no query was answered in both")


def compare_json(found: Comparison) -> dict[str, Any]:
    """The same for a program."""
    import attrs

    def plain(value: Any) -> Any:
        return value.model_dump(mode="json") if value is not None else None

    rows = [
        {
            **attrs.asdict(row, recurse=False),
            **{name: plain(getattr(row, name)) for name in ("time", "right_a", "right_b", "gained", "brier", "same")},
            "speed_verdict": row.speed_verdict,
            "accuracy_verdict": row.accuracy_verdict or None,
        }
        for row in found.rows
    ]
    return {"rows": rows, "notes": list(found.notes)}


def estimate(found: Estimate, digits: int = 1) -> str:
    """A figure with its interval."""
    if found.low is None or found.high is None:
        return f"{found.value:.{digits}f}"
    return f"{found.value:.{digits}f} [{found.low:.{digits}f}, {found.high:.{digits}f}]"


def median(found: Measured | None, digits: int = 1) -> str:
    """A median with its interval, a dash where there is none."""
    return "-" if found is None else estimate(found.median, digits)


def share(found: Share | None) -> str:
    """Hits of all, a dash where nobody counted."""
    return "-" if found is None else f"{found.hits}/{found.of}"


def _load(waited: dict[str, float], state: str) -> str:
    return f"{waited[state]:.0f}" if state in waited else "-"
