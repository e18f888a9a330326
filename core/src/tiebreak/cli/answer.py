"""`answer`: what choose, check, rate and decide do with an inquiry."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from tiebreak.cli import streams
from tiebreak.cli.inquiry import Inquiry
from tiebreak.cli.progress import ProgressBar

if TYPE_CHECKING:
    from tiebreak.answers import Answer, Decision
    from tiebreak.questions import Request

__all__ = ["answer"]


def answer(inquiry: Inquiry) -> None:
    """Ask the engine and print what it decided.

    Raises:
        TiebreakError: whatever `Decider.decide` raises.
    """
    from tiebreak.questions import Request

    request = Request.of(inquiry.state, inquiry.questions)  # before any plugin is imported
    decision = _decide(request, inquiry)
    if inquiry.settings.verbose:
        _account(decision)
    if inquiry.settings.json:
        streams.emit_json(decision.as_dict())
    elif streams.is_terminal():
        from tiebreak.cli.chart import draw

        draw(inquiry.questions, decision)
    elif inquiry.single:
        streams.emit(_word(decision["answer"]))
    else:
        for name, each in decision.answers.items():
            streams.emit(f"{streams.plain(name)}\t{streams.plain(_word(each))}\t{each.probability!r}")


def _decide(request: Request, inquiry: Inquiry) -> Decision:
    from tiebreak.session import DecisionWarning

    warnings.simplefilter("always", DecisionWarning)  # inside the command line's own catch_warnings
    with streams.reserved(), ProgressBar() as progress, inquiry.settings.decider(progress) as decider:
        return decider.decide(request.state, request.questions)


def _account(decision: Decision) -> None:
    """What `--verbose` adds, on standard error: where the time went, what was reused, and who answered."""
    record = decision.as_dict()
    for part in ("timings_ms", "cache", "receipt"):
        shown = ", ".join(f"{name}={_figure(value)}" for name, value in record[part].items() if value not in (None, ""))
        streams.complain(f"{part}: {streams.plain(shown)}")


def _figure(value: object) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def _word(answer: Answer) -> str:
    """The value as one word or name."""
    if isinstance(answer.value, bool):
        return "yes" if answer.value else "no"
    return answer.value
