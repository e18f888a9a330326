"""Calibration: a temperature per question kind, fitted on answers that somebody knows.

labelled.py  `Labelled`: a request with its right answers
fit.py       temperatures from answers and what was right, checked on rows that were held out
profile.py   `Profile`: what was fitted, for which model, layout and readout; its file
"""

from __future__ import annotations

from tiebreak.calibration.fit import calibrate
from tiebreak.calibration.labelled import Labelled
from tiebreak.calibration.profile import Binding, Fitted, Profile

__all__ = ["Binding", "Fitted", "Labelled", "Profile", "calibrate"]
