"""What lies in the user's cache: who may write there, and what was hashed."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from tiebreak.errors import ModelUnavailable
from tiebreak.user_cache import read_note, root, write_note

__all__ = ["lock", "remember", "sha256", "sync_folder"]

_CHUNK = 1 << 20
_POLL_SECONDS = 0.1


def sha256(path: Path) -> str:
    """The SHA-256 of a file in hexadecimal; hashed once for each path, size and time of change.

    Raises:
        ModelUnavailable: the file cannot be read.
    """
    try:
        before = _identity(path)
        known = _recall(path, before)
        if known is not None:
            return known
        digest = hashlib.sha256()
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
        if _identity(path) != before:
            raise ModelUnavailable(f"{path} changed while it was read.", remedy="Wait until it is written.")
    except OSError as error:
        raise ModelUnavailable(
            f"{path} cannot be read: {error.strerror or error}.",
            remedy="Check the path, its permissions and its disk.",
        ) from error
    remember(path, digest.hexdigest())
    return digest.hexdigest()


def remember(path: Path, digest: str) -> None:
    """Note the hash of a file as it is now, so that the next start need not read it whole.

    A note that cannot be written (a read-only cache, a full disk) costs time later, nothing else.
    """
    with contextlib.suppress(OSError):
        write_note(_record(path), {"file": str(path), "of": _identity(path), "sha256": digest})


def _recall(path: Path, identity: list[int]) -> str | None:
    noted = read_note(_record(path))
    try:
        digest = noted["sha256"]
        matches = noted["file"] == str(path) and noted["of"] == identity
    except (TypeError, KeyError):
        return None  # no note, or one that something else damaged: hash again
    return digest if matches and isinstance(digest, str) and len(digest) == 64 else None


def _identity(path: Path) -> list[int]:
    found = path.stat()
    return [found.st_size, found.st_mtime_ns]


def _record(path: Path) -> Path:
    name = hashlib.sha256(os.fsencode(path)).hexdigest()[:32]
    return root() / "hashes" / f"{name}.json"


@contextlib.contextmanager
def lock(name: str, waiting: Callable[[], None]) -> Iterator[None]:
    """Hold the cache's lock called `name`: one process (or thread) at a time is inside.

    The lock is the operating system's own, so it goes when its holder dies in whatever way; the
    file that stays behind means nothing.

    Args:
        name: what is locked; one file per name under `locks/`.
        waiting: called once if somebody else holds it.

    Raises:
        ModelUnavailable: the cache lies on a file system that cannot lock.
    """
    folder = root() / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{name}.lock").open("a+b") as file:
        told = False
        while not _try_lock(file):
            if not told:
                waiting()
                told = True
            time.sleep(_POLL_SECONDS)
        try:
            yield
        finally:
            _unlock(file)


def _try_lock(file: IO[bytes]) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES, errno.EDEADLK):
            return False
        raise ModelUnavailable(
            f"{file.name} cannot be locked: {error.strerror or error}.",
            remedy="Set TIEBREAK_CACHE to a directory on a local disk.",
        ) from error
    return True


def _unlock(file: IO[bytes]) -> None:
    if sys.platform == "win32":
        import msvcrt

        file.seek(0)
        msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_UN)


def sync_folder(folder: Path) -> None:
    """Make a rename in `folder` survive a power cut, where directories can be synced."""
    if sys.platform == "win32":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
