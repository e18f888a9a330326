"""`Target`: what is read at the end of a prompt for a row's labels, and how it is scored."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial

import attrs

from tiebreak.engine import Vocabulary
from tiebreak.evidence import TokenScores
from tiebreak.plan import Row
from tiebreak.stages.labels import mass, spellings
from tiebreak_embedded.labels import LabelTree, Line
from tiebreak_embedded.model import Model
from tiebreak_embedded.reading import Read, Reading

__all__ = ["Target", "Targets"]

_KEPT = 512


@attrs.frozen(eq=False)
class Target:
    """How a row's labels are read.

    Attributes:
        ids: tokens to read at the slot.
        groups: per label the indices into `ids` that count for it; None where each label is one id.
        tree: the label tree, where labels take several tokens.
        continuations: the rows behind the slot that the tree needs.
    """

    ids: tuple[int, ...]
    groups: tuple[tuple[int, ...], ...] | None = None
    tree: LabelTree | None = None
    continuations: tuple[Line, ...] = ()

    def prompts(self, prompt: array[int]) -> list[tuple[array[int], tuple[Read, ...]]]:
        """What to decode for a prompt: the tokens, and the reads at their places in them."""
        slot = len(prompt) - 1
        if not self.continuations:
            return [(prompt, (Read(slot, self.ids),))]
        found = []
        for index, line in enumerate(self.continuations):
            reads = tuple(Read(slot + 1 + read.at, read.ids) for read in line.reads)
            # The slot itself is read in the first of the rows, which all go through it.
            first = (Read(slot, self.ids),) if index == 0 else ()
            found.append((prompt + array("i", line.tokens), first + reads))
        return found

    def score(self, found: Sequence[Sequence[Reading]], top: str) -> TokenScores:
        """Log-probabilities of the labels out of what was read for `prompts`, in their order."""
        slot = found[0][0]
        if self.tree is not None:
            readings: dict[tuple[int, ...], Reading] = {(): slot}
            for index, (line, row) in enumerate(zip(self.continuations, found, strict=True)):
                readings.update(zip(line.prefixes, row[index == 0 :], strict=True))
            return TokenScores(logprobs=self.tree.score(readings), top=top)
        if self.groups is None:
            return TokenScores(logprobs=slot.logprobs, top=top)
        return TokenScores(logprobs=tuple(mass(slot.logprobs, group) for group in self.groups), top=top)


class Targets:
    """Makes targets, and remembers those of labels that repeat.

    Args:
        model: whose tokens they are.
        vocabulary: its letter labels.
    """

    def __init__(self, model: Model, vocabulary: Vocabulary) -> None:
        self._encode = partial(model.tokenise, special=False)
        self._letters: Mapping[str, int] = vocabulary.labels
        self._of = lru_cache(maxsize=_KEPT)(self._make)

    def of(self, row: Row) -> Target:
        """The target of a row.

        Raises:
            InvalidRequest: two of its labels have the same tokens.
        """
        return self._of(row.labels, row.loose)

    def _make(self, labels: tuple[str, ...], loose: bool) -> Target:
        spelt = [spellings(label, self._letters, self._encode, loose=loose) for label in labels]
        if all(spelt):
            ids = tuple(dict.fromkeys(token for tokens in spelt for token in tokens))
            if not loose and len(ids) == len(labels):
                return Target(ids)
            if sum(map(len, spelt)) == len(ids):  # no token counts for two labels
                place = {token: index for index, token in enumerate(ids)}
                return Target(ids, tuple(tuple(place[token] for token in tokens) for tokens in spelt))
        tree = LabelTree([self._encode(label) for label in labels])
        return Target(tree.slot(0).ids, None, tree, tree.lines())
