"""The hooks of the `smol-decider` model plugin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tiebreak import hookimpl

if TYPE_CHECKING:
    from tiebreak.models import ModelInfo


@hookimpl
def tiebreak_models() -> Sequence[ModelInfo]:
    """The one model of this package."""
    from tiebreak_smol_decider.info import INFO

    return (INFO,)
