"""Makes the hybrid model that `tiebreak bench prefix` is run on: recurrent layers, 178 million parameters.

    python benchmarks/hybrid.py [FILE]
    tiebreak bench prefix --engines embedded --models "$(python benchmarks/hybrid.py)"

Written once, into the cache of models where no FILE is named, and its path printed. The weights are random, so that its
answers mean nothing; what it costs is what a model of its shape costs. The vocabulary is that of smollm2-135m, so that
prompts are as long as real ones. With the same versions of numpy and gguf the bytes are the same. Needs
tiebreak-conformance, numpy and gguf.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from tiebreak import models
from tiebreak.user_cache import root
from tiebreak_conformance.hybrid import write_hybrid

SHAPE = {
    "layers": 16,
    "attention_every": 4,
    "width": 768,
    "hidden": 2304,
    "heads": 6,
    "kv_heads": 2,
    "head_width": 128,
    "state_width": 128,
    "key_heads": 8,
    "value_heads": 8,
}
"""12 gated delta-net layers and 4 of full attention, in the proportions of Qwen3.5's smallest."""


def main() -> None:
    """Make the file where it is not there yet, and print its path."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--matrices", default="Q8_0", choices=("Q8_0", "F16", "F32"))
    flags = parser.parse_args()
    path: Path = flags.file or root() / "bench" / f"hybrid-178m-{flags.matrices.lower()}.gguf"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        half = path.with_name(f"{os.getpid()}-{path.name}")
        vocabulary = models.resolve("smollm2-135m").path
        write_hybrid(half, matrices=flags.matrices, vocabulary=vocabulary, quantise=None, **SHAPE)
        half.replace(path)
    print(path)


if __name__ == "__main__":
    main()
