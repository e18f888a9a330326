"""What is published about the model; figures and their intervals are in MODEL_CARD.md."""

from __future__ import annotations

from tiebreak.models import ModelInfo

__all__ = ["INFO"]

INFO = ModelInfo(
    name="smol-decider",
    summary="SmolLM2-135M-Instruct trained to decide, Q8_0: choices, yes/no, rubrics; 145 MB, made on first use",
    source="made:tiebreak_smol_decider.merge:make",
    sha256="b571b56af13ee00dc37bac00487cafe8bfc882ffac7e27946925989526e9e692",
    bytes=144_811_072,
    licence="Apache-2.0",
    layouts=("decider", "schema-first"),
    readout="letters",
    # Fitted on one half of the held-out tasks and kept where they lower the log loss on the other half too. That was
    # not so for rubrics: they are read as they are.
    temperatures={"choice": 2.25, "yes_no": 3.25},
    layout_temperatures={"schema-first": {"choice": 1.55, "yes_no": 3.2}},
    # Trained on the labels against each other: how much the rest of the vocabulary gets was never part of the loss.
    min_coverage=0.0,
)
