"""The manual's page on models: its plugin is installed as it is printed there, and used."""

from __future__ import annotations

import hashlib
import json
import lzma
import os
import re
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "models.md"


def blocks(page: str) -> dict[str, str]:
    """Code blocks by the file name or the words that stand before them."""
    found = re.findall(r"^(?:`([^`\n]+)`:|([^\n]*))\n\n```\w*\n(.*?)```$", page, re.MULTILINE | re.DOTALL)
    return {name or words: code for name, words, code in found}


def written(pattern: str, text: str) -> str:
    """The one place in a text where a pattern is found: its group, or all of it."""
    (found,) = re.findall(pattern, text, re.MULTILINE)
    return str(found)


def tiny_gguf() -> bytes:
    """The smallest model that is one: two metadata entries and one tensor of eight floats."""

    def text(value: str) -> bytes:
        return struct.pack("<Q", len(value)) + value.encode()

    pairs = [("general.architecture", "llama"), ("general.name", "tiny")]
    head = b"GGUF" + struct.pack("<IQQ", 3, 1, len(pairs))
    head += b"".join(text(key) + struct.pack("<I", 8) + text(value) for key, value in pairs)
    head += text("w") + struct.pack("<IQIQ", 1, 8, 0, 0)
    return head + bytes(-len(head) % 32) + bytes(range(32))


@pytest.fixture(scope="module")
def code() -> dict[str, str]:
    return blocks(PAGE.read_text(encoding="utf-8"))


@pytest.fixture
def installed(tmp_path: Path, code: dict[str, str]) -> dict[str, str]:
    """The environment of a Python that has the page's package installed, and an index with its wheel."""
    site = tmp_path / "site"
    package = site / "tiebreak_acme"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    for name in ("hooks.py", "unpack.py"):
        (package / name).write_text(code[f"src/tiebreak_acme/{name}"])
    (package / "small.gguf.xz").write_bytes(lzma.compress(tiny_gguf()))
    # What an installer writes out of the page's pyproject.toml.
    project = code["pyproject.toml"]
    distribution, version, group, entry = (
        written(pattern, project)
        for pattern in (
            r'^name = "(.*)"$',
            r'^version = "(.*)"$',
            r'^\[project\.entry-points\."(.*)"\]$',
            "^acme = .*$",
        )
    )
    info = site / f"tiebreak_acme-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(f"[{group}]\n{entry.replace(chr(34), '')}\n")
    links = tmp_path / "links"
    links.mkdir()
    with zipfile.ZipFile(links / "acme_weights-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("acme_weights/small.gguf", tiny_gguf())
        metadata = "acme_weights-1.0.dist-info"
        wheel.writestr(f"{metadata}/METADATA", "Metadata-Version: 2.1\nName: acme-weights\nVersion: 1.0\n")
        wheel.writestr(f"{metadata}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{metadata}/RECORD", "")
    pip = {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(links)}
    return {**os.environ, **pip, "PYTHONPATH": str(site), "TIEBREAK_CACHE": str(tmp_path / "cache")}


def run(environment: dict[str, str], *command: str) -> str:
    done = subprocess.run([sys.executable, *command], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_package_registers_its_models(installed: dict[str, str]) -> None:
    listed = json.loads(run(installed, "-m", "tiebreak", "models", "--json"))["models"]
    acme = {row["name"]: row for row in listed if row["name"].startswith("acme")}
    assert sorted(acme) == ["acme-packed", "acme-small"]
    assert {row["sha256"] for row in acme.values()} == {hashlib.sha256(tiny_gguf()).hexdigest()}
    assert acme["acme-packed"]["layout_temperatures"] == {"schema-first": {"choice": 1.2}}
    assert acme["acme-packed"]["path"] is None


def test_the_made_model_is_used_as_the_page_says(installed: dict[str, str], code: dict[str, str]) -> None:
    printed = run(installed, "-c", code["## Use it"])
    assert printed == code["prints"]


def test_both_models_are_pulled(installed: dict[str, str]) -> None:
    for name in ("acme-small", "acme-packed"):
        path = Path(run(installed, "-m", "tiebreak", "pull", name).strip())
        assert path.read_bytes() == tiny_gguf()
