"""Held-out cases in torch: hundreds of questions a second on a GPU, right after training and before any export."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch

from training.answers import Answered
from training.batches import batch
from training.heldout import Case
from training.model import Model, Weights
from training.objective import label_logits
from training.prompts import Encoder, Form, Prompt
from training.rows import Rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Asked", "judge"]

AT_ONCE = 128


class Asked:
    """Cases in one layout, tokenised once for any number of models.

    Args:
        encoder: of prompts.
        cases: what is asked.
        layout: the form of the prompts.
    """

    def __init__(self, encoder: Encoder, cases: Sequence[Case], layout: Form) -> None:
        self.cases, self.layout = cases, layout
        self.prompts = [encoder.rows(case.example, layout) for case in cases]


def judge(model: Model, weights: Weights, asked: Asked) -> list[Answered]:
    """Answer cases with some weights, in the order given.

    Args:
        model: the forward pass; prompts may be no longer than it was made for.
        weights: of the layers.
        asked: the cases.
    """
    said = iter(_probabilities(model, weights, [prompt for some in asked.prompts for prompt in some]))
    found = []
    for case, some in zip(asked.cases, asked.prompts, strict=True):
        own = [next(said) for _ in some]
        if case.example.kind == "score" and asked.layout != "pcd":
            fits = [float(level[1]) for level in own]
            mass = max(sum(fits), 1e-12)
            found.append(Answered.of(case, asked.layout, [fit / mass for fit in fits], fits=fits))
        else:
            found.append(Answered.of(case, asked.layout, map(float, own[0])))
    return found


@torch.no_grad()
def _probabilities(model: Model, weights: Weights, prompts: Sequence[Prompt]) -> Iterator[NDArray[np.float32]]:
    rows = Rows.of(prompts)
    order = np.argsort(rows.lengths, kind="stable")
    found: dict[int, NDArray[np.float32]] = {}
    for start in range(0, len(order), AT_ONCE):
        chosen = order[start : start + AT_ONCE]
        some = batch(rows, chosen, model.device)
        _, stream = model.states(some.tokens, weights, 0)
        logits = label_logits(model, model.normed(stream, some.last, weights), some.candidates)
        for row, values in zip(chosen, logits.softmax(-1).cpu().numpy(), strict=True):
            found[int(row)] = values[: len(prompts[row].candidates)]
    return (found[row] for row in range(len(prompts)))
