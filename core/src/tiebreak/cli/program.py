"""`program`: the commands, put together."""

from __future__ import annotations

from typing import Any

import click

from tiebreak import __version__
from tiebreak.cli import (
    check,
    choose,
    conformance,
    decide,
    doctor,
    engines,
    explain,
    models,
    pull,
    rate,
    scaffold,
    serve,
)
from tiebreak.cli.answer import answer
from tiebreak.cli.streams import output_closed

__all__ = ["program"]


class _Program(click.Group):
    """Lists commands in the order in which they were added, and reports a help text that nobody reads as such."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

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


for form in (choose, check, rate, decide):
    program.add_command(form.command(answer))
for each in (explain.command(), serve.command, engines.command, models.command, pull.command, doctor.command):
    program.add_command(each)
for each in (conformance.command, conformance.cards, scaffold.command):
    program.add_command(each)
