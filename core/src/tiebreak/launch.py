"""One launch: an engine process, its keeper, its log, and how it ended."""

from __future__ import annotations

import atexit
import json
import os
import re
import shutil
import signal
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from tiebreak.errors import EngineError, EngineStartError
from tiebreak.keepers import TOKEN, Keeper, make_folder, token

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["LAUNCHES", "Ending", "Launch", "Launches", "Order", "looks_secret"]

_KEPT_LOG = 65536  # bytes of an ended engine's log that stay readable after its file is gone
_SECRET_NAME = re.compile("key|token|secret|passw|auth|credential", re.IGNORECASE)
_SHORTEST_SECRET = 6  # shorter values ("1", "auto") say nothing, and hiding them would garble the log


@attrs.frozen(kw_only=True)
class Order:
    """What a keeper is told to start.

    Args:
        name: the engine's name, for the log's directory.
        argv: the complete command line.
        additions: environment variables set on top of this process's own; `{token}` in their values stands for
            this process's secret.
        cwd: working directory, None for this process's own.
        grace: seconds between SIGTERM and SIGKILL.
        log_bytes: bytes in one log file.
        log_dir: where to keep the log for good; None for a temporary place.
        death_signal: on Linux, let the kernel kill the engine when its keeper is killed.
    """

    name: str
    argv: tuple[str, ...]
    additions: Mapping[str, str] = attrs.field(repr=lambda names: f"<{', '.join(names)}>")
    cwd: str | None
    grace: float
    log_bytes: int
    log_dir: Path | None
    death_signal: bool


@attrs.frozen(kw_only=True)
class Ending:
    """How an engine ended.

    Args:
        status: its exit code, minus the signal's number, or None when nobody saw it end.
        why: "itself", "parent" (we stopped it), "signal" (its keeper was told to end) or "lost"
            (its keeper was killed).
        peak_rss: its largest resident size in bytes, 0 where the system does not tell.
        uptime: seconds from launch to end.
    """

    status: int | None
    why: str
    peak_rss: int
    uptime: float

    def __str__(self) -> str:
        if self.why == "lost":
            return "was stopped because its keeper process was killed"
        if self.why == "signal":
            return "was stopped because its keeper process was told to end"
        if self.status is not None and self.status < 0:
            return f"ended by signal {-self.status} ({_signal_name(-self.status)})"
        return f"ended with exit code {self.status}"


class Launch:
    """An engine under its keeper, from launch to end; it starts once and is never reused.

    Args:
        order: what to start; an attribute, too.
        keeper: one that has the order already.

    Raises:
        EngineStartError: this Python cannot start a keeper, or there is no place for the log.
    """

    def __init__(self, order: Order, keeper: Keeper | None = None) -> None:
        if not sys.executable:
            raise EngineStartError(
                "this Python does not know its own executable (sys.executable is empty), which is "
                "what keeps an engine process.",
                remedy="Start the engine yourself and attach to it with url=.",
                engine=order.name,
            )
        self.order = order
        self._started = time.monotonic()
        self._kept = b""
        try:
            folder = make_folder(order.name, order.log_dir) if keeper is None else keeper.folder
        except OSError as error:
            raise EngineStartError(
                f"there is no place for its log: {error}.",
                remedy="Make that directory writable, or choose another log_dir.",
                engine=order.name,
            ) from error
        self.told = threading.Event()
        self.ended = threading.Event()
        self.failure = ""
        self.pid = 0
        self.ending: Ending | None = None
        self._ordered = keeper is not None
        try:
            self._keeper = keeper or Keeper(folder)
        except OSError as error:
            shutil.rmtree(folder, ignore_errors=True)
            raise EngineStartError(f"no keeper process could be started: {error}.", engine=order.name) from error

    def begin(self) -> None:
        """Hands the order to the keeper; `told` is set once the engine runs or has failed to."""
        order = self.order
        threading.Thread(target=self._listen, name=f"tiebreak-{order.name}-keeper", daemon=True).start()
        if not self._ordered:
            self._keeper.hand(
                argv=order.argv,
                additions=order.additions,
                cwd=order.cwd,
                grace=order.grace,
                log_bytes=order.log_bytes,
                keep_log=order.log_dir is not None,
                death_signal=order.death_signal,
            )

    @property
    def uptime(self) -> float:
        """Seconds since the launch, or from launch to end."""
        return self.ending.uptime if self.ending else time.monotonic() - self._started

    def log_tail(self, lines: int) -> str:
        """The last lines that the engine printed, with the values of secret variables hidden."""
        text = (self._kept or self._read_log()).decode(errors="replace")
        for name, given in self.order.additions.items():
            value = given.replace(TOKEN, token())
            if looks_secret(name, value):
                text = text.replace(value, f"<{name}>")
        return "\n".join(text.splitlines()[-lines:])

    def release(self) -> None:
        """Asks the keeper to stop the engine, by closing the pipe, and does not wait."""
        self._keeper.release()

    def stop(self) -> None:
        """Stops the engine and waits until it is gone, by force where the keeper fails to.

        Raises:
            EngineError: it is still there.
        """
        self.release()
        # Twice the grace time and a little: the keeper itself waits once before it kills.
        if not self.ended.wait(2 * self.order.grace + 5):
            self._kill_group()
            self._keeper.process.kill()
            if not self.ended.wait(5):
                raise EngineError(
                    f"process {self.pid} could not be ended, not even by SIGKILL.",
                    remedy="It hangs in the kernel, probably in a driver.",
                    engine=self.order.name,
                )

    def disown(self) -> None:
        """In a forked child: drops its copy of the pipes, so that they close with the parent."""
        process = self._keeper.process
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        # The keeper is no child of this process: this keeps Popen from waiting for it or warning.
        process.returncode = 0

    def _listen(self) -> None:
        process = self._keeper.process
        assert process.stdout is not None
        with suppress(OSError, ValueError):  # closed under us by `disown` in a forked child only
            for line in process.stdout:
                self._hear(json.loads(line))
        process.wait()
        process.stdout.close()
        self.release()
        if self.ending is None and self.pid:
            # The keeper was killed. Where the kernel has no parent-death signal this is what ends
            # the engine, and everywhere it is what ends the engine's own children.
            self._kill_group()
            self.ending = Ending(status=None, why="lost", peak_rss=0, uptime=self.uptime)
        if not self.pid and not self.failure:
            complaints = Path(self._keeper.complaints).read_text(errors="replace").strip()
            self.failure = complaints or "its keeper process ended before it had started anything"
        self._kept = self._read_log()[-_KEPT_LOG:]
        if self.order.log_dir is None:
            shutil.rmtree(self._keeper.folder, ignore_errors=True)
        self.told.set()
        self.ended.set()

    def _hear(self, report: dict[str, Any]) -> None:
        if report["event"] == "started":
            self.pid = report["pid"]
            self.told.set()
        elif report["event"] == "failed":
            self.failure = report["error"]
        else:
            self.ending = Ending(
                status=report["status"],
                why=report["why"],
                peak_rss=report["peak_rss"],
                uptime=self.uptime,
            )

    def _read_log(self) -> bytes:
        text = b""
        for path in (f"{self._keeper.log}.1", self._keeper.log):
            with suppress(OSError):
                text += Path(path).read_bytes()
        return text

    def _kill_group(self) -> None:
        if self.pid and sys.platform != "win32":
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)


