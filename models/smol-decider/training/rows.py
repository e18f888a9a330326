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

__all__ = ["ALONE", "MOST_CANDIDATES", "NONE", "Rows"]

MOST_CANDIDATES = 24
NONE = 0xFFFF
"""Fills the places of `candidates` and `ends` that a row does not have; no token or position is that large."""
ALONE = -1


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
        order: uint8, rows x MOST_CANDIDATES: which option of its example each candidate stands for.
        partner: int32, rows: the row that asks the same example in another way, ALONE where there is none.
    """

    tokens: NDArray[np.uint16]
    offsets: NDArray[np.int64]
    candidates: NDArray[np.uint16]
    ends: NDArray[np.uint16]
    gold: NDArray[np.uint8]
    forms: NDArray[np.uint8]
    order: NDArray[np.uint8]
    partner: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.gold)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Tokens of each row."""
        return np.diff(self.offsets)

    @classmethod
    def of(cls, prompts: Sequence[Prompt], pairs: Iterable[int] = ()) -> Rows:
        """Pack prompts.

        Args:
            prompts: one row each.
            pairs: indices of prompts that ask the same as the one behind them.

        Raises:
            ValueError: a prompt has more than MOST_CANDIDATES candidates.
        """
        count = len(prompts)
        order = np.tile(np.arange(MOST_CANDIDATES, dtype=np.uint8), (count, 1))
        partner = np.full(count, ALONE, np.int32)
        for first in pairs:
            partner[first], partner[first + 1] = first + 1, first
        candidates, ends = (np.full((count, MOST_CANDIDATES), NONE, np.uint16) for _ in range(2))
        for row, prompt in enumerate(prompts):
            if len(prompt.candidates) > MOST_CANDIDATES:
                raise ValueError(f"a prompt has {len(prompt.candidates)} candidates, more than {MOST_CANDIDATES}")
            candidates[row, : len(prompt.candidates)] = prompt.candidates
            ends[row, : len(prompt.ends)] = prompt.ends
            order[row, : len(prompt.order)] = prompt.order
        return cls(
            tokens=np.fromiter((token for prompt in prompts for token in prompt.tokens), np.uint16),
            offsets=np.cumsum([0, *(len(prompt.tokens) for prompt in prompts)], dtype=np.int64),
            candidates=candidates,
            ends=ends,
            gold=np.array([prompt.gold for prompt in prompts], np.uint8),
            forms=np.array([FORMS.index(prompt.form) for prompt in prompts], np.uint8),
            order=order,
            partner=partner,
        )

    @classmethod
    def joined(cls, parts: Iterable[Rows]) -> Rows:
        """Several packs as one, without rows whose prompt came before; what they leave of a pair stands alone."""
        listed = list(parts)
        offsets, partners, before = [np.zeros(1, np.int64)], [], 0
        for part in listed:
            offsets.append(part.offsets[1:] + offsets[-1][-1])
            partners.append(np.where(part.partner == ALONE, ALONE, part.partner + before))
            before += len(part)
        whole = cls(
            tokens=np.concatenate([part.tokens for part in listed]),
            offsets=np.concatenate(offsets),
            candidates=np.concatenate([part.candidates for part in listed]),
            ends=np.concatenate([part.ends for part in listed]),
            gold=np.concatenate([part.gold for part in listed]),
            forms=np.concatenate([part.forms for part in listed]),
            order=np.concatenate([part.order for part in listed]),
            partner=np.concatenate(partners).astype(np.int32),
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
        place = np.full(len(self) + 1, ALONE, np.int32)  # the last one is where ALONE points
        place[kept] = np.arange(len(kept))
        return Rows(
            tokens=self.tokens[np.repeat(np.isin(np.arange(len(self)), kept), lengths)],
            offsets=np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths[kept])]),
            candidates=self.candidates[kept],
            ends=self.ends[kept],
            gold=self.gold[kept],
            forms=self.forms[kept],
            order=self.order[kept],
            partner=place[self.partner[kept]],
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
