"""`unknown`: what is said about a name that nobody knows."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["unknown"]


def unknown(noun: str, name: str, known: Iterable[str]) -> str:
    """One sentence or two about a name that is not known: the nearest one, and what there is."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    there = f" Known: {', '.join(names)}." if names else " None is installed."
    return f"There is no {noun} {name!r}.{hint}{there}"
