"""Engine processes: started on first need, proven ours, reported when they die, stopped with us.

Three rules. A port is trusted only when nobody but our own engine listens on it. Only processes
that we started are ever stopped. An engine ends when its user ends, however that happens: see
`_keeper.py`.
"""

from __future__ import annotations

import copy
import os
import threading
import time

import attrs

from tiebreak.command import Command, Probe, ProcessOptions, Readiness
from tiebreak.errors import EngineDied, EngineError, EngineStartError, TiebreakError
from tiebreak.launch import LAUNCHES, Launch
from tiebreak.ports import open_sockets
from tiebreak.startup import LOG_LINES, Started, Startup

__all__ = ["Command", "EngineProcess", "Probe", "ProcessOptions", "Readiness", "stop_all"]

PORT_CLOSES_WITHIN = 5.0  # seconds for the kernel to close the sockets of a process that is gone


@attrs.define
class _State:
    """What one operating-system process knows of its engine; a forked child has one of its own."""

    lock: threading.Lock = attrs.field(factory=threading.Lock)  # held for the whole of a start
    interrupt: threading.Event = attrs.field(factory=threading.Event)  # tells a start to give up
    startup: Startup | None = None  # while one is under way
    started: Started | None = None
    crashes: list[float] = attrs.field(factory=list)  # moments, on the monotonic clock
    last_crash: str = ""
    refusal: TiebreakError | None = None
    rss: int = 0

    @property
    def url(self) -> str:
        started = self.started
        return started.url if started and not started.launch.ended.is_set() else ""

    @property
    def launch(self) -> Launch | None:
        if self.started:
            return self.started.launch
        return self.startup.launch if self.startup else None


