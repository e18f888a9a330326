"""Figures as text: three significant digits, as many decimals in an interval as in its figure."""

from __future__ import annotations

import math

from tiebreak.bench.records import Estimate, Measured, Share

__all__ = ["DASH", "estimate", "median", "megabytes", "milliseconds", "minutes", "number", "percent", "plain", "share"]

DASH = "–"
"""Not known, or not measured."""


def number(value: float, decimals: int | None = None) -> str:
    """Three significant digits, at most four decimals; or as many decimals as are asked for."""
    return f"{value:,.{_decimals(value) if decimals is None else decimals}f}"


def estimate(found: Estimate, decimals: int | None = None) -> str:
    """A figure with its interval, where it has one."""
    places = _decimals(found.value) if decimals is None else decimals
    if found.low is None or found.high is None:
        return number(found.value, places)
    return f"{number(found.value, places)} [{number(found.low, places)}, {number(found.high, places)}]"


def median(found: Measured | None) -> str:
    """The median with its interval."""
    return DASH if found is None else estimate(found.median)


def milliseconds(value: float | None) -> str:
    """Milliseconds without their unit, a dash where nobody knows."""
    return DASH if value is None else number(value)


def share(found: Share | None) -> str:
    """Per cent with interval, and the counts: small sets show at once."""
    if found is None:
        return DASH
    return f"{percent(found.value)} [{100 * found.low:.0f}, {100 * found.high:.0f}] ({found.hits}/{found.of})"


def percent(value: float) -> str:
    """Whole per cent."""
    return f"{100 * value:.0f} %"


def megabytes(size: int | None) -> str:
    """Megabytes of 10^6 bytes, without their unit."""
    return DASH if size is None else number(size / 1e6)


def minutes(seconds: float) -> str:
    """A duration in the unit that suits it."""
    return f"{number(seconds)} s" if seconds < 120 else f"{number(seconds / 60)} min"


def plain(text: str) -> str:
    """Text on one line in which everything can be seen: control characters become visible escapes."""
    return "".join(char if char.isprintable() or char == " " else _escape(char) for char in text)


def _escape(char: str) -> str:
    return char if char.isspace() and ord(char) >= 0xA0 else char.encode("unicode_escape").decode()


def _decimals(value: float) -> int:
    if value == 0 or not math.isfinite(value):
        return 0
    return min(4, max(0, 2 - math.floor(math.log10(abs(value)))))
