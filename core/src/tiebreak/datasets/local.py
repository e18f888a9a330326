"""`Local`: a Decider of this process answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import attrs

from tiebreak.datasets.answering import answered, identity
from tiebreak.datasets.table import Survey, Table
from tiebreak.datasets.task import Cells, Task

if TYPE_CHECKING:
    from tiebreak.decider import Decider

__all__ = ["Local"]


@attrs.frozen
class Local:
    """Answers with one Decider; see `Answers`."""

    decider: Decider
    task: Task

    def answer(self, table: Table, survey: Survey, start: int, bind: Callable[[str], None]) -> Iterator[Cells]:
        """See `Answers.answer`."""
        bind(identity(self.decider.session, self.task))
        yield from answered(self.decider, self.task, table.rows(survey, start))
