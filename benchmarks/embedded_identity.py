"""Whether answers depend on anything but the prompt: random interleavings on real models, compared to the last bit.

    python benchmarks/embedded_identity.py [--rounds N] [--seed N] [MODEL ...]

Without a model: SmolLM2-135M and a tiny model with recurrent layers that is made on the spot. Every round asks a random
request (layout, state, some questions, alone or several at once from threads) of a random engine (large cache, tiny
cache, one sequence), with one thread or two, and compares every log-probability with the one that the same prompt got
alone, decoded whole from its first token. Printed is the largest difference; anything but 0 exits with 1.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tiebreak import Decider, choice, models, score, yes_no
from tiebreak.evidence import TokenScores
from tiebreak.pool import Pool
from tiebreak.questions import Request
from tiebreak_conformance.hybrid import write_hybrid
from tiebreak_embedded.engine import EmbeddedEngine

QUESTIONS = {
    "team": choice("Which team should answer?", {"roads": "holes", "waste": "bins", "noise": "music"}),
    "today": yes_no("Is it urgent?"),
    "anger": score("How angry?", ["calm", "annoyed", "furious"]),
    "city": choice("Where?", ["New York", "New Delhi", "Rome"]),
}
STATES = tuple(
    f"{n}. {text}" for n, text in enumerate(("bins", "a hole", "music at night", "rats", "the lamp is broken " * 6))
)
ENGINES: tuple[dict[str, Any], ...] = (
    {"sequences": 8, "answer_cache": False},
    {"sequences": 8},
    {"sequences": 4, "cache_mib": 1, "cache_entries": 2, "answer_cache": False},
    {"sequences": 1, "cache_mib": 1, "answer_cache": False},
)
LAYOUTS = ("decider", "schema-first", "chat", "names")

Scores = tuple[float, ...]


class Trial:
    """One model under several engines."""

    def __init__(self, model: str, seed: int) -> None:
        self._pool = Pool()
        self._dice = random.Random(seed)
        self._right: dict[tuple[str, str, str], list[Scores]] = {}
        self.worst = 0.0
        self.statuses: Counter[str] = Counter()
        self._deciders = {
            (index, layout, cache): Decider(
                "embedded", model, pool=self._pool, layout=layout, cache=cache, context=512, threads=2, **options
            )
            for index, options in enumerate(ENGINES)
            for layout in LAYOUTS
            for cache in ("prefix", "off")
        }

    def round(self) -> None:
        """Ask once, alone or in company, and compare."""
        index, layout = self._dice.randrange(len(ENGINES)), self._dice.choice(LAYOUTS)
        company = self._dice.choice((1, 1, 1, 2, 5))
        asked = [(self._dice.choice(STATES), self._names()) for _ in range(company)]
        decider = self._deciders[index, layout, "prefix"]
        decider.start()
        engine = decider.session.engine
        assert isinstance(engine, EmbeddedEngine)
        engine._ready().context.set_threads(self._dice.choice((1, 2)))
        with ThreadPoolExecutor(company) as threads:
            found = list(threads.map(lambda one: self._ask(decider, *one), asked))
        for (state, names), rows in zip(asked, found, strict=True):
            right = [scores for name in names for scores in self._cold(layout, state, name)]
            for ours, theirs in zip(rows, right, strict=True):
                self.worst = max(self.worst, *(abs(a - b) for a, b in zip(ours, theirs, strict=True)))

    def close(self) -> None:
        """Close every engine."""
        self._pool.close()

    def _names(self) -> list[str]:
        return self._dice.sample(list(QUESTIONS), self._dice.randint(1, 3))

    def _cold(self, layout: str, state: str, name: str) -> list[Scores]:
        key = (layout, state, name)
        if key not in self._right:
            self._right[key] = self._ask(self._deciders[0, layout, "off"], state, [name], count=False)
        return self._right[key]

    def _ask(self, decider: Decider, state: str, names: list[str], *, count: bool = True) -> list[Scores]:
        """Log-probabilities per row, without a readout: a model of random weights may say anything."""
        decider.start()
        engine = decider.session.engine
        assert isinstance(engine, EmbeddedEngine)
        plan = decider.session.explain(Request.of(state, {name: QUESTIONS[name] for name in names})).plan
        (outcome,) = engine.evidence([plan], lambda: False)
        if count:
            self.statuses[outcome.cache.status] += 1
        return [found.logprobs for found in outcome.evidence if isinstance(found, TokenScores)]


def main() -> int:
    """Try and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL")
    parser.add_argument("--rounds", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    flags = parser.parse_args()
    worst = 0.0
    with tempfile.TemporaryDirectory() as folder:
        given = flags.models or [
            str(models.resolve("smollm2-135m").path),
            str(write_hybrid(Path(folder) / "hybrid.gguf")),
        ]
        for model in given:
            trial = Trial(model, flags.seed)
            try:
                for _ in range(flags.rounds):
                    trial.round()
            finally:
                trial.close()
            name, statuses = Path(model).name, dict(trial.statuses)
            print(f"{name}: {flags.rounds} rounds, largest difference {trial.worst!r}, {statuses}")
            worst = max(worst, trial.worst)
    return 1 if worst else 0


if __name__ == "__main__":
    sys.exit(main())
