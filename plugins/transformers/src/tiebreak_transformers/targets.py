"""`Target`: which tokens are read at the slot of a row, and how they become scores of its labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache, partial

import attrs

from tiebreak.engine import Vocabulary
from tiebreak.errors import InvalidRequest, Unsupported
from tiebreak.evidence import TokenScores
from tiebreak.plan import Row
from tiebreak.stages.labels import mass, spellings
from tiebreak_transformers.info import INFO
from tiebreak_transformers.tokens import Tokens

__all__ = ["Target", "Targets"]

_KEPT = 512


@attrs.frozen
class Target:
    """How a row's labels are read.

    Attributes:
        ids: tokens to read at the slot.
        groups: per label the indices into `ids` that count for it.
    """

    ids: tuple[int, ...]
    groups: tuple[tuple[int, ...], ...]

    def score(self, logprobs: Sequence[float], top: str) -> TokenScores:
        """Scores of the labels out of the log-probabilities of `ids`."""
        return TokenScores(logprobs=tuple(mass(logprobs, group) for group in self.groups), top=top)


class Targets:
    """Makes targets, and remembers those of labels that repeat.

    Args:
        tokens: the model's tokenizer.
        vocabulary: its letter labels.
    """

    def __init__(self, tokens: Tokens, vocabulary: Vocabulary) -> None:
        self._encode = partial(tokens.encode, special=False)
        self._letters: Mapping[str, int] = vocabulary.labels
        self._of = lru_cache(maxsize=_KEPT)(self._make)

    def of(self, row: Row) -> Target:
        """The target of a row.

        Raises:
            Unsupported: a label takes several tokens.
            InvalidRequest: two labels are the same token.
        """
        return self._of(row.labels, row.loose)

    def _make(self, labels: tuple[str, ...], loose: bool) -> Target:
        spelt = [self._spellings(label, loose) for label in labels]
        ids = tuple(dict.fromkeys(token for tokens in spelt for token in tokens))
        if sum(map(len, spelt)) != len(ids):
            raise InvalidRequest(
                f"Two of the labels {list(labels)} are the same token.",
                remedy="Spell them so that they differ.",
                engine=INFO.name,
            )
        place = {token: index for index, token in enumerate(ids)}
        return Target(ids, tuple(tuple(place[token] for token in tokens) for tokens in spelt))

    def _spellings(self, label: str, loose: bool) -> tuple[int, ...]:
        """The single tokens that spell a label."""
        single = spellings(label, self._letters, self._encode, loose=loose)
        if not single:
            raise Unsupported(
                f"The label {label!r} takes several tokens; one slot is read here.",
                remedy="Use a layout whose labels are letters, or engine='embedded'.",
                engine=INFO.name,
            )
        return single
