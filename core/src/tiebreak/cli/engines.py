"""`tiebreak engines`: what is installed, and whether it loads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import click

from tiebreak.cli import streams
from tiebreak.cli.settings import json_flag, verbose_flag

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tiebreak.registry import Entry

__all__ = ["command", "rows"]

TIMEOUT = 10.0
NONE_INSTALLED = "no engine is installed. Install one: pip install tiebreak-embedded."


@click.command("engines", short_help="List the installed engines and whether each loads.")
@click.option("--no-check", is_flag=True, help="Read metadata only; load nothing.")
@click.option(
    "--timeout", metavar="SECONDS", type=float, default=TIMEOUT, show_default=True, help="For loading each one."
)
@json_flag
@verbose_flag
def command(no_check: bool, timeout: float, json: bool) -> None:
    """List the installed engines.

    Each is loaded in a process of its own, so that one that prints, exits, crashes or hangs is a row with its cause:
    state ok, warn or fail (unchecked with --no-check). The engine that answers when none is named is marked with *.
    """
    from tiebreak.cli.listing import Listing

    found = rows(check=not no_check, timeout=timeout)
    if json:
        streams.emit_json({"engines": [attrs.asdict(row) for row in found]})
        return
    Listing(
        columns=("NAME", "STATE", "DISTRIBUTION", "DETAIL"),
        rows=[(f"{row.name}*" if row.default else row.name, row.state, row.plugin, row.detail) for row in found],
        empty=NONE_INSTALLED,
    ).show()


@attrs.frozen(kw_only=True)
class Row:
    """One installed engine.

    Attributes:
        name: as `--engine` takes it.
        state: `ok`, `warn`, `fail` or `unchecked`.
        distribution, version, target: where it comes from.
        detail: what it is, or what is wrong with it.
        default: it answers when no engine is named.
        info: what the plugin says about itself, None where it was not asked or failed.
    """

    name: str
    state: str
    distribution: str
    version: str
    target: str
    detail: str
    default: bool
    info: dict[str, Any] | None = None

    @property
    def plugin(self) -> str:
        """Distribution and version."""
        return f"{self.distribution} {self.version}"


def rows(*, check: bool, timeout: float = TIMEOUT) -> Sequence[Row]:
    """The installed engines, by name.

    Args:
        check: load each one, in a process of its own.
        timeout: seconds for loading each.
    """
    from tiebreak.cli.probe import Probe, probe
    from tiebreak.errors import EngineUnavailable
    from tiebreak.registry import Registry

    registry = Registry()
    entries = registry.entries()
    probes: dict[Entry, Probe] = {}
    if check:
        probes = {each.entry: each for each in probe([e for e in entries if not e.problem], "info", timeout)}
    try:
        default = registry.default_engine()
    except EngineUnavailable:
        default = ""
    return [_row(entry, probes.get(entry), default) for entry in entries]


def _row(entry: Entry, found: Any, default: str) -> Row:
    state, detail, info = "unchecked", entry.target, None
    if entry.problem:
        state, detail = "fail", entry.problem
    elif found is not None and found.problem:
        state, detail = "fail", found.problem
    elif found is not None:
        state, detail, info = "ok", found.answer["summary"], found.answer
        if found.printed:
            state, detail = "warn", f"{detail} (prints while it is loaded: {found.printed})"
    return Row(
        name=entry.name,
        state=state,
        distribution=entry.distribution,
        version=entry.version,
        target=entry.target,
        detail=detail,
        default=entry.name == default,
        info=info,
    )
