"""`tiebreak doctor`: what is found about the installation, each with its remedy."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import attrs
import click

from tiebreak.cli import streams
from tiebreak.cli.settings import json_flag, verbose_flag

if TYPE_CHECKING:
    from tiebreak.doctor import Finding
    from tiebreak.registry import Entry

__all__ = ["command"]

TIMEOUT = 60.0
UNAVAILABLE = 3


@click.command("doctor", short_help="Look at the installation; say what is wrong and what to do.")
@click.argument("engine", required=False)
@json_flag
@verbose_flag
def command(engine: str | None, json: bool) -> int:
    """Look at the installation, or at that of ENGINE alone: Python, cache, plugins, binaries, devices, model files.

    The exit code is 0 where everything works (state ok or warn), and 3 where something does not (fail).
    """
    from tiebreak.cli.listing import Listing

    findings = [*_core(), *_engines(engine)]
    if json:
        streams.emit_json({"findings": [attrs.asdict(finding) for finding in findings]})
    else:
        Listing(
            columns=("SUBJECT", "STATE", "DETAIL", "REMEDY"),
            rows=[(each.subject, each.state, each.detail, each.remedy) for each in findings],
        ).show()
    return UNAVAILABLE if any(finding.state == "fail" for finding in findings) else 0


def _core() -> Iterator[Finding]:
    from tiebreak import __version__
    from tiebreak.doctor import Finding

    python = f"{platform.python_implementation()} {platform.python_version()} at {sys.executable}"
    yield Finding(subject="tiebreak", state="ok", detail=f"{__version__} on {python}")
    yield _cache()


def _cache() -> Finding:
    """Whether models can be kept: the cache directory, or the nearest place above it that exists."""
    from tiebreak import user_cache
    from tiebreak.doctor import Finding
    from tiebreak.errors import InvalidRequest

    try:
        root = user_cache.root()
    except InvalidRequest as error:
        return Finding(subject="cache", state="fail", detail=error.message, remedy=error.remedy)
    there = next(place for place in (root, *root.parents) if place.exists())
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        return Finding(
            subject="cache",
            state="fail",
            detail=f"{root} cannot be written",
            remedy="Set TIEBREAK_CACHE to a directory of your own.",
        )
    free = shutil.disk_usage(there).free
    return Finding(subject="cache", state="ok", detail=f"{root}, {free / 1e9:,.1f} GB free")


def _engines(name: str | None) -> Iterator[Finding]:
    from tiebreak.cli.probe import probe
    from tiebreak.doctor import Finding
    from tiebreak.errors import EngineUnavailable
    from tiebreak.names import unknown
    from tiebreak.registry import Registry

    entries: Sequence[Entry] = Registry().entries()
    if name is not None:
        known = [entry.name for entry in entries]
        entries = [entry for entry in entries if entry.name == name]
        if not entries:
            raise EngineUnavailable(unknown("engine", name, known), remedy="See `tiebreak engines`.")
    if not entries:
        yield Finding(
            subject="engines",
            state="fail",
            detail="no engine is installed",
            remedy="Install one: pip install tiebreak-embedded.",
        )
    for entry in entries:
        if entry.problem:
            yield Finding(
                subject=entry.name,
                state="fail",
                detail=f"{entry.distribution} {entry.version}: {entry.problem}",
                remedy="Uninstall one of them.",
            )
    for each in probe([entry for entry in entries if not entry.problem], "doctor", TIMEOUT):
        plugin = f"{each.entry.distribution} {each.entry.version}"
        if each.problem:
            yield Finding(subject=each.entry.name, state="fail", detail=each.problem)
            continue
        printed = f"; prints while it is loaded: {each.printed}" if each.printed else ""
        yield Finding(subject=each.entry.name, state="warn" if printed else "ok", detail=f"{plugin} loads{printed}")
        for fields in each.answer:
            yield Finding(**{**fields, "subject": f"{each.entry.name}: {fields['subject']}"})
