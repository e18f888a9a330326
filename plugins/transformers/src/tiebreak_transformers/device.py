"""Which device computes, and how much it can hold."""

from __future__ import annotations

from typing import Any

from tiebreak.errors import EngineUnavailable
from tiebreak_transformers.info import INFO

__all__ = ["choose", "import_torch"]


def import_torch() -> Any:
    """The torch module.

    Raises:
        EngineUnavailable: it is not installed, or does not load here.
    """
    try:
        import torch
    except (ImportError, OSError) as error:  # OSError: a shared library of it is missing
        raise EngineUnavailable(
            f"PyTorch cannot be imported: {error}.",
            remedy="Run `python -m pip install torch`; pytorch.org names the wheel for your GPU.",
            engine=INFO.name,
        ) from error
    return torch


def choose(wanted: str) -> str:
    """`cpu`, `cuda` or `mps`: the one that was asked for, or the best that there is.

    Raises:
        EngineUnavailable: the one that was asked for is not there.
    """
    torch = import_torch()
    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if wanted == "auto":
        return next(name for name, works in there.items() if works)
    if not there[wanted]:
        raise EngineUnavailable(
            f"PyTorch {torch.__version__} sees no {wanted} device here.",
            remedy=f"It sees: {', '.join(name for name, works in there.items() if works)}. For a GPU, install the "
            "build of torch that was made for it.",
            engine=INFO.name,
        )
    return wanted
