"""`describe`: the machine that a benchmark ran on, and what of it a benchmark has to watch."""

from __future__ import annotations

import os
import platform
import re
import sys
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path

from tiebreak.bench.records import Machine
from tiebreak.meminfo import resident_size

__all__ = ["Peak", "default_threads", "describe", "now", "strangers"]

# A value, not a condition in place: type checkers would find the rest unreachable elsewhere.
_LINUX: bool = sys.platform == "linux"
_ENGINES = frozenset({"llama-server", "pcd_server", "dohnuts-cli", "ollama", "lms"})
"""Programs that hold a model and compute; another one beside ours would spoil every figure."""


def describe() -> Machine:
    """This machine, as the head of every section says it."""
    import psutil

    from tiebreak import __version__

    return Machine(
        cpu=_cpu(),
        cores=_usable(),
        memory_bytes=int(psutil.virtual_memory().total),
        system=f"{platform.system()} {platform.release()} {platform.machine()}",
        python=platform.python_version(),
        tiebreak=__version__,
        load=os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
    )


def now() -> str:
    """The time as sections carry it: ISO 8601, UTC."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def default_threads() -> int:
    """Compute threads that every engine is told to use where nobody says: physical cores that we may use."""
    import psutil

    return max(1, min(psutil.cpu_count(logical=False) or 1, _usable()))


def strangers() -> list[str]:
    """Engine programs that run here and are not ours, as `name (pid)`."""
    import psutil

    own = {os.getpid(), *(child.pid for child in psutil.Process().children(recursive=True))}
    found = []
    for process in psutil.process_iter(["name"]):
        name = Path(process.info["name"] or "").stem
        if name in _ENGINES and process.pid not in own:
            found.append(f"{name} ({process.pid})")
    return sorted(found)


class Peak:
    """The largest resident size of an engine, in bytes: of its process and children, or of what it added to this one.

    Linux keeps the high-water mark itself (VmHWM, see proc(5)); elsewhere the size is looked at after each answer.

    Args:
        pid: of the engine's process, None where it computes in this one.
    """

    def __init__(self, pid: int | None) -> None:
        self._pid = os.getpid() if pid is None else pid
        self._own = pid is None
        self._seen = 0
        if self._own:
            with suppress(OSError):  # proc(5): 5 resets the mark to what is resident now
                Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
            self._before = resident_size(self._pid)

    def look(self) -> None:
        """Take note of what is held now; needed where the system keeps no mark."""
        if not _LINUX:
            self._seen = max(self._seen, self._size())

    @property
    def bytes(self) -> int | None:
        """The peak so far, None where it cannot be seen; to be asked before the engine is stopped."""
        self._seen = max(self._seen, self._size())
        found = self._seen - (self._before if self._own else 0)
        return found if found > 0 else None

    def _size(self) -> int:
        if not _LINUX:
            return resident_size(self._pid)
        import psutil

        members = [self._pid]
        if not self._own:
            with suppress(psutil.Error):
                members += [child.pid for child in psutil.Process(self._pid).children(recursive=True)]
        return sum(map(_high_water, members))


def _high_water(pid: int) -> int:
    with suppress(OSError):
        if match := re.search(r"^VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(errors="replace"), re.M):
            return int(match[1]) << 10
    return 0


def _cpu() -> str:
    with suppress(OSError):
        if match := re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(errors="replace"), re.M):
            return match[1].strip()
    return platform.processor() or platform.machine() or "unknown"


def _usable() -> int:
    if _LINUX:
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
