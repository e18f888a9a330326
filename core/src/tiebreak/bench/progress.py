"""`Progress`: what a benchmark tells whoever watches it, and `Pace`, how long the rest will take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

__all__ = ["Pace", "Progress", "Silent"]


class Progress(Protocol):
    """Told about every step, in the thread that measures: it must be quick."""

    def plan(self, steps: Mapping[str, int], loads: Mapping[str, int]) -> None:
        """Take note of how often each method will be asked and loaded from now on."""
        ...

    def asked(self, name: str, seconds: float) -> None:
        """One question was answered."""
        ...

    def loaded(self, name: str, seconds: float) -> None:
        """One load is over."""
        ...

    def dropped(self, name: str) -> None:
        """Nothing more will come of a method."""
        ...

    def say(self, text: str) -> None:
        """Show one line."""
        ...


class Silent:
    """A `Progress` that nobody watches."""

    def plan(self, steps: Mapping[str, int], loads: Mapping[str, int]) -> None:
        """See `Progress.plan`."""

    def asked(self, name: str, seconds: float) -> None:
        """See `Progress.asked`."""

    def loaded(self, name: str, seconds: float) -> None:
        """See `Progress.loaded`."""

    def dropped(self, name: str) -> None:
        """See `Progress.dropped`."""

    def say(self, text: str) -> None:
        """See `Progress.say`."""


class Pace:
    """How far a benchmark is, and how long the rest will take at the pace of each method so far."""

    def __init__(self) -> None:
        self._left: dict[tuple[str, str], int] = {}
        self._took: dict[tuple[str, str], tuple[int, float]] = {}
        self.done = 0

    @property
    def total(self) -> int:
        """Steps in all, loads included."""
        return self.done + sum(self._left.values())

    def plan(self, steps: Mapping[str, int], loads: Mapping[str, int]) -> None:
        """Set what is to come."""
        self._left = {("ask", name): count for name, count in steps.items()}
        self._left |= {("load", name): count for name, count in loads.items()}

    def took(self, what: str, name: str, seconds: float) -> None:
        """Enter one step (`ask` or `load`) of a method."""
        count, sum_ = self._took.get((what, name), (0, 0.0))
        self._took[what, name] = (count + 1, sum_ + seconds)
        self._left[what, name] = max(0, self._left.get((what, name), 0) - 1)
        self.done += 1

    def drop(self, name: str) -> None:
        """Nothing more will come of a method."""
        for what in ("ask", "load"):
            self._left.pop((what, name), None)

    @property
    def seconds_left(self) -> float | None:
        """An estimate, None until there is a pace to go by.

        A method that was not asked yet is taken to be as slow as the slowest so far: better early than late.
        """
        left = 0.0
        for (what, name), count in self._left.items():
            if not count:
                continue
            known = self._took.get((what, name))
            if known is None:
                others = [sum_ / times for (kind, _), (times, sum_) in self._took.items() if kind == what]
                if not others:
                    return None
                left += count * max(others)
            else:
                left += count * known[1] / known[0]
        return left
