"""`many`: a stream of requests, ordered for the cache and run side by side, answered in the caller's order."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import TYPE_CHECKING, Literal

from tiebreak.answers import Decision
from tiebreak.errors import InvalidRequest, TiebreakError
from tiebreak.plan import Direction
from tiebreak.questions import JSON, Question, Request

if TYPE_CHECKING:
    from tiebreak.session import Session

__all__ = ["OnError", "Row", "amany", "many"]

Row = tuple[JSON, Mapping[str, Question]]
OnError = Literal["raise", "return"]
Result = Decision | TiebreakError

WINDOW = 256
"""Requests that are read ahead: as far as they are ordered, and the most that are held."""


def many(session: Session, rows: Iterable[Row], timeout: float, on_error: OnError) -> Iterator[Result]:
    """Answer a stream of requests; see `Decider.decide_many`."""
    _check(on_error)
    source = iter(rows)
    with ThreadPoolExecutor(session.engine.capabilities.concurrency, thread_name_prefix="tiebreak") as pool:
        while batch := list(islice(source, WINDOW)):
            futures = {
                index: pool.submit(_attempt, row, lambda request: session.decide(request, timeout))
                for index, row in _ordered(batch, session.stages.layout.direction)
            }
            try:
                for index in range(len(batch)):
                    yield _handed(futures[index].result(), on_error)
            finally:
                for future in futures.values():
                    future.cancel()


async def amany(session: Session, rows: Iterable[Row], timeout: float, on_error: OnError) -> AsyncIterator[Result]:
    """The same from a task; see `Decider.adecide_many`."""
    _check(on_error)
    source = iter(rows)
    import asyncio

    gate = asyncio.Semaphore(session.engine.capabilities.concurrency)

    async def one(row: Row) -> Result:
        async with gate:
            try:
                return await session.adecide(Request.of(*row), timeout)
            except TiebreakError as error:
                return error

    while batch := list(islice(source, WINDOW)):
        ordered = _ordered(batch, session.stages.layout.direction)
        tasks = {index: asyncio.ensure_future(one(row)) for index, row in ordered}
        try:
            for index in range(len(batch)):
                yield _handed(await tasks[index], on_error)
        finally:
            for task in tasks.values():
                task.cancel()


def _check(on_error: str) -> None:
    if on_error not in ("raise", "return"):
        raise InvalidRequest(f"on_error is {on_error!r}; it is 'raise' or 'return'.")


def _attempt(row: Row, decide: Callable[[Request], Decision]) -> Result:
    try:
        return decide(Request.of(*row))
    except TiebreakError as error:
        return error


def _handed(result: Result, on_error: OnError) -> Result:
    if isinstance(result, TiebreakError) and on_error == "raise":
        raise result
    return result


def _ordered(batch: list[Row], direction: Direction) -> list[tuple[int, Row]]:
    """The rows with their places, those with the same reusable prefix side by side, first come first."""
    if direction == "opaque":
        return list(enumerate(batch))
    groups: dict[str, list[tuple[int, Row]]] = {}
    for index, row in enumerate(batch):
        groups.setdefault(repr(row[0] if direction == "state-first" else row[1]), []).append((index, row))
    return [pair for group in groups.values() for pair in group]
