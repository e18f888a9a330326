"""Starting an engine: from a command line to a URL that provably leads to that engine."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import attrs

from tiebreak.errors import EngineStartError
from tiebreak.launch import LAUNCHES, Launch, Order
from tiebreak.ports import LOOPBACK, free_port, is_free, listeners

if TYPE_CHECKING:
    from tiebreak.command import Command, Probe, ProcessOptions

__all__ = ["Started", "Startup", "prepare"]

PORT_ATTEMPTS = 5
PROBE_TIMEOUT = 5.0  # seconds that one readiness check may take
LOG_LINES = 20


@attrs.frozen(kw_only=True)
class Started:
    """An engine that is ready.

    Args:
        launch: its process.
        url: where it answers.
        port: the port in the URL.
        sockets: inodes of its listening sockets; empty where the system does not tell.
    """

    launch: Launch
    url: str
    port: int
    sockets: frozenset[int]


def prepare(name: str, command: Command, options: ProcessOptions) -> None:
    """Starts an engine's process now; the next `Startup` of the same command takes it over.

    Args:
        name: the engine's name, for messages.
        command: what to run.
        options: limits.

    Raises:
        EngineStartError: it could not be started.
    """
    from tiebreak import ahead  # only programs that ask once need it

    what = {
        "name": name,
        "argv": command.argv,
        "additions": dict(command.env),
        "cwd": command.cwd,
        "grace": options.grace,
        "log_bytes": options.log_bytes,
        "death_signal": options.death_signal,
    }
    early = ahead.take(what) if options.log_dir is None else None
    port = free_port() if early is None else early.port
    LAUNCHES.prepare(_order(name, command, options, port), port, None if early is None else early.keeper)
    ahead.note(what)


class _PortLostError(Exception):
    """The chosen port turned out to be somebody else's, too."""


class Startup:
    """One start of an engine, over as many ports as it takes.

    Args:
        name: the engine's name, for messages.
        command: what to run.
        probe: how to tell that it is ready.
        options: limits.
        interrupt: when set from another thread, the start gives up.
    """

    def __init__(
        self,
        name: str,
        command: Command,
        probe: Probe,
        options: ProcessOptions,
        interrupt: threading.Event,
    ) -> None:
        self._name = name
        self._command = command
        self._probe = probe
        self._options = options
        self._interrupt = interrupt
        self._listened = False  # on the port of this attempt
        self._began = time.monotonic()
        self.launch: Launch | None = None

    def run(self) -> Started:
        """Starts the engine and waits until it is ready, on a port that is its own.

        Raises:
            EngineStartError: it could not be started, was not ready within the load budget, or
                lost every port that was tried. Nothing is left running.
        """
        lost: list[str] = []
        for _ in range(PORT_ATTEMPTS):
            self._give_up_if_stopped()
            launch, port = LAUNCHES.prepared(self._order) or self._launched()
            self.launch = launch
            try:
                return self._until_ready(launch, port)
            except _PortLostError as loss:
                launch.stop()
                lost.append(f"port {port}: {loss}")
            except BaseException:  # also a keyboard interrupt: nothing may be left running
                launch.stop()
                raise
        raise EngineStartError(
            f"no port of its own was found in {PORT_ATTEMPTS} attempts ({'; '.join(lost)}).",
            remedy="Find the program that takes local ports, or attach to an engine by its URL.",
            engine=self._name,
        )

    def _launched(self) -> tuple[Launch, int]:
        port = free_port()
        return LAUNCHES.start(self._order(port)), port

    def _order(self, port: int) -> Order:
        return _order(self._name, self._command, self._options, port)

    def _until_ready(self, launch: Launch, port: int) -> Started:
        self._listened = False
        url = f"http://{LOOPBACK}:{port}"
        heard = "nothing listens on its port yet"
        pause = 0.01
        while True:
            if launch.ended.is_set():
                raise self._ended(launch, port)
            # The port is asked about before the engine is: a stranger never hears from us.
            sockets = self._our_sockets(launch, port)
            if sockets:
                self._listened = True
                answer = self._probe(url, max(0.1, min(PROBE_TIMEOUT, self._remaining())))
                if answer.state == "stranger":
                    raise _PortLostError(f"a stranger answers there, {answer.text}")
                heard = answer.text or "it listens but is not ready"
                # Asked again: somebody may have come between the look and the answer.
                if answer.state == "ready" and self._our_sockets(launch, port):
                    return Started(launch=launch, url=url, port=port, sockets=sockets)
            self._give_up_if_stopped()
            if self._remaining() <= 0:
                raise self._too_slow(launch, heard)
            launch.ended.wait(pause)
            pause = min(pause * 1.25, 0.1)

    def _our_sockets(self, launch: Launch, port: int) -> frozenset[int]:
        """The engine's listening sockets; empty while it has none."""
        if not launch.told.is_set():  # without its process id everybody looks like a stranger
            return frozenset()
        seen = listeners(port, launch.pid)
        if seen.others:
            raise _PortLostError("another process listens there")
        return seen.ours

    def _give_up_if_stopped(self) -> None:
        if self._interrupt.is_set():
            raise EngineStartError("was stopped while it was starting.", engine=self._name)

    def _remaining(self) -> float:
        return self._options.load_timeout - (time.monotonic() - self._began)

    def _ended(self, launch: Launch, port: int) -> Exception:
        if launch.ending is None:
            return EngineStartError(
                f"{self._command.argv[0]!r} could not be started: {launch.failure}.",
                remedy="Check the path of the program, its permissions and its architecture.",
                engine=self._name,
            )
        if launch.ending.why == "parent":
            return EngineStartError("was stopped while it was starting.", engine=self._name)
        # Once it had listened, connections that it has closed hold the port for a while.
        if not self._listened and not is_free(port):
            return _PortLostError("another process took it before the engine could")
        return EngineStartError(
            f"the process {launch.ending} while loading, after {launch.uptime:.1f} s.",
            remedy="Its log says why, as far as it knows.",
            engine=self._name,
            log=launch.log_tail(LOG_LINES),
        )

    def _too_slow(self, launch: Launch, heard: str) -> EngineStartError:
        return EngineStartError(
            f"still loading, {time.monotonic() - self._began:.0f} s so far ({heard}); "
            f"the load budget is {self._options.load_timeout:g} s.",
            remedy="Raise load_timeout for a large model or a slow disk.",
            engine=self._name,
            log=launch.log_tail(LOG_LINES),
        )


def _order(name: str, command: Command, options: ProcessOptions, port: int) -> Order:
    return Order(
        name=name,
        argv=command.on_port(port),
        additions=command.env,
        cwd=command.cwd,
        grace=options.grace,
        log_bytes=options.log_bytes,
        log_dir=options.log_dir,
        death_signal=options.death_signal,
    )
