"""A generator: a function that draws one example, with its share in the mixture."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import attrs

from ..examples import Example

Data = TypeVar("Data")


@attrs.frozen(kw_only=True)
class Generator:
    """Draws examples of one family; the same state of the random generator gives the same example.

    Args:
        name: The family; unique in the catalogue.
        weight: Share in the mixture, relative to the other weights.
        draw: The function that draws.
    """

    name: str
    weight: float = attrs.field(validator=attrs.validators.gt(0))
    draw: Callable[[random.Random], Example]

    def __call__(self, r: random.Random) -> Example:
        """One example, of the family that this generator is named for."""
        return attrs.evolve(self.draw(r), family=self.name)


def generator(weight: float = 1.0) -> Callable[[Callable[[random.Random], Example]], Generator]:
    """Makes a drawing function a generator of its own name."""

    def make(draw: Callable[[random.Random], Example]) -> Generator:
        return Generator(name=draw.__name__, weight=weight, draw=draw)

    return make


def bound(draw: Callable[[Data, random.Random], Example], data: Data, weight: float = 1.0) -> Generator:
    """A generator that draws from data, named for its function."""
    return Generator(name=draw.__name__, weight=weight, draw=partial(draw, data))
