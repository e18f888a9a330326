"""`IsolatedEngine`: the embedded engine in a child process, so that a crash in native code ends only the child."""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import attrs

from tiebreak.command import Readiness
from tiebreak.engine import Capabilities, Limits, LocalEngine, Vocabulary
from tiebreak.errors import EngineDied, EngineError, EngineHung, TiebreakError
from tiebreak.evidence import Outcome
from tiebreak.keepers import token
from tiebreak.memory import Footprint
from tiebreak.models import Model
from tiebreak.plan import Plan
from tiebreak.process import EngineProcess
from tiebreak_embedded.child_command import child_command, process_options
from tiebreak_embedded.footprint import footprint
from tiebreak_embedded.info import INFO
from tiebreak_embedded.link import Link
from tiebreak_embedded.model import repacks

__all__ = ["IsolatedEngine"]

_PYTHON = 64 << 20
"""What the child's Python and numpy take beside the model."""

_FAREWELL = 10.0  # seconds that the child has to write its checkpoints when it is closed
_NEWS = 2.0  # seconds within which the keeper reports the end of a child whose connection broke
_LOOKS_EVERY = 0.05  # seconds between two looks at whether a waiting caller still wants its answer


class IsolatedEngine(LocalEngine):
    """An `EmbeddedEngine` in a child process, under the supervisor and the memory guard.

    The child ends with this process, however that ends. When it dies, requests under way raise
    `EngineDied` with the signal and the end of its log; the next request starts it again, once, until
    it has given an answer.

    Args:
        model: with a path.
        options: every option of `INFO`.
    """

    def __init__(self, model: Model, options: Mapping[str, Any]) -> None:
        self.info = INFO
        self.capabilities: Capabilities = attrs.evolve(INFO.capabilities, concurrency=options["sequences"])
        self.limits: Limits = attrs.evolve(INFO.limits, window_tokens=options["context"])
        self.vocabulary = Vocabulary()
        self.model_sha256 = model.sha256
        self._model = model
        self._options = options
        self._description: Mapping[str, str] = {}
        self._phases: Mapping[str, float] = {}
        self._lock = threading.Lock()
        self._lines: dict[int, _Line] = {}  # by process id: a forked child has a child of its own
        self._command = child_command(options, model.reference)
        self._process = EngineProcess(
            INFO.name,
            self._command,
            self._probe,
            options=process_options(options),
        )

    @property
    def ready(self) -> bool:
        """See `LocalEngine.ready`."""
        line = self._lines.get(os.getpid())
        return line is not None and line.alive

    @property
    def process(self) -> EngineProcess:
        """See `LocalEngine.process`."""
        return self._process

    def footprint(self) -> Footprint:
        """See `LocalEngine.footprint`."""
        found = footprint(self._model, self._options)
        return attrs.evolve(found, compute=found.compute + _PYTHON)

    def start(self) -> None:
        """See `LocalEngine.start`.

        Raises:
            ModelUnavailable, EngineUnavailable: what the child says that went wrong.
            EngineStartError: it ended while loading (its end and the end of its log are told), took
                longer than `load_timeout`, or has crashed too often.
        """
        self._line()

    @property
    def phases(self) -> Mapping[str, float]:
        """See `Engine.phases`; `process` is all that its child took beside loading."""
        return self._phases

    def describe(self) -> Mapping[str, str]:
        """See `EmbeddedEngine.describe`."""
        return self._description

    def evidence(self, plans: Sequence[Plan], cancelled: Callable[[], bool]) -> Sequence[Outcome]:
        """See `LocalEngine.evidence`.

        Raises:
            EngineDied: the child ended under it.
            EngineHung: it was cancelled before its turn came.
            ContextOverflow, EngineError: what the child raised.
        """
        found: Sequence[Outcome] = self._ask("evidence", list(plans), cancelled)
        return found

    def tokens(self, plan: Plan) -> Sequence[Sequence[Sequence[int]]]:
        """See `LocalEngine.tokens`."""
        found: Sequence[Sequence[Sequence[int]]] = self._ask("tokens", (plan,))
        return found

    def pin(self, plan: Plan) -> None:
        """See `LocalEngine.pin`; a child that was started again has forgotten it."""
        self._ask("pin", (plan,))

    def unpin(self, plan: Plan) -> None:
        """See `LocalEngine.unpin`."""
        self._ask("unpin", (plan,))

    def close(self) -> None:
        """See `LocalEngine.close`; the child writes its checkpoints first."""
        with self._lock:
            line = self._lines.pop(os.getpid(), None)
        if line is not None:
            if line.alive and self._options["checkpoints"] is not None:  # nothing else is worth waiting for
                line.farewell(_FAREWELL)
            line.close()
        self._process.stop()

    def _order(self) -> dict[str, Any]:
        """What the child is told to load."""
        header = self._model.header
        assert header is not None
        return {
            "reference": self._model.reference,
            "name": self._model.name,
            "path": str(self._model.path),
            "repack": repacks(header),
            "options": {**self._options, "isolate": False},
        }

    def _probe(self, url: str, timeout: float) -> Readiness:
        """Tell the child what to load, and ask how far it is; see `tiebreak.command.Probe`."""
        try:
            link = Link.connect(_port(url), token(), timeout)
        except OSError as error:
            return Readiness(state="loading", text=str(error))
        try:
            link.send((0, "state", self._order()))
            reply = link.receive()
        except OSError:
            reply = None
        finally:
            link.close()
        if reply is None:
            return Readiness(state="loading", text="it closed the connection")
        _, state, content = reply
        if state == "failed":
            raise content
        if state != "ready":
            return Readiness(state="loading", text="loading the model")
        self.version = content["version"]
        self.vocabulary = content["vocabulary"]
        self.limits = content["limits"]
        self.capabilities = content["capabilities"]
        self._description = content["description"]
        self._phases = content["phases"]
        return Readiness(state="ready")

    def _line(self) -> _Line:
        line = self._lines.get(os.getpid())
        if line is not None and line.alive:
            return line
        with self._lock:
            line = self._lines.get(os.getpid())
            if line is None or not line.alive:
                if line is not None:
                    with contextlib.suppress(EngineDied):  # nobody was hurt: it is started again below
                        self._process.check(within=_NEWS)
                started = time.perf_counter()
                url = self._process.ensure()
                whole = (time.perf_counter() - started) * 1e3
                self._phases = {"process": whole - sum(self._phases.values()), **self._phases}
                try:
                    line = self._lines[os.getpid()] = _Line(Link.connect(_port(url), token(), 5.0))
                except OSError as error:  # it died between the two
                    self._process.check(within=_NEWS)
                    raise EngineError(f"Its child cannot be reached: {error}.", engine=INFO.name) from error
            return line

    def _ask(self, what: str, content: Any, cancelled: Callable[[], bool] = lambda: False) -> Any:
        line = self._line()
        try:
            found = line.ask(what, content, cancelled)
        except ConnectionError:
            self._process.check(within=_NEWS)
            raise EngineDied("The connection to its child process broke.", engine=INFO.name) from None
        self._process.answered()
        return found


