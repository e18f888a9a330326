"""How far cold, warm and batched answers of the transformers engine are apart on the router set.

    python benchmarks/transformers_tolerance.py [--model REF] [--dtype D] [--device D] [--prompts N]

Each query is decided alone and cold; then warm, behind a kept prefix; then all of them in one batch of unequal rows.
Printed is the largest difference of a probability, per comparison and layout, beside what the engine declares.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import tiebreak
from tiebreak import Decider, choice
from tiebreak.questions import Request
from tiebreak.stages.readout import softmax

QUESTION = choice(
    "What is the user asking the assistant to do?",
    {"docs": "an explanation", "python": "a script", "fea": "OpenType code", "vfj": "glyph JSON", "sample": "text"},
)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--prompts", type=int, default=24)
    flags = parser.parse_args()
    file = Path(tiebreak.__file__).parent / "bench" / "data" / "router-67.jsonl"
    texts = [json.loads(line)["query"] for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
    texts = texts[: flags.prompts]
    options = {"dtype": flags.dtype, "device": flags.device, "min_coverage": 0}
    for layout in ("decider", "schema-first"):
        cold, warm = (
            Decider("transformers", flags.model, layout=layout, cache=cache, **options) for cache in ("off", "prefix")
        )
        alone = [_numbers(cold.decide(text, {"q": QUESTION})) for text in texts]
        for text in texts:
            warm.decide(text, {"q": QUESTION})
        again = [warm.decide(text, {"q": QUESTION}) for text in texts]
        hits = sum(decision.cache.status == "hit" for decision in again)
        engine: Any = cold.session.engine
        stages = cold.session.stages
        plans = [
            stages.cache.cut(stages.layout.plan(Request.of(text, {"q": QUESTION}), engine.vocabulary)) for text in texts
        ]
        batch = [softmax(outcome.evidence[0].logprobs) for outcome in engine.evidence(plans, lambda: False)]
        declared = engine.capabilities.tolerance
        print(
            f"{layout}: warm against cold {_apart(alone, [_numbers(decision) for decision in again]):.2g} ({hits} hits "
            f"of {len(texts)}), batched against alone {_apart(alone, batch):.2g}, declared {declared:g}"
        )


def _numbers(decision: tiebreak.Decision) -> list[float]:
    return list(decision["q"].probabilities.values())


def _apart(first: list[Any], second: list[Any]) -> float:
    return max(abs(a - b) for one, other in zip(first, second, strict=True) for a, b in zip(one, other, strict=True))


if __name__ == "__main__":
    main()
