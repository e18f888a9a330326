"""`Journal`: what every row got so far, on disk, so that a run that was killed goes on where it stopped.

One line per entry: a CRC-32 of what follows, a space, and JSON. The first says what is done (the settings), the second
by whom (the engine's identity), and each one after it what the next row got. Lines are only ever appended, each with
one write. A process that is killed leaves at most half a line behind, which its checksum gives away; so does what a
power cut leaves. The file is synced to the disk every five seconds: a power cut costs what was answered since.
"""

from __future__ import annotations

import io
import json
import os
import sys
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tiebreak._store import sync_folder
from tiebreak.datasets.jsonl import dump
from tiebreak.datasets.task import Cells
from tiebreak.errors import InvalidRequest, TiebreakError

__all__ = ["Journal"]

SYNC_SECONDS = 5.0
FORMAT = "tiebreak map 1"


class Journal:
    """The journal of one output, held by one process at a time.

    Args:
        path: where it is, or is to be.
        settings: all that can change the output, as JSON.
        again: start over, whatever is there.
        clock: seconds that never go back; for tests.

    Attributes:
        rows: how many rows have their cells in it.
        engine: the identity of the engine that gave them, "" where no one was bound yet.

    Raises:
        InvalidRequest: it is of a run with other settings, or no journal; somebody else holds it.
    """

    def __init__(
        self,
        path: Path,
        settings: Mapping[str, Any],
        *,
        again: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.path = path
        self.rows = 0
        self.engine = ""
        self._clock = clock
        self._file = _claimed(path)
        try:
            self._open(json.loads(dump(settings)), again)
        except BaseException:
            self._file.close()
            raise
        self._synced = clock()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def bind(self, engine: str) -> None:
        """Let an engine go on.

        Raises:
            InvalidRequest: the rows so far were answered by another one, or by this one set otherwise.
        """
        if not self.engine:
            self._write({"engine": engine})
            self.engine = engine
        elif self.engine != engine:
            raise InvalidRequest(
                f"The run that {self.path.name} is of was answered by another engine, build, model or setting "
                f"({self.engine}; now {engine}).",
                remedy="Go on with the same, or start over with --overwrite.",
            )

    def append(self, cells: Cells) -> None:
        """Enter what the next row got."""
        self._write(cells)
        self.rows += 1
        if self._clock() - self._synced >= SYNC_SECONDS:
            os.fsync(self._file.fileno())
            self._synced = self._clock()

    def cells(self) -> Iterator[Cells]:
        """What every row got, from the first on."""
        with self.path.open("rb") as file:
            for number, line in enumerate(file):
                if number > 1:
                    yield json.loads(line[9:])

    def remove(self) -> None:
        """Do away with it: what it was for is done."""
        self._file.close()
        self.path.unlink()

    def _open(self, settings: Any, again: bool) -> None:
        header = {"format": FORMAT, "settings": settings}
        entries = iter(()) if again else self._entries()
        first = next(entries, None)
        if first is None and not again and not self._begins(_line(header)):
            raise InvalidRequest(
                f"{self.path} is in the way: it is not the journal of a run that can go on.",
                remedy="Move it elsewhere, or start over with --overwrite.",
            )
        if first is None:
            self._cut(0)
            self._write(header)
            os.fsync(self._file.fileno())
            sync_folder(self.path.parent)
            return
        end, found = first
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise InvalidRequest(
                f"{self.path} is not the journal of a run that this version can go on with.",
                remedy="Start over with --overwrite.",
            )
        _refuse_changes(self.path, found["settings"], settings)
        for entry in entries:
            end, found = entry
            if not self.engine:
                self.engine = found["engine"]
            else:
                self.rows += 1
        self._cut(end)

    def _entries(self) -> Iterator[tuple[int, Any]]:
        """Whole entries, each with the place where it ends; what comes after the first broken one is no entry."""
        end = 0
        with self.path.open("rb") as file:
            for line in file:
                if not _whole(line):
                    return
                end += len(line)
                yield end, json.loads(line[9:])

    def _begins(self, header: bytes) -> bool:
        """Whether the file is what a kill leaves of a header, and so no other file."""
        with self.path.open("rb") as file:
            return header.startswith(file.read(len(header) + 1))

    def _cut(self, end: int) -> None:
        self._file.truncate(end)

    def _write(self, entry: Any) -> None:
        line = _line(entry)
        try:
            written = self._file.write(line)
        except OSError as error:
            raise self._full(error.strerror or str(error)) from error
        if written != len(line):
            raise self._full("the disk is full")

    def _full(self, why: str) -> TiebreakError:
        return TiebreakError(f"{self.path} cannot be written: {why}.", remedy="Make room, then go on with --resume.")


def _line(entry: Any) -> bytes:
    text = dump(entry).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def _whole(line: bytes) -> bool:
    return line.endswith(b"\n") and line[:9] == b"%08x " % zlib.crc32(line[9:-1])


def _claimed(path: Path) -> io.FileIO:
    """The file, open, with the operating system's own lock on it, which goes when its holder dies in whatever way."""
    try:
        file = path.open("a+b", buffering=0)  # every entry is handed to the operating system as it comes
    except OSError as error:
        raise InvalidRequest(
            f"{path} cannot be written: {error.strerror or error}.", remedy="Choose another output."
        ) from error
    try:
        if sys.platform == "win32":
            import msvcrt

            file.seek(1 << 40)  # a lock there keeps nobody from reading
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(file.fileno()).st_nlink == 0:
                raise BlockingIOError  # its holder has just finished and removed it
    except OSError:
        file.close()
        raise InvalidRequest(f"Another run is working on {path}.", remedy="Wait for it, or stop it.") from None
    return file


def _refuse_changes(path: Path, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    changed = [name for name in {**before, **now} if before.get(name) != now.get(name)]
    if changed:
        raise InvalidRequest(
            f"The run that {path.name} is of had another {' and '.join(changed)}.",
            remedy="Go on with the same input and settings, or start over with --overwrite.",
        )
