"""`report`: an error as one paragraph on standard error and an exit code."""

from __future__ import annotations

import sys
import traceback

import click

from tiebreak.cli.streams import complain, plain
from tiebreak.errors import TiebreakError

__all__ = ["report"]

USAGE = 2
FAILED = 4


def report(error: BaseException, *, verbose: bool) -> int:
    """Say what went wrong and what to do next.

    Args:
        error: what ended the command.
        verbose: print the traceback first.

    Returns:
        the exit code.
    """
    if verbose and not isinstance(error, click.ClickException):
        traceback.print_exception(type(error), error, error.__traceback__, file=sys.stderr)
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        error.show()  # the help text itself, on standard error
        return USAGE
    if isinstance(error, click.ClickException):
        complain(_paragraph(_usage(error)))
        return USAGE
    if isinstance(error, TiebreakError):
        complain(_paragraph(str(error)))
        return error.exit_code
    hint = "" if verbose else " Run it again with --verbose to see where."
    said = f": {error}" if str(error) else ""
    complain(
        _paragraph(
            f"unexpected {type(error).__name__}{said}. This is a defect of tiebreak or of the engine's plugin;"
            f" please report it.{hint}"
        )
    )
    return FAILED


def _usage(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "tiebreak"
    message = error.format_message().strip()
    if not message.endswith((".", "?", "!", ")")):
        message += "."
    dash = ""
    if isinstance(error, click.NoSuchOption):
        dash = " Text that begins with a dash goes after --."
    return f"{message}{dash} See `{path} --help`."


def _paragraph(text: str) -> str:
    """The text without blank lines: the lines of a log tail stay lines."""
    return "\n".join(plain(line.rstrip()) for line in text.splitlines() if line.strip())
