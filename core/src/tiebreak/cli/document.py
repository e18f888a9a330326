"""`Document`: text that comes from a file or from standard input, and JSON in it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import attrs

from tiebreak.errors import InvalidRequest

__all__ = ["Document"]


@attrs.frozen(kw_only=True)
class Document:
    """Text, and what to call the place that it came from in a message."""

    text: str
    source: str

    @classmethod
    def read(cls, place: str) -> Document:
        """Read a file, or standard input for `-`, as UTF-8; a byte order mark is not part of the text.

        Raises:
            InvalidRequest: it cannot be read, or is not UTF-8.
        """
        if place == "-":
            source = "standard input"
            if sys.stdin is None:
                raise InvalidRequest("Standard input is closed.", remedy="Pass the text itself, or @FILE.")
            return cls(text=_decode(sys.stdin.buffer.read(), source), source=source)
        source = f"file {place!r}"
        try:
            raw = Path(place).read_bytes()
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise InvalidRequest(f"The {source} cannot be read: {why}.", remedy="Check the path.") from error
        return cls(text=_decode(raw, source), source=source)

    def json(self) -> Any:
        """The JSON value that the text is.

        Raises:
            InvalidRequest: with line and column; also for NaN and for a key that is given twice.
        """
        try:
            return json.loads(self.text, object_pairs_hook=_object, parse_constant=_constant)
        except json.JSONDecodeError as error:
            where = f"line {error.lineno}, column {error.colno}"
            raise InvalidRequest(f"The {self.source} is not JSON: {error.msg} at {where}.") from None
        except RecursionError:
            raise InvalidRequest(f"The {self.source} is nested too deeply to be read.") from None
        except ValueError as error:
            raise InvalidRequest(f"The {self.source} is not JSON that can be used: {error}.") from None


def _decode(raw: bytes, source: str) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidRequest(
            f"The {source} is not UTF-8: byte 0x{raw[error.start]:02x} at position {error.start:,}.",
            remedy="Convert it first, for example with iconv.",
        ) from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} is given twice in one object")
    return value


def _constant(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")