class Launches:
    """The launches of this process that may still run, and the hooks that protect them.

    The children of a process are a fact of the whole process: it ends once, and a fork copies all
    its pipes. So there is one of these; the first launch registers its hooks, not the import.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._running: set[Launch] = set()
        self._ahead: dict[int, Launch] = {}  # by port
        self._hooked = False

    def start(self, order: Order, keeper: Keeper | None = None) -> Launch:
        """Starts an engine under a keeper.

        Args:
            order: what to start.
            keeper: one that has the order already.

        Raises:
            EngineStartError: no keeper could be started.
        """
        with self._lock:  # held by a fork too, so no fork comes between a launch and its entry here
            if not self._hooked:
                self._hooked = True
                atexit.register(self.stop_all)
                if sys.platform != "win32":
                    os.register_at_fork(
                        before=self._lock.acquire,
                        after_in_parent=self._lock.release,
                        after_in_child=self._forget,
                    )
            self._running = self.running()
            launch = Launch(order, keeper)
            self._running.add(launch)
        launch.begin()
        return launch

    def prepare(self, order: Order, port: int, keeper: Keeper | None = None) -> None:
        """Starts an engine before it is needed; `prepared` hands it out.

        Args:
            order: what to start.
            port: that it was told to listen on.
            keeper: one that has the order already.

        Raises:
            EngineStartError: no keeper could be started.
        """
        launch = self.start(order, keeper)
        with self._lock:
            self._ahead[port] = launch

    def prepared(self, order_on: Callable[[int], Order]) -> tuple[Launch, int] | None:
        """An engine that was started ahead and its port, from now on the caller's; None where there is none.

        Args:
            order_on: the order that would be given for a port.
        """
        with self._lock:
            for port, launch in self._ahead.items():
                if launch in self.running() and launch.order == order_on(port):
                    del self._ahead[port]
                    return launch, port
        return None

    def dismiss(self) -> None:
        """Stops the engines that were started ahead and not needed."""
        with self._lock:
            ahead, self._ahead = list(self._ahead.values()), {}
        for launch in ahead:
            launch.stop()

    def running(self) -> set[Launch]:
        """The launches that have not ended."""
        with self._lock:
            return {launch for launch in self._running if not launch.ended.is_set()}

    def stop_all(self) -> None:
        """Stops every engine that this process started and no other; safe to call again."""
        self._ahead.clear()
        running = self.running()
        for launch in running:  # all pipes first: the grace times then run side by side
            launch.release()
        for launch in running:
            launch.stop()

    def _forget(self) -> None:
        # In a forked child the engines belong to the parent: this copy must neither keep their
        # pipes open nor stop them.
        for launch in self._running:
            launch.disown()
        self._running.clear()
        self._ahead.clear()
        self._lock.release()


LAUNCHES = Launches()


def looks_secret(name: str, value: str) -> bool:
    """Whether an environment variable looks like one whose value must never be shown."""
    return len(value) >= _SHORTEST_SECRET and _SECRET_NAME.search(name) is not None


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "no name here"
