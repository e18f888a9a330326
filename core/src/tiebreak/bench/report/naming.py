"""Short names for methods: only what tells them apart."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import PurePath

from tiebreak.bench.records import Method
from tiebreak.bench.report.digits import plain

__all__ = ["elided", "short_names", "wrapped"]

OTHERS = ("model", "layout", "readout", "device")


def short_names(methods: Sequence[Method]) -> Mapping[str, str]:
    """For each method's id its engine, and as few other parts as tell them all apart; the ids where none do."""
    for count in range(len(OTHERS) + 1):
        for others in itertools.combinations(OTHERS, count):
            names = {each.id: " ".join(_part(each, name) for name in ("engine", *others)) for each in methods}
            if len(set(names.values())) == len(names):
                return names
    return {each.id: plain(each.id) for each in methods}


def elided(text: str, most: int = 30) -> str:
    """The text without its middle, where it is too long for a picture; tables have all of it."""
    if len(text) <= most:
        return text
    half = (most - 1) // 2
    return f"{text[: most - 1 - half]}…{text[-half:]}"


def wrapped(text: str, width: int) -> str:
    """The text on two lines at most, for the head of a small picture."""
    lines = textwrap.wrap(elided(text, 2 * width), width)
    return "\n".join([lines[0], elided(" ".join(lines[1:]), width)] if len(lines) > 1 else lines)


def _part(method: Method, name: str) -> str:
    value = str(getattr(method, name))
    # A model may be a file: its directory tells nobody anything.
    return plain(PurePath(value).name if name == "model" else value)
