"""`file_state`: what tells a file from the one that it was."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["file_state"]


def file_state(path: Path) -> tuple[int, int, int, int]:
    """Size, inode and both times of change, one of which no program can set.

    Raises:
        OSError: there is no such file.
    """
    found = os.stat(path)
    return found.st_size, found.st_ino, found.st_mtime_ns, found.st_ctime_ns
