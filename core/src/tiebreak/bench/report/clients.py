"""The chapters of `bench overhead` and `bench parity`, and what every report ends with: how it was measured."""

from __future__ import annotations

import json
from collections.abc import Sequence

from tiebreak.bench.records import Machine
from tiebreak.bench.report.blocks import Block, Chapter, Listed, Table
from tiebreak.bench.report.digits import DASH, median, minutes, number, plain, share
from tiebreak.bench.report.naming import short_names
from tiebreak.bench.results import OverheadSection, ParitySection, Section

__all__ = ["machine_text", "overhead_chapter", "parity_chapter", "provenance"]

METHOD = (
    *("method", "plugin", "engine build", "model", "SHA-256", "layout", "readout", "cache", "device", "threads"),
    *("temperature", "options", "fingerprint"),
)
"""Columns of what a method is."""


def overhead_chapter(section: OverheadSection) -> Chapter:
    """What the client costs."""
    names = short_names(section.methods)
    table = Table(
        title="Clients on the same running server",
        columns=["method", "server", "client", "total, ms", "over, ms", "own, ms", "behind tiebreak, ms"],
        rows=[
            (
                names[row.method],
                row.server,
                plain(row.client),
                median(row.total),
                median(row.over),
                median(row.own),
                median(row.behind),
            )
            for row in section.clients
        ],
        texts=3,
        caption=f"Medians of {section.rounds} rounds with 95 % bootstrap intervals. Over: what the engine does not "
        "account for; own: that minus the bare socket's in the same round; behind tiebreak: total minus tiebreak's "
        "in the same round. The instant server answers at once with its last reply, so there only the client takes "
        "time.",
    )
    return Chapter(anchor="overhead", title="What the client costs", blocks=[table])


def parity_chapter(sections: Sequence[ParitySection]) -> Chapter:
    """How far engines are from a reference."""
    blocks: list[Block] = []
    for section in sections:
        names = short_names(section.methods)
        blocks.append(
            Table(
                title=f"Against {names[section.reference]}",
                columns=[
                    "method",
                    "same answer",
                    "largest deviation",
                    "mean deviation",
                    "farthest item",
                    "flipped items",
                ],
                rows=[
                    (
                        names[row.method],
                        share(row.same),
                        number(row.max_deviation, 4),
                        number(row.mean_deviation, 4),
                        plain(row.worst),
                        plain(", ".join(row.flips)) or DASH,
                    )
                    for row in section.rows
                ],
                caption=f"{section.items} items of {plain(section.set_name)}, the same model file in all. Deviations "
                "are of probabilities, 0 to 1.",
            )
        )
    return Chapter(anchor="parity", title="Against a reference", blocks=blocks)


def provenance(sections: Sequence[tuple[str, Section]]) -> Chapter:
    """Where, when and with what each section was measured, and what was left out.

    Args:
        sections: with their titles.
    """
    blocks: list[Block] = [
        Table(
            title="Sections",
            columns=["section", "command", "started (UTC)", "took", "machine"],
            rows=[
                (title, plain(each.command), plain(each.started), minutes(each.seconds), machine_text(each.machine))
                for title, each in sections
            ],
            texts=5,
        )
    ]
    for title, each in sections:
        names = short_names(each.methods)
        blocks.append(
            Table(
                title=f"Methods of {title}",
                columns=list(METHOD),
                rows=[
                    tuple(
                        map(
                            plain,
                            (
                                names[method.id],
                                method.plugin,
                                method.engine_build,
                                method.model,
                                method.model_sha256 or DASH,
                                method.layout,
                                method.readout,
                                method.cache,
                                method.device,
                                DASH if method.threads is None else str(method.threads),
                                ", ".join(f"{kind} {value:g}" for kind, value in method.temperature.items()) or DASH,
                                json.dumps(method.options, ensure_ascii=False) if method.options else DASH,
                                method.fingerprint or DASH,
                            ),
                        )
                    )
                    for method in each.methods
                ],
                texts=len(METHOD),
            )
        )
        if each.skipped:
            lines = [f"{plain(skip.method)}: {plain(skip.reason)}" for skip in each.skipped]
            blocks.append(Listed(title=f"Left out of {title}", lines=lines))
        if each.notes:
            blocks.append(Listed(title=f"Notes on {title}", lines=[plain(note) for note in each.notes]))
    return Chapter(anchor="how", title="How it was measured", blocks=blocks)


def machine_text(machine: Machine) -> str:
    """The machine on one line."""
    load = f", load {machine.load:.1f} at the start" if machine.load is not None else ""
    return plain(
        f"{machine.cpu}, {machine.cores} cores, {machine.memory_bytes / 1e9:.0f} GB, {machine.system}, "
        f"Python {machine.python}, tiebreak {machine.tiebreak}{load}"
    )
