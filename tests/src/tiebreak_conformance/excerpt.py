"""`excerpt`, `brief`, `usual`: what a cassette keeps of replies, of long requests, and of what all requests share."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["ABSENT", "Reads", "brief", "excerpt", "shared", "usual", "without"]

Reads = Mapping[str, Any]
"""Path -> the type, as pydantic takes it, with which an engine reads the replies of that path."""

LONGEST = 300
"""Characters of JSON beyond which a part of a request is kept as its beginning and its hash."""
BEGINNING = {str: 160, list: 12}
ABSENT = "(absent)"
"""Stands in a line for a member that is usual and not there."""


def excerpt(content: bytes, reads: Any) -> bytes:
    """A reply, reduced to the fields of the type that it is read with.

    Args:
        content: a body of JSON.
        reads: a pydantic model or another type that pydantic validates.

    Returns:
        the reduced body; the body as it is where it is not of the type.

    Raises:
        AssertionError: the reduced body does not read as the whole one does.
    """
    from pydantic import TypeAdapter, ValidationError

    adapter = TypeAdapter(reads)
    try:
        whole = adapter.validate_json(content)
    except ValidationError:
        return content
    reduced = adapter.dump_json(whole, by_alias=True, exclude_unset=True)
    assert adapter.validate_json(reduced) == whole, "a reduced reply does not read as the whole one does"
    return reduced


def brief(value: Any) -> Any:
    """A request body whose long texts and lists are reduced to what tells them apart."""
    if isinstance(value, dict):
        return {name: brief(item) for name, item in value.items()}
    if not isinstance(value, (str, list)):
        return value
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if len(text) <= LONGEST:
        return value
    if isinstance(value, list) and any(isinstance(item, (dict, list)) for item in value):
        return [brief(item) for item in value]
    beginning = value[: BEGINNING[type(value)]]
    # Not its own length in bytes but in characters or items: that is what a reader of a difference compares.
    return {"begins": beginning, "length": len(value), "sha256": hashlib.sha256(text.encode()).hexdigest()[:24]}


def usual(values: Sequence[Any]) -> dict[str, Any]:
    """The members that more than half of some objects have, with the value that they have there."""
    objects = [value for value in values if isinstance(value, dict)]
    seen = Counter((name, json.dumps(item, sort_keys=True)) for value in objects for name, item in value.items())
    return {name: json.loads(item) for (name, item), count in sorted(seen.items()) if 2 * count > len(values) > 1}


def without(value: Any, common: Mapping[str, Any]) -> Any:
    """An object without what is usual; `shared` is the way back."""
    if not isinstance(value, dict):
        return value
    gone = {name: ABSENT for name in common if name not in value}
    return {**gone, **{name: item for name, item in value.items() if name not in common or common[name] != item}}


def shared(value: Any, common: Mapping[str, Any]) -> Any:
    """An object with what is usual."""
    if not isinstance(value, dict):
        return value
    return {name: item for name, item in {**common, **value}.items() if item != ABSENT}
