"""`compare`: two runs on the same queries, method by method; a verdict only where the interval allows one."""

from __future__ import annotations

import functools
import math
import random
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence

import attrs

from tiebreak.bench.records import Asked, Estimate, Method, Mode, Share
from tiebreak.bench.results import Results, RunSection
from tiebreak.bench.statistics import bootstrap, brier, quantile, wilson
from tiebreak.errors import InvalidRequest

__all__ = ["NO_DIFFERENCE", "Compared", "Comparison", "compare", "exact"]

DRAWS = 1000
NO_DIFFERENCE = "no difference shown"


@attrs.frozen(kw_only=True)
class Compared:
    """One method in one mode and wording, in both runs.

    Attributes:
        queries: that both were asked; all figures are of these, paired query by query.
        time: B's milliseconds by A's, the geometric mean over the queries: 2 is twice as slow.
        right_a, right_b: right answers, None without labels.
        gained: B's share of right answers minus A's, None without labels.
        brier: B's Brier score minus A's (-2 to 2, lower is better), None without labels.
        same: queries with the same answer.
        changed: what of the method is not as it was, in words.
    """

    method: str
    mode: Mode
    wording: str
    queries: int
    time: Estimate
    right_a: Share | None
    right_b: Share | None
    gained: Estimate | None
    brier: Estimate | None
    same: Share
    changed: Sequence[str] = ()

    @property
    def speed_verdict(self) -> str:
        """Which is faster, where the interval leaves no doubt."""
        return _verdict(self.time, 1.0, "B is faster", "B is slower")

    @property
    def accuracy_verdict(self) -> str:
        """Which is more often right, where the interval leaves no doubt; empty without labels."""
        return (
            "" if self.gained is None else _verdict(self.gained, 0.0, "B is less often right", "B is more often right")
        )


@attrs.frozen(kw_only=True)
class Comparison:
    """Two runs.

    Attributes:
        rows: one for each method, mode and wording that both have.
        notes: what makes the two runs differ besides, and what only one of them has.
    """

    rows: Sequence[Compared]
    notes: Sequence[str]


def compare(first: Results, second: Results) -> Comparison:
    """Hold run B (`second`) against run A (`first`).

    Times: within each method, rounds of A, rounds of B and queries are drawn with replacement, the queries the same in
    both (a paired bootstrap in two stages), and the ratio is the geometric mean over queries; 95 % percentile
    intervals. Answers: of the queries that one run got right and the other did not, the exact interval of the share
    that went to B (C. J. Clopper and E. S. Pearson, Biometrika 26, 1934); that it leaves out one half is the exact
    test of Q. McNemar (Psychometrika 12, 1947).

    Raises:
        InvalidRequest: one holds no run, they are of different sets, or have no method, mode and wording in common.
    """
    a, b = _run(first, "A"), _run(second, "B")
    if a.settings.set_sha256 != b.settings.set_sha256:
        raise InvalidRequest(
            f"A was asked the set {a.settings.set_name!r} ({a.settings.set_sha256[:12]}), "
            f"B {b.settings.set_name!r} ({b.settings.set_sha256[:12]}): answers to different questions cannot be held "
            "against each other.",
            remedy="Run both with the same --set.",
        )
    of_a, of_b = _tasks(a), _tasks(b)
    common = [task for task in of_a if task in of_b]
    if not common:
        raise InvalidRequest(
            "A and B have no method, mode and wording in common. "
            f"A has {', '.join(map(_name, of_a)) or 'none'}; B has {', '.join(map(_name, of_b)) or 'none'}.",
            remedy="Run both with the same --engines, --models, --layouts, --mode and --wording.",
        )
    methods_a, methods_b = ({each.id: each for each in run.methods} for run in (a, b))
    rows = [
        row
        for task in common
        if (row := _compared(task, of_a[task], of_b[task], _changed(methods_a[task[0]], methods_b[task[0]])))
        is not None
    ]
    return Comparison(rows=rows, notes=list(_notes(a, b, of_a, of_b)))


Task = tuple[str, Mode, str]
"""Method, mode and wording."""


def exact(hits: int, of: int) -> tuple[float, float]:
    """The exact 95 % interval of a share (Clopper and Pearson), by bisection; `of` is at least 1."""

    def edge(count: int, tail: float) -> float:
        # The share at which so many hits or fewer have the probability `tail`; it falls as the share grows.
        low, high = 0.0, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            if _at_most(count, of, middle) > tail:
                low = middle
            else:
                high = middle
        return low

    return (0.0 if hits == 0 else edge(hits - 1, 0.975)), (1.0 if hits == of else edge(hits, 0.025))


def _at_most(count: int, of: int, share: float) -> float:
    return sum(math.comb(of, k) * share**k * (1 - share) ** (of - k) for k in range(count + 1))


def _run(results: Results, name: str) -> RunSection:
    if results.run is None:
        raise InvalidRequest(f"{name} holds no run.", remedy="Measure it first: `tiebreak bench run`.")
    return results.run


def _tasks(run: RunSection) -> dict[Task, list[Asked]]:
    """The first calls of each task."""
    found: dict[Task, list[Asked]] = {}
    for row in run.asked:
        if row.role == "measured" and row.repeat == 0:
            found.setdefault((row.method, row.mode, row.wording), []).append(row)
    return found


