"""`tiebreak rate`: a place on an ordered rubric."""

from __future__ import annotations

from typing import Any

import click

from tiebreak.cli import settings
from tiebreak.cli.inquiry import Act, Inquiry, described

__all__ = ["command"]


def command(act: Act) -> click.Command:
    """The command `rate`, which hands what it was asked to `act`."""

    @click.command("rate", short_help="Place something on an ordered rubric.")
    @click.argument("state")
    @click.argument("question")
    @click.argument("levels", metavar="LEVEL...", nargs=-1, required=True)
    @click.option("--describe", metavar="NAME=TEXT", multiple=True, help="Describe a level; may be repeated.")
    @click.option("--state-json", is_flag=True, help="STATE is JSON, not text.")
    @settings.flags
    def rate(
        state: str, question: str, levels: tuple[str, ...], describe: tuple[str, ...], state_json: bool, **flags: Any
    ) -> None:
        """Rate STATE: which LEVEL, lowest first, answers QUESTION.

        STATE is the text itself, - for standard input, @FILE for a file (UTF-8, taken as it is, last line break
        included), or @@TEXT for text that begins with @. Arguments that begin with a dash go after --.

        On a terminal the probabilities are drawn. Anywhere else one line is printed: the level. With --json it is one
        object (answers, timings_ms, cache, receipt); `expected` there is the mean level, 0 for the first.
        """
        from tiebreak import score
        from tiebreak.cli.state import read

        asked = score(question, described(levels, describe))
        act(
            Inquiry(
                state=read(state, as_json=state_json),
                questions={"answer": asked},
                single=True,
                settings=settings.Settings(**flags),
            )
        )

    return rate
