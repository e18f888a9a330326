"""`OnRay`: engines on a Ray cluster answer (`tiebreak[ray]`).

The table is dealt out in chunks of rows, as numbers only: each worker reads its own from the file, which every node
must see under the same path. A worker is an actor with one engine. Placement, back-pressure, and doing again what a
worker that died had in hand are Ray Data's; the order of the chunks is kept.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

import attrs

from tiebreak import errors
from tiebreak.datasets.answering import answered, identity
from tiebreak.datasets.table import MARKED, Survey, Table
from tiebreak.datasets.task import Cells, Task
from tiebreak.errors import EngineError, EngineUnavailable, InvalidRequest, TiebreakError

if TYPE_CHECKING:
    from tiebreak.decider import Decider

__all__ = ["OnRay", "Worker", "quiet"]

SCHEME = "ray"
LARGEST = 16 * MARKED
"""Rows of a chunk in a large table: what a worker that dies had in hand at most."""
CHUNKS_EACH = 8
"""Chunks for each worker in a small one, so that all end at about the same time."""


class OnRay:
    """Answers with engines on Ray; see `Answers`. A context: Ray is left at its end if it was started here.

    Args:
        address: `ray` for this machine, or the cluster that `RAY_ADDRESS` names; `ray://HOST:PORT` for a cluster.
        workers: engines, None for one on each node.
        make: makes the Decider of one worker; it is sent there.
        task: what is asked.

    Raises:
        InvalidRequest: another address.
        EngineUnavailable: Ray is not installed.
    """

    def __init__(self, address: str, workers: int | None, make: Callable[[], Decider], task: Task) -> None:
        if address != SCHEME and not address.startswith(f"{SCHEME}://"):
            raise InvalidRequest(f"--on is {address!r}; it is ray or ray://HOST:PORT.")
        self._address = None if address == SCHEME else address
        self._workers = workers
        self._make = make
        self._task = task
        self._own = False
        self._ray = _installed()

    def __enter__(self) -> OnRay:
        if not self._ray.is_initialized():
            here = self._address is None and not os.environ.get("RAY_ADDRESS")
            more = {"include_dashboard": False} if here else {}
            try:
                self._ray.init(address=self._address, log_to_driver=False, logging_level="warning", **more)
            except (ConnectionError, OSError, RuntimeError) as error:
                raise EngineUnavailable(
                    f"Ray cannot be reached at {self._address or 'this machine'}: {error}.",
                    remedy="Start the cluster, or correct the address.",
                ) from error
            self._own = True
        return self

    def __exit__(self, *error: object) -> None:
        if self._own:
            self._ray.shutdown()

    def answer(self, table: Table, survey: Survey, start: int, bind: Callable[[str], None]) -> Iterator[Cells]:
        """See `Answers.answer`."""
        import ray.data

        workers = self._workers or max(1, sum(bool(node["Alive"]) for node in self._ray.nodes()))
        chunks = Chunks.of(start, survey.rows, workers)
        table = type(table)(table.path.absolute(), table.form)  # a worker has a working directory of its own
        context = ray.data.DataContext.get_current()
        context.execution_options.preserve_order = True
        context.enable_progress_bars = False
        context.print_on_execution_start = False
        # One block for each chunk: what a worker takes at a time. Blocks that lie here, not read tasks: those would
        # need a processor, and the workers may have taken all of them.
        numbers = ray.data.from_items(
            [{"number": number} for number in range(chunks.count)], override_num_blocks=chunks.count
        )
        dataset = numbers.map_batches(
            Worker,
            batch_size=1,
            batch_format="numpy",
            compute=ray.data.ActorPoolStrategy(size=workers),
            fn_constructor_kwargs={
                "make": self._make,
                "task": self._task,
                "table": table,
                "survey": survey,
                "chunks": chunks,
            },
        )
        for row in dataset.iter_rows():
            found = json.loads(row["found"])
            if "failed" in found:
                raise _error(found["failed"])
            bind(found["engine"])
            yield from found["cells"]


@attrs.frozen(kw_only=True)
class Chunks:
    """How rows are dealt out: `count` chunks of `size`, from row `start` to before row `stop`."""

    start: int
    stop: int
    size: int

    @classmethod
    def of(cls, start: int, stop: int, workers: int) -> Chunks:
        """Chunks that keep so many workers busy."""
        fair = (stop - start) // (workers * CHUNKS_EACH)
        return cls(start=start, stop=stop, size=min(LARGEST, max(1, fair)))

    @property
    def count(self) -> int:
        """How many there are."""
        return -(-(self.stop - self.start) // self.size)

    def rows(self, number: int) -> tuple[int, int]:
        """The first row of a chunk, and how many it has."""
        first = self.start + number * self.size
        return first, min(self.size, self.stop - first)


class Worker:
    """One engine on Ray: an actor that is handed the numbers of chunks.

    A failure is handed back as data: raised, Ray would take it for a reason to try again, or wrap it up.
    """

    def __init__(
        self, *, make: Callable[[], Decider], task: Task, table: Table, survey: Survey, chunks: Chunks
    ) -> None:
        self._make = make
        self._task = task
        self._table = table
        self._survey = survey
        self._chunks = chunks
        self._decider: Decider | None = None

    def __call__(self, batch: Mapping[str, Any]) -> Mapping[str, Any]:
        """The results of each chunk as JSON: `engine` and `cells`, or `failed`."""
        return {"found": [json.dumps(self._chunk(int(number)), ensure_ascii=False) for number in batch["number"]]}

    def _chunk(self, number: int) -> Mapping[str, Any]:
        first, count = self._chunks.rows(number)
        try:
            if self._table.state()[0] != self._survey.state[0]:  # the time of change is each node's own affair
                raise InvalidRequest(
                    f"{self._table.path} is another file on this node.", remedy="Give all nodes the same files."
                )
            if self._decider is None:
                self._decider = self._make()
            engine = identity(self._decider.session, self._task)
            rows = islice(self._table.rows(self._survey, first), count)
            return {"engine": engine, "cells": list(answered(self._decider, self._task, rows))}
        except TiebreakError as error:
            kind = type(error).__name__
            return {"failed": {"kind": kind, "message": error.message, "remedy": error.remedy, "engine": error.engine}}


def quiet(done: int, total: int | None, what: str) -> None:
    """Nobody looks at the terminal of a worker."""


def _error(failed: Mapping[str, str]) -> TiebreakError:
    kind = getattr(errors, failed["kind"], EngineError)
    error: TiebreakError = kind(failed["message"], remedy=failed["remedy"], engine=failed["engine"])
    return error


def _installed() -> Any:
    try:
        import ray
    except ImportError:
        raise EngineUnavailable("Ray is not installed.", remedy="Install it: pip install 'tiebreak[ray]'.") from None
    return ray
