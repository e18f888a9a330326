"""`Server`: runs a wire engine, or reaches a running one, and drives its exchanges."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator
from typing import TypeVar

from tiebreak.command import ProcessOptions, Readiness
from tiebreak.engine import Call, Reply, Spent, WireEngine
from tiebreak.errors import EngineHung, EngineStartError, TiebreakError
from tiebreak.evidence import Outcome
from tiebreak.memory import MemoryGuard
from tiebreak.plan import Plan
from tiebreak.process import EngineProcess
from tiebreak.transport import ConnectionLost, Transport, adrive, drive

__all__ = ["Server"]

T = TypeVar("T")

POLL = 0.1  # seconds between looks at a server that is still loading


class Server:
    """One wire engine and the way to it: a process of our own, or a URL.

    Args:
        engine: what to start and what to say to it.
        transport: connections to it.
        guard: the memory guard that it is loaded under.
    """

    def __init__(self, engine: WireEngine, transport: Transport, guard: MemoryGuard) -> None:
        self.engine = engine
        self.transport = transport
        self.guard = guard
        self.process: EngineProcess | None = None
        self._lock = threading.Lock()
        self._greeted = ""

    @property
    def url(self) -> str:
        """Base URL of the running engine, "" where it does not run."""
        return self.engine.url or (self.process.url if self.process else "")

    @property
    def ready(self) -> bool:
        """Whether the engine runs and has been greeted since it was started."""
        return bool(self._greeted) and self._greeted == self.url

    def start(self) -> None:
        """Start or reach the engine and greet it; returns at once where that is done. Thread-safe.

        Raises:
            EngineUnavailable: no binary.
            EngineStartError: it never became ready.
            MemoryRefused: it would not fit.
        """
        if self.ready:
            return
        with self._lock:
            if self._greeted and self._greeted == self.url:  # another thread was faster
                return
            url = self._attach(self.engine.url) if self.engine.url else self._launch()
            deadline = time.monotonic() + self.engine.load_timeout
            try:
                drive(self.engine.greeting(), self.transport, url, self.engine.headers, deadline)
            except TiebreakError as error:
                raise self._explained(error) from error.__cause__
            self._greeted = url

    @property
    def places(self) -> int:
        """Requests that the engine works on at the same time; some say it only when they run."""
        return self.engine.capabilities.concurrency

    @property
    def capacity(self) -> int:
        """The same: there is only one engine here."""
        return self.places

    def greet_again(self) -> None:
        """Greet a server that was away: it may be another one now. Errors as for `start`."""
        with self._lock:
            self._greeted = ""
        self.start()

    def ask(self, plan: Plan, deadline: float) -> tuple[Outcome, Spent]:
        """Evidence for a plan, and what asking for it took; see `run`."""
        return self.run(self.engine.exchange(plan), deadline)

    async def aask(self, plan: Plan, deadline: float) -> tuple[Outcome, Spent]:
        """The same from a task; see `run`."""
        return await self.arun(self.engine.exchange(plan), deadline)

    def run(self, steps: Generator[Call, Reply, T], deadline: float) -> tuple[T, Spent]:
        """Drive an exchange to its end.

        Args:
            steps: an engine's exchange.
            deadline: `time.monotonic()` by which it must be over.

        Returns:
            what the exchange returned, and what its calls took.

        Raises:
            EngineDied: the process ended meanwhile.
            TiebreakError: whatever the exchange or the transport raised, with the log tail of our process.
        """
        try:
            result = drive(steps, self.transport, self._running(), self.engine.headers, deadline)
        except TiebreakError as error:
            raise self._explained(error) from error.__cause__
        self._answered()
        return result

    async def arun(self, steps: Generator[Call, Reply, T], deadline: float) -> tuple[T, Spent]:
        """The same from a task; see `run`."""
        try:
            result = await adrive(steps, self.transport, self._running(), self.engine.headers, deadline)
        except TiebreakError as error:
            raise self._explained(error) from error.__cause__
        self._answered()
        return result

    def close(self) -> None:
        """Stop the process if it is ours, and close the connections. A second call does nothing."""
        if self.process is not None:
            self.process.stop()
        self.transport.close()

    def _running(self) -> str:
        """The URL of the engine, which may have died since it was started."""
        url = self.url
        if not url:
            raise ConnectionLost("It does not run.", engine=self.engine.info.name)
        return url

    def _launch(self) -> str:
        if self.process is None:
            name = self.engine.info.name
            options = ProcessOptions(load_timeout=self.engine.load_timeout)
            self.process = EngineProcess(name, self.engine.launch(), self._probe, options=options)
        return self.guard.ensure(self.process, self.engine.footprint())

    def _attach(self, url: str) -> str:
        """Wait until a server that somebody else runs is ready."""
        started = time.monotonic()
        deadline = started + self.engine.load_timeout
        refused = ""
        while True:
            try:
                found = self.engine.readiness(self._look(url, min(deadline, time.monotonic() + 5.0)))
            except ConnectionLost as error:
                # Nobody listens: waiting is for servers that say that they are loading.
                raise EngineStartError(
                    f"Nothing answers at {url}. {error.message}",
                    remedy="Start the server, or correct the URL.",
                    engine=self.engine.info.name,
                ) from None
            except EngineHung:
                found = Readiness(state="loading", text="no answer yet")
            if found.state == "ready":
                return url
            if found.state == "stranger":
                raise EngineStartError(
                    f"What answers at {url} is not {self.engine.info.name}: {found.text}.",
                    remedy="Correct the URL.",
                    engine=self.engine.info.name,
                )
            refused = found.text or refused
            if time.monotonic() >= deadline:
                raise EngineStartError(
                    f"{url} is still loading after {time.monotonic() - started:.0f} s ({refused}).",
                    remedy="Raise load_timeout, or look at that server's log.",
                    engine=self.engine.info.name,
                )
            time.sleep(POLL)

    def _probe(self, url: str, timeout: float) -> Readiness:
        try:
            return self.engine.readiness(self._look(url, time.monotonic() + timeout))
        except (ConnectionLost, EngineHung) as error:
            return Readiness(state="loading", text=error.message)

    def _look(self, url: str, deadline: float) -> Reply:
        return self.transport.send(self.engine.ready_call(), url, self.engine.headers, deadline)

    def _answered(self) -> None:
        if self.process is not None:
            self.process.answered()

    def _explained(self, error: TiebreakError) -> TiebreakError:
        """The error with the engine's build, and what is known about our process: a lost connection may be a death."""
        process = self.process
        if process is not None and isinstance(error, ConnectionLost):
            try:
                process.check(within=1.0)
            except TiebreakError as died:
                error = died
        error.engine = error.engine or self.engine.info.name
        error.build = self.engine.version
        if process is not None and not error.log and error.exit_code not in (2, 5):
            error.log = process.log_tail()
        return error
