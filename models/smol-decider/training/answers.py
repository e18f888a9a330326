"""`Answered`: a case with the probabilities that a model gave it, and the file that holds many of them."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import attrs

from tiebreak.questions import Kind
from training.heldout import Case

__all__ = ["Answered", "flips", "load", "save"]


@attrs.frozen(kw_only=True)
class Answered:
    """What a model said to one case.

    Attributes:
        set, family, key, rotation, kind: of the case.
        layout: that it was asked in.
        names: of the options, in the order asked.
        gold: index of the right one.
        probabilities: of the options, at temperature 1.
        fits: for a score that was judged level by level, how well each level fits; else empty.
        coverage: mass of the labels among all tokens, None where nobody measured it.
    """

    set: str
    family: str
    key: str
    rotation: int
    kind: Kind
    layout: str
    names: tuple[str, ...]
    gold: int
    probabilities: tuple[float, ...]
    fits: tuple[float, ...] = ()
    coverage: float | None = None

    @classmethod
    def of(
        cls,
        case: Case,
        layout: str,
        probabilities: Iterable[float],
        *,
        fits: Iterable[float] = (),
        coverage: float | None = None,
    ) -> Answered:
        """A case and what was said to it."""
        example = case.example
        return cls(
            set=case.set,
            family=example.family,
            key=case.key,
            rotation=case.rotation,
            kind=example.kind,
            layout=layout,
            names=example.question.names,
            gold=example.gold,
            probabilities=tuple(probabilities),
            fits=tuple(fits),
            coverage=coverage,
        )

    @property
    def best(self) -> int:
        """Index of the most probable option."""
        return max(range(len(self.probabilities)), key=self.probabilities.__getitem__)

    @property
    def right(self) -> bool:
        """Whether that is the right one."""
        return self.best == self.gold


def flips(answers: Iterable[Answered]) -> tuple[int, int]:
    """How many questions get more than one answer when their options are moved around, and of how many.

    Args:
        answers: of one layout; those that have the same key are of one question.
    """
    questions: dict[tuple[str, str], list[str]] = defaultdict(list)
    for one in answers:
        questions[one.set, one.key].append(one.names[one.best])
    several = [names for names in questions.values() if len(names) > 1]
    return sum(len(set(names)) > 1 for names in several), len(several)


def save(answers: Iterable[Answered], path: Path) -> None:
    """Write one JSON object a line."""
    with path.open("w", encoding="utf-8") as file:
        for answer in answers:
            file.write(json.dumps(attrs.asdict(answer), ensure_ascii=False) + "\n")


def load(path: Path) -> list[Answered]:
    """Read what `save` wrote.

    Raises:
        OSError, TypeError, ValueError: it is not there or is not such a file.
    """
    found: list[Answered] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        values: dict[str, Any] = json.loads(line)
        values |= {key: tuple(value) for key, value in values.items() if isinstance(value, list)}
        found.append(Answered(**values))
    return found
