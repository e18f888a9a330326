"""`many`: a stream of requests, ordered for the cache and run side by side, answered in the caller's order."""

from __future__ import annotations

import hashlib
import json
import time
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import TYPE_CHECKING, Generic, Literal, Protocol, TypeVar

import attrs

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
"""Requests that are ordered together."""
AHEAD = 2
"""Windows that are held: while the last requests of one are at work, the next one fills the places that they leave."""
PAUSE = 0.005
"""Seconds that an answer which is not there yet is left alone: to be woken by every single one takes more of the
interpreter than the answers do, where an engine gives many of them in a millisecond or two."""
REMEMBERED = 1024
"""Different requests whose decisions are kept for those that ask the same again."""


def many(session: Session, rows: Iterable[Row], timeout: float, on_error: OnError) -> Iterator[Result]:
    """Answer a stream of requests; see `Decider.decide_many`."""
    _check(on_error)
    reader = _Reader(rows, session.stages.layout.direction)
    first = reader.window()
    if first is None:
        return
    session.start()  # only an engine that runs knows how many requests it works on
    with ThreadPoolExecutor(_workers(session), thread_name_prefix="tiebreak") as pool:
        asked = _Asked(lambda request: pool.submit(_attempt, session, request, timeout))
        ahead = deque([asked.ask(first)])
        try:
            while ahead:
                while len(ahead) < AHEAD and (window := reader.window()) is not None:
                    ahead.append(asked.ask(window))
                for pending in ahead[0]:
                    if not isinstance(pending, TiebreakError) and not pending.done():
                        time.sleep(PAUSE)
                    yield _handed(pending if isinstance(pending, TiebreakError) else pending.result(), on_error)
                ahead.popleft()
        finally:
            _cancel(ahead)


async def amany(session: Session, rows: Iterable[Row], timeout: float, on_error: OnError) -> AsyncIterator[Result]:
    """The same from a task; see `Decider.adecide_many`."""
    _check(on_error)
    reader = _Reader(rows, session.stages.layout.direction)
    first = reader.window()
    if first is None:
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
            ahead.popleft()
    finally:
        _cancel(ahead)


def _workers(session: Session) -> int:
    """Threads that keep every place at the engine taken: while all of them wait for it, one more lays out and reads.

    Further ones would only take turns with each other. With one place there is one thread: two could swap the order
    that the cache was promised.
    """
    capacity = session.capacity
    return capacity + min(1, session.opened.admission.queue_limit) if capacity > 1 else 1


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

    def window(self) -> _Window | None:
        """The next rows, None where there are no more."""
        rows: list[bytes | TiebreakError] = []
        groups: dict[bytes, dict[bytes, Request]] = {}
        for row in islice(self._source, WINDOW):
            try:
                request = Request.of(*row)
            except InvalidRequest as error:
                rows.append(error)
                continue
            state, schema = _digest(request.state), self._schema_of(request)
            prefix = {"state-first": state, "schema-first": schema, "opaque": b""}[self._direction]
            groups.setdefault(prefix, {}).setdefault(state + schema, request)
            rows.append(state + schema)
        if not rows:
            return None
        return _Window(rows=rows, order={key: request for group in groups.values() for key, request in group.items()})

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
