"""`answer`: what choose, check, rate and decide do with an inquiry."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import click

from tiebreak.cli import streams
from tiebreak.cli.clock import Clock
from tiebreak.cli.inquiry import Inquiry
from tiebreak.cli.progress import ProgressBar

if TYPE_CHECKING:
    from tiebreak.answers import Answer, Decision
    from tiebreak.decider import Decider
    from tiebreak.questions import Request

__all__ = ["answer"]


def answer(inquiry: Inquiry) -> None:
    """Ask the engine and print what it decided.

    Raises:
        TiebreakError: whatever `Decider.decide` raises.
    """
    from tiebreak.questions import Request

    request = Request.of(inquiry.state, inquiry.questions)  # before any plugin is imported
    with _decided(request, inquiry) as decision:
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


@contextmanager
def _decided(request: Request, inquiry: Inquiry) -> Iterator[Decision]:
    """The decision, while the engine is still there: nobody has to wait for its end to read the answer."""
    clock = click.get_current_context().find_object(Clock) or Clock()
    clock.lap("command")
    with ExitStack() as closing:
        with streams.reserved(), ProgressBar() as progress:
            decider = inquiry.settings.decider(progress)
            closing.callback(_close, decider)
            from tiebreak.session import DecisionWarning

            warnings.simplefilter("always", DecisionWarning)  # inside the command line's own catch_warnings
            session = decider.session
            clock.lap("bind")
            decision = decider.decide(request.state, request.questions)
            clock.lap("start and decide")
        if inquiry.settings.verbose:
            _account(decision, clock.parts, session.engine.phases)
        yield decision


def _close(decider: Decider) -> None:
    with streams.reserved():
        decider.close()


def _account(decision: Decision, parts: Mapping[str, float], phases: Mapping[str, float]) -> None:
    """What `--verbose` adds, on standard error: where the time went, what was reused, and who answered."""
    record = {"command_ms": parts, "start_ms": phases, **decision.as_dict()}
    for part in ("command_ms", "start_ms", "timings_ms", "cache", "receipt"):
        shown = ", ".join(f"{name}={_figure(value)}" for name, value in record[part].items() if value not in (None, ""))
        if shown:
            streams.complain(f"{part}: {streams.plain(shown)}")


def _figure(value: object) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def _word(answer: Answer) -> str:
    """The value as one word or name."""
    if isinstance(answer.value, bool):
        return "yes" if answer.value else "no"
    return answer.value
