"""The hooks of the `smol-decider` model plugin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tiebreak import hookimpl

if TYPE_CHECKING:
    from tiebreak.models import ModelInfo


@hookimpl
def tiebreak_models() -> Sequence[ModelInfo]:
    """The models of this package: one adapter, in files of one or more precisions."""
    from tiebreak_smol_decider.info import MODELS

    return MODELS
