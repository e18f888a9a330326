"""`Job`: one table to be worked through, from the first look at it to the finished file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Literal, Protocol

import attrs

from tiebreak import __version__
from tiebreak._store import sync_folder
from tiebreak.datasets.delimited import CsvTable, CsvWriter
from tiebreak.datasets.journal import Journal
from tiebreak.datasets.jsonl import JsonlTable, JsonlWriter
from tiebreak.datasets.record import Record
from tiebreak.datasets.table import Form, Survey, Table
from tiebreak.datasets.task import Cells, Task
from tiebreak.errors import InvalidRequest, TiebreakError

__all__ = ["Answers", "Job", "Outcome", "Present", "open_table"]

Present = Literal["refuse", "resume", "overwrite"]
LISTED = 10


class Answers(Protocol):
    """Who answers: this process, or many."""

    def answer(self, table: Table, survey: Survey, start: int, bind: Callable[[str], None]) -> Iterator[Cells]:
        """Cells for the rows from `start` on, in order.

        Args:
            table, survey: the input.
            start: the first row that has no cells yet.
            bind: told, before any cells, who answers: all about an engine that can change an output.

        Raises:
            TiebreakError: the engine cannot be started, would refuse every row, or cannot go on.
        """


@attrs.frozen(kw_only=True)
class Outcome:
    """How a job ended.

    Attributes:
        rows: in the output.
        kept: of these, how many an earlier run had answered.
        failed: rows with an error.
        errors: (number of the row, from 1; error) of the first of them.
    """

    rows: int
    kept: int
    failed: int
    errors: Sequence[tuple[int, str]]


@attrs.frozen(kw_only=True)
class Job:
    """One table, what is asked of it, and where the answers go.

    Attributes:
        table: the input.
        task: what is asked.
        output: the file to be made; it appears when it is finished, whole.
        form: how it is written.
        present: what to do where there is one already, or an unfinished run.
    """

    table: Table
    task: Task
    output: Path
    form: Form
    present: Present = "refuse"

    @property
    def journal(self) -> Path:
        """Where the journal lies while the job is unfinished."""
        return self.output.with_name(f"{self.output.name}.journal")

    def check(self) -> None:
        """Refuse what cannot end well, before anything is read.

        Raises:
            InvalidRequest: naming the file and what to do about it.
        """
        self.table.state()
        if not self.output.parent.is_dir():
            raise InvalidRequest(f"There is no directory {self.output.parent}.", remedy="Make it first.")
        there, unfinished = self.output.exists(), self.journal.exists()
        if there and (not self.output.is_file() or self.output.samefile(self.table.path)):
            raise InvalidRequest(f"{self.output} cannot be the output.", remedy="Name another file.")
        if self.present == "overwrite":
            return
        if unfinished and self.present == "refuse":
            raise InvalidRequest(
                f"A run for {self.output} is unfinished.", remedy="Go on with --resume, or start over with --overwrite."
            )
        if there and not unfinished:
            finished = ", and no run for it is unfinished" if self.present == "resume" else ""
            raise InvalidRequest(f"{self.output} exists{finished}.", remedy="Replace it with --overwrite.")

    def survey(self, seen: Callable[[int], None]) -> Survey:
        """Look at the whole input, and refuse it where this cannot be asked of it."""
        survey = self.table.survey(seen)
        if survey.rows:
            self.task.check(survey.columns, self.table.path)
        return survey

    def run(self, survey: Survey, answers: Answers, done: Callable[[int, int], None]) -> Outcome:
        """Work through the table and make the output.

        Args:
            survey: of the input.
            answers: who answers.
            done: told how many rows are answered, and how many of them were before.

        Raises:
            InvalidRequest: an unfinished run had other settings, or the input was changed meanwhile.
            TiebreakError: the engine cannot go on. What was answered stays in the journal.
        """
        with Journal(self.journal, self._settings(survey), again=self.present == "overwrite") as journal:
            kept = journal.rows
            if kept < survey.rows:
                done(kept, kept)
                for cells in answers.answer(self.table, survey, kept, journal.bind):
                    journal.append(cells)
                    done(journal.rows, kept)
            self.table.unchanged(survey)
            if journal.rows != survey.rows:
                raise TiebreakError(f"{journal.rows:,} of {survey.rows:,} rows were answered.", remedy="Use --resume.")
            failed, errors = self._publish(survey, journal.cells())
            journal.remove()
        return Outcome(rows=survey.rows, kept=kept, failed=failed, errors=errors)

    def _settings(self, survey: Survey) -> Mapping[str, Any]:
        return {
            "version": __version__,
            "input": survey.sha256,
            "form": attrs.asdict(self.table.form),
            **self.task.settings(),
            "output": attrs.asdict(self.form),
        }

    def _publish(self, survey: Survey, cells: Iterable[Cells]) -> tuple[int, Sequence[tuple[int, str]]]:
        """Write the output beside its place and put it there in one step."""
        unfinished = self.output.with_name(f"{self.output.name}.unfinished")
        failed, errors = 0, list[tuple[int, str]]()
        try:
            with unfinished.open("wb") as file:
                writer = self._writer(file, {} if self.task.results_only else survey.columns)
                rows = self.table.rows(survey)
                for number, (row, found) in enumerate(zip(rows, cells, strict=True), 1):
                    if found[-1] is not None:
                        failed += 1
                        if len(errors) < LISTED:
                            errors.append((number, found[-1]))
                    bare = self.task.results_only or not isinstance(row, Record)
                    writer.write(Record({}) if bare else row, found)
                writer.close()
                file.flush()
                os.fsync(file.fileno())
            unfinished.replace(self.output)
            sync_folder(self.output.parent)
        except OSError as error:
            raise TiebreakError(
                f"{self.output} cannot be written: {error.strerror or error}.",
                remedy="Make room, then go on with --resume: all rows are answered.",
            ) from error
        return failed, errors

    def _writer(self, file: IO[bytes], columns: Mapping[str, str]) -> Any:
        results = self.task.results
        if self.form.name == "jsonl":
            return JsonlWriter(file, list(results))
        if self.form.name == "csv":
            return CsvWriter(file, self.form, list(columns), list(results))
        from tiebreak.datasets.parquet import ParquetWriter

        return ParquetWriter(file, columns, results, self.table)


def open_table(path: Path, form: Form) -> Table:
    """The table that a file is.

    Raises:
        EngineUnavailable: it is Parquet, and pyarrow is not installed.
    """
    if form.name == "jsonl":
        return JsonlTable(path, form)
    if form.name == "csv":
        return CsvTable(path, form)
    from tiebreak.datasets.parquet import ParquetTable

    return ParquetTable(path, form)
