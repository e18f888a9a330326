"""What a layout makes of a request: rows of labelled segments, and what may be read at their ends."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

import attrs

from tiebreak.questions import Request

__all__ = ["Piece", "Plan", "Role", "Row", "Segment"]

Role = Literal["instructions", "schema", "state", "question", "options", "slot"]
Direction = Literal["state-first", "schema-first", "opaque"]


@attrs.frozen(kw_only=True)
class Segment:
    """A stretch of prompt that plays one role.

    Attributes:
        role: what the text is: fixed `instructions`, the `schema` (all questions as one block), the
            `state`, one `question`, its `options`, or the answer `slot`.
        text: the text itself.
        join: tokenised as one string with the segment before it; otherwise tokenised apart, as the
            model was trained to see it.
        control: control-token spellings in the text become control tokens. Only ever true for text
            that a layout wrote: what a user wrote stays text.
    """

    role: Role
    text: str
    join: bool = False
    control: bool = False


@attrs.frozen(kw_only=True)
class Piece:
    """Joined segments: the unit that is tokenised in one go."""

    text: str
    control: bool


@attrs.frozen(kw_only=True)
class Row:
    """One prompt with one answer slot at its end.

    Attributes:
        question: name of the question that the row serves.
        segments: the prompt, in order.
        labels: the text that answers each option at the slot, in the order of the options (or, for a
            level row, of `no`, `yes`).
        level: for a question that takes a row per level, the index of the level judged here.
        loose: every single-token spelling of a label counts (`A`, ` A`), not only the exact one.
        cut: number of leading segments that make the reusable prefix; 0 where nothing is reused. A
            cut is always at a piece border. Set by the cache policy.
    """

    question: str
    segments: tuple[Segment, ...]
    labels: tuple[str, ...]
    level: int | None = None
    loose: bool = False
    cut: int = 0

    def pieces(self, start: int = 0, stop: int | None = None) -> Iterator[Piece]:
        """The pieces of the segments from `start` to `stop`."""
        text: list[str] = []
        control = False
        for segment in self.segments[start:stop]:
            if text and not segment.join:
                yield Piece(text="".join(text), control=control)
                text = []
            text.append(segment.text)
            control = segment.control
        if text:
            yield Piece(text="".join(text), control=control)

    def text(self, *roles: Role) -> str:
        """The text of the segments with these roles (all without any), end to end."""
        return "".join(s.text for s in self.segments if not roles or s.role in roles)

    def prefix(self) -> tuple[Piece, ...]:
        """The pieces before the cut: equal prefixes can share a checkpoint."""
        return tuple(self.pieces(0, self.cut)) if self.cut else ()


@attrs.frozen(kw_only=True)
class Plan:
    """A request laid out: at least one row per question, rows of a question side by side.

    Attributes:
        request: what was asked; engines that lay out the prompt themselves send this.
        rows: the prompts, in the order of the questions.
        layout: name of the layout.
        direction: what comes first, and so what a prefix cache can reuse; `opaque` where the engine
            lays out the prompt and only it knows.
    """

    request: Request
    rows: tuple[Row, ...]
    layout: str
    direction: Direction

    def cut_at(self, cuts: Iterable[int]) -> Plan:
        """The same plan with these cuts, one for each row."""
        # Spelt out, since this is done for every request: `attrs.evolve` takes several times as long.
        rows = tuple(
            [
                Row(
                    question=row.question,
                    segments=row.segments,
                    labels=row.labels,
                    level=row.level,
                    loose=row.loose,
                    cut=cut,
                )
                for row, cut in zip(self.rows, cuts, strict=True)
            ]
        )
        return Plan(request=self.request, rows=rows, layout=self.layout, direction=self.direction)

    def rows_of(self, question: str) -> tuple[int, ...]:
        """Indices of the rows that serve a question."""
        return tuple(i for i, row in enumerate(self.rows) if row.question == question)

    def by_question(self) -> Mapping[str, tuple[int, ...]]:
        """Question name -> indices of its rows."""
        return {name: self.rows_of(name) for name in self.request.questions}
