"""What answers to held-out cases amount to: accuracy with intervals, calibration, the effect of the options' order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tiebreak.answers import Answer
from tiebreak.bench.statistics import calibration, wilson
from tiebreak.calibration.fit import LEAST_FITTED, LEAST_HELD_OUT, Sample, error, fit, tempered
from training.answers import Answered, flips

__all__ = ["markdown", "report"]

FITTED_ON = "h"
KINDS = ("choice", "yes_no", "score")
Table = dict[str, Any]


def report(answers: Sequence[Answered]) -> Table:
    """All figures, as JSON.

    Returns:
        layout -> `sets` (set -> kind -> figures), `temperatures` (kind -> what was fitted on h and what it does to the
        other sets), `families` (family -> hits, of), `router` (wording and mode -> figures).
    """
    found: Table = {}
    for layout, own in _grouped(answers, lambda one: one.layout).items():
        held = [one for one in own if one.set != "router"]
        written = [one for one in held if one.rotation == 0]
        routed = [one for one in own if one.set == "router"]
        found[layout] = {
            "sets": {
                name: {kind: _figures(some, held) for kind, some in _by_kind(part).items()}
                for name, part in sorted(_grouped(written, lambda one: one.set).items())
            },
            "temperatures": {kind: _temperature(some) for kind, some in _by_kind(written).items()},
            "families": {
                family: {"kind": some[0].kind, "right": sum(one.right for one in some), "of": len(some)}
                for family, some in sorted(_grouped(written, lambda one: one.family).items())
            },
            "router": {
                family: _share(some) for family, some in sorted(_grouped(routed, lambda one: one.family).items())
            },
        }
    return found


def _figures(some: Sequence[Answered], held: Sequence[Answered]) -> Table:
    """Of one kind in one set, options as written; rotations are looked up among all answers."""
    kind, name = some[0].kind, some[0].set
    honest = calibration([(dict(zip(one.names, one.probabilities, strict=True)), one.names[one.gold]) for one in some])
    figures: Table = {
        "right": _share(some),
        "families": len({one.family for one in some}),
        "chance": round(sum(1 / len(one.names) for one in some) / len(some), 4),
        "calibration error": round(honest.ece.value, 4),
        "reliability": [
            {
                "from": bin_.low,
                "to": bin_.high,
                "count": bin_.count,
                "said": round(bin_.confidence, 4),
                "right": bin_.right,
            }
            for bin_ in honest.bins
        ],
    }
    covered = sorted(one.coverage for one in some if one.coverage is not None)
    if covered:
        figures["median coverage"] = round(covered[len(covered) // 2], 4)
    if kind == "yes_no":
        figures["said yes"] = round(sum(one.best for one in some) / len(some), 4)
        figures["is yes"] = round(sum(one.gold for one in some) / len(some), 4)
    if kind == "score":
        means = [sum(level * p for level, p in enumerate(one.probabilities)) for one in some]
        figures["mean error in levels"] = round(
            sum(abs(mean - one.gold) for mean, one in zip(means, some, strict=True)) / len(some), 4
        )
    if kind == "choice":
        turned = [one for one in held if one.kind == kind and one.set == name]
        figures["right in all orders"] = _share(turned)
        figures["flips"] = _flips(turned)
    return figures


def _flips(turned: Sequence[Answered]) -> Table:
    flipped, of = flips(turned)
    return {"flipped": flipped, "of": of}


def _temperature(some: Sequence[Answered]) -> Table:
    """A kind's temperature, fitted on h, and calibration error before and after on each set."""
    samples = [(one.set, _sample(one)) for one in some]
    fitted = fit([sample for _, sample in samples])
    if fitted is None:
        return {"fitted": None, "why": f"fewer than {LEAST_FITTED} rows in {FITTED_ON} or {LEAST_HELD_OUT} in others"}
    found: Table = {
        "fitted": round(fitted.temperature, 3),
        "loss elsewhere": {"before": round(fitted.loss_before, 4), "after": round(fitted.loss_after, 4)},
    }
    for name in sorted({name for name, _ in samples}):
        own = [sample for where, sample in samples if where == name]
        right = [sample.right for sample in own]
        before, after = (error([tempered(one, t) for one in own], right) for t in (1.0, fitted.temperature))
        found[name] = {"before": round(before, 4), "after": round(after, 4)}
    return found


def _sample(one: Answered) -> Sample:
    probabilities = dict(zip(one.names, one.probabilities, strict=True))
    native = {"fit": dict(zip(one.names, one.fits, strict=True))} if one.fits else {}
    answer = Answer(kind=one.kind, value=one.names[one.best], probabilities=probabilities, native=native)
    return Sample(kind=one.kind, answer=answer, temperature=1.0, right=one.gold, held_out=one.set != FITTED_ON)


def _share(some: Sequence[Answered]) -> Table:
    share = wilson(sum(one.right for one in some), len(some))
    return {"hits": share.hits, "of": share.of, "low": round(share.low, 4), "high": round(share.high, 4)}


def _by_kind(some: Iterable[Answered]) -> dict[str, list[Answered]]:
    groups = _grouped(some, lambda one: one.kind)
    return {kind: groups[kind] for kind in KINDS if kind in groups}


def _grouped(some: Iterable[Answered], key: Callable[[Answered], str]) -> dict[str, list[Answered]]:
    groups: dict[str, list[Answered]] = defaultdict(list)
    for one in some:
        groups[key(one)].append(one)
    return dict(groups)


def markdown(found: Mapping[str, Table]) -> str:
    """The figures as tables; brackets are 95 % Wilson intervals."""
    lines: list[str] = []
    for layout, table in found.items():
        lines += [
            f"## {layout}\n",
            "| set, kind | rows | families | chance | right | in all orders | flips | said yes | calibration error |",
            "|---|---|---|---|---|---|---|---|---|",
        ]
        for name, kinds in table["sets"].items():
            for kind, one in kinds.items():
                cells = (
                    one["right"]["of"],
                    one["families"],
                    f"{one['chance']:.0%}",
                    _percent(one["right"]),
                    _percent(one["right in all orders"]) if kind == "choice" else "",
                    f"{one['flips']['flipped']} of {one['flips']['of']}" if kind == "choice" else "",
                    f"{one['said yes']:.0%} of {one['is yes']:.0%}" if kind == "yes_no" else "",
                    f"{one['calibration error']:.3f}",
                )
                lines.append(f"| {name}, {kind} | " + " | ".join(map(str, cells)) + " |")
        lines += ["", "| kind | temperature fitted on h | calibration error before and after |", "|---|---|---|"]
        for kind, one in table["temperatures"].items():
            if one["fitted"] is None:
                lines.append(f"| {kind} | none: {one['why']} | |")
                continue
            sets = [
                f"{name} {value['before']:.3f}, {value['after']:.3f}"
                for name, value in one.items()
                if name not in ("fitted", "loss elsewhere")
            ]
            lines.append(f"| {kind} | {one['fitted']:.2f} | {'; '.join(sets)} |")
        if table["router"]:
            lines += ["", "| router | right |", "|---|---|"]
            lines += [
                f"| {wording} | {one['hits']} of {one['of']} ({_percent(one)}) |"
                for wording, one in table["router"].items()
            ]
        lines += ["", "| family | right |", "|---|---|"]
        lines += [f"| {family} | {one['right']} of {one['of']} |" for family, one in table["families"].items()]
        lines.append("")
    return "\n".join(lines)


def _percent(share: Mapping[str, float]) -> str:
    return f"{share['hits'] / share['of']:.0%} ({share['low'] * 100:.0f}-{share['high'] * 100:.0f})"
