"""The keeper: a small program between tiebreak and one engine, so that no engine outlives its user.

An `atexit` hook does not run when a process is killed, and the parent-death signal of Linux exists
nowhere else. A pipe does both jobs everywhere: the kernel closes the writing end however its owner
ends, and the reader sees the end of the file. So tiebreak starts this program in a session of its
own and holds the writing end of its standard input. This program starts the engine, drains its
output into a log of bounded size, and stops it when the pipe closes.

Protocol. Standard input: one line of JSON, the order (argv, env, cwd, grace, log, log_bytes,
keep_log, death_signal), then nothing; its end means "stop the engine and end". Standard output:
lines of JSON, `{"event": "started", "pid"}` or `{"event": "failed", "error"}`, and
`{"event": "ended", "status", "why", "peak_rss"}`, sent once the log is complete.

Standard library only, run as `python -I -S _keeper.py`: it must start fast, stay small and depend
on nobody's environment. On Windows there are no process groups to signal: the engine itself is
terminated, its children are not.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import queue
import signal
import subprocess
import sys
import threading

TYPE_CHECKING = False  # `typing` itself takes a tenth of the time to start
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, BinaryIO

PR_SET_PDEATHSIG = 1  # linux/prctl.h
KILL = 9  # signal.SIGKILL, a name that Windows lacks

PARENT = "parent"  # the pipe closed: tiebreak asked for a stop, or ended
SIGNAL = "signal"  # somebody told this keeper to end
ITSELF = "itself"  # the engine ended without being asked by us


def main() -> int:
    """Runs one engine from the order on standard input until either side ends.

    Returns:
        0 when an engine ran, 1 when it could not be started.
    """
    order = _read_order()
    if order is None:
        return 0
    events: queue.SimpleQueue[str] = queue.SimpleQueue()
    _listen_for_signals(events)
    try:
        engine = _start(order)
    except (OSError, ValueError) as error:  # ValueError: a NUL inside an argument
        _report(event="failed", error=f"{type(error).__name__}: {error}")
        return 1
    _report(event="started", pid=engine.pid)

    # Threads only from here on: the engine was forked from a process with one thread, because code
    # that runs between fork and exec is only safe there.
    log = CappedLog(order["log"], order["log_bytes"])
    assert engine.stdout is not None
    drain = _in_thread(_drain, engine.stdout, log)
    end = _End(engine)
    _in_thread(_wait_for_parent, events)
    _in_thread(end.wait, events)

    why = events.get()
    if why != ITSELF:
        _signal_group(engine, signal.SIGTERM)
        if not end.seen.wait(order["grace"]):
            _signal_group(engine, KILL)
        end.seen.wait()
    _signal_group(engine, KILL)  # whatever the engine itself had started
    drain.join(timeout=1.0)  # bounded: a process that left the group may hold the pipe open
    _report(event="ended", status=end.status, why=why, peak_rss=end.peak_rss)
    if why == PARENT and not order["keep_log"]:
        import shutil  # not before an engine can start

        shutil.rmtree(os.path.dirname(order["log"]), ignore_errors=True)
    return 0


class CappedLog:
    """A log that holds at least the last `cap` bytes and at most twice that, in two files.

    Args:
        path: the newer file; the older one has `.1` appended.
        cap: bytes in one file.
    """

    def __init__(self, path: str, cap: int) -> None:
        self._path = path
        self._cap = cap
        self._size = 0
        self._file = open(path, "wb", buffering=0)  # noqa: SIM115  open as long as the keeper lives

    def write(self, data: bytes) -> None:
        """Appends, changing files when the newer one is full."""
        with contextlib.suppress(OSError):  # a full disk costs log lines, never the engine
            data = data[-self._cap :]
            if self._size + len(data) > self._cap:
                with contextlib.suppress(FileNotFoundError):  # somebody tidied up
                    os.replace(self._path, self._path + ".1")
                fresh = open(self._path, "wb", buffering=0)  # noqa: SIM115
                self._file.close()  # last, so that a failure leaves a file that can be written
                self._file, self._size = fresh, 0
            self._size += self._file.write(data)

    def close(self) -> None:
        """Closes the newer file; nothing can be written after."""
        self._file.close()


class _End:
    """The end of the engine: seen once, with its status and its largest resident size."""

    def __init__(self, engine: subprocess.Popen[bytes]) -> None:
        self._engine = engine
        self.seen = threading.Event()
        self.status = 0
        self.peak_rss = 0

    def wait(self, events: queue.SimpleQueue[str]) -> None:
        """Blocks until the engine ends, then says so."""
        if sys.platform == "win32":
            self.status = self._engine.wait()
        else:
            # wait4 rather than Popen.wait: it also tells the peak memory, which explains most
            # deaths by signal 9.
            _, status, usage = os.wait4(self._engine.pid, 0)
            self.status = self._engine.returncode = os.waitstatus_to_exitcode(status)
            # getrusage(2): kibibytes on Linux, bytes on macOS.
            self.peak_rss = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
        self.seen.set()
        events.put(ITSELF)


def _read_order() -> dict[str, Any] | None:
    """The order, or None when the parent ended before it was complete."""
    text = b""
    while not text.endswith(b"\n"):
        piece = os.read(0, 65536)
        if not piece:
            return None
        text += piece
    order: dict[str, Any] = json.loads(text)
    return order


def _listen_for_signals(events: queue.SimpleQueue[str]) -> None:
    # Handlers, never SIG_IGN: an ignored signal stays ignored in the engine. SimpleQueue.put is
    # reentrant, which is what a handler needs. The mask is emptied because the engine would inherit
    # a blocked SIGTERM.
    signal.signal(signal.SIGTERM, lambda *_: events.put(SIGNAL))
    signal.signal(signal.SIGINT, lambda *_: None)
    if sys.platform != "win32":
        signal.signal(signal.SIGHUP, lambda *_: None)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])


def _start(order: dict[str, Any]) -> subprocess.Popen[bytes]:
    bond = _death_bond() if order["death_signal"] and sys.platform == "linux" else None
    return subprocess.Popen(
        order["argv"],
        env=order["env"],
        cwd=order["cwd"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        bufsize=0,
        start_new_session=sys.platform != "win32",
        preexec_fn=bond,
    )


def _death_bond() -> Callable[[], None]:
    """A hook that makes Linux kill the engine when this keeper is killed: prctl(2)."""
    prctl = ctypes.CDLL(None).prctl
    keeper = os.getpid()

    def bind() -> None:
        prctl(PR_SET_PDEATHSIG, KILL, 0, 0, 0)
        if os.getppid() != keeper:  # it ended before the bond was made
            os._exit(1)

    return bind


def _signal_group(engine: subprocess.Popen[bytes], number: int) -> None:
    if sys.platform == "win32":
        engine.terminate()
    else:
        # The engine leads its own group, so the group's number is its pid. macOS answers EPERM for
        # a group that holds only zombies.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(engine.pid, number)


def _drain(source: BinaryIO, log: CappedLog) -> None:
    while data := source.read(65536):
        log.write(data)


def _wait_for_parent(events: queue.SimpleQueue[str]) -> None:
    while os.read(0, 4096):
        pass
    events.put(PARENT)


def _in_thread(work: Callable[..., None], *args: object) -> threading.Thread:
    thread = threading.Thread(target=work, args=args, daemon=True)
    thread.start()
    return thread


def _report(**fields: object) -> None:
    # A parent that is gone reads nothing, and that is no reason to leave its engine running.
    with contextlib.suppress(OSError):
        os.write(1, json.dumps(fields).encode() + b"\n")


if __name__ == "__main__":
    os._exit(main())  # all is written, and whoever waits for this end need not wait for an interpreter's
