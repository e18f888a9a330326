"""`Mixture`: what share of the training rows comes from where, and the draws that follow it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

import attrs

from tiebreak.questions import Kind
from training.asking import ask_choice, ask_level, ask_yes_no
from training.examples import Example
from training.generators import Generator
from training.prompts import Form
from training.tasks import Task

__all__ = ["Mixture", "Source"]


def _shares(_: object, attribute: attrs.Attribute[Mapping[str, float]], value: Mapping[str, float]) -> None:
    if min(value.values()) < 0 or not 0.999 < sum(value.values()) < 1.001:
        raise ValueError(f"{attribute.name} {dict(value)} are not shares that add up to 1")


@attrs.frozen(kw_only=True)
class Mixture:
    """Shares of the training rows.

    Attributes:
        hand: share of hand-written families; the rest is generated.
        kinds: of the hand-written rows, the share of each kind.
        borrowed: of a kind's hand-written rows, the share that families of another kind give ("Is this billing?").
        forms: of the rows that are drawn alone, the share of each prompt form; pairs have the first two alike.
        paired: kind -> share of its rows that come as pairs: one example asked in two ways.
    """

    hand: float = 0.6
    kinds: Mapping[Kind, float] = attrs.field(
        factory=lambda: {"choice": 0.42, "yes_no": 0.42, "score": 0.16}, validator=_shares
    )
    borrowed: float = 0.15
    forms: Mapping[Form, float] = attrs.field(
        factory=lambda: {"decider": 0.42, "schema-first": 0.5, "pcd": 0.08}, validator=_shares
    )

    paired: Mapping[Kind, float] = attrs.field(factory=lambda: {"choice": 0.4, "yes_no": 0.25, "score": 0.25})

    def pairs(self, kind: Kind, rng: Random) -> bool:
        """Whether an example is asked in two ways, drawn so that rows in pairs have their share of all rows."""
        share = self.paired[kind]
        return rng.random() < share / (2 - share)

    def form(self, rng: Random) -> Form:
        """A prompt form, drawn."""
        return rng.choices(list(self.forms), list(self.forms.values()))[0]


class Source:
    """Draws examples.

    Args:
        mixture: the shares.
        tasks: hand-written families; every family of a kind is drawn as often, however many states it has.
        generators: generated families, drawn by their weights. Without any, all rows are hand-written.

    Raises:
        ValueError: there are no tasks of a kind that the mixture asks for.
    """

    def __init__(self, mixture: Mixture, tasks: Sequence[Task], generators: Sequence[Generator]) -> None:
        self._mixture = mixture
        self._of: dict[str, list[Task]] = {
            kind: [task for task in tasks if task.kind == kind] for kind in mixture.kinds
        }
        for kind, share in mixture.kinds.items():
            if share and not self._of[kind]:
                raise ValueError(f"no task is a {kind}, of which the mixture asks {share:.0%}")
        self._generators = list(generators)
        self._weights = [generator.weight for generator in generators]

    def draw(self, rng: Random) -> Example:
        """One example; the same state of `rng` gives the same one."""
        if self._generators and rng.random() >= self._mixture.hand:
            return rng.choices(self._generators, self._weights)[0](rng)
        kinds = self._mixture.kinds
        kind = rng.choices(list(kinds), list(kinds.values()))[0]
        if kind == "yes_no":
            return ask_yes_no(self._family("yes_no", "choice", rng), rng)
        if kind == "score":
            return ask_level(self._family("score", "choice", rng), rng)
        return ask_choice(self._family("choice", rng.choice(("yes_no", "score")), rng), rng)

    def _family(self, own: Kind, other: Kind, rng: Random) -> Task:
        lends = self._of.get(other) and rng.random() < self._mixture.borrowed
        return rng.choice(self._of[other if lends else own])
