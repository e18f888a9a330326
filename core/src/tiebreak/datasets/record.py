"""`Record` and `BadRow`: what a row of a table is, or why it is none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

__all__ = ["BadRow", "Record", "Row"]


@attrs.frozen
class Record:
    """One row.

    Attributes:
        values: column name -> value, in the order of the file.
        raw: the row as it stands in a JSON Lines file, b"" in other formats.
    """

    values: Mapping[str, Any]
    raw: bytes = b""


@attrs.frozen
class BadRow:
    """A row that cannot be read; the rows around it can."""

    problem: str


Row = Record | BadRow
