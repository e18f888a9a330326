"""`many`: a stream of requests, ordered for the cache and run side by side, answered in the caller's order."""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import TYPE_CHECKING, Generic, Literal, Protocol, TypeVar

import attrs

from tiebreak.answers import Decision
from tiebreak.crew import Crew
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
"""Requests that are ordered together."""
AHEAD = 2
"""Windows that are asked: while the last requests of one are at work, the next one fills the places that they leave."""
REMEMBERED = 1024
"""Different requests whose decisions are kept for those that ask the same again."""


def many(session: Session, rows: Iterable[Row], timeout: float, on_error: OnError) -> Iterator[Result]:
    """Answer a stream of requests; see `Decider.decide_many`."""
    _check(on_error)
    reader = _Reader(rows, session.stages.layout.direction)
    first = reader.window()
    if first is None:
        reader.close()
        return
    session.start()  # only an engine that runs knows how many requests it works on
    # One thread for each place at the engine: further ones would take more turns than they save time. With one place
    # there is one thread, too: two could swap the order that the cache was promised.
    hands = session.capacity
    with ThreadPoolExecutor(hands, thread_name_prefix="tiebreak") as pool:
        crew: Crew[Request, Result] = Crew(pool, hands, lambda request: _attempt(session, request, timeout))
        asked = _Asked(crew.give)
        ahead = deque([asked.ask(first)])
        try:
            while ahead:
                while len(ahead) < AHEAD and (window := reader.window()) is not None:
                    ahead.append(asked.ask(window))
                crew.start()
                for pending in ahead[0]:
                    yield _handed(pending if isinstance(pending, TiebreakError) else pending.result(), on_error)
                    reader.read(1)  # all at once, it would keep the threads from the interpreter for milliseconds
                ahead.popleft()
            reader.close()
        finally:
            _cancel(ahead)


async def amany(session: Session, rows: Iterable[Row], timeout: float, on_error: OnError) -> AsyncIterator[Result]:
    """The same from a task; see `Decider.adecide_many`."""
    _check(on_error)
    reader = _Reader(rows, session.stages.layout.direction)
    first = reader.window()
    if first is None:
        reader.close()
        return
    import asyncio

    if not session.ready:
        await asyncio.to_thread(session.start)
    gate = asyncio.Semaphore(session.capacity)

    async def one(request: Request) -> Result:
        async with gate:
            try:
                return await session.adecide(request, timeout)
            except TiebreakError as error:
                return error

    asked = _Asked(lambda request: asyncio.ensure_future(one(request)))
    ahead = deque([asked.ask(first)])
    try:
        while ahead:
            while len(ahead) < AHEAD and (window := reader.window()) is not None:
                ahead.append(asked.ask(window))
            for pending in ahead[0]:
                yield _handed(pending if isinstance(pending, TiebreakError) else await pending, on_error)
                reader.read(1)  # all at once, it would hold up the event loop for milliseconds
            ahead.popleft()
        reader.close()
    finally:
        _cancel(ahead)


def _check(on_error: str) -> None:
    if on_error not in ("raise", "return"):
        raise InvalidRequest(f"on_error is {on_error!r}; it is 'raise' or 'return'.")


def _attempt(session: Session, request: Request, timeout: float) -> Result:
    try:
        return session.decide(request, timeout, patience=timeout)
    except TiebreakError as error:
        return error


def _handed(result: Result, on_error: OnError) -> Result:
    if isinstance(result, TiebreakError) and on_error == "raise":
        raise result
    return result


class _Pending(Protocol):
    """What a thread pool's futures and an event loop's have in common."""

    def done(self) -> bool: ...

    def cancelled(self) -> bool: ...

    def cancel(self) -> bool: ...

    def exception(self) -> BaseException | None: ...

    def result(self) -> Result: ...


F = TypeVar("F", bound=_Pending)


def _cancel(windows: Iterable[Sequence[_Pending | TiebreakError]]) -> None:
    for window in windows:
        for pending in window:
            if not isinstance(pending, TiebreakError):
                pending.cancel()


@attrs.frozen(kw_only=True)
class _Window:
    """Requests that were read together.

    Attributes:
        rows: per row the key of its request, or why there is none.
        order: the different requests by key, those with the same reusable prefix side by side, first come first.
    """

    rows: Sequence[bytes | TiebreakError]
    order: Mapping[bytes, Request]


class _Reader:
    """Reads rows in windows, checks each, and knows those that ask the same."""

    def __init__(self, rows: Iterable[Row], direction: Direction) -> None:
        self._source = iter(rows)
        self._direction = direction
        self._questions: tuple[tuple[str, Question], ...] = ()
        self._schema = b""
        self._rows: list[bytes | TiebreakError] = []
        self._groups: dict[bytes, dict[bytes, Request]] = {}
        self._failure: Exception | None = None

    def window(self) -> _Window | None:
        """The next rows, None where there are no more."""
        self.read(WINDOW)
        rows, groups = self._rows, self._groups
        self._rows, self._groups = [], {}
        if not rows:
            return None
        return _Window(rows=rows, order={key: request for group in groups.values() for key, request in group.items()})

    def close(self) -> None:
        """Raise what the source raised, after the rows before that were answered."""
        if self._failure is not None:
            raise self._failure

    def read(self, most: int) -> None:
        """Read so many rows of the next window, as far as it has room for them and there are any."""
        try:
            for row in islice(self._source, min(most, WINDOW - len(self._rows))):
                self._add(row)
        except Exception as failure:  # noqa: BLE001  it is raised in its place, see `close`
            self._failure, self._source = failure, iter(())

    def _add(self, row: Row) -> None:
        try:
            request = Request.of(*row)
        except InvalidRequest as error:
            self._rows.append(error)
            return
        state, schema = _digest(request.state), self._schema_of(request)
        prefix = {"state-first": state, "schema-first": schema, "opaque": b""}[self._direction]
        self._groups.setdefault(prefix, {}).setdefault(state + schema, request)
        self._rows.append(state + schema)

    def _schema_of(self, request: Request) -> bytes:
        """A digest of the questions, which are most often those of the row before."""
        questions = tuple(request.questions.items())
        if questions != self._questions:
            self._questions = questions
            self._schema = _digest([[name, attrs.asdict(question)] for name, question in questions])
        return self._schema


def _digest(value: JSON) -> bytes:
    # As JSON: two values with the same text there are laid out alike, whatever their types say of themselves.
    return hashlib.blake2b(json.dumps(value).encode(), digest_size=16).digest()


class _Asked(Generic[F]):
    """Asks every request once, and remembers the last different ones.

    Args:
        ask: sends a request on its way.
    """

    def __init__(self, ask: Callable[[Request], F]) -> None:
        self._ask = ask
        self._known: OrderedDict[bytes, F] = OrderedDict()

    def ask(self, window: _Window) -> Sequence[F | TiebreakError]:
        """What each row of a window will be answered with."""
        found: dict[bytes, F] = {}
        for key, request in window.order.items():
            pending = self._known.pop(key, None)
            if pending is None or _failed(pending):
                pending = self._ask(request)
            found[key] = self._known[key] = pending
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        return [found[row] if isinstance(row, bytes) else row for row in window.rows]


def _failed(pending: _Pending) -> bool:
    """Whether asking again may help."""
    if not pending.done():
        return False
    return pending.cancelled() or pending.exception() is not None or isinstance(pending.result(), TiebreakError)
