"""The child process of an isolated engine: an `EmbeddedEngine` behind a `Link`.

It listens before it loads: its parent tells it what to load, and asks how far it is. Until then it gets ready what
any model needs, so that a parent that starts it early need not know the model yet. What goes wrong while loading is
told to the parent as the error that it is, unless it ends the process.
"""

from __future__ import annotations

import contextlib
import faulthandler
import importlib
import json
import os
import socket
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tiebreak.errors import EngineError, TiebreakError
from tiebreak_embedded.file_state import file_state

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from tiebreak_embedded.engine import EmbeddedEngine
    from tiebreak_embedded.link import Link, Message
    from tiebreak_embedded.model import Model

__all__ = ["main"]

_NEWS = 0.5  # seconds that a question about the state waits for it to change
_MORE = 2  # threads beside those that decide: one to explain, one to close


class _Weights:
    """Loads the model in a thread of its own, from when it is made.

    Args:
        path: the file.
        options: those of the engine that `tiebreak_embedded.model.load` looks at, or more.
        repack: see `tiebreak_embedded.model.Model`.
    """

    def __init__(self, path: Path, options: Mapping[str, Any], repack: bool) -> None:
        self._what = _what(path, repack)
        self._model: Model | None = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._load, args=(path, options, repack), daemon=True)
        self._thread.start()

    def are(self, path: Path, repack: bool) -> bool:
        """Whether they are what would be loaded now: the file may have been replaced meanwhile."""
        return self._what is not None and self._what == _what(path, repack)

    def take(self) -> Model:
        """The model, or the error that loading it was."""
        started = time.perf_counter()
        self._thread.join()
        if self._error is not None:
            raise self._error
        assert self._model is not None
        self._model.phases = {"weights": (time.perf_counter() - started) * 1e3}
        return self._model

    def drop(self) -> threading.Thread:
        """Nobody wants them: free them once they are loaded, in a thread that is returned."""
        dropping = threading.Thread(target=self._drop, daemon=True)
        dropping.start()
        return dropping

    def _drop(self) -> None:
        self._thread.join()
        if self._model is not None:
            self._model.close()

    def _load(self, path: Path, options: Mapping[str, Any], repack: bool) -> None:
        try:
            from tiebreak_embedded.model import load

            self._model = load(path, options, repack=repack)
        except BaseException as error:  # noqa: BLE001  raised again by who takes it
            self._error = error


def _what(path: Path, repack: bool) -> tuple[object, ...] | None:
    try:
        return (path, repack, file_state(path))
    except OSError:  # loading it will say so
        return None