def _compared(task: Task, a: Sequence[Asked], b: Sequence[Asked], changed: Sequence[str]) -> Compared | None:
    once_a, once_b = _once(a), _once(b)
    items = [item for item in once_a if item in once_b]
    if not items:
        return None
    pairs = [(once_a[item], once_b[item]) for item in items]
    labelled = [(before, after) for before, after in pairs if before.expected is not None]
    method, mode, wording = task
    return Compared(
        method=method,
        mode=mode,
        wording=wording,
        queries=len(items),
        time=_ratio(_logs(a, items), _logs(b, items)),
        right_a=wilson(sum(map(_right, (x for x, _ in labelled))), len(labelled)) if labelled else None,
        right_b=wilson(sum(map(_right, (y for _, y in labelled))), len(labelled)) if labelled else None,
        gained=_gained(labelled) if labelled else None,
        brier=bootstrap([[_brier(y) - _brier(x) for x, y in labelled]], statistics.fmean) if labelled else None,
        same=wilson(sum(x.value == y.value for x, y in pairs), len(pairs)),
        changed=changed,
    )


def _once(rows: Sequence[Asked]) -> dict[str, Asked]:
    """Each item's answer in the first round."""
    found: dict[str, Asked] = {}
    for row in sorted(rows, key=lambda row: row.round):
        found.setdefault(row.item, row)
    return found


def _logs(rows: Sequence[Asked], items: Sequence[str]) -> list[dict[str, float]]:
    """Logarithms of milliseconds by item, for each round; a round that was cut short has fewer."""
    rounds: dict[int, dict[str, float]] = {}
    wanted = set(items)
    for row in rows:
        if row.item in wanted:
            rounds.setdefault(row.round, {})[row.item] = math.log(max(row.total_ms, 1e-4))  # 1e-4 is how times are kept
    return list(rounds.values())


def _ratio(a: Sequence[Mapping[str, float]], b: Sequence[Mapping[str, float]]) -> Estimate:
    """The geometric mean over queries of B's time by A's, with the paired interval."""
    items = list(dict.fromkeys(item for each in a for item in each))
    value = math.exp(statistics.fmean(_middle(b, item) - _middle(a, item) for item in items))
    if len(items) < 2:
        return Estimate(value=value)
    dice = random.Random(1)  # noqa: S311  repeatable on purpose
    drawn: list[float] = []
    of_a, of_b = _middles(a), _middles(b)
    while len(drawn) < DRAWS:
        some_a = of_a(tuple(dice.choices(range(len(a)), k=len(a))))
        some_b = of_b(tuple(dice.choices(range(len(b)), k=len(b))))
        # A round that was cut short leaves queries out: those of the draw that both sides have are what it says.
        far = [
            some_b[item] - some_a[item]
            for item in dice.choices(items, k=len(items))
            if item in some_a and item in some_b
        ]
        if far:
            drawn.append(math.exp(statistics.fmean(far)))
    drawn.sort()
    return Estimate(value=value, low=quantile(drawn, 0.025), high=quantile(drawn, 0.975))


def _middles(rounds: Sequence[Mapping[str, float]]) -> Callable[[tuple[int, ...]], Mapping[str, float]]:
    """Each item's mean over the rounds with some numbers: a few rounds are drawn in few ways, each over and over."""

    @functools.lru_cache(maxsize=64)
    def of(numbers: tuple[int, ...]) -> Mapping[str, float]:
        some = [rounds[number] for number in numbers]
        return {item: _middle(some, item) for item in dict.fromkeys(item for each in some for item in each)}

    return of


def _middle(rounds: Sequence[Mapping[str, float]], item: str) -> float:
    known = [each[item] for each in rounds if item in each]
    return sum(known) / len(known)


def _gained(pairs: Sequence[tuple[Asked, Asked]]) -> Estimate:
    """B's share of right answers minus A's; without an interval where not one query went over."""
    won = sum(_right(after) and not _right(before) for before, after in pairs)
    lost = sum(_right(before) and not _right(after) for before, after in pairs)
    moved = won + lost
    value = (won - lost) / len(pairs)
    if moved == 0:
        return Estimate(value=value)
    low, high = exact(won, moved)
    return Estimate(value=value, low=moved * (2 * low - 1) / len(pairs), high=moved * (2 * high - 1) / len(pairs))


def _right(row: Asked) -> bool:
    return row.value == row.expected


def _brier(row: Asked) -> float:
    return brier(row.probabilities, row.expected or "")


def _verdict(found: Estimate, nothing: float, below: str, above: str) -> str:
    if found.low is None or found.high is None or found.low <= nothing <= found.high:
        return NO_DIFFERENCE
    return below if found.high < nothing else above


def _changed(a: Method, b: Method) -> list[str]:
    """What of a method is not as it was."""
    names = ("engine_build", "plugin", "model_sha256", "cache", "temperature", "threads", "options")
    return [
        f"{name} was {getattr(a, name)} and is {getattr(b, name)}"
        for name in names
        if getattr(a, name) != getattr(b, name)
    ]


def _notes(a: RunSection, b: RunSection, of_a: Mapping[Task, object], of_b: Mapping[Task, object]) -> Iterator[str]:
    for name in ("cpu", "cores", "memory_bytes", "system", "python", "tiebreak"):
        before, after = getattr(a.machine, name), getattr(b.machine, name)
        if before != after:
            yield f"The machine's {name} was {before} and is {after}: times differ by that, too."
    for name, run in (("A", a), ("B", b)):
        if not run.finished:
            yield f"{name} was interrupted."
        if run.settings.rounds == 1:
            yield f"{name} has one round: its mood of the moment is in no interval."
    for name, mine, others in (("A", of_a, of_b), ("B", of_b, of_a)):
        only = [_name(task) for task in mine if task not in others]
        if only:
            yield f"Only {name} has {', '.join(only)}."


def _name(task: Task) -> str:
    return " / ".join(task)
