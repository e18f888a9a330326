"""Memory and hits over a long run, under a budget of checkpoints.

    python benchmarks/embedded_memory.py [--requests N] [--budget MIB] [--sequences N] [--words N] [MODEL]

Without a model: a tiny one with recurrent layers, made on the spot, of which eight checkpoints fit into any budget.
With a real one (`smollm2-135m`, 23 KB a token) and `--words` more words in each schema they do not, which is where
pinning and ordering matter. Four runs. In three, 8 schemas take turns about random states, schema first: as they come,
with as many schemas pinned as fit, and ordered by schema. In the fourth every request has a random state, state first,
and every state comes three times (what comes a second time is saved, the third is a hit), so that checkpoints are made
and pushed out all the time. Printed per run: share of hits, median and mean latency, checkpoints pinned, held and
pushed out, and the resident size of this process above what it was before the first request: after a tenth, after half,
at the end, and at most. Checkpoints over their budget, or a resident size that grew by more than the budget and a tenth
of it, end it with an error.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import attrs
import psutil

from tiebreak import Decider, InvalidRequest, Question, choice
from tiebreak.pool import Pool
from tiebreak.questions import Request
from tiebreak_conformance.hybrid import write_hybrid
from tiebreak_embedded.engine import EmbeddedEngine

SCHEMAS = 8
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

    def requests(self, count: int) -> Iterator[tuple[str, int]]:
        """States and numbers of schemas, the same in every run of this kind."""
        dice = random.Random(1)
        again: deque[tuple[str, int]] = deque()  # states, and how often they came
        for number in range(count):
            which = number * SCHEMAS // count if self.ordered else number % SCHEMAS
            if len(again) > AGAIN_AFTER:
                state, times = again.popleft()
            else:
                state, times = f"{dice.getrandbits(64):016x} " * dice.randint(1, 6), 0
            if self.thrice and times < 2:
                again.append((state, times + 1))
            yield state, which


RUNS = (
    Run(name="as it is"),
    Run(name="pinned", pinned=True),
    Run(name="ordered", ordered=True),
    Run(name="random states", layout="decider", thrice=True),
)


def schema(number: int, words: int) -> Mapping[str, Question]:
    """One of the eight, longer by so many words."""
    rules = "".join([f" rule {number}{place}" for place in range(words // 2)])
    text = f"Schema {number}: which of these teams should answer the letter?{rules}"
    return {"q": choice(text, [f"team {number}", "another", "none"])}


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?")
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--budget", type=int, default=64)
    parser.add_argument("--sequences", type=int, default=4)
    parser.add_argument("--words", type=int, default=0)
    flags = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model = flags.model or write_hybrid(Path(folder) / "hybrid.gguf")
        schemas = [schema(number, flags.words) for number in range(SCHEMAS)]
        for run in RUNS:
            with Decider(
                "embedded",
                str(model),
                pool=Pool(),
                layout=run.layout,
                context=512 + 4 * flags.words,
                sequences=flags.sequences,
                cache_mib=flags.budget,
            ) as decider:
                _done(decider, run, schemas, flags.words, flags.requests, flags.budget << 20)


def _done(
    decider: Decider, run: Run, schemas: Sequence[Mapping[str, Question]], words: int, requests: int, budget: int
) -> None:
    decider.start()
    engine = decider.session.engine
    assert isinstance(engine, EmbeddedEngine)
    # Weights are read and scratch memory is taken by the first requests: neither is what is looked for here.
    for number in range(decider.session.engine.capabilities.concurrency):
        strange = schema(SCHEMAS + number, words)
        engine.evidence([decider.session.explain(Request.of(f"warm-up {number}", strange)).plan], lambda: False)
    pinned = _pinned(decider, schemas) if run.pinned else 0
    process = psutil.Process()
    before = process.memory_info().rss
    hits, evictions, held, times, grown = 0, 0, 0, [], []
    for number, (state, which) in enumerate(run.requests(requests)):
        plan = decider.session.explain(Request.of(state, schemas[which])).plan
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
        f"{run.name:13s} {requests} requests  hits {hits / requests:7.2%}  "
        f"median {statistics.median(times):7.3f} mean {statistics.mean(times):7.3f} ms  "
        f"pinned {pinned}, held {held / 2**20:.1f} MiB, {evictions} pushed out  "
        f"RSS {tenth} MiB after a tenth, {half} after half, {end} at the end, {most} at most",
        flush=True,
    )


def _pinned(decider: Decider, schemas: Sequence[Mapping[str, Question]]) -> int:
    """Pin the schemas that fit; returns how many."""
    for count, questions in enumerate(schemas):
        try:
            decider.pin(questions=questions)
        except InvalidRequest:
            return count
    return len(schemas)


if __name__ == "__main__":
    main()