class _Child:
    """Serves one engine until the process ends."""

    _engine: EmbeddedEngine
    _threads: ThreadPoolExecutor

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._told = False
        self._early: _Weights | None = None
        self._loaded = threading.Event()
        self._error: TiebreakError | None = None
        self._cancelled: set[tuple[int, int]] = set()

    def expect(self, path: Path, options: Mapping[str, Any], repack: bool) -> None:
        """Begin to load what the parent will probably order, unless it has ordered already."""
        with self._lock:
            if not self._told:
                self._early = _Weights(path, options, repack)

    def begin(self, order: Mapping[str, Any]) -> None:
        """Load what the parent ordered; it does so whenever it asks, and is heard once."""
        with self._lock:
            told, self._told = self._told, True
        if not told:
            threading.Thread(target=self._load, args=(order,), daemon=True).start()

    def _load(self, order: Mapping[str, Any]) -> None:
        """Load the model, and remember what went wrong."""
        try:
            path, options = Path(order["path"]), order["options"]
            weights = self._weights(path, options, order["repack"])  # beside the imports, where they are not done yet
            from concurrent.futures import ThreadPoolExecutor

            from tiebreak.models import Model
            from tiebreak_embedded.engine import EmbeddedEngine
            from tiebreak_embedded.recent import Recent

            model = Model(reference=order["reference"], name=order["name"], path=path)
            self._engine = EmbeddedEngine(model, options, weights.take)
            self._threads = ThreadPoolExecutor(self._engine.capabilities.concurrency + _MORE)
            self._engine.start()
            Recent(order["reference"]).note(path, order["repack"])
        except TiebreakError as error:
            self._error = error
        except Exception as error:  # noqa: BLE001  told to the parent, which raises it
            self._error = EngineError(f"{type(error).__name__}: {error}", engine="embedded")
        self._loaded.set()

    def _weights(self, path: Path, options: Mapping[str, Any], repack: bool) -> _Weights:
        with self._lock:
            early, self._early = self._early, None
        if early is not None:
            if early.are(path, repack):
                return early
            early.drop()
        return _Weights(path, options, repack)

    def serve(self, link: Link) -> None:
        """Answer one connection until its other side is gone."""
        while (message := link.receive()) is not None:
            number, what, content = message
            if what == "state":
                self.begin(content)
                link.send((number, *self._state()))
            elif what == "cancel":
                self._cancelled.add((id(link), content))
            else:
                self._threads.submit(self._answer, link, message)
        link.close()

    def _state(self) -> tuple[str, Any]:
        # Loading takes a moment: who asks is told at its end, not at the next question.
        if not self._loaded.wait(_NEWS):
            return "loading", None
        if self._error is not None:
            return "failed", self._error
        engine = self._engine
        return "ready", {
            "version": engine.version,
            "vocabulary": engine.vocabulary,
            "limits": engine.limits,
            "capabilities": engine.capabilities,
            "description": dict(engine.describe()),
            "phases": dict(engine.phases),
        }

    def _answer(self, link: Link, message: Message) -> None:
        number, what, content = message
        key = (id(link), number)
        try:
            found = self._call(what, content, lambda: key in self._cancelled)
            reply = (number, "done", found)
        except TiebreakError as error:
            reply = (number, "failed", error)
        except Exception as error:  # noqa: BLE001  the parent raises it
            reply = (number, "failed", EngineError(f"{type(error).__name__}: {error}", engine="embedded"))
        self._cancelled.discard(key)
        try:
            link.send(reply)
        except OSError:  # nobody is there any more
            link.close()

    def _call(self, what: str, content: Any, cancelled: Callable[[], bool]) -> Any:
        if what == "evidence":
            return self._engine.evidence(content, cancelled)
        return getattr(self._engine, what)(*content)


def main(port: int, ahead: str) -> None:
    """Serve an engine on a port of the loopback interface.

    Args:
        port: where to listen.
        ahead: JSON: the options `library`, `wait` and `gpu_layers`, and `likely`, the file that will probably be
            ordered and whether to repack it, for what is loaded before the order comes.
    """
    faulthandler.enable(all_threads=False)  # more would push the reason out of the log's tail
    from tiebreak_embedded.link import SECRET, Link

    secret = os.environ.pop(SECRET)
    listener = socket.create_server(("127.0.0.1", port))
    child = _Child()
    threading.Thread(target=_get_ready, args=(child, json.loads(ahead)), daemon=True).start()
    while True:
        link = Link.accept(listener, secret)
        if link is not None:
            threading.Thread(target=child.serve, args=(link,), daemon=True).start()


def _get_ready(child: _Child, ahead: Mapping[str, Any]) -> None:
    """Load and import what any order needs; what goes wrong here goes wrong again with the order, and is told then."""
    from tiebreak_embedded.library import open_library

    with contextlib.suppress(TiebreakError):
        library = open_library(ahead["library"], wait=ahead["wait"])
        if ahead["likely"] is not None:
            path, repack = ahead["likely"]
            child.expect(Path(path), ahead, repack)
        importlib.import_module("tiebreak_embedded.engine")
        library.build  # noqa: B018  remembers its version, which takes a while to find
