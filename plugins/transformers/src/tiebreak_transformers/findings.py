"""Findings: what `tiebreak doctor` says about PyTorch and transformers."""

from __future__ import annotations

from collections.abc import Sequence

from tiebreak.doctor import Finding
from tiebreak.errors import EngineUnavailable
from tiebreak_transformers.device import choose, import_torch

__all__ = ["findings"]


def findings() -> Sequence[Finding]:
    """Versions, and the device that `auto` takes."""
    try:
        torch = import_torch()
        import transformers
    except (EngineUnavailable, ImportError) as error:
        remedy = error.remedy if isinstance(error, EngineUnavailable) else "Run `python -m pip install transformers`."
        return (Finding(subject="binary", state="fail", detail=str(error), remedy=remedy),)
    device = choose("auto")
    name = torch.cuda.get_device_name() if device == "cuda" else f"{torch.get_num_threads()} threads"
    return (
        Finding(
            subject="version",
            state="ok",
            detail=f"torch {torch.__version__}, transformers {transformers.__version__}",
        ),
        Finding(subject="device", state="ok", detail=f"{device}: {name}"),
    )
