"""Memory and hits over a long run, under a budget of checkpoints.

    python benchmarks/embedded_memory.py [--requests N] [--budget MIB] [--sequences N] [MODEL]

Without a model: a tiny one with recurrent layers, made on the spot. Four runs. In three, 8 schemas take turns about
random states, schema first: as they come, with every schema pinned, and ordered by schema. In the fourth every request
has a random state, state first, and every state comes three times (what comes a second time is saved, the third is a
hit), so that checkpoints are made and pushed out all the time. Printed per run: share of hits, median latency,
checkpoints held and pushed out, and the resident size of this process above what it was before the first request: after
a tenth, after half, at the end, and at most. Checkpoints over their budget, or a resident size that grew by more than
the budget and a tenth of it, end it with an error.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path

import attrs
import psutil

from tiebreak import Decider, Question, choice
from tiebreak.pool import Pool
from tiebreak.questions import Request
from tiebreak_conformance.hybrid import write_hybrid
from tiebreak_embedded.engine import EmbeddedEngine

SCHEMAS = [
    {"q": choice(f"Schema {n}: which of these teams should answer the letter?", [f"team {n}", "another", "none"])}
    for n in range(8)
]
LOOK_EVERY = 20
AGAIN_AFTER = 5


@attrs.frozen(kw_only=True)
class Run:
    """One run.

    Attributes:
        name: as it is printed.
        layout: prompt layout.
        pinned: every schema is pinned before.
        ordered: requests come ordered by schema.
        thrice: every state comes a second and a third time, each a few requests later.
    """

    name: str
    layout: str = "schema-first"
    pinned: bool = False
    ordered: bool = False
    thrice: bool = False

    def requests(self, count: int) -> Iterator[tuple[str, Mapping[str, Question]]]:
        """States and questions, the same in every run of this kind."""
        dice = random.Random(1)
        again: deque[tuple[str, int]] = deque()  # states, and how often they came
        for number in range(count):
            schema = SCHEMAS[number * 8 // count if self.ordered else number % 8]
            if len(again) > AGAIN_AFTER:
                state, times = again.popleft()
            else:
                state, times = f"{dice.getrandbits(64):016x} " * dice.randint(1, 6), 0
            if self.thrice and times < 2:
                again.append((state, times + 1))
            yield state, schema


RUNS = (
    Run(name="as it is"),
    Run(name="pinned", pinned=True),
    Run(name="ordered", ordered=True),
    Run(name="random states", layout="decider", thrice=True),
)


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
        for run in RUNS:
            with Decider(
                "embedded",
                str(model),
                pool=Pool(),
                layout=run.layout,
                context=512,
                sequences=flags.sequences,
                cache_mib=flags.budget,
            ) as decider:
                _done(decider, run, flags.requests, flags.budget << 20)


def _done(decider: Decider, run: Run, requests: int, budget: int) -> None:
    decider.start()
    engine = decider.session.engine
    assert isinstance(engine, EmbeddedEngine)
    if run.pinned:
        for schema in SCHEMAS:
            decider.pin(questions=schema)
    process = psutil.Process()
    before = process.memory_info().rss
    hits, evictions, held, times, grown = 0, 0, 0, [], []
    for number, (state, questions) in enumerate(run.requests(requests)):
        plan = decider.session.explain(Request.of(state, questions)).plan
        started = time.perf_counter()
        (outcome,) = engine.evidence([plan], lambda: False)
        times.append((time.perf_counter() - started) * 1e3)
        hits += outcome.cache.status == "hit"
        evictions += outcome.cache.evictions or 0
        held = outcome.cache.resident_bytes or 0
        if held > budget:
            raise SystemExit(f"{held} bytes of checkpoints under a budget of {budget}")
        if number % LOOK_EVERY == LOOK_EVERY - 1:
            grown.append(process.memory_info().rss - before)
            if grown[-1] > budget * 1.1:
                raise SystemExit(f"the resident size grew by {grown[-1]} bytes under a budget of {budget}")
    shown = (grown[len(grown) // 10], grown[len(grown) // 2], grown[-1], max(grown))
    tenth, half, end, most = (f"{size / 2**20:+.1f}" for size in shown)
    print(
        f"{run.name:13s} {requests} requests  hits {hits / requests:7.2%}  median {statistics.median(times):7.3f} ms  "
        f"held {held / 2**20:.1f} MiB, {evictions} pushed out  "
        f"RSS {tenth} MiB after a tenth, {half} after half, {end} at the end, {most} at most",
        flush=True,
    )


if __name__ == "__main__":
    main()
