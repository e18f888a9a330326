"""`footprint`: what a model takes in memory here, by its header alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tiebreak.gguf import Array
from tiebreak.memory import Footprint
from tiebreak.models import Model
from tiebreak_embedded.context_options import ContextOptions, cells

__all__ = ["footprint"]

_SCRATCH = 48 << 20
"""Compute buffers beside the logits, and the library itself: measured with a 135M model."""


def footprint(model: Model, options: Mapping[str, Any]) -> Footprint:
    """Weights, keys and values of all sequences, checkpoints, and the logits of one pass.

    Args:
        model: with a path.
        options: every option of the engine.
    """
    header = model.header
    assert header is not None
    assert model.path is not None
    window = ContextOptions(window=options["context"]).window_of(header.context_length or 2048)
    found = header.metadata.get("tokenizer.ggml.tokens")
    count = found.count if isinstance(found, Array) else len(found) if isinstance(found, tuple) else 0
    return Footprint(
        weights=model.path.stat().st_size,
        cache=options["cache_mib"] << 20,
        kv=(header.kv_bytes_per_token() or 0) * cells(window) * options["sequences"],
        compute=_SCRATCH + 4 * count * ContextOptions().micro_batch,
    )
