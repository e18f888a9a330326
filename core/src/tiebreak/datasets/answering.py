"""`answered`: rows in, what they get in the result columns out, in order; and which failures end a run."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from tiebreak.answers import Decision
from tiebreak.datasets.record import BadRow, Row
from tiebreak.datasets.task import Cells, Task, problem
from tiebreak.errors import (
    AuthError,
    EngineError,
    EngineStartError,
    EngineUnavailable,
    InvalidRequest,
    MemoryRefused,
    QuotaError,
    TiebreakError,
    Unsupported,
)
from tiebreak.questions import Request

if TYPE_CHECKING:
    from tiebreak.decider import Decider
    from tiebreak.session import Session

__all__ = ["answered", "identity"]

LASTING = (AuthError, EngineStartError, EngineUnavailable, MemoryRefused, QuotaError)
"""What would fail every further row, too."""
FAILURES_IN_A_ROW = 20
"""After so many rows, one after another, at which the engine failed, it is asked whether it works at all."""
MOST_HELD = 1000
"""Rows that wait for that at most."""
PROBE = "The parcel came on Friday."


def answered(decider: Decider, task: Task, rows: Iterable[Row]) -> Iterator[Cells]:
    """Ask about every row, as many at a time as the engine works on.

    A row at which the engine failed is asked about again by itself: its neighbours may have been the cause. Where that
    fails, too, the engine has to answer something else, and the row is asked about a last time, before it gets an
    error; what is wrong with the engine ends the run.

    Args:
        decider: who is asked.
        task: what is asked.
        rows: in order; read a little ahead.

    Yields:
        for each row its cells.

    Raises:
        TiebreakError: the engine cannot go on; no cells were yielded for the rows that it failed at.
    """
    waiting: deque[Any] = deque()

    def requests() -> Iterator[Any]:
        for row in rows:
            try:
                state: Any = row if isinstance(row, BadRow) else task.state(row)
            except InvalidRequest as error:
                state = BadRow(error.message)
            waiting.append(state)
            # A bad row is no state, and refused as such in its place.
            yield state, task.questions

    doubtful = _Doubtful(decider, task)
    for found in decider.decide_many(requests(), on_error="return"):
        state = waiting.popleft()
        result = _asked(decider, task, state) if isinstance(found, EngineError) else found
        if isinstance(result, LASTING):
            raise result
        if isinstance(result, Decision):
            if doubtful:  # this answer may be older than their failures: the engine has to answer now
                yield from doubtful.settle()
            yield task.cells(result)
        elif isinstance(result, (EngineError, Unsupported)):
            doubtful.add(state, task.failed(problem(result)), result)
        else:  # the row's own fault, which says nothing about the engine
            said = f"BadRow: {state.problem}" if isinstance(state, BadRow) else problem(result)
            if not doubtful:
                yield task.failed(said)
            else:
                doubtful.add(state, task.failed(said))
        if doubtful.failures >= FAILURES_IN_A_ROW or len(doubtful) >= MOST_HELD:
            yield from doubtful.settle()
    if doubtful:
        yield from doubtful.settle()


class _Doubtful:
    """Rows since the engine last failed: whether it or they are to blame is not known yet."""

    def __init__(self, decider: Decider, task: Task) -> None:
        self.failures = 0
        """How many of them the engine failed at."""
        self._decider = decider
        self._task = task
        self._rows: list[tuple[Any, Cells, bool]] = []
        self._last: TiebreakError | None = None

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, state: Any, cells: Cells, failure: TiebreakError | None = None) -> None:
        """Hold a row back, with the cells that it gets if the engine is not to blame."""
        self._rows.append((state, cells, failure is not None))
        self._last = failure or self._last
        self.failures += failure is not None

    def settle(self) -> Iterator[Cells]:
        """Their cells, after the engine has answered something else, and was asked about each once more.

        Raises:
            TiebreakError: it does not answer that either.
        """
        if isinstance(_asked(self._decider, self._task, PROBE), TiebreakError):
            assert self._last is not None
            self._last.message += f" (The engine failed at {self.failures} rows, one after another.)"
            raise self._last
        rows, self._rows, self.failures = self._rows, [], 0
        for state, cells, failed in rows:
            result = _asked(self._decider, self._task, state) if failed else None
            if isinstance(result, LASTING):
                raise result
            yield self._task.cells(result) if isinstance(result, Decision) else cells


def identity(session: Session, task: Task) -> str:
    """All about the engine that can change an output; it is started for that.

    Raises:
        InvalidRequest, Unsupported: it would refuse these questions at every row, naming the limit or the kind.
        TiebreakError: it cannot be started.
    """
    request, name = Request.of("state", task.questions), session.engine.info.name
    session.engine.capabilities.check(request, name)
    receipt, reading = session.receipt(), session.stages.reading
    session.engine.limits.check(request, name)  # what it says of itself when it runs
    return f"{receipt.fingerprint} strict={reading.strict} min_coverage={reading.min_coverage}"


def _asked(decider: Decider, task: Task, state: Any) -> Decision | TiebreakError:
    try:
        return decider.decide(state, task.questions)
    except TiebreakError as error:
        return error
