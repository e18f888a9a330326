"""`program`: the commands, put together."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

from tiebreak import __version__
from tiebreak.cli import ASKING
from tiebreak.cli.streams import output_closed

__all__ = ["program"]

COMMANDS = {
    "map": "map:command",
    "calibrate": "calibrate:command",
    "serve": "serve:command",
    "engines": "engines:command",
    "models": "models:command",
    "pull": "pull:command",
    "doctor": "doctor:command",
    "bench": "bench:command",
    "conformance": "conformance:command",
    "cards": "conformance:cards",
    "new-engine": "scaffold:command",
}
"""The others: name -> room and what in it is the command."""


class _Program(click.Group):
    """Imports a command when it is asked for, and reports a help text that nobody reads as such."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*ASKING, "explain", *COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in ASKING:
            from tiebreak.cli.answer import answer

            found: click.Command = _room(cmd_name).command(answer)
        elif cmd_name == "explain":
            found = _room("explain").command()
        elif cmd_name in COMMANDS:
            room, _, attribute = COMMANDS[cmd_name].partition(":")
            found = getattr(_room(room), attribute)
        else:
            return None
        return found

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        with output_closed():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        with output_closed():
            return super().invoke(ctx)


@click.group(
    "tiebreak",
    cls=_Program,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, message="tiebreak %(version)s")
def program() -> None:
    """Decisions from language models: one forward pass, probabilities over your options, any engine.

    \b
    tiebreak choose "The printer is on fire" facilities sales legal
    tiebreak check @mail.txt "Is the sender angry?"
    git diff | tiebreak rate - "How risky is this change?" low medium high

    Results go to standard output, everything else to standard error. Exit codes: 0; 2 invalid request or usage;
    3 engine unavailable or not started; 4 engine failed or refused; 5 memory refused; 130 interrupted (143
    terminated); 141 the reader of the output went away.
    """


def _room(name: str) -> Any:
    return import_module(f"tiebreak.cli.{name}")
