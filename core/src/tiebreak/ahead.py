"""Starts, before a command has read its own command line, the engine process that it needed last time.

What a command needs it knows only when its plugin is imported, and by then a cold start is half over. So it notes what
it had started, by its flags, and the next one of the same flags has that started at once. When it turns out that
something else is needed, it is stopped again. No secret is in a note: values that hold one have a placeholder.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tiebreak.errors import InvalidRequest
from tiebreak.keepers import Keeper, make_folder
from tiebreak.ports import free_port
from tiebreak.user_cache import read_note, root, write_note

__all__ = ["Early", "begin", "dismiss", "note", "take"]

_FLAGS = ("--engine", "--model", "--option")
"""What decides which engine is started, and how."""


class Early:
    """An engine process that was started on a guess.

    Args:
        what: the guess: `name`, `argv` with `{port}`, `additions`, `cwd`, `grace`, `log_bytes`, `death_signal`; see
            `tiebreak.launch.Order`.

    Attributes:
        what: as given.
        keeper: its keeper.
        port: where it was told to listen.

    Raises:
        OSError: it could not be started.
        KeyError, TypeError: the guess is none.
    """

    def __init__(self, what: Mapping[str, Any]) -> None:
        self.what = what
        self.port = free_port()
        order = {name: what[name] for name in ("additions", "cwd", "grace", "log_bytes", "death_signal")}
        argv = tuple([text.replace("{port}", str(self.port)) for text in what["argv"]])
        folder = make_folder(what["name"])
        try:
            self.keeper = Keeper(folder)
            try:
                self.keeper.hand(argv=argv, keep_log=False, **order)
            except BaseException:
                self.stop()
                raise
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise

    def stop(self) -> None:
        """Stop it and wait until it is gone."""
        self.keeper.release()
        assert self.keeper.process.stdout is not None
        while self.keeper.process.stdout.read(4096):  # what it reports on its way
            pass
        self.keeper.process.stdout.close()
        self.keeper.process.wait()


class _State:
    """Of this process: where notes of this command go, None outside a command, and what was started."""

    path: Path | None = None
    early: Early | None = None


def begin(arguments: Sequence[str]) -> None:
    """Start what a command of these arguments needed last time, if that is known."""
    with contextlib.suppress(InvalidRequest):  # without a cache directory nothing is known
        _State.path = root() / "ahead" / f"{_key(arguments)}.json"
        with contextlib.suppress(OSError, KeyError, TypeError, AttributeError):
            _State.early = Early(read_note(_State.path))


def take(what: Mapping[str, Any]) -> Early | None:
    """What was started, if it is exactly this; otherwise it is stopped."""
    early, _State.early = _State.early, None
    if early is not None and early.what != json.loads(json.dumps(what)):
        early.stop()
        early = None
    return early


def note(what: Mapping[str, Any]) -> None:
    """Note what was needed; does nothing outside a command, and in a cache that cannot be written."""
    if _State.path is not None and read_note(_State.path) != json.loads(json.dumps(what)):
        write_note(_State.path, what)


def dismiss() -> None:
    """Stop what nobody took."""
    early, _State.early = _State.early, None
    if early is not None:
        early.stop()


def _key(arguments: Sequence[str]) -> str:
    flags = []
    rest = iter(arguments)
    for text in rest:
        if text == "--":
            break
        if text.startswith(_FLAGS):
            flags += [text] if "=" in text else [text, next(rest, "")]
    return hashlib.sha256(json.dumps([sys.executable, os.getcwd(), flags]).encode()).hexdigest()[:32]