class _Line:
    """The parent's end of a link: requests of several threads, each waiting for its own reply."""

    def __init__(self, link: Link) -> None:
        self.alive = True
        self._link = link
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._waiting: dict[int, _Reply] = {}
        threading.Thread(target=self._listen, name="tiebreak-embedded-link", daemon=True).start()

    def ask(self, what: str, content: Any, cancelled: Callable[[], bool]) -> Any:
        """Ask the child, and wait for its reply.

        Raises:
            ConnectionError: it is gone.
            EngineHung: cancelled; the child was told.
            TiebreakError: what it raised.
        """
        number = next(self._numbers)
        reply = _Reply()
        with self._lock:
            if not self.alive:
                raise ConnectionError
            self._waiting[number] = reply
        try:
            self._send(number, what, content)
            while not reply.come.wait(_LOOKS_EVERY):
                if cancelled():
                    self._send(number, "cancel", number)
                    raise EngineHung(
                        "The time for this answer is over; its child process may still be working on it.",
                        remedy="Raise timeout, or send fewer requests at once.",
                        engine=INFO.name,
                    )
        finally:
            with self._lock:
                self._waiting.pop(number, None)
        return reply.take()

    def farewell(self, seconds: float) -> None:
        """Let the engine close itself, and wait so long at most."""
        reply = _Reply()
        number = next(self._numbers)
        with self._lock:
            self._waiting[number] = reply
        try:
            self._send(number, "close", ())
        except ConnectionError:
            return
        reply.come.wait(seconds)

    def close(self) -> None:
        """End the connection."""
        self._link.close()

    def _send(self, number: int, what: str, content: Any) -> None:
        try:
            self._link.send((number, what, content))
        except OSError as error:
            raise ConnectionError(str(error)) from error

    def _listen(self) -> None:
        while (message := self._link.receive()) is not None:
            number, state, content = message
            with self._lock:
                reply = self._waiting.get(number)
            if reply is not None:  # otherwise nobody waits for it any more
                reply.give(state, content)
        with self._lock:
            self.alive = False
            waiting = list(self._waiting.values())
        for reply in waiting:
            reply.give("lost", None)
        self._link.close()


class _Reply:
    """A reply that a thread waits for."""

    __slots__ = ("_content", "_state", "come")

    def __init__(self) -> None:
        self.come = threading.Event()
        self._state = ""
        self._content: Any = None

    def give(self, state: str, content: Any) -> None:
        """Hand over what came."""
        self._state, self._content = state, content
        self.come.set()

    def take(self) -> Any:
        """What came, or the error that it was."""
        if self._state == "lost":
            raise ConnectionError
        if self._state == "failed":
            error: TiebreakError = self._content
            raise error
        return self._content


def _port(url: str) -> int:
    port = urlsplit(url).port
    assert port is not None
    return port
