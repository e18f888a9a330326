"""`tiebreak map`: questions about every row of a file."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tiebreak.cli import settings, streams
from tiebreak.errors import InvalidRequest

if TYPE_CHECKING:
    from tiebreak.datasets.job import Job, Outcome, Present

__all__ = ["command"]

F = TypeVar("F", bound=Callable[..., Any])

LONG = 64 << 20  # bytes


def _own(command: F) -> F:
    """Add the flags of this command itself, which its function gets as keywords."""
    for decorate in reversed(
        (
            click.option("-o", "--output", type=Path, required=True, metavar="FILE", help="Where the answers go."),
            click.option("--probabilities", is_flag=True, help="Add a column for the probability of each option."),
            click.option("--results-only", is_flag=True, help="Leave out the columns of INPUT."),
            click.option(
                "--resume", is_flag=True, help="Go on with a run that was stopped, or start where there is none."
            ),
            click.option("--overwrite", is_flag=True, help="Start over, and replace FILE when it is done."),
            click.option("--delimiter", metavar="CHAR", help="In a CSV input.  [default: a comma; a tab for .tsv]"),
            click.option("--quote", metavar="CHAR", help='In a CSV input.  [default: "]'),
            click.option("--on", metavar="ray[://HOST:PORT]", help="Run on Ray: here, or on a cluster."),
            click.option("--workers", type=click.IntRange(min=1), help="Engines on Ray.  [default: one for each node]"),
        )
    ):
        command = decorate(command)
    return command


@click.command("map", short_help="Answer questions about every row of a JSON Lines, CSV or Parquet file.")
@click.argument("questions")
@click.argument("source", metavar="INPUT", type=Path)
@_own
@settings.flags
def command(questions: str, source: Path, output: Path, **given: Any) -> None:
    """Answer QUESTIONS, a JSON file, about every row of INPUT (.jsonl, .csv, .tsv, .parquet).

    \b
    {"columns": ["subject", "body"],
     "questions": {
       "team":   {"kind": "choice", "options": ["facilities", "sales"]},
       "urgent": {"kind": "yes_no", "question": "Is it urgent?"}}}

    "columns" says what the state is: one name for that column's value, a list of names for an object of those, "*"
    for the whole row; without it, the column "state".

    The output holds the rows in their order, with value, probability, margin and error behind them (NAME.value ...
    where there are several questions). A row that fails gets its error and does not stop the others. FILE appears when
    it is whole; until then FILE.journal keeps what was answered, and --resume goes on from there after a kill or a
    power cut. Parquet needs tiebreak[map], --on ray needs tiebreak[ray].
    """
    present = _present(resume=given.pop("resume"), overwrite=given.pop("overwrite"))
    on, workers = given.pop("on"), given.pop("workers")
    if workers is not None and on is None:
        raise InvalidRequest("--workers is for --on ray.", remedy="Here there is one engine; see its own options.")
    from tiebreak.cli.document import Document
    from tiebreak.cli.request_file import parse_columns
    from tiebreak.datasets.job import Job, open_table
    from tiebreak.datasets.table import Form
    from tiebreak.datasets.task import Task

    columns, asked = parse_columns(Document.read(questions))
    task = Task(
        questions=asked,
        columns=columns,
        probabilities=given.pop("probabilities"),
        results_only=given.pop("results_only"),
    )
    delimiter = given.pop("delimiter")
    form = Form.of(source, "\t" if delimiter == r"\t" else delimiter, given.pop("quote"))
    job = Job(table=open_table(source, form), task=task, output=output, form=Form.of(output), present=present)
    _run(job, settings.Settings(**given), on, workers)


def _present(*, resume: bool, overwrite: bool) -> Present:
    if resume and overwrite:
        raise InvalidRequest("--resume and --overwrite exclude each other.", remedy="Leave one.")
    return "resume" if resume else "overwrite" if overwrite else "refuse"


def _run(job: Job, chosen: settings.Settings, on: str | None, workers: int | None) -> None:
    from tiebreak.cli.progress import ProgressBar
    from tiebreak.cli.rows import RowsBar

    job.check()
    with streams.reserved(), _hint(job):
        with ProgressBar() as looking:
            survey = job.survey(_looked(job, looking))
        with RowsBar(survey.rows) as bar, ProgressBar() as fetching:
            if on is None:
                from tiebreak.datasets.local import Local

                with chosen.decider(fetching, once=False) as decider:
                    outcome = job.run(survey, Local(decider, job.task), bar)
            else:
                from tiebreak.datasets.on_ray import OnRay, quiet

                maker = functools.partial(chosen.decider, quiet, once=False)
                with OnRay(on, workers, maker, job.task) as cluster:
                    outcome = job.run(survey, cluster, bar)
    _report(job, outcome, as_json=chosen.json)


def _looked(job: Job, bar: Callable[[int, int | None, str], None]) -> Callable[[int], None]:
    """Shows how much of a file was looked at, where that takes long enough for anybody to wonder."""
    size = job.table.state()[0]
    return lambda read: bar(read, size, f"checking {job.table.path}") if size > LONG else None


@contextlib.contextmanager
def _hint(job: Job) -> Iterator[None]:
    """Say how to go on after an interrupt."""
    try:
        yield
    except KeyboardInterrupt:
        if job.journal.exists():
            streams.complain(f"what was answered is kept in {job.journal}; go on with --resume.")
        raise


def _report(job: Job, outcome: Outcome, *, as_json: bool) -> None:
    for number, problem in outcome.errors:
        streams.complain(f"row {number:,}: {streams.plain(problem)}")
    more = outcome.failed - len(outcome.errors)
    if more > 0:
        streams.complain(f"... and {more:,} more; see the column error.")
    if as_json:
        streams.emit_json(
            {"output": str(job.output), "rows": outcome.rows, "failed": outcome.failed, "resumed": outcome.kept}
        )
    else:
        streams.emit(f"{streams.plain(str(job.output))}\t{outcome.rows}\t{outcome.failed}")