class EngineProcess:
    """An engine process that runs when it is needed.

    Safe to use from several threads. After a fork the child's copy starts an engine of its own and
    never touches its parent's.

    Args:
        name: the engine's name, for messages.
        command: what to run.
        probe: how to tell that it is ready.
        options: limits.
    """

    def __init__(self, name: str, command: Command, probe: Probe, *, options: ProcessOptions | None = None) -> None:
        self.name = name
        self.command = command
        self.options = options or ProcessOptions()
        self._probe = probe
        self._states: dict[int, _State] = {}

    def __repr__(self) -> str:
        return f"<EngineProcess {self.name} pid={self.pid} url={self.url!r}>"

    @property
    def _state(self) -> _State:
        # Keyed by process id, so that a fork leaves behind the locks and launches of its parent.
        # Looked up first: setdefault alone would make a lock on every call.
        pid = os.getpid()
        return self._states.get(pid) or self._states.setdefault(pid, _State())

    @property
    def running(self) -> bool:
        """Whether the engine is ready and has not ended."""
        return bool(self.url)

    @property
    def url(self) -> str:
        """Where the engine answers; empty while it does not."""
        return self._state.url

    @property
    def pid(self) -> int | None:
        """The engine's process id, also while it loads; None when there is no process."""
        launch = self._state.launch
        return launch.pid or None if launch and not launch.ended.is_set() else None

    @property
    def uptime(self) -> float:
        """Seconds since the launch, or from launch to end; 0 when nothing was launched."""
        launch = self._state.launch
        return launch.uptime if launch else 0.0

    @property
    def rss(self) -> int:
        """Bytes that the engine held when somebody last looked; 0 when nobody did."""
        return self._state.rss

    def log_tail(self, lines: int = 20) -> str:
        """The last lines that the engine printed; empty when there is no engine."""
        launch = self._state.launch
        return launch.log_tail(lines) if launch else ""

    def start(self) -> str:
        """Starts the engine as if it had never failed, and waits until it is ready.

        Returns:
            The URL. A running engine is left as it is.

        Raises:
            EngineStartError: as for `ensure`, without a crash loop.
        """
        state = self._state
        state.refusal = None
        state.crashes.clear()
        return self.ensure()

    def ensure(self) -> str:
        """Returns the URL of the running engine, after starting it where it does not run.

        Raises:
            EngineStartError: it could not be started, was not ready within the load budget, found
                no port of its own, or has crashed too often.
            TiebreakError: what `halt` was given.
        """
        state = self._state
        if url := state.url:
            return url
        with state.lock:
            if state.refusal:
                raise copy.copy(state.refusal)
            # Read again: another thread may have been faster.
            return self.url or self._restart(state)

    def check(self, within: float = 0.0) -> None:
        """Raises when the engine has died; returns when it runs or was never started.

        Args:
            within: seconds to wait for the news, for callers who have just lost a connection.

        Raises:
            EngineDied: its process has ended, and not because we stopped it.
            TiebreakError: what `halt` was given.
        """
        launch = self._state.launch
        if launch and within:
            launch.ended.wait(within)
        if error := self.died():
            raise error

    def died(self) -> TiebreakError | None:
        """The error that describes the engine's end; None while it runs or when it was stopped."""
        state = self._state
        if state.refusal:
            return copy.copy(state.refusal)
        launch = state.launch
        if launch is None or not launch.ended.is_set() or _stopped_by_us(launch):
            return None
        return self._obituary(state, launch)

    def answered(self) -> None:
        """Says that the engine gave a good answer: earlier crashes no longer count."""
        if self._state.crashes:
            self._state.crashes.clear()

    def saw_rss(self, size: int) -> None:
        """Notes the engine's resident size in bytes, for the message should it be killed."""
        self._state.rss = size

    def stop(self) -> None:
        """Stops the engine, its group included, and proves that its port is closed; safe to repeat.

        A start in another thread gives up. Crashes and refusals are forgotten.

        Raises:
            EngineError: a process that the engine started has left its group and holds its port.
        """
        state = self._state
        self._end(state)
        state.refusal = None
        state.crashes.clear()

    def halt(self, reason: TiebreakError) -> None:
        """Stops the engine and refuses to run it again, with `reason`, until `start` or `stop`."""
        state = self._state
        reason.engine = reason.engine or self.name
        reason.log = reason.log or self.log_tail()
        state.refusal = reason
        self._end(state)

    def _end(self, state: _State) -> None:
        state.interrupt.set()
        with state.lock:
            state.interrupt.clear()
            started, state.started = state.started, None
            if started:
                started.launch.stop()
                self._await_closed(started)

    def _await_closed(self, started: Started) -> None:
        deadline = time.monotonic() + PORT_CLOSES_WITHIN
        while started.sockets & open_sockets(started.port):
            if time.monotonic() > deadline:
                raise EngineError(
                    f"the engine was stopped, but port {started.port} is still open: a process "
                    "that it started has left its process group.",
                    remedy=f"Find and end what listens on port {started.port}.",
                    engine=self.name,
                )
            time.sleep(0.02)

    def _restart(self, state: _State) -> str:
        self._bury(state)
        self._back_off(state)
        state.rss = 0
        state.startup = Startup(self.name, self.command, self._probe, self.options, state.interrupt)
        try:
            state.started = state.startup.run()
        except EngineStartError as error:
            if state.refusal:  # the guard stopped it while it was loading
                raise copy.copy(state.refusal) from error
            if not state.interrupt.is_set():
                state.crashes.append(time.monotonic())
                state.last_crash = str(error)
            raise
        finally:
            state.startup = None
        return state.started.url

    def _bury(self, state: _State) -> None:
        """Counts the end of the engine that ran before, where it was a crash."""
        if state.started and not _stopped_by_us(state.started.launch):
            error = self._obituary(state, state.started.launch)
            state.crashes.append(time.monotonic())
            state.last_crash = str(error)
        state.started = None

    def _back_off(self, state: _State) -> None:
        oldest = time.monotonic() - self.options.crash_window
        state.crashes[:] = [moment for moment in state.crashes if moment > oldest]
        count = len(state.crashes)
        if count > self.options.restarts:
            raise EngineStartError(
                f"crash loop: it crashed {count} times within {self.options.crash_window:g} s "
                f"without an answer in between and is not started again. The last time: "
                f"{state.last_crash}",
                remedy="Correct the cause, then call start() or make a new Decider.",
                engine=self.name,
            )
        if count:
            state.interrupt.wait(self.options.backoff * 2 ** (count - 1))

    def _obituary(self, state: _State, launch: Launch) -> EngineDied:
        ending = launch.ending
        message = f"the process {ending or launch.failure}, {launch.uptime:.1f} s after its start"
        remedy = "The next question starts it again."
        if ending and ending.why == "itself" and ending.status == -9:
            message += "; nobody here sent that: probably out of memory"
            remedy = "Free memory or choose a smaller model, context or cache. " + remedy
        sizes = []
        if state.rss:
            sizes.append(f"last resident size seen {state.rss / 2**20:.0f} MiB")
        if ending and ending.peak_rss:
            sizes.append(f"peak {ending.peak_rss / 2**20:.0f} MiB")
        if sizes:
            message += f" ({', '.join(sizes)})"
        return EngineDied(message + ".", remedy=remedy, engine=self.name, log=launch.log_tail(LOG_LINES))


def stop_all() -> None:
    """Stops every engine that this process started, and no other; the next question starts anew."""
    LAUNCHES.stop_all()


def _stopped_by_us(launch: Launch) -> bool:
    return launch.ending is not None and launch.ending.why == "parent"
