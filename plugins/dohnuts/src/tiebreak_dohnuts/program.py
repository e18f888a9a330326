"""The program that `dohnuts` starts: where it is, how it is called, and what it needs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from tiebreak import doctor
from tiebreak.binaries import Binary, Search, build, find_binary, in_wheel
from tiebreak.command import Command
from tiebreak.doctor import Finding
from tiebreak.gguf import Gguf
from tiebreak.memory import Footprint
from tiebreak_dohnuts.info import WINDOW

__all__ = ["MetadataFile", "Setup", "command", "cores", "find", "findings", "footprint", "version"]

WHEEL = "ornotto"
PROGRAM = "dohnuts-cli"
CACHE_BYTES = 256 << 20  # of state checkpoints; compiled in
BATCH = 512  # tokens of one micro-batch; compiled in


@attrs.frozen(kw_only=True)
class Setup:
    """What a command line is made of: the program, the model's file, the profile's metadata file, the options."""

    program: Binary
    model: Path
    metadata: Path
    options: Mapping[str, Any]


class MetadataFile:
    """A profile written to a file of its own, which goes when its owner goes.

    Args:
        owner: the object that needs the file.
        content: the metadata.
    """

    def __init__(self, owner: object, content: Mapping[str, Any]) -> None:
        directory = tempfile.mkdtemp(prefix="tiebreak-dohnuts-")
        weakref.finalize(owner, _remove, directory, os.getpid())
        self.path = Path(directory) / "profile.json"
        self.path.write_text(json.dumps(content), encoding="utf-8")


def find(explicit: str | None = None) -> Binary:
    """The program: option, TIEBREAK_DOHNUTS_CLI, PATH, then the wheel.

    Raises:
        EngineUnavailable: there is none; says every place that was looked in.
    """
    return find_binary(
        Search(
            engine="dohnuts",
            explicit=explicit,
            variable="TIEBREAK_DOHNUTS_CLI",
            names=(PROGRAM,),
            wheel=lambda: in_wheel(WHEEL, PROGRAM),
            wheel_name=WHEEL,
            extra="tiebreak-dohnuts[server]",
        )
    )


def command(setup: Setup) -> Command:
    """The command line: every limit explicit, and no web page let in (the program allows all by default)."""
    options = setup.options
    argv = [str(setup.program.path), "--server", "--host", "127.0.0.1", "--port", "{port}", "--cors-origin", ""]
    argv += ["--model", str(setup.model), "--metadata", str(setup.metadata)]
    if options["head"]:
        argv += ["--head", str(Path(options["head"]).expanduser())]
    argv += ["--threads", str(options["threads"] or cores()), "--gpu-layers", str(options["gpu_layers"])]
    if options["device"]:
        argv += ["--device", options["device"]]
    argv += [f"--flash-attn={_FLASH[options['flash_attn']]}", "--max-questions", str(options["max_questions"])]
    if not options["batching"]:
        argv.append("--no-batching")
    return Command(argv=tuple(argv))


_FLASH = {"auto": "auto", "on": "true", "off": "false"}


def version(program: Binary) -> str:
    """The build; the program has no version flag."""
    return build(program, WHEEL)


def footprint(header: Gguf | None, head: str | None) -> Footprint:
    """What the program takes: the files, the keys and values of its window, its checkpoints and its buffers.

    The buffers are estimated from above as one micro-batch of logits and activations in 32-bit floats. A profile with a
    head reads hidden states, for which llama.cpp keeps the logits of every token of the prompt.
    """
    if header is None:
        return Footprint(weights=0)
    vocabulary = next((tensor.shape[-1] for tensor in header.tensors if tensor.name == "token_embd.weight"), 0)
    width = header.embedding_length or 0
    return Footprint(
        weights=header.actual_size + (Path(head).expanduser().stat().st_size if head else 0),
        kv=WINDOW * (header.kv_bytes_per_token() or 0),
        cache=CACHE_BYTES,
        compute=BATCH * 4 * (vocabulary + 8 * width) + (WINDOW * 4 * (vocabulary + width) if head else 0),
    )


def cores() -> int:
    """Physical cores that this process may use and that nobody else keeps busy, at least one.

    The threads wait for each other by spinning: one that has to share its core holds up all others, and on a busy
    machine two threads were seen to take a hundred times as long as one.
    """
    import psutil

    allowed = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    physical: int = min(allowed, psutil.cpu_count(logical=False) or allowed)
    busy: float = psutil.getloadavg()[0]
    return max(1, min(physical, round(allowed - busy)))


def findings() -> Sequence[Finding]:
    """What `tiebreak doctor dohnuts` reports."""
    return doctor.program(
        find,
        version,
        lambda program: [
            _devices(program),
            Finding(subject="threads", state="ok", detail=f"{cores()} by default"),
        ],
    )


def _devices(program: Binary) -> Finding:
    """What the program itself says that it can compute on."""
    command = [str(program.path), "--list-devices"]
    try:
        found = subprocess.run(command, capture_output=True, timeout=30, check=True, text=True, errors="replace")
    except (OSError, subprocess.SubprocessError) as error:
        return Finding(
            subject="device",
            state="fail",
            detail=f"the program does not run: {error}",
            remedy="Install a build for this machine's system and architecture.",
        )
    names = [line.strip() for line in found.stdout.splitlines() if line.strip()]
    return Finding(subject="device", state="ok", detail="; ".join(names) or "none named")


def _remove(directory: str, owner: int) -> None:
    if os.getpid() == owner:  # a forked child leaves its parent's file alone
        shutil.rmtree(directory, ignore_errors=True)
