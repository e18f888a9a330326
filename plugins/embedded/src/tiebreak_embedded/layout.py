"""The `names` layout: options listed by name, answered by writing one of the names."""

from __future__ import annotations

from tiebreak.engine import Vocabulary
from tiebreak.plan import Plan, Row, Segment
from tiebreak.questions import Request
from tiebreak.stages.decider import state_text
from tiebreak.stages.layout import Layout

__all__ = ["NamesLayout"]


class NamesLayout(Layout):
    """State, question, a list of names, and the slot where one of them is written.

    No letter stands between the model and the option, and any number of options has labels. They take
    several tokens, so the engine must score whole labels: a name that begins another one counts only for
    what is left beside the longer. A score is one question whose options are its levels.
    """

    name = "names"
    direction = "state-first"

    def plan(self, request: Request, vocabulary: Vocabulary) -> Plan:
        """See `Layout.plan`."""
        state = Segment(role="state", text=f"Context:\n{state_text(request.state)}")
        slot = Segment(role="slot", text="\nAnswer:", join=True)
        rows = []
        for name, question in request.questions.items():
            head = Segment(role="question", text=f"\n\nQuestion: {question.text}\nOptions:")
            lines = "".join(f"\n- {option.text}" for option in question.options)
            options = Segment(role="options", text=lines, join=True)
            labels = tuple(f" {option.name}" for option in question.options)
            rows.append(Row(question=name, labels=labels, segments=(state, head, options, slot)))
        return Plan(request=request, rows=tuple(rows), layout=self.name, direction=self.direction)
