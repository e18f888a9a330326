"""The `decider` and `schema-first` layouts: plain text, lettered options, one answer slot.

`decider` is the prompt that decider models are trained on and that dohnuts.cpp calls by the same name: the state comes
first, so a prefix cache helps repeated states. `schema-first` puts the fixed part first, so that it helps a fixed
question about changing states.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from tiebreak.engine import Vocabulary
from tiebreak.plan import Plan, Row, Segment
from tiebreak.questions import JSON, Option, Question, Request, dumps
from tiebreak.stages.layout import Layout, letters

__all__ = ["DeciderLayout", "SchemaFirstLayout", "level_questions"]

FIT_QUESTION = "Does the proposed answer fit?"
FIT_OPTIONS = (Option(name="no"), Option(name="yes"))
JOINED_OPTIONS = 10
INDEXED_ITEMS = 8


class DeciderLayout(Layout):
    """State, then question, lettered options and slot, byte for byte as decider models were trained.

    Three rules of that format: the state is tokenised apart from the rest; up to ten options the rest is
    one string, beyond that every label is spliced in as a token of its own; a score is one yes/no row
    per level.
    """

    name = "decider"
    direction = "state-first"

    def plan(self, request: Request, vocabulary: Vocabulary) -> Plan:
        """See `Layout.plan`."""
        state = Segment(role="state", text=f"Context:\n{state_text(request.state)}")
        rows = []
        for name, level, question in level_questions(request):
            labels = letters(question, name, vocabulary)
            rest = _question(question, labels, "\n\n", splice=len(labels) > JOINED_OPTIONS)
            slot = Segment(role="slot", text="\nAnswer: (", join=len(labels) <= JOINED_OPTIONS)
            rows.append(Row(question=name, level=level, labels=labels, segments=(state, *rest, slot)))
        return Plan(request=request, rows=tuple(rows), layout=self.name, direction=self.direction)


class SchemaFirstLayout(Layout):
    """Question and lettered options, then the state, then the slot.

    The border between the fixed and the changing part lies between `Context` and its colon: a place
    where byte-pair tokenizers split, so that the two parts tokenise to the tokens of the whole.
    """

    name = "schema-first"
    direction = "schema-first"

    def plan(self, request: Request, vocabulary: Vocabulary) -> Plan:
        """See `Layout.plan`."""
        state = Segment(role="state", text=f":\n{state_text(request.state)}")
        slot = Segment(role="slot", text="\n\nAnswer: (", join=True)
        rows = []
        for name, level, question in level_questions(request):
            labels = letters(question, name, vocabulary)
            splice = len(labels) > JOINED_OPTIONS
            head = _question(question, labels, "", splice=splice)
            context = Segment(role="instructions", text="\n\nContext", join=not splice)
            rows.append(
                Row(
                    question=name,
                    level=level,
                    labels=labels,
                    segments=(*head, context, state, slot),
                )
            )
        return Plan(request=request, rows=tuple(rows), layout=self.name, direction=self.direction)


def level_questions(request: Request) -> Iterator[tuple[str, int | None, Question]]:
    """The questions that rows ask: (name, level, question), a score as one yes/no question per level."""
    for name, question in request.questions.items():
        if question.kind != "score":
            yield name, None, question
            continue
        for level, option in enumerate(question.options):
            # A level written "2: late" is judged as "late": its number says nothing about whether it fits.
            bare = re.sub(r"^\s*\d+\s*:\s*", "", option.text) or option.text
            text = f"{question.text}\nProposed answer: {bare}\n{FIT_QUESTION}"
            yield name, level, Question(kind="yes_no", text=text, options=FIT_OPTIONS)


def state_text(state: JSON) -> str:
    """A state as text; items of arrays of eight or more carry their `_index`, so that a model can name one."""
    return state if isinstance(state, str) else dumps(_indexed(state))


def _indexed(value: JSON) -> JSON:
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return {key: _indexed(item) for key, item in value.items()}
    if isinstance(value, Sequence):
        items = [_indexed(item) for item in value]
        if len(items) < INDEXED_ITEMS:
            return items
        return [
            {"_index": index, **item} if isinstance(item, Mapping) else {"_index": index, "value": item}
            for index, item in enumerate(items)
        ]
    return value


def _question(question: Question, labels: Sequence[str], lead: str, *, splice: bool) -> list[Segment]:
    head = Segment(role="question", text=f"{lead}Question: {question.text}\nOptions:")
    if not splice:
        lines = "".join([f"\n({label}) {option.text}" for label, option in zip(labels, question.options, strict=True)])
        return [head, Segment(role="options", text=lines, join=True)]
    spliced = [head]
    for label, option in zip(labels, question.options, strict=True):
        spliced += [Segment(role="options", text=text) for text in ("\n(", label, f") {option.text}")]
    return spliced
