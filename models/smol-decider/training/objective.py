"""`Objective`: what training minimises: the answer's log loss, and at first pointers from the middle of the model.

The answer loss alone stays at chance for hundreds of steps. Pointers find the option inside the model early: in a
state-first prompt the end of an option has seen state, question and option, and a probe scores it; in a schema-first
one the option has not seen the state, so the slot's position and the option's end are compared. The weight of the
pointer loss falls to nothing during training, and the pointers are thrown away.

What an option is called by, A or B, and where it stands say nothing about it. Rows that ask one example in two ways are
pulled together by the symmetric divergence of their two answers, each told by option (as Liang and others do for two
passes with dropout, R-Drop, 2021); both answers move, so neither is a teacher of the other.
"""

from __future__ import annotations

import attrs
import torch
import torch.nn.functional as F  # noqa: N812  # as everybody calls it
from torch import Tensor, nn

from training.batches import Batch
from training.model import Model, Weights

__all__ = ["Objective", "Outcome", "label_logits"]

_FAR = -1e9
_POINTER_WIDTH = 96


@attrs.frozen(kw_only=True, eq=False)
class Outcome:
    """One batch's figures.

    Attributes:
        loss: what is minimised.
        answer, pointer, apart: parts of it, before their weights; `apart` is the mean divergence of pairs.
        right: rows, bool.
        agree: pairs, bool: whether both answers name the same option.
    """

    loss: Tensor
    answer: Tensor
    pointer: Tensor
    apart: Tensor
    right: Tensor
    agree: Tensor


class Objective:
    """The loss of a batch.

    Args:
        model: the forward pass.
        smoothing: share of the target that is spread over all labels of a row, against over-confidence.
        coverage: weight of the log loss of the labels' mass among all tokens; at 0 only labels compete.
        pointer: weight of the pointer loss at the start.
        consistency: weight of the divergence of pairs, beside the mean answer loss of the pair's two rows.
        seed: of the pointers.
    """

    def __init__(
        self, model: Model, *, smoothing: float, coverage: float, pointer: float, consistency: float, seed: int
    ) -> None:
        self._model = model
        self._smoothing, self._coverage, self._pointer = smoothing, coverage, pointer
        self._consistency = consistency
        width, device = model.shape.width, model.device
        self.middle = model.shape.layers * 2 // 3 - 1
        generator = torch.Generator().manual_seed(seed)
        self.probe = nn.Parameter(torch.zeros(width, device=device))
        self.pair = [
            nn.Parameter((torch.randn(width, _POINTER_WIDTH, generator=generator) * 0.02).to(device)) for _ in range(2)
        ]

    def __call__(self, batch: Batch, weights: Weights, progress: float) -> Outcome:
        """The loss of one batch.

        Args:
            batch: the rows.
            weights: of the layers, with gradients.
            progress: 0 at the start of training, 1 at its end.
        """
        middle, stream = self._model.states(batch.tokens, weights, self.middle)
        hidden = self._model.normed(stream, batch.last, weights)
        logits = label_logits(self._model, hidden, batch.candidates)
        answer = F.cross_entropy(logits, batch.gold)
        loss = answer
        if self._smoothing:
            present = (batch.candidates >= 0).float()
            spread = (logits.log_softmax(-1) * present).sum(-1) / present.sum(-1)
            loss = (1 - self._smoothing) * answer - self._smoothing * spread.mean()
        if self._coverage:
            everything = (hidden @ self._model.embedding.T).logsumexp(-1)
            loss = loss + self._coverage * (everything - logits.logsumexp(-1)).mean()
        pointer = torch.zeros((), device=loss.device)
        weight = self._pointer * (1 - min(1.0, progress * 1.3))
        if weight > 0:
            pointer = self._pointers(batch, middle)
            loss = loss + weight * pointer
        apart, agree = _apart(logits, batch)
        if self._consistency and len(batch.pairs):
            # Beside a mean over rows: a pair weighs as much in a batch of few pairs as in one of many.
            loss = loss + self._consistency * apart * (2 * len(batch.pairs) / len(batch))
        return Outcome(
            loss=loss,
            answer=answer.detach(),
            pointer=pointer.detach(),
            apart=apart.detach(),
            right=logits.argmax(-1) == batch.gold,
            agree=agree,
        )

    def _pointers(self, batch: Batch, middle: Tensor) -> Tensor:
        width = middle.shape[-1]
        ends = middle.gather(1, batch.ends.clamp(min=0)[:, :, None].expand(-1, -1, width)).float()
        ends = F.layer_norm(ends, (width,))
        slot = middle[torch.arange(len(batch), device=middle.device), batch.last].float()
        compared = torch.einsum("bd,bkd->bk", F.layer_norm(slot, (width,)) @ self.pair[0], ends @ self.pair[1])
        scores = torch.where(batch.schema_first[:, None], compared * _POINTER_WIDTH**-0.5, ends @ self.probe)
        scores = scores.masked_fill(batch.ends < 0, _FAR)
        known = (batch.ends[:, 0] >= 0).float()
        return (F.cross_entropy(scores, batch.gold, reduction="none") * known).sum() / known.sum().clamp(min=1)


def _apart(logits: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
    """The mean divergence of the answers of pairs, (KL(p, q) + KL(q, p)) / 2, and which pairs name one option."""
    if not len(batch.pairs):
        return logits.new_zeros(()), logits.new_zeros(0, dtype=torch.bool)
    by_option = torch.zeros_like(logits).scatter(1, batch.order[:, : logits.shape[1]], logits.log_softmax(-1))
    first, second = by_option[batch.pairs[:, 0]], by_option[batch.pairs[:, 1]]
    between = ((first.exp() - second.exp()) * (first - second)).sum(-1) / 2
    return between.mean(), first.argmax(-1) == second.argmax(-1)


def label_logits(model: Model, hidden: Tensor, candidates: Tensor) -> Tensor:
    """The logits of each row's labels, far below all others where there is none: rows x most candidates."""
    logits = torch.einsum("bd,bkd->bk", hidden, model.embedding[candidates.clamp(min=0)])
    return logits.masked_fill(candidates < 0, _FAR)
