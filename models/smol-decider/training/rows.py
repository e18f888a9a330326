"""`Rows`: prompts packed into arrays, as they are written to disk and read by the trainer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import numpy as np

from training.prompts import FORMS, Prompt

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MOST_CANDIDATES", "Rows"]

MOST_CANDIDATES = 24
NONE = 0xFFFF
"""Fills the places of `candidates` and `ends` that a row does not have; no token or position is that large."""


@attrs.frozen(kw_only=True, eq=False)
class Rows:
    """Prompts, one behind the other.

    Attributes:
        tokens: uint16, all prompts end to end.
        offsets: int64, rows + 1: where each begins.
        candidates: uint16, rows x MOST_CANDIDATES, filled up with NONE.
        ends: uint16, rows x MOST_CANDIDATES; all NONE in a row without.
        gold: uint8, rows.
        forms: uint8, rows: index into `FORMS`.
    """

    tokens: NDArray[np.uint16]
    offsets: NDArray[np.int64]
    candidates: NDArray[np.uint16]
    ends: NDArray[np.uint16]
    gold: NDArray[np.uint8]
    forms: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.gold)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Tokens of each row."""
        return np.diff(self.offsets)

    @classmethod
    def of(cls, prompts: Sequence[Prompt]) -> Rows:
        """Pack prompts.

        Raises:
            ValueError: a prompt has more than MOST_CANDIDATES candidates.
        """
        count = len(prompts)
        candidates, ends = (np.full((count, MOST_CANDIDATES), NONE, np.uint16) for _ in range(2))
        for row, prompt in enumerate(prompts):
            if len(prompt.candidates) > MOST_CANDIDATES:
                raise ValueError(f"a prompt has {len(prompt.candidates)} candidates, more than {MOST_CANDIDATES}")
            candidates[row, : len(prompt.candidates)] = prompt.candidates
            ends[row, : len(prompt.ends)] = prompt.ends
        return cls(
            tokens=np.fromiter((token for prompt in prompts for token in prompt.tokens), np.uint16),
            offsets=np.cumsum([0, *(len(prompt.tokens) for prompt in prompts)], dtype=np.int64),
            candidates=candidates,
            ends=ends,
            gold=np.array([prompt.gold for prompt in prompts], np.uint8),
            forms=np.array([FORMS.index(prompt.form) for prompt in prompts], np.uint8),
        )

    @classmethod
    def joined(cls, parts: Iterable[Rows]) -> Rows:
        """Several packs as one, without rows whose prompt came before."""
        listed = list(parts)
        offsets = [np.zeros(1, np.int64)]
        for part in listed:
            offsets.append(part.offsets[1:] + offsets[-1][-1])
        whole = cls(
            tokens=np.concatenate([part.tokens for part in listed]),
            offsets=np.concatenate(offsets),
            candidates=np.concatenate([part.candidates for part in listed]),
            ends=np.concatenate([part.ends for part in listed]),
            gold=np.concatenate([part.gold for part in listed]),
            forms=np.concatenate([part.forms for part in listed]),
        )
        return whole._distinct()

    def _distinct(self) -> Rows:
        seen: set[bytes] = set()
        kept = []
        for row in range(len(self)):
            prompt = self.tokens[self.offsets[row] : self.offsets[row + 1]].tobytes()
            if prompt not in seen:
                seen.add(prompt)
                kept.append(row)
        lengths = self.lengths
        return Rows(
            tokens=self.tokens[np.repeat(np.isin(np.arange(len(self)), kept), lengths)],
            offsets=np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths[kept])]),
            candidates=self.candidates[kept],
            ends=self.ends[kept],
            gold=self.gold[kept],
            forms=self.forms[kept],
        )

    def save(self, path: Path) -> None:
        """Write the rows to one uncompressed `.npz`."""
        with path.open("wb") as sink:
            np.savez(sink, **attrs.asdict(self, recurse=False))

    @classmethod
    def load(cls, path: Path) -> Rows:
        """Read what `save` wrote.

        Raises:
            OSError, KeyError: it is not there or is not such a file.
        """
        with np.load(path) as arrays:
            return cls(**{field.name: arrays[field.name] for field in attrs.fields(cls)})
