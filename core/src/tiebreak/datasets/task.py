"""`Task`: what is asked of every row of a table, and what its answer becomes in the output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from tiebreak.answers import Decision
from tiebreak.datasets.record import Record
from tiebreak.errors import InvalidRequest, TiebreakError
from tiebreak.names import unknown
from tiebreak.questions import JSON, Question

__all__ = ["ERROR", "WHOLE_ROW", "Cells", "Task", "problem"]

ERROR = "error"
WHOLE_ROW = "*"
STATE = "state"

Cells = Sequence[Any]
"""The values that a row gets in the result columns."""


@attrs.frozen(kw_only=True)
class Task:
    """Questions about every row.

    Attributes:
        questions: name -> question.
        columns: the state: one column's value (a name), an object of several (a tuple of names), an object of all
            (`*`); None for the column `state`.
        probabilities: one more column for each option.
        results_only: leave out what the input said.
    """

    questions: Mapping[str, Question]
    columns: str | tuple[str, ...] | None = None
    probabilities: bool = False
    results_only: bool = False

    def state(self, row: Record) -> JSON:
        """The state that a row is.

        Raises:
            InvalidRequest: it lacks a column.
        """
        columns = STATE if self.columns is None else self.columns
        if columns == WHOLE_ROW:
            return dict(row.values)
        names = (columns,) if isinstance(columns, str) else columns
        for name in names:
            if name not in row.values:
                raise InvalidRequest(f"The row has no {name!r}.")
        if isinstance(columns, str):
            state: JSON = row.values[columns]
            return state
        return {name: row.values[name] for name in columns}

    @property
    def results(self) -> Mapping[str, str]:
        """The columns that are added: name -> type, as in `Survey.columns`."""
        found: dict[str, str] = {}
        for name, question in self.questions.items():
            prefix = "" if len(self.questions) == 1 else f"{name}."
            columns = {
                f"{prefix}value": "bool" if question.kind == "yes_no" else "text",
                f"{prefix}probability": "number",
                f"{prefix}margin": "number",
            }
            if self.probabilities:
                columns |= {f"{prefix}probabilities.{option}": "number" for option in question.names}
            twice = next((column for column in columns if column in found), None)
            if twice is not None:
                raise InvalidRequest(f"Two results would be called {twice!r}.", remedy="Rename a question.")
            found |= columns
        if ERROR in found:
            raise InvalidRequest(f"Two results would be called {ERROR!r}.", remedy="Rename a question.")
        return {**found, ERROR: "text"}

    def check(self, columns: Mapping[str, str], source: object) -> None:
        """Refuse a table that this cannot be asked of.

        Args:
            columns: those of the table.
            source: what to call it.

        Raises:
            InvalidRequest: it has no such column, or one that is called like a result.
        """
        if self.columns is None and STATE not in columns:
            raise InvalidRequest(
                f"{source} has no column {STATE!r}, and the questions do not say what the state is.",
                remedy=f'Add "columns" to the questions: a name, a list of names, or "*" for the whole row. '
                f"There are: {', '.join(columns)}.",
            )
        names = (self.columns,) if isinstance(self.columns, str) else self.columns or ()
        for name in names:
            if name not in columns and (name != WHOLE_ROW or not isinstance(self.columns, str)):
                raise InvalidRequest(f"{source}: {unknown('column', name, columns)}")
        taken = [name for name in self.results if name in columns]
        if taken and not self.results_only:
            raise InvalidRequest(
                f"{source} already has a column {taken[0]!r}, as a result would be called.",
                remedy="Rename it, ask under another name, or leave the input out with --results-only.",
            )

    def cells(self, decision: Decision) -> Cells:
        """What a row gets for its decision."""
        found: list[Any] = []
        for name in self.questions:
            answer = decision[name]
            found += (answer.value, answer.probability, answer.margin)
            if self.probabilities:
                found += answer.probabilities.values()
        return [*found, None]

    def failed(self, problem: str) -> Cells:
        """What a row gets that has no decision."""
        return [None] * (len(self.results) - 1) + [problem]

    def settings(self) -> Mapping[str, Any]:
        """All that can change the output, as JSON."""
        return {
            "questions": [[name, attrs.asdict(question)] for name, question in self.questions.items()],
            "columns": self.columns if self.columns is None or isinstance(self.columns, str) else list(self.columns),
            "probabilities": self.probabilities,
            "results_only": self.results_only,
        }


def problem(error: TiebreakError) -> str:
    """An error as one cell: its kind and what was wrong; not the engine's log, which is another one every time."""
    return f"{type(error).__name__}: {error.message}"
