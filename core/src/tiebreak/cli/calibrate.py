"""`tiebreak calibrate`: fit temperatures on labelled answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from tiebreak.cli import streams
from tiebreak.cli.progress import ProgressBar
from tiebreak.cli.settings import Settings, flags
from tiebreak.errors import InvalidRequest

if TYPE_CHECKING:
    from tiebreak.calibration import Labelled, Profile

__all__ = ["command"]


@click.command("calibrate", short_help="Fit temperatures on answers that are known.")
@click.argument("labelled", metavar="FILE.jsonl")
@click.option("-o", "--output", metavar="FILE", required=True, help="Where the profile goes.")
@click.option(
    "--held-out", type=float, default=0.2, show_default=True, metavar="SHARE", help="Share of the states for the check."
)
@flags
def command(labelled: str, output: str, held_out: float, **given: Any) -> None:
    """Fit one temperature per question kind on answers that are known, and check it on rows that were held out.

    Each line of FILE.jsonl is a request as `tiebreak decide` takes it, with the right answers beside it:

    \b
    {"state": "It burns!",
     "questions": {"urgent": {"kind": "yes_no", "question": "Is it urgent?"}},
     "answers": {"urgent": true}}

    The profile is for this model, layout and readout alone; use it with --calibration FILE, or
    Decider(calibration=FILE). A kind whose right answers held out do not become more probable keeps its temperature.
    Where no kind does, nothing is written and the exit code is 2.
    """
    from tiebreak.calibration import calibrate

    rows = list(_rows(labelled))
    settings = Settings(**given)
    with streams.reserved(), ProgressBar() as progress, settings.decider(progress) as decider:
        streams.complain(f"asking {len(rows):,} rows")
        profile = calibrate(decider, rows, held_out=held_out)
    if profile.temperature:
        profile.save(output)
    if settings.json:
        streams.emit_json(profile.as_dict())
    else:
        _show(profile)
    if not profile.temperature:
        raise InvalidRequest(
            "No kind becomes better on the rows held out; nothing was written.", remedy="Label more rows."
        )


def _rows(place: str) -> Iterator[Labelled]:
    """The rows of a file; empty lines are passed over.

    Raises:
        InvalidRequest: naming the line and what is wrong in it.
    """
    from tiebreak.calibration import Labelled
    from tiebreak.cli.document import Document
    from tiebreak.cli.request_file import request_of

    whole = Document.read(place)
    for number, line in enumerate(whole.text.split("\n"), 1):
        if not line.strip():
            continue
        source = f"line {number} of {whole.source}"
        value = Document(text=line, source=source).json()
        answers = value.pop("answers", None) if isinstance(value, dict) else None
        if not isinstance(answers, dict):
            raise InvalidRequest(f"{source}: answers is missing, or no object.", remedy='Write "answers": {...}.')
        try:
            yield Labelled.of(*request_of(value, source), answers)
        except InvalidRequest as error:
            text = error.message if source in error.message else f"{source}: {error.message}"
            raise InvalidRequest(text, remedy=error.remedy) from None


def _show(profile: Profile) -> None:
    from tiebreak.cli.listing import Listing

    Listing(
        columns=("kind", "temperature", "fitted on", "held out", "loss", "error", "used"),
        rows=[
            (
                kind,
                f"{fitted.temperature:.3f}",
                str(fitted.fitted_on),
                str(fitted.held_out),
                f"{fitted.loss_before:.3f} > {fitted.loss_after:.3f}",
                f"{fitted.error_before:.3f} > {fitted.error_after:.3f}",
                "yes" if fitted.better else "no",
            )
            for kind, fitted in profile.kinds.items()
        ],
    ).show()
