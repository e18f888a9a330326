"""The child process of an isolated engine: an `EmbeddedEngine` behind a `Link`.

It listens before it loads, so that its parent can ask how far it is; what goes wrong while loading is
told to the parent as the error that it is, unless it ends the process.
"""

from __future__ import annotations

import faulthandler
import json
import os
import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tiebreak.errors import EngineError, TiebreakError
from tiebreak_embedded.link import SECRET, Link, Message
from tiebreak_embedded.model import load

if TYPE_CHECKING:
    from tiebreak_embedded.engine import EmbeddedEngine

__all__ = ["main"]

_NEWS = 0.5  # seconds that a question about the state waits for it to change
_MORE = 2  # threads beside those that decide: one to explain, one to close


class _Child:
    """Serves one engine until the process ends."""

    def __init__(self, engine: EmbeddedEngine) -> None:
        self._engine = engine
        self._loaded = threading.Event()
        self._error: TiebreakError | None = None
        self._threads = ThreadPoolExecutor(engine.capabilities.concurrency + _MORE)
        self._cancelled: set[tuple[int, int]] = set()

    def load(self) -> None:
        """Load the model, and remember what went wrong."""
        try:
            self._engine.start()
        except TiebreakError as error:
            self._error = error
        except Exception as error:  # noqa: BLE001  told to the parent, which raises it
            self._error = EngineError(f"{type(error).__name__}: {error}", engine="embedded")
        self._loaded.set()

    def serve(self, link: Link) -> None:
        """Answer one connection until its other side is gone."""
        while (message := link.receive()) is not None:
            number, what, content = message
            if what == "state":
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


def main(port: int, order: str) -> None:
    """Serve an engine on a port of the loopback interface.

    Args:
        port: where to listen.
        order: JSON: path, reference and name of the model, and the engine's options.
    """
    faulthandler.enable(all_threads=False)  # more would push the reason out of the log's tail
    secret = os.environ.pop(SECRET)
    told = json.loads(order)
    listener = socket.create_server(("127.0.0.1", port))
    path = Path(told["path"])
    # Most of the time goes into reading the file, and most of the rest into importing what serves it.
    weights = ThreadPoolExecutor(1).submit(load, path, told["options"])
    from tiebreak.models import Model
    from tiebreak_embedded.engine import EmbeddedEngine

    model = Model(reference=told["reference"], name=told["name"], path=path)
    child = _Child(EmbeddedEngine(model, told["options"], weights.result))
    threading.Thread(target=child.load, daemon=True).start()
    while True:
        link = Link.accept(listener, secret)
        if link is not None:
            threading.Thread(target=child.serve, args=(link,), daemon=True).start()
