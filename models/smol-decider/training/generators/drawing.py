"""Seeded draws that the generators share. Every function takes the random generator first and uses nothing else."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import date, timedelta
from typing import TypeVar

from .words import MONTHS

T = TypeVar("T")


def coin(r: random.Random, chance: float = 0.5) -> bool:
    """True with the given chance."""
    return r.random() < chance


def some(r: random.Random, things: Sequence[T], least: int, most: int) -> list[T]:
    """Between `least` and `most` different things, in random order; never more than there are."""
    return r.sample(things, min(len(things), r.randint(least, most)))


def other(r: random.Random, things: Sequence[T], *taken: T) -> T:
    """One of the things that is none of the taken ones."""
    while True:
        thing = r.choice(things)
        if thing not in taken:
            return thing


def shuffled(r: random.Random, things: Sequence[T]) -> list[T]:
    """The same things in another order."""
    return r.sample(things, len(things))


def capital(text: str) -> str:
    """The text with its first letter in upper case, the rest untouched."""
    return text[:1].upper() + text[1:]


def listed(words: Sequence[str], joint: str = "and") -> str:
    """`a, b and c`."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {joint} {words[-1]}"


def day(r: random.Random, first: int = 2023, last: int = 2027) -> date:
    """A day of the years from `first` to `last`."""
    return date(first, 1, 1) + timedelta(days=r.randrange(365 * (last - first + 1)))


def spelled(r: random.Random, when: date) -> str:
    """An unambiguous way to write a date, in English."""
    month = MONTHS[when.month - 1]
    return r.choice(
        (
            when.isoformat(),
            f"{when.day} {month} {when.year}",
            f"{month} {when.day}, {when.year}",
            f"{when.day} {month[:3]} {when.year}",
        )
    )


def clock(minutes: int) -> str:
    """Minutes after midnight as `HH:MM`."""
    return f"{minutes // 60 % 24:02d}:{minutes % 60:02d}"
