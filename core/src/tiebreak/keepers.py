"""`Keeper`: the process between tiebreak and one engine, and the engine's folder; what it does is in `_keeper`.

This module and what it imports do without attrs, so that a command can have an engine started before it has read its
own command line (see `ahead`).
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Mapping

__all__ = ["TOKEN", "Keeper", "make_folder", "token"]

TOKEN = "{token}"  # noqa: S105  a placeholder
"""Stands for `token` in the value of a variable."""

_PROGRAM = os.path.join(os.path.dirname(__file__), "_keeper.py")


def token() -> str:
    """A secret of this process, for the engines that it starts; a forked process has another."""
    return _token(os.getpid())


@functools.lru_cache(maxsize=1)
def _token(_process: int) -> str:
    return secrets.token_hex(16)


def make_folder(name: str, inside: str | os.PathLike[str] | None = None) -> str:
    """Make a folder for an engine's logs.

    Args:
        name: of the engine.
        inside: where; None for a temporary place.

    Raises:
        OSError: there is no place for it.
    """
    return tempfile.mkdtemp(prefix=f"tiebreak-{re.sub('[^A-Za-z0-9_.-]', '_', name)}-", dir=inside)


class Keeper:
    """A keeper that waits for its order.

    Args:
        folder: from `make_folder`.

    Attributes:
        process: its process; the end of its standard input ends it and its engine.
        folder: as given.
        log, complaints: files in it: what the engine prints, and what the keeper itself does.

    Raises:
        OSError: it could not be started.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.log = os.path.join(folder, "engine.log")
        self.complaints = os.path.join(folder, "keeper.log")
        with open(self.complaints, "wb") as complaints:
            # Unbuffered: a forked child closes these pipes while another thread may be inside a
            # read, and a buffered file's lock would then never open again.
            self.process = subprocess.Popen(
                [sys.executable, "-I", "-S", _PROGRAM],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=complaints,
                bufsize=0,
                start_new_session=sys.platform != "win32",  # out of reach of a terminal's signals
            )

    def hand(
        self,
        *,
        argv: tuple[str, ...],
        additions: Mapping[str, str],
        cwd: str | None,
        grace: float,
        log_bytes: int,
        keep_log: bool,
        death_signal: bool,
    ) -> None:
        """Give it its order; for the arguments see `tiebreak.launch.Order`."""
        text = json.dumps(
            {
                "argv": argv,
                "env": {**os.environ, **{name: text.replace(TOKEN, token()) for name, text in additions.items()}},
                "cwd": cwd,
                "grace": grace,
                "log": self.log,
                "log_bytes": log_bytes,
                "keep_log": keep_log,
                "death_signal": death_signal,
            }
        )
        assert self.process.stdin is not None
        data = memoryview(text.encode() + b"\n")
        with contextlib.suppress(BrokenPipeError):  # its end is noticed by whoever listens to it
            while data:  # a raw pipe may take less than it was given
                data = data[self.process.stdin.write(data) :]

    def release(self) -> None:
        """Ask it to stop its engine and to end, by closing the pipe, and do not wait."""
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            self.process.stdin.close()
