"""Typed decisions: models, enums and functions whose types are the questions.

form.py        `Form`: a type as questions, and a decision as an instance of it
record.py      the fields of pydantic models, dataclasses and attrs classes
annotation.py  what stands in a field's annotation
members.py     the options of a Literal or an Enum
mapping.py     which questions the type of a field takes
leaf.py        one field: its questions, and how its value is read from their answers
markers.py     `Describe` and `Levels`, which say more than a type can
judged.py      `Judged`: a value with its evidence beside it
function.py    `decision`: a typed function that is answered, not run
"""

from __future__ import annotations

from tiebreak.typed.form import Form
from tiebreak.typed.function import decision
from tiebreak.typed.judged import Judged, JudgedField
from tiebreak.typed.markers import Describe, Levels

__all__ = ["Describe", "Form", "Judged", "JudgedField", "Levels", "decision"]
