"""`Batches`: rows of like length, padded together, in a random order that a seed decides."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

import attrs
import numpy as np
import torch
from torch import Tensor

from training.prompts import FORMS
from training.rows import ALONE, NONE, Rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Batch", "Batches", "batch"]

WINDOW = 16_384
"""Rows that are sorted by length together: enough that padding is small, few enough that order stays random."""
ROUND = 16
"""Padded lengths are multiples of this, which is what fast kernels like."""
FEWEST = 16


@attrs.frozen(kw_only=True, eq=False)
class Batch:
    """Rows as tensors on the device.

    Attributes:
        tokens: rows x length, int64, padded with 0 at the right end.
        last: rows: where the answer is read.
        candidates: rows x most candidates, -1 where there is none.
        ends: the same shape: where each option ends, -1 where there is none.
        gold: rows.
        schema_first: rows, bool.
        order: as candidates: which option of its example each of them stands for.
        pairs: pairs x 2: places of rows that ask the same example.
    """

    tokens: Tensor
    last: Tensor
    candidates: Tensor
    ends: Tensor
    gold: Tensor
    schema_first: Tensor
    order: Tensor
    pairs: Tensor

    def __len__(self) -> int:
        return len(self.gold)


def batch(rows: Rows, chosen: NDArray[np.int64], device: torch.device) -> Batch:
    """Some rows as tensors; partners that are both among them are a pair."""
    lengths = rows.offsets[chosen + 1] - rows.offsets[chosen]
    longest = -(-int(lengths.max()) // ROUND) * ROUND
    tokens = np.zeros((len(chosen), longest), np.int64)
    for line, row in enumerate(chosen):
        tokens[line, : lengths[line]] = rows.tokens[rows.offsets[row] : rows.offsets[row + 1]]
    place = {int(row): line for line, row in enumerate(chosen)}
    pairs = [
        (line, place[partner])
        for line, partner in enumerate(map(int, rows.partner[chosen]))
        if partner in place and line < place[partner]
    ]
    pinned = device.type == "cuda"

    def moved(values: NDArray[np.generic]) -> Tensor:
        tensor = torch.from_numpy(values)
        return (tensor.pin_memory() if pinned and tensor.numel() else tensor).to(device, non_blocking=pinned)

    return Batch(
        tokens=moved(tokens),
        last=moved(lengths - 1),
        candidates=moved(_signed(rows.candidates[chosen])),
        ends=moved(_signed(rows.ends[chosen])),
        gold=moved(rows.gold[chosen].astype(np.int64)),
        schema_first=moved(rows.forms[chosen] == FORMS.index("schema-first")),
        order=moved(rows.order[chosen].astype(np.int64)),
        pairs=moved(np.array(pairs, np.int64).reshape(-1, 2)),
    )


class Batches:
    """Endless batches: epoch after epoch, each in another order, partners in one batch.

    Args:
        rows: what is trained on.
        tokens: the most a batch may have, padding included; at least `FEWEST` rows, however long.
        device: where the tensors go.
        seed: of the order.
    """

    def __init__(self, rows: Rows, tokens: int, device: torch.device, seed: int) -> None:
        self._rows, self._tokens, self._device = rows, tokens, device
        self._random = np.random.default_rng(seed)

    def __iter__(self) -> Iterator[Batch]:
        """Batches, the next of them made in a thread while the last is trained on."""
        made: queue.Queue[Batch] = queue.Queue(8)

        def make() -> None:
            for chosen in self._chosen():
                made.put(batch(self._rows, chosen, self._device))

        threading.Thread(target=make, daemon=True).start()
        while True:
            yield made.get()

    def _chosen(self) -> Iterator[NDArray[np.int64]]:
        partner, lengths = self._rows.partner, self._rows.lengths
        paired = partner != ALONE
        lengths = np.where(paired, np.maximum(lengths, lengths[partner]), lengths)
        firsts = np.flatnonzero(~paired | (partner > np.arange(len(partner))))  # of pairs, the one that leads
        while True:
            order = self._random.permutation(firsts)
            for start in range(0, len(order), WINDOW):
                window = order[start : start + WINDOW]
                window = window[np.argsort(lengths[window], kind="stable")]
                cut = list(self._cut(window, lengths))
                yield from (self._whole(cut[index]) for index in self._random.permutation(len(cut)))

    def _whole(self, firsts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Rows and the partners that they lead."""
        partners = self._rows.partner[firsts]
        return np.concatenate([firsts, partners[partners != ALONE]])

    def _cut(self, window: NDArray[np.int64], lengths: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
        """Stretches of a sorted window that fit the budget when padded to their last row."""
        # Rows up to each place of the window, partners counted.
        upto = np.concatenate([[0], np.cumsum(np.where(self._rows.partner[window] == ALONE, 1, 2))])
        end = len(window)
        while end > 0:
            padded = -(-int(lengths[window[end - 1]]) // ROUND) * ROUND
            most = max(FEWEST, self._tokens // padded)
            start = int(np.searchsorted(upto, upto[end] - most))
            yield window[start:end]
            end = start


def _signed(values: NDArray[np.uint16]) -> NDArray[np.int64]:
    return np.where(values == NONE, -1, values.astype(np.int64))
