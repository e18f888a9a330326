"""`MANIFEST`: the ids that a complete suite has, and `FLOORS`: how many of a topic have to say something."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["FLOORS", "MANIFEST"]

COUNTS: Mapping[str, int] = {
    "SPEC": 14,
    "LIFE": 8,
    "LAYO": 9,
    "READ": 19,
    "CACH": 10,
    "ERRO": 6,
    "CONC": 7,
    "TYPE": 8,
}

MANIFEST: tuple[str, ...] = tuple(
    f"{prefix}-{number:02}" for prefix, count in COUNTS.items() for number in range(1, count + 1)
)

FLOORS: Mapping[str, tuple[int, int]] = {
    "SPEC": (12, 12),
    "LIFE": (7, 6),
    "LAYO": (4, 4),
    "READ": (13, 13),
    "CACH": (9, 8),
    "ERRO": (3, 3),
    "CONC": (7, 6),
    "TYPE": (8, 8),
}
"""Checks of a topic that have to say something about an engine: live, and in record or replay."""
