"""The `systemone` layout: the request goes out as it is, and the server lays out the prompt."""

from __future__ import annotations

from typing import Any

from tiebreak.engine import Vocabulary
from tiebreak.plan import Plan, Row, Segment
from tiebreak.questions import Question, Request, dumps
from tiebreak.stages.layout import Layout

__all__ = ["SystemOneLayout", "wire_question"]


class SystemOneLayout(Layout):
    """One row per question; its text is what the server is given, not what its model sees."""

    name = "systemone"
    direction = "opaque"
    evidence = "distribution"

    def plan(self, request: Request, vocabulary: Vocabulary) -> Plan:
        """See `Layout.plan`."""
        state = Segment(role="state", text=request.state_text)
        rows = tuple(
            Row(
                question=name,
                labels=question.names,
                segments=(state, Segment(role="question", text=dumps(wire_question(question)))),
            )
            for name, question in request.questions.items()
        )
        return Plan(request=request, rows=rows, layout=self.name, direction=self.direction)


def wire_question(question: Question) -> dict[str, Any]:
    """A question in the words of the protocol: `noul`, `choice` or `score` with its criteria."""
    if question.kind == "yes_no":
        no, yes = question.options
        sides = {"true": yes.description, "false": no.description}
        criteria = {side: text for side, text in sides.items() if text}
        return {"type": "noul", "instructions": question.text, **({"criteria": criteria} if criteria else {})}
    if question.kind == "choice":
        descriptions = {option.name: option.description for option in question.options}
        return {"type": "choice", "instructions": question.text, "criteria": descriptions}
    return {"type": "score", "instructions": question.text, "criteria": [option.text for option in question.options]}
