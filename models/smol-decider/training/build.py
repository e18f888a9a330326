"""Builds the training rows: `python -m training.build --base BASE.gguf --out rows.npz --rows 1500000 --seed 1`.

The rows depend on the seed, the number of rows and the texts alone, not on how many processes make them: they are made
in shards, each from a seed of its own.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

import attrs

from training import sources
from training.examples import Example
from training.generators import GENERATORS, Generator, sourced
from training.mixture import Mixture, Source
from training.prompts import Encoder, Prompt
from training.rows import MOST_CANDIDATES, Rows
from training.tasks import read
from training.tokenizer import load

__all__ = ["Shards", "main"]

HERE = Path(__file__).parent
SHARD = 4096


@attrs.frozen(kw_only=True)
class Shards:
    """Everything that a worker must know to make a shard of rows.

    Attributes:
        base: the GGUF whose tokenizer is used.
        tasks: files of hand-written families.
        generated: whether generated families are drawn as well.
        sources: what training.sources wrote, for the generators that need it; None goes without them.
        mixture: the shares.
        seed: of the whole build.
        longest: prompts of more tokens are drawn again.
    """

    base: Path
    tasks: tuple[Path, ...]
    generated: bool = True
    sources: Path | None = None
    mixture: Mixture = attrs.field(factory=Mixture)
    seed: int = 1
    longest: int = 704

    def source(self) -> Source:
        """The source that the rows are drawn from."""
        generators: Sequence[Generator] = GENERATORS if self.generated else ()
        if self.generated and self.sources is not None:
            generators = (*generators, *sourced(sources.read(self.sources)))
        return Source(self.mixture, read(self.tasks), generators)

    def rows(self, number: int, count: int, source: Source, encoder: Encoder) -> tuple[Rows, Counter[str]]:
        """The rows of one shard, and how many there are of each kind, answer and form."""
        rng = Random(f"{self.seed}:{number}")
        prompts: list[Prompt] = []
        pairs: list[int] = []
        counts: Counter[str] = Counter()
        while len(prompts) < count:
            example = source.draw(rng)
            if len(example.question.options) > MOST_CANDIDATES:
                continue
            asked = self._asked(example, encoder, rng)
            if max(len(prompt.tokens) for prompt in asked) > self.longest:
                counts["too long"] += 1
                continue
            if len(asked) > 1:
                pairs.append(len(prompts))
                counts["paired"] += len(asked)
            prompts += asked
            for prompt in asked:
                counts.update((f"kind {example.kind}", f"form {prompt.form}"))
                if example.kind == "yes_no":
                    counts["yes"] += prompt.gold
        return Rows.of(prompts, pairs), counts

    def _asked(self, example: Example, encoder: Encoder, rng: Random) -> Sequence[Prompt]:
        """One row of an example, or a pair."""
        if self.mixture.pairs(example.kind, rng):
            return encoder.pair(example, rng)
        return (encoder.drawn(example, self.mixture.form(rng), rng),)


_shared: tuple[Shards, Source, Encoder] | None = None


def _start(shards: Shards) -> None:
    """Prepares a worker process: reads the texts and the tokenizer once."""
    global _shared  # a pool gives its workers no other place to keep what they prepared
    _shared = shards, shards.source(), Encoder(load(shards.base))


def _make(job: tuple[int, int]) -> tuple[Rows, Counter[str]]:
    assert _shared is not None
    shards, source, encoder = _shared
    return shards.rows(*job, source, encoder)


def build(shards: Shards, count: int, workers: int) -> tuple[Rows, Counter[str]]:
    """About `count` distinct rows, made by some processes; `counts` are of all, before equal ones are dropped."""
    shards.source()  # a mistake in a text ends the build here: in a worker it would start another worker, without end
    load(shards.base)
    jobs = [(number, min(SHARD, count - start)) for number, start in enumerate(range(0, count, SHARD))]
    parts: list[Rows] = []
    counts: Counter[str] = Counter()
    for rows, counted in _made(shards, jobs, workers):
        parts.append(rows)
        counts += counted
    return Rows.joined(parts), counts


def _made(shards: Shards, jobs: Sequence[tuple[int, int]], workers: int) -> Iterator[tuple[Rows, Counter[str]]]:
    if workers == 1:
        _start(shards)
        yield from map(_make, jobs)
        return
    with multiprocessing.get_context("spawn").Pool(workers, _start, (shards,)) as pool:
        yield from pool.imap(_make, jobs)


def main() -> None:
    """Builds and says what came out."""
    options = argparse.ArgumentParser(prog="training.build", description=__doc__)
    options.add_argument("--base", type=Path, required=True, help="GGUF of the base model, for its tokenizer")
    options.add_argument("--out", type=Path, required=True, help="the rows, .npz")
    options.add_argument("--rows", type=int, default=1_500_000)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--workers", type=int, default=max(1, (multiprocessing.cpu_count() or 1) - 1))
    options.add_argument("--tasks", type=Path, default=HERE / "tasks", help="folder of task files")
    options.add_argument("--sources", type=Path, help="what training.sources wrote; without it those generators rest")
    options.add_argument("--hand", type=float, default=Mixture().hand, help="share of hand-written families")
    options.add_argument("--no-pairs", action="store_true", help="ask every example in one way only")
    options.add_argument("--longest", type=int, default=704, help="tokens")
    given = options.parse_args()
    mixture = Mixture(hand=given.hand)
    if given.no_pairs:
        mixture = attrs.evolve(mixture, paired=dict.fromkeys(mixture.paired, 0.0))
    shards = Shards(
        base=given.base,
        tasks=tuple(sorted(given.tasks.glob("*.txt"))),
        generated=given.hand < 1,
        sources=given.sources,
        mixture=mixture,
        seed=given.seed,
        longest=given.longest,
    )
    started = time.monotonic()
    rows, counts = build(shards, given.rows, given.workers)
    rows.save(given.out)
    made = sum(count for key, count in counts.items() if key.startswith("kind "))
    shares = {key: round(count / made, 4) for key, count in sorted(counts.items())}
    shares["yes"] = round(counts["yes"] / max(1, counts["kind yes_no"]), 4)
    summary = {
        "rows": len(rows),
        "repeated": made - len(rows),
        "tokens": len(rows.tokens),
        "longest": int(rows.lengths.max()),
        "seconds": round(time.monotonic() - started, 1),
        "shares": shares,
    }
    print(json.dumps(summary, indent=1))


if __name__ == "__main__":
    main()
