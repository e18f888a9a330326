"""The command line: `tiebreak`, also `python -m tiebreak`."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from tiebreak.cli.clock import Clock

__all__ = ["main", "run"]

ASKING = ("choose", "check", "rate", "decide")
"""Commands that ask one question form and hand it to whoever answers; each is a room of its name."""

OUTPUT_CLOSED = 141
"""128 + SIGPIPE: what a shell reports for a program whose reader went away."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and end the process with its exit code.

    Args:
        arguments: without the program's name; None takes the process's own.
    """
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: Sequence[str]) -> int:
    """Run one command, stop whatever engines it started, and say how it went.

    Returns:
        the exit code: 0; 2 invalid request or usage; 3 engine unavailable or not started; 4 engine failed or refused;
        5 memory refused; 130 interrupted, 143 terminated; 141 the reader of the output went away.
    """
    from tiebreak.cli import streams
    from tiebreak.cli.clock import Clock
    from tiebreak.cli.interrupts import Interrupts

    clock = Clock()
    streams.prepare()
    verbose = "--verbose" in itertools.takewhile(lambda argument: argument != "--", arguments)
    with Interrupts() as interrupts, streams.warnings_as_lines():
        try:
            try:
                if arguments and arguments[0] in ASKING and "--help" not in arguments:
                    from tiebreak import ahead

                    ahead.begin(arguments)
                code = _invoke(arguments, clock)
            finally:
                _stop_engines()
        except KeyboardInterrupt:
            code = interrupts.exit_code
            streams.complain("interrupted." if code == 130 else "terminated.")
        except streams.OutputClosedError:
            code = OUTPUT_CLOSED
        except BaseException as error:  # noqa: BLE001  an engine's SystemExit is a failure too, not a quiet success
            from tiebreak.cli.failure import report

            code = report(error, verbose=verbose)
        streams.settle()
    return code


def _invoke(arguments: Sequence[str], clock: Clock) -> int:
    import click

    from tiebreak.cli.program import program

    try:
        return program.main(list(arguments), prog_name="tiebreak", standalone_mode=False, obj=clock) or 0
    except click.Abort:  # how click passes an interrupt on
        raise KeyboardInterrupt from None


def _stop_engines() -> None:
    """Nothing was started where the module that starts engines was never loaded."""
    shared, launch, ahead = (sys.modules.get(f"tiebreak.{name}") for name in ("shared", "launch", "ahead"))
    if shared is not None:
        shared.shutdown()
    if launch is not None:
        launch.LAUNCHES.dismiss()
    if ahead is not None:
        ahead.dismiss()
