"""`Recent`: which file a reference led to last time, so that a child can begin to load it before it is told to."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from pathlib import Path
from typing import Any

from tiebreak.user_cache import read_note, root, write_note
from tiebreak_embedded.file_state import file_state

__all__ = ["Recent"]

_MOST = 256 << 20
"""Bytes of a file that is loaded before anybody looked whether there is memory for it."""


class Recent:
    """A note in the user's cache. It is a guess: whoever acts on it must find out whether it was right.

    Args:
        reference: the model as the user named it; the same text in another folder is another one.
    """

    def __init__(self, reference: str) -> None:
        key = hashlib.sha256(json.dumps([reference, os.getcwd()]).encode()).hexdigest()[:32]
        self._note = root() / "recent" / f"{key}.json"

    def guess(self) -> tuple[Path, bool] | None:
        """The file and whether its weights were repacked; None where nothing is known or the file has changed."""
        found = read_note(self._note)
        try:
            path, repack = Path(found["path"]), bool(found["repack"])
            return (path, repack) if found == _content(path, repack) else None
        except (OSError, KeyError, TypeError):
            return None

    def note(self, path: Path, repack: bool) -> None:
        """Note it, if the file is small; in a cache that cannot be written nothing is noted."""
        with contextlib.suppress(OSError):
            if path.stat().st_size <= _MOST and self.guess() != (path, repack):
                write_note(self._note, _content(path, repack))


def _content(path: Path, repack: bool) -> dict[str, Any]:
    return {"path": str(path), "repack": repack, "state": list(file_state(path))}
