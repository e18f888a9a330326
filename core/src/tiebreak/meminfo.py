"""What the machine has left: available memory, swap, disk, and what a process holds of it."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path

import attrs

__all__ = ["GIB", "MIB", "MemInfo", "read_meminfo", "resident_size", "size_text"]

GIB = 1 << 30
MIB = 1 << 20


@attrs.frozen(kw_only=True)
class MemInfo:
    """What the machine has left, in bytes.

    Args:
        available: memory that a program can get without swapping.
        swap_used: swap in use.
        disk_free: free space of the boot disk, where swap files grow.
    """

    available: int
    swap_used: int
    disk_free: int

    def __str__(self) -> str:
        return (
            f"available memory {size_text(self.available)}, swap used {size_text(self.swap_used)}, "
            f"free disk {size_text(self.disk_free)}"
        )


def read_meminfo() -> MemInfo:
    """What this machine has left, or this container where it has a limit of its own (cgroup v2)."""
    import psutil

    available = int(psutil.virtual_memory().available)
    room = _cgroup_room()
    return MemInfo(
        available=available if room is None else min(available, room),
        swap_used=int(psutil.swap_memory().used),
        disk_free=shutil.disk_usage(os.path.abspath(os.sep)).free,
    )


def _cgroup_room() -> int | None:
    """Bytes left under the tightest memory limit of the cgroups around this process.

    Source: the kernel's cgroup-v2 documentation. A limit counts for all groups below it; page cache
    that was not used lately ("inactive_file") is given back under pressure, so it counts as room.
    """
    root = Path("/sys/fs/cgroup")
    rooms = []
    with suppress(OSError, ValueError):
        line = Path("/proc/self/cgroup").read_text().splitlines()[-1]
        group = root / line.partition("::")[2].lstrip("/")
        for level in (group, *group.parents):
            with suppress(OSError, ValueError):  # the root group has no limit; "max" is none
                limit = int((level / "memory.max").read_text())
                used = int((level / "memory.current").read_text())
                stat = dict(row.split() for row in (level / "memory.stat").read_text().splitlines())
                rooms.append(max(0, limit - used + int(stat["inactive_file"])))
            if level == root:
                break
    return min(rooms, default=None)


def resident_size(pid: int | None) -> int:
    """Bytes that a process and its children hold; 0 when it is gone."""
    if pid is None:
        return 0
    import psutil

    size = 0
    with suppress(psutil.Error):
        engine = psutil.Process(pid)
        for member in [engine, *engine.children(recursive=True)]:
            with suppress(psutil.Error):
                size += int(member.memory_info().rss)
    return size


def size_text(count: int) -> str:
    """A number of bytes for people, in MiB or GiB."""
    return f"{count / GIB:.2f} GiB" if abs(count) >= GIB else f"{count / MIB:.0f} MiB"
