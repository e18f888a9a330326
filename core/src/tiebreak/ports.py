"""Local ports: finding a free one, and proving who listens on it.

A port that was free when it was chosen may belong to somebody else a moment later. Some engines set
SO_REUSEPORT, so that a stranger and our engine can both listen on one port while the kernel deals
connections to either. So a port is trusted only when every socket that listens there belongs to the
engine that we started.
"""

from __future__ import annotations

import os
import re
import socket
import struct
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["LOOPBACK", "Listeners", "free_port", "is_free", "listeners", "open_sockets"]

LOOPBACK = "127.0.0.1"

# A value, not a condition in place: type checkers would find the rest unreachable elsewhere.
_LINUX: bool = sys.platform == "linux"
_LISTEN = "0A"  # TCP_LISTEN in /proc/net/tcp, see proc(5)


class Listeners(NamedTuple):
    """The sockets that listen where a connection to 127.0.0.1 would arrive.

    Args:
        ours: those held by the engine or by a process that it started.
        others: those held by anybody else.

    On Linux a socket is named by its inode number. Elsewhere it is named by its owner's process id,
    and `others` may be incomplete: macOS hides foreign sockets from users, so there it is left to
    the engine's identity check to find a stranger.
    """

    ours: frozenset[int]
    others: frozenset[int]


def free_port() -> int:
    """A port of 127.0.0.1 that nobody held a moment ago."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port


def is_free(port: int) -> bool:
    """Whether a program could bind the port now; a connection that ended just now also holds it."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
        return True


def listeners(port: int, root: int) -> Listeners:
    """Says who listens on a port.

    Args:
        port: 1 to 65535.
        root: process id of the engine, leader of its session; 0 for nobody.
    """
    if not _LINUX:
        return _portable_listeners(port, root)
    found = open_sockets(port)
    ours = found & _sockets_of(root) if root else frozenset()
    if root and ours != found:
        for member in _family(root):
            ours |= found & _sockets_of(member)
    return Listeners(ours=ours, others=found - ours)


def open_sockets(port: int) -> frozenset[int]:
    """Inodes of the sockets that listen where 127.0.0.1:port arrives; empty outside Linux."""
    if not _LINUX:
        return frozenset()
    found: set[int] = set()
    # proc(5): addresses are hexadecimal words in host byte order. A dual-stack socket shows the
    # v4-mapped form of RFC 4291.
    v4 = _words(socket.inet_aton(LOOPBACK))
    suffix = f":{port:04X} "  # most rows are other connections, and some machines have thousands
    mapped = _words(socket.inet_pton(socket.AF_INET6, f"::ffff:{LOOPBACK}"))
    for table, addresses in (("tcp", {v4, "0" * 8}), ("tcp6", {mapped, "0" * 32})):
        with suppress(FileNotFoundError):  # a kernel without IPv6 has no tcp6
            for row in Path(f"/proc/self/net/{table}").read_text().splitlines()[1:]:
                if suffix not in row:
                    continue
                column = row.split()
                address, _, number = column[1].partition(":")
                if column[3] == _LISTEN and int(number, 16) == port and address in addresses:
                    found.add(int(column[9]))
    return frozenset(found)


def _words(packed: bytes) -> str:
    return "".join(f"{word:08X}" for (word,) in struct.iter_unpack("=I", packed))


def _sockets_of(pid: int) -> frozenset[int]:
    """Inodes of the sockets that a process holds; empty when it is gone or another user's."""
    found: set[int] = set()
    with suppress(OSError):
        for entry in os.scandir(f"/proc/{pid}/fd"):
            with suppress(OSError):
                if match := re.fullmatch(r"socket:\[(\d+)\]", os.readlink(entry.path)):
                    found.add(int(match[1]))
    return frozenset(found)


def _family(root: int) -> set[int]:
    """Processes in the session that `root` leads, and their descendants."""
    parents: dict[int, int] = {}
    family = {root}
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            with suppress(OSError):
                # proc(5): pid (command) state ppid pgrp session; the command may hold a ")".
                text = Path(entry.path, "stat").read_text(errors="replace")
                fields = text.rpartition(")")[2].split()
                parents[int(entry.name)] = int(fields[1])
                if int(fields[3]) == root:
                    family.add(int(entry.name))
    grew = True
    while grew:
        more = {pid for pid, parent in parents.items() if parent in family} - family
        family |= more
        grew = bool(more)
    return family


def _portable_listeners(port: int, root: int) -> Listeners:
    import psutil

    def listens(connection: Any) -> bool:
        return bool(connection.status == psutil.CONN_LISTEN and connection.laddr.port == port)

    family: set[int] = set()
    ours: set[int] = set()
    if root:
        with suppress(psutil.Error):
            engine = psutil.Process(root)
            for member in [engine, *engine.children(recursive=True)]:
                family.add(member.pid)
                with suppress(psutil.Error):
                    if any(map(listens, member.net_connections("tcp"))):
                        ours.add(member.pid)
    others: set[int] = set()
    with suppress(psutil.Error):
        others = {c.pid or 0 for c in psutil.net_connections("tcp") if listens(c)}
    return Listeners(ours=frozenset(ours), others=frozenset(others - family))
