"""Merges an adapter with the base: `python -m training.export BASE.gguf ADAPTER OUT.gguf`, as the package does.

Prints size and SHA-256 of the file, which belong into `tiebreak_smol_decider.info` when the adapter is shipped.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path

from tiebreak_smol_decider.merge import merge
from training import adapters

__all__ = ["main"]


def main() -> None:
    """Merges and hashes."""
    options = argparse.ArgumentParser(prog="training.export", description=__doc__)
    options.add_argument("base", type=Path)
    options.add_argument("adapter", type=Path)
    options.add_argument("out", type=Path)
    given = options.parse_args()
    merge(given.base, adapters.read(given.adapter), given.out, lambda done, total, what: None)
    digest = hashlib.sha256()
    with given.out.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    print(json.dumps({"file": str(given.out), "bytes": given.out.stat().st_size, "sha256": digest.hexdigest()}))


if __name__ == "__main__":
    main()
