"""`tiebreak check`: say whether something holds."""

from __future__ import annotations

from typing import Any

import click

from tiebreak.cli import settings
from tiebreak.cli.inquiry import Act, Inquiry

__all__ = ["command"]


def command(act: Act) -> click.Command:
    """The command `check`, which hands what it was asked to `act`."""

    @click.command("check", short_help="Say whether something holds: yes or no.")
    @click.argument("state")
    @click.argument("question")
    @click.option("--yes", metavar="TEXT", help="What yes means here.")
    @click.option("--no", metavar="TEXT", help="What no means here.")
    @click.option("--state-json", is_flag=True, help="STATE is JSON, not text.")
    @settings.flags
    def check(state: str, question: str, yes: str | None, no: str | None, state_json: bool, **flags: Any) -> None:
        """Answer QUESTION about STATE with yes or no.

        STATE is the text itself, - for standard input, @FILE for a file (UTF-8, taken as it is, last line break
        included), or @@TEXT for text that begins with @. Arguments that begin with a dash go after --.

        On a terminal the probabilities are drawn. Anywhere else one line is printed: yes or no. The exit code is 0
        for both. With --json it is one object (answers, timings_ms, cache, receipt), where the value is true or false.
        """
        from tiebreak import yes_no
        from tiebreak.cli.state import read

        asked = yes_no(question, yes=yes, no=no)
        act(
            Inquiry(
                state=read(state, as_json=state_json),
                questions={"answer": asked},
                single=True,
                settings=settings.Settings(**flags),
            )
        )

    return check
