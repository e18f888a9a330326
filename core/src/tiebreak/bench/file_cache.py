"""Making a file cold or warm in the system's page cache, so that a load can be measured from either."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["cool", "warm"]

BLOCK = 1 << 20
SAMPLES = 64
COLD = 0.05
"""Share of the sampled pages that may still be in memory for a file to count as cold."""


def cool(path: Path) -> bool:
    """Drop a file from the page cache; true where it was seen to be gone.

    `posix_fadvise(DONTNEED)` is only advice: pages that another process has mapped stay. So some of them are looked for
    afterwards, with reads that must not wait for the disk (RWF_NOWAIT, see preadv2(2)). What cannot be seen to have
    worked is not called cold.
    """
    if not hasattr(os, "posix_fadvise") or not hasattr(os, "RWF_NOWAIT"):
        return False
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)  # dirty pages are not dropped
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        resident = _resident(descriptor)
    except OSError:  # the file system does not take the advice, or cannot read without waiting
        return False
    finally:
        os.close(descriptor)
    return resident <= COLD


def warm(path: Path) -> None:
    """Read a file once, so that the next reader finds it in memory, as far as there is room."""
    with path.open("rb", buffering=0) as file:
        while file.read(BLOCK):
            pass


def _resident(descriptor: int) -> float:
    """Share of some pages, spread over the file, that are in memory."""
    size = os.fstat(descriptor).st_size
    page = bytearray(1)
    found = 0
    for sample in range(SAMPLES):
        try:
            found += os.preadv(descriptor, [page], size * sample // SAMPLES, os.RWF_NOWAIT)
        except BlockingIOError:
            continue
    return found / SAMPLES
