"""Importing costs little: nothing heavy is loaded, and nothing that is installed is looked at."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("httpx", "pydantic", "psutil", "rich", "importlib_metadata", "asyncio")

# Opening a file and listing a directory are both audited; what is below `site` is counted.
WATCH = """
import json, os, sys
site, seen = sys.argv[1], []
def hook(event, arguments):
    if event in ("open", "os.listdir", "os.scandir") and str(arguments[0]).startswith(site):
        seen.append(f"{event} {arguments[0]}")
sys.addaudithook(hook)
"""


def _python(code: str, *arguments: str, **environment: str) -> object:
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize(
    "code, heavy",
    [
        ("import tiebreak", HEAVY),
        ("import tiebreak, tiebreak.cli", (*HEAVY, "click")),
        ("from tiebreak import cli; cli.run(['--help'])", HEAVY),
        ("from tiebreak import cli; cli.run(['--version'])", HEAVY),
        ("from tiebreak import cli; cli.run(['choose', '--help'])", HEAVY),
        (
            "import tiebreak; tiebreak.choice('q?', ['a', 'b']); tiebreak.Decider",
            ("httpx", "pydantic", "psutil", "rich"),
        ),
    ],
)
def test_heavy_modules_stay_out(code: str, heavy: tuple[str, ...]) -> None:
    loaded = _python(f"{code}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))")
    assert isinstance(loaded, list)
    assert not set(heavy) & set(loaded)


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with 1,000 distributions in it, each with an engine."""
    site = tmp_path_factory.mktemp("crowd")
    for number in range(1000):
        info = site / f"crowd_{number}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: crowd-{number}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[tiebreak.engines]\nengine{number} = crowd_{number}\n")
    return site


@pytest.mark.parametrize(
    "code",
    ["import tiebreak", "from tiebreak import cli; cli.run(['--help'])", "import tiebreak; tiebreak.Registry()"],
)
def test_nothing_installed_is_looked_at(crowd: Path, code: str) -> None:
    script = f"{WATCH}{code}\nprint(json.dumps(seen))"
    seen = _python(script, str(crowd), PYTHONPATH=str(crowd))
    assert isinstance(seen, list)
    # The import system itself lists a path entry once to find modules in it: it opens no file there.
    assert not [each for each in seen if ".dist-info" in each]


def test_one_engine_by_its_own_name_reads_no_other_metadata(crowd: Path, tmp_path: Path) -> None:
    info = tmp_path / "tiebreak_slot-9.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tiebreak-slot\nVersion: 9.0\n")
    (info / "entry_points.txt").write_text("[tiebreak.engines]\nslot = crowd_slot_plugin\n")
    (tmp_path / "crowd_slot_plugin.py").write_text("")
    script = (
        f"{WATCH}import tiebreak\nplugin = tiebreak.Registry().plugin('slot')\nassert plugin.entry.version == '9.0'\n"
    )
    path = os.pathsep.join((str(crowd), str(tmp_path)))
    seen = _python(f"{script}print(json.dumps(seen))", str(crowd), PYTHONPATH=path)
    assert isinstance(seen, list)
    assert not [each for each in seen if ".dist-info" in each]


def test_a_scan_happens_once_per_registry(crowd: Path) -> None:
    script = (
        f"{WATCH}import tiebreak\nregistry = tiebreak.Registry()\n"
        "counts = []\n"
        "for _ in range(3):\n"
        "    assert 'engine7' in registry.names()\n"
        "    counts.append(sum('entry_points.txt' in each for each in seen))\n"
        "print(json.dumps(counts))"
    )
    counts = _python(script, str(crowd), PYTHONPATH=str(crowd))
    assert counts == [1000, 1000, 1000]
