"""The layouts of dohnuts: the program writes the prompt, and a layout says what that will hold, as far as is known."""

from __future__ import annotations

import attrs

from tiebreak.engine import EvidenceKind, Vocabulary
from tiebreak.plan import Direction, Plan, Row, Segment
from tiebreak.questions import Request
from tiebreak.stages.decider import DeciderLayout
from tiebreak.stages.layout import Layout
from tiebreak_dohnuts.profiles import PROFILES

__all__ = ["ProfileLayout"]


class ProfileLayout(Layout):
    """One row per question, laid out by the program.

    `decider` is the core's layout of that name, which is byte for byte what the program writes: its rows show the real
    prompts, and a score is one row per level.

    Args:
        name: a profile's name, or `profile` for whichever the engine runs.
    """

    evidence: EvidenceKind = "distribution"

    def __init__(self, name: str) -> None:
        self.name = name
        profile = PROFILES.get(name)
        self.direction: Direction = "state-first" if profile is not None and profile.reuses else "opaque"

    def plan(self, request: Request, vocabulary: Vocabulary) -> Plan:
        """See `Layout.plan`."""
        if self.name == "decider":
            return attrs.evolve(DeciderLayout().plan(request, vocabulary), layout=self.name)
        state = Segment(role="state", text=request.state_text)
        rows = tuple(
            Row(
                question=name,
                labels=question.names,
                segments=(
                    state,
                    Segment(role="question", text=question.text),
                    Segment(role="options", text="\n".join(option.text for option in question.options)),
                ),
            )
            for name, question in request.questions.items()
        )
        return Plan(request=request, rows=rows, layout=self.name, direction=self.direction)
