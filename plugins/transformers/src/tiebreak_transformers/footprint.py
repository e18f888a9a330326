"""`footprint`: what a model takes in memory here, by its header or configuration alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

from tiebreak import _folder
from tiebreak.memory import Footprint
from tiebreak.models import Model

__all__ = ["footprint"]

_SIZE = {"float32": 4, "bfloat16": 2, "float16": 2}
_SCRATCH = 512 << 20
"""torch and transformers themselves, and activations of a pass: measured with a 135M model on a CPU."""


def footprint(model: Model, options: Mapping[str, Any]) -> Footprint:
    """Weights in the dtype that they are computed in, kept prefixes, and what computing takes beside them.

    On a GPU the weights pass through this memory while they are loaded, so they count all the same.

    Args:
        model: with a path.
        options: every option of the engine.
    """
    assert model.path is not None
    header = model.header
    if header is None:
        stored = sum(file.stat().st_size for file in _folder.files(model.path) if file.suffix == ".safetensors")
        weights = stored * _SIZE[options["dtype"]] // _stored_size(model.path)
    else:
        weights = sum(prod(tensor.shape) for tensor in header.tensors) * _SIZE[options["dtype"]]
    return Footprint(weights=weights, cache=options["cache_mib"] << 20, compute=_SCRATCH)


def _stored_size(folder: Path) -> int:
    """Bytes per weight as the configuration says that they are stored."""
    configuration = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    found = configuration.get("dtype", configuration.get("torch_dtype"))
    return _SIZE.get(found, 4) if isinstance(found, str) else 4
