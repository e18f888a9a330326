"""The program that `pcdserver` starts: where it is, how it is called, and what it needs."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tiebreak import doctor
from tiebreak.binaries import Binary, Search, build, find_binary, in_wheel
from tiebreak.command import Command
from tiebreak.doctor import Finding
from tiebreak.gguf import Gguf
from tiebreak.memory import Footprint
from tiebreak_pcdserver.info import WINDOW

__all__ = ["command", "find", "findings", "footprint", "version"]

WHEEL = "ornotto"
PROGRAM = "pcd_server"
BATCH = 2048  # tokens of one micro-batch; compiled in
MOST_THREADS = 16


def find(explicit: str | None = None) -> Binary:
    """The program: option, TIEBREAK_PCD_SERVER, PATH, then the wheel.

    Raises:
        EngineUnavailable: there is none; says every place that was looked in.
    """
    return find_binary(
        Search(
            engine="pcdserver",
            explicit=explicit,
            variable="TIEBREAK_PCD_SERVER",
            names=(PROGRAM,),
            wheel=lambda: in_wheel(WHEEL, PROGRAM),
            wheel_name=WHEEL,
            extra="tiebreak-pcdserver[server]",
        )
    )


def command(program: Binary, model: Path, options: Mapping[str, Any]) -> Command:
    """The command line, every limit explicit. Threads and context cannot be set: the program has no flag for them."""
    argv = [str(program.path), "--bind", "127.0.0.1", "--port", "{port}", "--model", str(model)]
    argv += ["--cache-entries", str(options["cache_entries"]), "--cache-bytes", str(options["cache_bytes"])]
    argv += ["--gpu-layers", str(options["gpu_layers"])]
    return Command(argv=(*argv, "--cpu") if options["cpu"] else tuple(argv))


def version(program: Binary) -> str:
    """The build; the program has no version flag."""
    return build(program, WHEEL)


def footprint(header: Gguf | None, options: Mapping[str, Any]) -> Footprint:
    """What the server takes: the file, the keys and values of its window, its checkpoints and its buffers.

    The buffers are estimated from above as one micro-batch of logits and activations in 32-bit floats.
    """
    if header is None:
        return Footprint(weights=0)
    vocabulary = next((tensor.shape[-1] for tensor in header.tensors if tensor.name == "token_embd.weight"), 0)
    width = header.embedding_length or 0
    return Footprint(
        weights=header.actual_size,
        kv=WINDOW * (header.kv_bytes_per_token() or 0),
        cache=options["cache_bytes"] if options["cache_entries"] else 0,
        compute=BATCH * 4 * (vocabulary + 8 * width),
    )


def findings() -> Sequence[Finding]:
    """What `tiebreak doctor pcdserver` reports."""
    return doctor.program(find, version, lambda program: [_threads()])


def _threads() -> Finding:
    """Its threads wait for each other by spinning: with fewer CPUs than threads every answer takes seconds."""
    threads = min(os.cpu_count() or 1, MOST_THREADS)
    free = len(os.sched_getaffinity(0)) if sys.platform == "linux" else threads
    if free >= threads:
        return Finding(subject="threads", state="ok", detail=f"{threads}, one per CPU (it has no option for that)")
    return Finding(
        subject="threads",
        state="warn",
        detail=f"it starts {threads} threads, but this process may use {free} CPUs only: answers will take seconds",
        remedy="Allow as many CPUs as the machine has, or use another engine, for example slot.",
    )
