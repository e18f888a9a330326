"""Memory and hits over a long run: 8 schemas in rotation about random states, under a budget of checkpoints.

    python benchmarks/embedded_memory.py [--requests N] [--budget MIB] [--sequences N] [MODEL]

Without a model: a tiny one with recurrent layers, made on the spot. Three runs: as it is, with every schema pinned, and
with requests ordered by schema. Printed per run: share of hits, median latency, and the resident size of this process
after a tenth of the requests and at the end; checkpoints over their budget end it with an error.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from pathlib import Path

import psutil

from tiebreak import Decider, choice
from tiebreak.pool import Pool
from tiebreak.questions import Request
from tiebreak_conformance.hybrid import write_hybrid
from tiebreak_embedded.engine import EmbeddedEngine

SCHEMAS = [
    {"q": choice(f"Schema {n}: which of these teams should answer the letter?", [f"team {n}", "another", "none"])}
    for n in range(8)
]


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", type=Path)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--budget", type=int, default=64)
    parser.add_argument("--sequences", type=int, default=4)
    flags = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model = flags.model or write_hybrid(Path(folder) / "hybrid.gguf")
        for name, pinned, ordered in (("as it is", False, False), ("pinned", True, False), ("ordered", False, True)):
            with Decider(
                "embedded",
                str(model),
                pool=Pool(),
                layout="schema-first",
                context=512,
                sequences=flags.sequences,
                cache_mib=flags.budget,
            ) as decider:
                _run(decider, name, flags.requests, pinned=pinned, ordered=ordered)


def _run(decider: Decider, name: str, requests: int, *, pinned: bool, ordered: bool) -> None:
    decider.start()
    engine = decider.session.engine
    assert isinstance(engine, EmbeddedEngine)
    if pinned:
        for schema in SCHEMAS:
            decider.pin(questions=schema)
    dice = random.Random(1)
    budget = engine._options["cache_mib"] << 20
    hits, times, early = 0, [], 0
    for number in range(requests):
        schema = SCHEMAS[number * 8 // requests if ordered else number % 8]
        state = f"{dice.getrandbits(64):016x} " * dice.randint(1, 6)
        plan = decider.session.explain(Request.of(state, schema)).plan
        started = time.perf_counter()
        (outcome,) = engine.evidence([plan], lambda: False)
        times.append((time.perf_counter() - started) * 1e3)
        hits += outcome.cache.status == "hit"
        held = outcome.cache.resident_bytes or 0
        if held > budget:
            raise SystemExit(f"{held} bytes of checkpoints under a budget of {budget}")
        if number == requests // 10:
            early = psutil.Process().memory_info().rss
    late = psutil.Process().memory_info().rss
    print(
        f"{name:9s} hits {hits / requests:7.2%}  median {statistics.median(times):8.3f} ms  "
        f"RSS {early >> 20} MiB after a tenth, {late >> 20} MiB at the end ({(late - early) / 2**20:+.1f})"
    )


if __name__ == "__main__":
    main()
