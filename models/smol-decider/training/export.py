"""Merges an adapter with the base as the package does: `python -m training.export BASE.gguf ADAPTER OUT.gguf`.

With `--bits 4` the matrices are rounded to 4 bits, for the smaller file. Prints size and SHA-256 of the file, which
belong into `tiebreak_smol_decider.info` when the adapter is shipped.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path

from tiebreak_smol_decider.merge import FOUR_BITS, FULL, merge
from training import adapters

__all__ = ["main"]


def main() -> None:
    """Merges and hashes."""
    options = argparse.ArgumentParser(prog="training.export", description=__doc__)
    options.add_argument("base", type=Path)
    options.add_argument("adapter", type=Path)
    options.add_argument("out", type=Path)
    options.add_argument("--bits", type=int, choices=(4, 8), default=8, help="of a weight in the matrices")
    given = options.parse_args()
    form = FOUR_BITS if given.bits == 4 else FULL
    merge(given.base, adapters.read(given.adapter), given.out, lambda done, total, what: None, form)
    digest = hashlib.sha256()
    with given.out.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    print(json.dumps({"file": str(given.out), "bytes": given.out.stat().st_size, "sha256": digest.hexdigest()}))


if __name__ == "__main__":
    main()
