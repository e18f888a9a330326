"""Makes a model file with a plugin's code, into the user's cache: whole and checked, or not at all.

The function that a plugin names as `made:PACKAGE.MODULE:FUNCTION` is called with a new path and a progress callback and
writes the file there. Everything else is done here: one process at a time, space, hash, the rename that makes the file
appear, and the removal of what an attempt that died has left.
"""

from __future__ import annotations

import errno
import hashlib
import importlib
import os
import shutil
from pathlib import Path

from tiebreak import _store, user_cache
from tiebreak._fetch import Expected, Progress, disk_errors, no_space, quiet, usable
from tiebreak.errors import ModelUnavailable, TiebreakError
from tiebreak.references import MadeReference

__all__ = ["here", "made_file"]

_CHUNK = 1 << 20
_FULL = (errno.ENOSPC, errno.EDQUOT)


def made_file(name: str, reference: MadeReference, expected: Expected, progress: Progress = quiet) -> Path:
    """The path of a model's file, made now unless it is here already.

    Any number of processes may ask at once: one makes it, the others wait.

    Args:
        name: the model's registered name.
        reference: the function that makes it.
        expected: what the file must be; its hash is known, because it names the place in the cache.
        progress: called with bytes so far, bytes in all and what is being done.

    Raises:
        ModelUnavailable: the function failed or made another file, or there is no space.
    """
    found = here(name, expected)
    if found is not None:
        return found
    key, target = _place(name, expected)
    scratch = user_cache.root() / "partial" / key

    def waiting() -> None:
        progress(0, None, f"waiting for another process that makes {name}")

    with disk_errors(name), _store.lock(key, waiting):
        if not usable(target, expected):
            shutil.rmtree(scratch, ignore_errors=True)  # of an attempt that died
            scratch.mkdir(parents=True)
            try:
                free = shutil.disk_usage(scratch).free
                if expected.size is not None and free < expected.size:
                    raise no_space(name, f"it needs {expected.size:,} bytes and {free:,} are free")
                _run(name, reference, scratch / "file", progress)
                _keep(name, scratch / "file", target, expected)
            finally:
                shutil.rmtree(scratch, ignore_errors=True)
    return target


def here(name: str, expected: Expected) -> Path | None:
    """The path of the file if it was made before, None where it would have to be made."""
    _, target = _place(name, expected)
    return target if usable(target, expected) else None


def _place(name: str, expected: Expected) -> tuple[str, Path]:
    """Folder name and path in the cache; another version of the same model has another place."""
    assert expected.sha256 is not None  # `ModelInfo` sees to it
    key = f"made-{name}-{expected.sha256[:12]}"
    return key, user_cache.root() / "models" / key / f"{name}.gguf"


def _run(name: str, reference: MadeReference, path: Path, progress: Progress) -> None:
    try:
        function = getattr(importlib.import_module(reference.module), reference.function)
        function(path, progress)
    except TiebreakError:
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _FULL:
            raise  # about the cache, not about the plugin
        raise _failed(name, reference, f"{type(error).__name__}: {error}") from error
    if not path.is_file():
        raise _failed(name, reference, "it wrote no file")


def _failed(name: str, reference: MadeReference, why: str) -> ModelUnavailable:
    return ModelUnavailable(
        f"The model {name!r} could not be made by {reference.module}.{reference.function}: {why}.",
        remedy="Update the package that registers it, or report this to its authors.",
    )


def _keep(name: str, path: Path, target: Path, expected: Expected) -> None:
    """Sync the file, check it, and only then give it its name."""
    digest = hashlib.sha256()
    with path.open("r+b") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
        os.fsync(file.fileno())
    try:
        expected.check(path, digest.hexdigest(), f"What was made as {name!r}")
    except ModelUnavailable as error:
        raise ModelUnavailable(
            f"{error.message} It was removed.",
            remedy="Making it must give the same bytes everywhere: report this to the authors of its package.",
        ) from error
    target.parent.mkdir(parents=True, exist_ok=True)
    os.replace(path, target)
    _store.sync_folder(target.parent)
    _store.remember(target, digest.hexdigest())
