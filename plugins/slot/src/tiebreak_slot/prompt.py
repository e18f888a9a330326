"""`Prompts`: rows as llama-server takes them, a user's text never read as control tokens.

A string in a prompt is tokenised by the server with control tokens on. So a string is sent only where its text spells
none; all else is sent as ids from `/tokenize` with control tokens off. The state is a string whenever it may be (one
round trip); the other pieces repeat between requests and are sent as ids that are kept here.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections import OrderedDict
from collections.abc import Generator, Iterable, Sequence
from functools import lru_cache
from typing import TypeVar

import attrs

from tiebreak.engine import Call, Reply
from tiebreak.errors import BadReply
from tiebreak.plan import Piece, Row
from tiebreak.refusal import refusal
from tiebreak_slot._wire import Tokens

__all__ = ["Prompt", "Prompts"]

K = TypeVar("K")
V = TypeVar("V")

KEPT_PIECES = 4096
KEPT_PROMPTS = 1024


@attrs.frozen(kw_only=True)
class Prompt:
    """One prompt for `/completion`.

    Attributes:
        parts: strings and token ids, mixed.
        head: tokens before the row's cut, None where they were not counted.
        tail: tokens after the row's cut, None where they were not counted.
    """

    parts: list[str | int]
    head: int | None
    tail: int | None

    def prefix(self, total: int) -> int:
        """Tokens before the cut of a prompt that has `total` of them."""
        if self.head is not None:
            return self.head
        return total if self.tail is None else total - self.tail

    @property
    def key(self) -> bytes:
        """Equal for equal prompts."""
        return hashlib.blake2b(repr(self.parts).encode(), digest_size=16).digest()


class Prompts:
    """Makes prompts, and remembers the tokens of pieces that repeat and the prompts that were sent.

    Args:
        control: spellings of the model's control tokens; None where nobody knows them, so that every
            text of a user goes through `/tokenize`.
    """

    def __init__(self, control: Iterable[str] | None) -> None:
        self.control = None if control is None else frozenset(control)
        self.first: tuple[int, ...] = ()
        """Token ids that every prompt begins with: the model's BOS where it wants one."""
        self._lock = threading.Lock()
        self._pieces: OrderedDict[Piece, list[int]] = OrderedDict()
        self._sent: OrderedDict[bytes, bool] = OrderedDict()

    def of(self, rows: Sequence[Row]) -> Generator[Call, Reply, list[Prompt]]:
        """The prompts of some rows."""
        prompts = []
        for row in rows:
            head: list[str | int] = list(self.first)
            for piece in row.pieces(0, row.cut):
                head += yield from self._part(row, piece)
            tail: list[str | int] = []
            for piece in row.pieces(row.cut):
                tail += yield from self._part(row, piece)
            parts = head + tail
            if not any(isinstance(part, int) for part in parts):
                # A list of strings alone would be read as several prompts.
                parts = [*(yield from self._ids(Piece(text="".join(map(str, parts)), control=False)))]
            prompts.append(Prompt(parts=parts, head=_count(head), tail=_count(tail)))
        return prompts

    def tokens(self, rows: Sequence[Row]) -> Generator[Call, Reply, list[list[list[int]]]]:
        """The token ids of every piece of every row."""
        everything = []
        for row in rows:
            pieces = []
            for piece in row.pieces():
                ids = yield from self._ids(piece)
                pieces.append(ids)
            everything.append(pieces)
        return everything

    def repeated(self, prompt: Prompt) -> bool:
        """Whether this very prompt was among the last that were asked about; counts it as one now."""
        key = prompt.key
        with self._lock:
            seen = self._sent.pop(key, False)
            _keep(self._sent, key, True, KEPT_PROMPTS)
        return seen

    def _part(self, row: Row, piece: Piece) -> Generator[Call, Reply, Sequence[str | int]]:
        state = row.text("state")
        changes = bool(state) and state in piece.text
        if changes and not piece.control and self._plain(piece.text):
            return [piece.text]
        return (yield from self._ids(piece, keep=not changes))

    def _ids(self, piece: Piece, *, keep: bool = False) -> Generator[Call, Reply, list[int]]:
        with self._lock:
            known = self._pieces.pop(piece, None)
            if known is not None:
                _keep(self._pieces, piece, known, KEPT_PIECES)
                return known
        body = {"content": piece.text, "add_special": False, "parse_special": piece.control}
        reply = yield Call.post("/tokenize", body)
        if reply.status != 200:
            raise refusal(reply, "slot")
        try:
            ids = Tokens.model_validate_json(reply.body).tokens
        except ValueError as error:
            raise BadReply(f"/tokenize answered what it should not: {error}", engine="slot") from None
        if keep:
            with self._lock:
                _keep(self._pieces, piece, ids, KEPT_PIECES)
        return ids

    def _plain(self, text: str) -> bool:
        """Whether a text spells no control token."""
        return self.control is not None and not _pattern(self.control).search(text)


def _count(parts: Sequence[str | int]) -> int | None:
    """How many tokens the parts are, None where a string among them hides it."""
    return len(parts) if all(isinstance(part, int) for part in parts) else None


def _keep(kept: OrderedDict[K, V], key: K, value: V, most: int) -> None:
    """Remember a value as the newest, and forget the oldest beyond `most`."""
    kept[key] = value
    while len(kept) > most:
        kept.popitem(last=False)


@lru_cache(maxsize=16)
def _pattern(control: frozenset[str]) -> re.Pattern[str]:
    if not control:
        return re.compile(r"(?!)")
    return re.compile("|".join(re.escape(word) for word in sorted(control, key=len, reverse=True) if word))
