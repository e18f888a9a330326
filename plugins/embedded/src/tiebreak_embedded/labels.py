"""Labels of one or several tokens, scored exactly over the prefix tree of their tokens.

A label's log-probability is the sum of its tokens' conditional log-probabilities, each out of the
softmax over the whole vocabulary. Where labels begin alike they share the readings of the shared
part: the tree has one reading per distinct proper prefix, and the first of them is the answer slot
itself, so labels of one token cost nothing beyond the prompt.

Two labels may begin alike to the end of the shorter one (`New`, `New York`). With a terminator (the
text that a layout puts behind an answer) each label is scored together with it, and the two are
different events. Without one, the shorter label would contain the longer one's mass; it is given
what is left of its own mass after the labels that continue it. Either way labels are disjoint
events: their probabilities sum to at most 1, and that sum is the coverage.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import attrs

from tiebreak.errors import InvalidRequest
from tiebreak_embedded.reading import Read, Reading

__all__ = ["LabelTree", "Line"]

Prefix = tuple[int, ...]


@attrs.frozen
class Line:
    """One row to decode: the tokens behind the part that all lines share, and what to read.

    Attributes:
        tokens: the new tokens.
        reads: where the next-token distribution is wanted; `at` indexes `tokens`.
        prefixes: for each read, the label prefix whose continuations it scores.
    """

    tokens: tuple[int, ...]
    reads: tuple[Read, ...]
    prefixes: tuple[Prefix, ...]


class LabelTree:
    """The prefix tree of some labels' tokens.

    Args:
        labels: the tokens of each label, at least one, no two alike.
        terminator: tokens that end an answer in this layout; empty where it has none.

    Raises:
        InvalidRequest: no labels, an empty label, or two of the same tokens.
    """

    def __init__(self, labels: Sequence[Sequence[int]], terminator: Sequence[int] = ()) -> None:
        self.labels: tuple[Prefix, ...] = tuple((*label, *terminator) for label in labels)
        if not labels or not all(labels):
            raise InvalidRequest("Every label needs at least one token.", engine="embedded")
        if len(set(self.labels)) != len(self.labels):
            twice = next(label for label in self.labels if self.labels.count(label) > 1)
            raise InvalidRequest(
                f"Two labels have the same tokens {list(twice)}.",
                remedy="Spell the options so that they differ.",
                engine="embedded",
            )
        branches: dict[Prefix, dict[int, None]] = {}  # dicts keep the order in which labels came
        for label in self.labels:
            for depth, token in enumerate(label):
                branches.setdefault(label[:depth], {})[token] = None
        self._branches: dict[Prefix, tuple[int, ...]] = {p: tuple(b) for p, b in branches.items()}

    @property
    def single(self) -> bool:
        """Every label is one token: the slot says it all."""
        return len(self._branches) == 1

    def lines(self, suffix: Sequence[int] = ()) -> tuple[Line, ...]:
        """The rows that read every prefix once, to be decoded in one batch.

        Each line runs to a prefix that no other read prefix continues. Sequences of a recurrent
        model cannot share a part of a row, so a part shared by two lines is decoded with both but
        read only in the first.

        Args:
            suffix: the prompt's last tokens, which stand before the label in every line; the slot
                is read behind them. Empty where the slot was read already: then the slot is not
                among the reads, and labels of one token give no lines.
        """
        ends = [
            prefix
            for prefix, tokens in self._branches.items()
            if not any((*prefix, token) in self._branches for token in tokens)
        ]
        lines: list[Line] = []
        done: set[Prefix] = set()
        for end in sorted(ends, key=len, reverse=True):
            tokens = (*suffix, *end)
            prefixes = tuple(
                end[:depth] for depth in range(len(end) + 1) if end[:depth] not in done and depth + len(suffix) > 0
            )
            reads = tuple(Read(len(suffix) + len(prefix) - 1, self._branches[prefix]) for prefix in prefixes)
            done.update(prefixes)
            if tokens:
                lines.append(Line(tokens, reads, prefixes))
        return tuple(lines)

    def score(self, readings: Mapping[Prefix, Reading]) -> tuple[float, ...]:
        """The log-probability of each label.

        Args:
            readings: for every label prefix, what was read behind it, in the order of `Line.reads`
                (the empty prefix is the slot; see `slot`).

        Returns:
            natural logarithms in the order of the labels. A label whose mass is all taken by labels
            that continue it gets minus infinity.
        """
        step = {
            (*prefix, token): logprob
            for prefix, tokens in self._branches.items()
            for token, logprob in zip(tokens, readings[prefix].logprobs, strict=True)
        }
        whole = {label: math.fsum(step[label[: depth + 1]] for depth in range(len(label))) for label in self.labels}
        return tuple(self._rest(label, whole) for label in self.labels)

    def slot(self, at: int) -> Read:
        """The read of the answer slot: behind the token at this index."""
        return Read(at, self._branches[()])

    def _rest(self, label: Prefix, whole: Mapping[Prefix, float]) -> float:
        """What a label keeps after those that continue it; all of it where there are none.

        Only the nearest ones are taken away: what continues those is in their mass already.
        """
        if label not in self._branches:
            return whole[label]
        size = len(label)
        longer = sorted((x for x in self.labels if len(x) > size and x[:size] == label), key=len)
        nearest: list[Prefix] = []
        for other in longer:
            if not any(other[: len(near)] == near for near in nearest):
                nearest.append(other)
        taken = math.fsum(math.exp(whole[x] - whole[label]) for x in nearest)
        return whole[label] + math.log1p(-taken) if taken < 1 else -math.inf
