"""How many threads to compute with, and how they wait for each other."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tiebreak.openmp import WAITS, is_set

__all__ = ["Cores", "count", "waiting"]


class Cores(NamedTuple):
    """What this process may compute on, at one moment.

    Attributes:
        physical: cores of the machine, hyper-threads not counted.
        allowed: logical processors that affinity and the container's quota leave to this process.
        busy: processors that others use: the minute's load average or the number of other processes'
            threads that can run just now, whichever is smaller, so that neither the echo of our own
            last run nor a passing blip nor a thread of our own costs a thread.
    """

    physical: int
    allowed: int
    busy: float

    def threads(self, asked: int | None = None) -> int:
        """Threads to compute with: what was asked, or every free physical core, at least one."""
        if asked is not None:
            return asked
        free = int(self.allowed - self.busy + 0.5)
        return max(1, min(self.physical, self.allowed, free))


def count() -> Cores:
    """The cores of this machine as they are now (reads /proc and /sys on Linux)."""
    logical = os.cpu_count() or 1
    allowed = logical
    if sys.platform == "linux":
        allowed = len(os.sched_getaffinity(0))
        quota = _text(Path("/sys/fs/cgroup/cpu.max")).split()
        if len(quota) == 2 and quota[0].isdigit():
            allowed = max(1, min(allowed, int(quota[0]) // int(quota[1])))
    return Cores(physical=_physical(logical), allowed=allowed, busy=_busy())


@contextlib.contextmanager
def waiting(policy: str) -> Iterator[str]:
    """Hold libgomp's variables in the environment while it is loaded, then put back what was there.

    A user who has set one of them knows better, and a libgomp that is loaded already has read
    them: then nothing is set.

    Args:
        policy: `auto`, `spin` or `passive`.

    Yields:
        what holds: the policy, `environment` (the user's own setting) or `as loaded`.
    """
    if is_set():
        yield "environment"
        return
    if "libgomp" in _text(Path("/proc/self/maps")):
        yield "as loaded"
        return
    os.environ.update(WAITS[policy])
    try:
        yield policy
    finally:
        for name in WAITS[policy]:
            os.environ.pop(name, None)


def _physical(logical: int) -> int:
    """Physical cores: by the kernel's topology on Linux, by psutil elsewhere."""
    if sys.platform != "linux":
        import psutil

        return psutil.cpu_count(logical=False) or logical
    siblings = {
        text
        for path in Path("/sys/devices/system/cpu").glob("cpu[0-9]*/topology/thread_siblings_list")
        if (text := _text(path))
    }
    return len(siblings) or logical


def _busy() -> float:
    if sys.platform == "win32":
        return 0.0
    minute = os.getloadavg()[0]
    fields = _text(Path("/proc/loadavg")).split()
    if len(fields) < 4:
        return minute
    running = int(fields[3].partition("/")[0]) - _own()
    return min(minute, float(max(0, running)))


def _own() -> int:
    """Threads of this process that are running just now: one of them is counting."""
    states = [_text(task / "stat").rpartition(")")[2].split(maxsplit=1) for task in Path("/proc/self/task").iterdir()]
    return max(1, sum(state[:1] == ["R"] for state in states))


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:  # not on this system, or hidden in this container
        return ""
