"""The user's cache directory, and the notes in it: small JSON files, any of which may be lost or damaged."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from pathlib import Path
from typing import Any

from tiebreak.errors import InvalidRequest

__all__ = ["read_note", "root", "write_note"]


def root() -> Path:
    """The cache directory, absolute; it is not created here.

    `TIEBREAK_CACHE` where it is set, else the platform's place for caches: `$XDG_CACHE_HOME` or
    `~/.cache`, `~/Library/Caches` on macOS, `%LOCALAPPDATA%` on Windows.

    Raises:
        InvalidRequest: there is no such home directory.
    """
    chosen = os.environ.get("TIEBREAK_CACHE", "").strip()
    try:
        if chosen:
            return Path(os.path.abspath(Path(chosen).expanduser()))
        if sys.platform == "win32":
            local = os.environ.get("LOCALAPPDATA", "")
            return (Path(local) if local else Path.home() / "AppData" / "Local") / "tiebreak"
        if sys.platform == "darwin":
            return Path.home() / "Library" / "Caches" / "tiebreak"
        shared = os.environ.get("XDG_CACHE_HOME", "")
        # The XDG specification says that a relative path there is to be ignored.
        return (Path(shared) if os.path.isabs(shared) else Path.home() / ".cache") / "tiebreak"
    except RuntimeError as error:
        raise InvalidRequest(
            f"There is no cache directory: {error}", remedy="Set TIEBREAK_CACHE to a directory."
        ) from error


def read_note(path: Path) -> Any:
    """What a note says; None where there is none, or none that can be read."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def write_note(path: Path, content: Any) -> None:
    """Write a note whole or not at all; one that cannot be written costs time later, nothing else.

    Args:
        path: the note.
        content: anything that JSON has.
    """
    import tempfile

    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(content, file)
            os.replace(temporary, path)
        except OSError:
            os.unlink(temporary)
