"""`tiebreak choose`: pick one of several options."""

from __future__ import annotations

from typing import Any

import click

from tiebreak.cli import settings
from tiebreak.cli.inquiry import Act, Inquiry, described

__all__ = ["command"]


def command(act: Act) -> click.Command:
    """The command `choose`, which hands what it was asked to `act`."""

    @click.command("choose", short_help="Pick one of several options.")
    @click.argument("state")
    @click.argument("option_names", metavar="OPTION...", nargs=-1, required=True)
    @click.option("--question", metavar="TEXT", help='What is asked.  [default: "Which option fits best?"]')
    @click.option("--describe", metavar="NAME=TEXT", multiple=True, help="Describe an option; may be repeated.")
    @click.option("--state-json", is_flag=True, help="STATE is JSON, not text.")
    @settings.flags
    def choose(
        state: str,
        option_names: tuple[str, ...],
        question: str | None,
        describe: tuple[str, ...],
        state_json: bool,
        **flags: Any,
    ) -> None:
        """Pick the OPTION that fits STATE best.

        STATE is the text itself, - for standard input, @FILE for a file (UTF-8, taken as it is, last line break
        included), or @@TEXT for text that begins with @. Arguments that begin with a dash go after --.

        On a terminal the probabilities are drawn. Anywhere else one line is printed: the name of the chosen option.
        With --json it is one object: answers, timings_ms, cache, receipt.
        """
        from tiebreak import choice
        from tiebreak.cli.state import read

        asked = choice(question, described(option_names, describe))
        act(
            Inquiry(
                state=read(state, as_json=state_json),
                questions={"answer": asked},
                single=True,
                settings=settings.Settings(**flags),
            )
        )

    return choose
