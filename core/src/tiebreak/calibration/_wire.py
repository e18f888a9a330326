"""The file of a calibration profile, as strict as it can be: a number that slipped would change answers unseen."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["FittedRecord", "ProfileFile"]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class FittedRecord(_Strict):
    """See `tiebreak.calibration.Fitted`."""

    temperature: float = Field(ge=0.01, le=100)
    fitted_on: int = Field(ge=1)
    held_out: int = Field(ge=1)
    loss_before: float
    loss_after: float
    error_before: float
    error_after: float


class ProfileFile(_Strict):
    """See `tiebreak.calibration.Profile`."""

    format: Literal["tiebreak-calibration/1"]
    model: str
    layout: str
    readout: str
    engine: str = ""
    kinds: dict[Literal["choice", "yes_no", "score"], FittedRecord]
