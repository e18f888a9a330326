"""`tiebreak decide`: several questions about one state, from a JSON file."""

from __future__ import annotations

from typing import Any

import click

from tiebreak.cli import settings
from tiebreak.cli.inquiry import Act, Inquiry

__all__ = ["command"]


def command(act: Act) -> click.Command:
    """The command `decide`, which hands what it was asked to `act`."""

    @click.command("decide", short_help="Answer several questions about one state, from a JSON file.")
    @click.argument("request")
    @settings.flags
    def decide(request: str, **flags: Any) -> None:
        """Answer the questions in REQUEST, a JSON file or - for standard input.

        \b
        {"state": "The printer is on fire",
         "questions": {
           "team":   {"kind": "choice", "options": ["facilities", "sales"]},
           "urgent": {"kind": "yes_no", "question": "Is it urgent?"},
           "harm":   {"kind": "score", "question": "How bad?", "levels": ["low", "high"]}}}

        A state is text or JSON. Options and levels are a list of names or an object of name to description; yes_no
        also takes "yes" and "no", what each means.

        On a terminal the probabilities are drawn. Anywhere else there is one line per question: its name, its value
        and the probability of that value, separated by tabs (control characters in a name are written as \\t, \\n
        ...). With --json it is one object: answers, timings_ms, cache, receipt.
        """
        from tiebreak.cli.document import Document
        from tiebreak.cli.request_file import parse

        state, questions = parse(Document.read(request))
        act(Inquiry(state=state, questions=questions, single=False, settings=settings.Settings(**flags)))

    return decide
