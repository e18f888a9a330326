"""From single answers to figures: summaries, agreement and order bias; nothing is measured here."""

from __future__ import annotations

import itertools
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from tiebreak.bench.records import Agreement, Asked, Measured, Mode, OrderBias, Share, Summary
from tiebreak.bench.statistics import calibration, measured, wilson

__all__ = ["agreements", "apart", "summaries"]

Task = tuple[str, Mode, str]
"""Method, mode and wording: what a summary is of."""


def summaries(asked: Iterable[Asked]) -> list[Summary]:
    """One summary for each method, mode and wording that has measured answers, in the order of appearance."""
    tasks: dict[Task, list[Asked]] = {}
    for row in asked:
        if row.role != "warm-up":
            tasks.setdefault((row.method, row.mode, row.wording), []).append(row)
    return [_summary(task, rows) for task, rows in tasks.items() if any(row.role == "measured" for row in rows)]


def agreements(asked: Iterable[Asked]) -> list[Agreement]:
    """One agreement for each pair of methods that were asked the same items in one mode and wording."""
    tasks: dict[tuple[Mode, str], dict[str, dict[str, Asked]]] = {}
    for row in asked:
        if row.role == "measured":
            methods = tasks.setdefault((row.mode, row.wording), {})
            methods.setdefault(row.method, {}).setdefault(row.item, row)
    found = []
    for (mode, wording), methods in tasks.items():
        for first, second in itertools.combinations(methods, 2):
            pairs = [(row, methods[second][item]) for item, row in methods[first].items() if item in methods[second]]
            if pairs:
                far = [apart(a.probabilities, b.probabilities) for a, b in pairs]
                found.append(
                    Agreement(
                        first=first,
                        second=second,
                        mode=mode,
                        wording=wording,
                        same=wilson(sum(a.value == b.value for a, b in pairs), len(pairs)),
                        max_deviation=max(map(max, far)),
                        mean_deviation=statistics.fmean(itertools.chain.from_iterable(far)),
                    )
                )
    return found


def apart(first: Mapping[str, float], second: Mapping[str, float]) -> list[float]:
    """How far two distributions over the same options are apart, option by option."""
    return [abs(p - second[name]) for name, p in first.items()]


def _summary(task: Task, rows: Sequence[Asked]) -> Summary:
    method, mode, wording = task
    calls = [row for row in rows if row.role == "measured"]
    once: dict[str, Asked] = {}
    for row in calls:
        once.setdefault(row.item, row)
    labelled = [row for row in once.values() if row.expected is not None]
    first = [row for row in calls if row.repeat == 0]
    total = _measured(first, lambda row: row.total_ms)
    assert total is not None
    return Summary(
        method=method,
        mode=mode,
        wording=wording,
        total=total,
        repeats=_measured([row for row in calls if row.repeat > 0], lambda row: row.total_ms),
        engine=_measured(first, lambda row: row.engine_ms),
        client=_measured(first, lambda row: row.client_ms),
        phases=_phases(first),
        accuracy=_right(labelled) if labelled else None,
        by_label=_by(labelled, lambda row: row.expected),
        by_language=_by(labelled, lambda row: row.language),
        calibration=calibration([(row.probabilities, row.expected or "") for row in labelled]) if labelled else None,
        order=_order([row for row in rows if row.role == "order"], once),
        unstable=sum(len({row.value for row in calls if row.item == item}) > 1 for item in once),
        cache=dict(Counter(row.cache for row in first)),
        tokens=_mean([row.prompt_tokens for row in first]),
    )


def _measured(calls: Sequence[Asked], figure: Callable[[Asked], float | None]) -> Measured | None:
    """The figure by rounds; None where there are no calls, or one of them does not have it."""
    rounds: dict[int, list[float]] = {}
    for row in calls:
        value = figure(row)
        if value is None:
            return None
        rounds.setdefault(row.round, []).append(value)
    return measured(list(rounds.values())) if rounds else None


def _phases(calls: Sequence[Asked]) -> dict[str, float]:
    found: dict[str, list[float]] = {}
    for row in calls:
        for name, value in row.phases.items():
            found.setdefault(name, []).append(value)
    return {name: statistics.fmean(values) for name, values in found.items()}


def _right(rows: Sequence[Asked]) -> Share:
    return wilson(sum(row.value == row.expected for row in rows), len(rows))


def _by(rows: Sequence[Asked], key: Callable[[Asked], str | None]) -> dict[str, Share]:
    found: dict[str, list[Asked]] = {}
    for row in rows:
        name = key(row)
        if name is not None:
            found.setdefault(name, []).append(row)
    return {name: _right(some) for name, some in sorted(found.items())}


def _order(turned: Sequence[Asked], once: Mapping[str, Asked]) -> OrderBias | None:
    """What the order did: the items that were asked in other orders, and as they stand."""
    items: dict[str, list[Asked]] = {}
    for row in turned:
        items.setdefault(row.item, []).append(row)
    # An item counts when every rotation of its options was asked: an interrupted one would look steadier than it is.
    whole = [
        [once[item], *rows]
        for item, rows in items.items()
        if item in once and len({row.rotation for row in rows}) == len(once[item].probabilities) - 1
    ]
    if not whole:
        return None
    places = max(len(rows[0].probabilities) for rows in whole)
    labelled = all(row.expected is not None for rows in whole for row in rows)
    every = [row for rows in whole for row in rows]
    return OrderBias(
        rotations=places,
        flipped=wilson(sum(len({row.value for row in rows}) > 1 for rows in whole), len(whole)),
        picked=_places([list(row.probabilities).index(row.value) for row in every], places),
        expected=_places([list(row.probabilities).index(row.expected or "") for row in every], places)
        if labelled
        else None,
    )


def _places(found: Iterable[int], places: int) -> list[int]:
    counts: Mapping[int, int] = Counter(found)
    return [counts.get(place, 0) for place in range(places)]


def _mean(values: Sequence[int | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known and len(known) == len(values) else None
