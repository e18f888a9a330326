"""`tiebreak explain`: what would be sent, and nothing sent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from tiebreak.cli import check, choose, decide, rate, streams
from tiebreak.cli.inquiry import Inquiry
from tiebreak.cli.progress import ProgressBar

if TYPE_CHECKING:
    from tiebreak.plan import Row
    from tiebreak.session import Explanation

__all__ = ["command", "explain"]


def command() -> click.Group:
    """The command `explain`, with one form for each deciding command."""

    @click.group("explain", short_help="Show the prompt, its segments and tokens, and the cut; ask nothing.")
    def group() -> None:
        """Show what a decision would send: every prompt with its segments and their roles, the tokens of each piece,
        and where the reusable prefix ends.

        The forms take the same arguments as the commands of the same name. The engine is started where only it knows
        how it tokenises, but the model is not asked.
        """

    for form in (choose, check, rate, decide):
        group.add_command(form.command(explain))
    return group


def explain(inquiry: Inquiry) -> None:
    """Print what would be sent for an inquiry.

    Raises:
        TiebreakError: whatever `Decider.explain` raises.
    """
    from tiebreak.questions import Request

    request = Request.of(inquiry.state, inquiry.questions)
    with streams.reserved(), ProgressBar() as progress, inquiry.settings.decider(progress) as decider:
        explanation = decider.explain(request.state, request.questions)
    if inquiry.settings.json:
        streams.emit_json(_record(explanation))
    else:
        streams.emit("\n".join(_lines(explanation)))


def _record(explanation: Explanation) -> dict[str, Any]:
    plan = explanation.plan
    return {
        "layout": plan.layout,
        "direction": plan.direction,
        "rows": [_row(row, _tokens(explanation, index)) for index, row in enumerate(plan.rows)],
        "receipt": explanation.receipt.as_dict(),
    }


def _row(row: Row, tokens: Sequence[Sequence[int]] | None) -> dict[str, Any]:
    return {
        "question": row.question,
        "level": row.level,
        "labels": list(row.labels),
        "prompt": row.text(),
        "cut": row.cut,
        "segments": [
            {
                "role": segment.role,
                "text": segment.text,
                "join": segment.join,
                "control": segment.control,
                "reusable": index < row.cut,
            }
            for index, segment in enumerate(row.segments)
        ],
        "pieces": [
            {"text": piece.text, "tokens": None if tokens is None else list(tokens[index])}
            for index, piece in enumerate(row.pieces())
        ],
    }


def _lines(explanation: Explanation) -> Iterator[str]:
    """The explanation as text: a role and a bar before every line of prompt."""
    plan, receipt = explanation.plan, explanation.receipt
    yield (
        f"engine {receipt.engine}, model {receipt.model or 'of the engine'}, layout {plan.layout}"
        f" ({plan.direction}), readout {receipt.readout}, cache {receipt.cache}"
    )
    if not plan.rows:
        yield "The engine lays out the prompt itself: there is nothing to show."
    for index, row in enumerate(plan.rows):
        level = "" if row.level is None else f", level {row.level}"
        labels = ", ".join(map(streams.plain, row.labels))
        tokens = _tokens(explanation, index)
        total = "" if tokens is None else f", {sum(map(len, tokens))} tokens"
        yield ""
        yield f'row {index + 1}: question "{streams.plain(row.question)}"{level}{total}, read at {labels}'
        yield from _pieces(row, tokens)


def _pieces(row: Row, tokens: Sequence[Sequence[int]] | None) -> Iterator[str]:
    piece = -1
    for index, segment in enumerate(row.segments):
        if index == row.cut and index:
            yield "  -- cut: what is above can be reused --"
        if index == 0 or not segment.join:
            piece += 1
            count = "tokens not shown by the engine" if tokens is None else f"{len(tokens[piece])} tokens"
            yield f"  piece {piece + 1}, {count}"
        role: str = segment.role
        for line in segment.text.split("\n"):
            yield f"    {role:<12} | {streams.plain(line)}"
            role = ""
    if row.cut == 0:
        yield "  -- no cut: nothing is reused --"


def _tokens(explanation: Explanation, row: int) -> Sequence[Sequence[int]] | None:
    return None if explanation.tokens is None else explanation.tokens[row]
