"""The `chat` layout: the model's own chat template around state, question and lettered options."""

from __future__ import annotations

from tiebreak.engine import Vocabulary
from tiebreak.errors import Unsupported
from tiebreak.plan import Plan, Row, Segment
from tiebreak.questions import Option, Request
from tiebreak.stages.decider import state_text
from tiebreak.stages.layout import Layout, letters

__all__ = ["ChatLayout"]


class ChatLayout(Layout):
    """One user turn in the model's own template, answered by a letter; for instruction-tuned models.

    The template's text may hold control tokens, the user's never does: they are tokenised apart. Any
    spelling of a letter counts (`A`, ` A`), because templates differ in what they leave before it.
    """

    name = "chat"
    direction = "state-first"

    def plan(self, request: Request, vocabulary: Vocabulary) -> Plan:
        """See `Layout.plan`."""
        if vocabulary.chat is None:
            raise Unsupported(
                "This model brings no chat template that the engine can show.",
                remedy="Use layout='decider'.",
            )
        before = Segment(role="instructions", text=vocabulary.chat.before, control=True)
        after = Segment(role="slot", text=vocabulary.chat.after, control=True)
        state = Segment(role="state", text=f"{state_text(request.state)}\n")
        rows = []
        for name, question in request.questions.items():
            labels = letters(question, name, vocabulary)
            lines = "".join(
                f"\n{label}: {_line(option)}" for label, option in zip(labels, question.options, strict=True)
            )
            rows.append(
                Row(
                    question=name,
                    labels=labels,
                    loose=True,
                    segments=(
                        before,
                        state,
                        Segment(role="question", text=f"\n{question.text}"),
                        Segment(role="options", text=lines, join=True),
                        Segment(role="instructions", text="\n\nAnswer with one letter only.", join=True),
                        after,
                    ),
                )
            )
        return Plan(request=request, rows=tuple(rows), layout=self.name, direction=self.direction)


def _line(option: Option) -> str:
    return f"{option.name} ({option.description})" if option.description else option.name
