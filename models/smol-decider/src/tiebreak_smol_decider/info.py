"""What is published about the model; figures and their intervals are in MODEL_CARD.md."""

from __future__ import annotations

from tiebreak.models import ModelInfo

__all__ = ["INFO"]

INFO = ModelInfo(
    name="smol-decider",
    summary="SmolLM2-135M-Instruct trained to decide, Q8_0: choices, yes/no, rubrics; 145 MB, made on first use",
    source="made:tiebreak_smol_decider.merge:make",
    sha256="301d58de354954554b8cf1c9b2611fbc302ee4dd64cb5e9401a30fb1e2af8657",
    bytes=144_811_072,
    licence="Apache-2.0",
    layouts=("decider", "schema-first"),
    readout="letters",
    # Fitted on h, one part of the held-out families. Rubrics are read as they are: dividing gained nothing elsewhere.
    temperatures={"choice": 1.48, "yes_no": 1.79},
    layout_temperatures={"schema-first": {"choice": 1.42, "yes_no": 1.61}},
    # Trained on the labels against each other: how much the rest of the vocabulary gets was never part of the loss.
    min_coverage=0.0,
)
