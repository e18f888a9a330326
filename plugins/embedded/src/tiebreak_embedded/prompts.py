"""`Prompts`: rows as tokens, a user's text never read as control tokens."""

from __future__ import annotations

import sys
import threading
from array import array
from collections import OrderedDict

import attrs

from tiebreak.plan import Piece, Row
from tiebreak_embedded.model import Model

__all__ = ["Prompt", "Prompts"]

_KEPT_BYTES = 2 << 20
_ENTRY = 256  # bytes of a piece and its place in the table, beside text and tokens


@attrs.frozen(eq=False)
class Prompt:
    """A row in tokens.

    Attributes:
        tokens: all of them.
        marks: lengths of the prefixes that end at a border of pieces up to the row's cut, rising: a
            checkpoint of these may be kept and reused. Empty where nothing may be.
    """

    tokens: array[int]
    marks: tuple[int, ...]


class Prompts:
    """Tokenises rows, and remembers the tokens of pieces that repeat, bounded in bytes.

    Thread-safe.

    Args:
        model: whose tokens they are.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._opening = array("i", model.opening())
        self._lock = threading.Lock()
        self._known: OrderedDict[Piece, array[int]] = OrderedDict()
        self._bytes = 0

    def of(self, row: Row) -> Prompt:
        """The prompt of a row.

        Raises:
            InvalidRequest: a text that is not valid Unicode.
        """
        tokens = self._opening[:]
        marks = []
        for piece in row.pieces(0, row.cut):
            tokens += self.piece(piece)
            marks.append(len(tokens))
        for piece in row.pieces(row.cut):
            tokens += self.piece(piece)
        # A state of one token cannot be decoded and kept (see `schedule`).
        return Prompt(tokens, tuple(mark for mark in marks if mark >= 2))

    def piece(self, piece: Piece) -> array[int]:
        """The tokens of one piece; nobody may change them."""
        with self._lock:
            known = self._known.get(piece)
            if known is not None:
                self._known.move_to_end(piece)
                return known
        tokens = array("i", self._model.tokenise(piece.text, special=piece.control))
        with self._lock:
            if piece not in self._known:
                self._known[piece] = tokens
                self._bytes += _size(piece, tokens)
                while self._bytes > _KEPT_BYTES:
                    self._bytes -= _size(*self._known.popitem(last=False))
        return tokens


def _size(piece: Piece, tokens: array[int]) -> int:
    return _ENTRY + sys.getsizeof(piece.text) + sys.getsizeof(tokens)
