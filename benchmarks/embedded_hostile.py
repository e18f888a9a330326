"""Whether a hostile model file can do more than end a child process: mutations of a good file, straight into llama.cpp.

    python benchmarks/embedded_hostile.py [--files N] [--seed N] [MODEL]

Each file goes to an isolated engine behind the core's own check, which would refuse most of them. Printed is how often
what happened; this process must live to print it. A file that still loads is asked one question, too.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections import Counter
from pathlib import Path

from tiebreak import TiebreakError, choice
from tiebreak.engine import Vocabulary
from tiebreak.models import Model
from tiebreak.questions import Request
from tiebreak.stages.cache import PrefixCache
from tiebreak.stages.decider import DeciderLayout
from tiebreak_conformance.hybrid import write_hybrid
from tiebreak_embedded.info import INFO
from tiebreak_embedded.isolated import IsolatedEngine

HEAD = 64 << 10


def main() -> None:
    """Try and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", type=Path)
    parser.add_argument("--files", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    flags = parser.parse_args()
    dice = random.Random(flags.seed)
    ends: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        good = (flags.model or write_hybrid(Path(folder) / "good.gguf")).read_bytes()
        path = Path(folder) / "bad.gguf"
        for _ in range(flags.files):
            path.write_bytes(_mutated(good, dice))
            ends[_tried(path)] += 1
    for what, count in ends.most_common():
        print(f"{count:4d}  {what}")


def _mutated(good: bytes, dice: random.Random) -> bytes:
    bad = bytearray(good)
    kind = dice.randrange(4)
    if kind == 0:
        return bytes(bad[: dice.randrange(len(bad))])
    if kind == 1:  # a number in the header becomes a huge one
        at = dice.randrange(0, HEAD, 4)
        bad[at : at + 8] = dice.choice((b"\xff" * 8, b"\xff" * 7 + b"\x7f", b"\0" * 8))
        return bytes(bad)
    reach = HEAD if kind == 2 else len(bad)
    for _ in range(dice.choice((1, 8, 200))):
        bad[dice.randrange(reach)] = dice.randrange(256)
    return bytes(bad)


def _tried(path: Path) -> str:
    options = {**INFO.check_options({"context": 128, "sequences": 1, "threads": 1, "isolate": True}), "url": None}
    engine = IsolatedEngine(Model(reference=str(path), name="bad", path=path), options)
    try:
        engine.start()
        labels = engine.vocabulary if len(engine.vocabulary.labels) > 2 else Vocabulary()
        plan = DeciderLayout().plan(Request.of("x", {"q": choice("Which?", ["a", "b"])}), labels)
        engine.evidence([PrefixCache().cut(plan)], lambda: False)
    except TiebreakError as error:
        return f"{type(error).__name__}: {error.message.split(str(path))[0][:60]}"
    finally:
        engine.close()
    return "answered"


if __name__ == "__main__":
    main()
