"""How far two engines are apart on the same prompts: slot and dohnuts, decider layout, one question a request.

    python benchmarks/parity.py [--prompts N] [--flash on|off] [--model M]

Both get the same token ids from the same file. Printed are the largest and mean difference of a probability, per
flash-attention setting of dohnuts, and how often the two disagree on the answer. The differences that are left
come from two builds of llama.cpp with two sets of kernels.
"""

from __future__ import annotations

import argparse
import random
import statistics

from tiebreak import Decider, choice, yes_no

TOPICS = ["the bins", "a hole in the road", "loud music", "a broken lamp", "a lost cat", "a late bus", "graffiti"]
TIMES = ["since Monday", "every night", "for an hour", "again", "near the school", "at number 7", "in the rain"]
QUESTIONS = [
    choice("Which team should handle this?", {"roads": "potholes, lamps", "waste": "bins, litter", "noise": "music"}),
    choice(None, ["complaint", "question", "praise"]),
    choice("How soon?", ["today", "this week", "some day", "never"]),
    yes_no("Does it have to be today?"),
    yes_no("Is somebody in danger?", yes="a person could be hurt", no="nobody could be hurt"),
]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prompts", type=int, default=100)
    parser.add_argument("--model", default="smollm2-135m")
    flags = parser.parse_args()
    dice = random.Random(11)
    asked = [
        (f"Report {i}: {dice.choice(TOPICS)} {dice.choice(TIMES)}.", QUESTIONS[i % len(QUESTIONS)])
        for i in range(flags.prompts)
    ]
    slot = _answers(Decider("slot", flags.model, cache="off"), asked)
    for flash in ("off", "on"):
        dohnuts = _answers(Decider("dohnuts", flags.model, flash_attn=flash), asked)
        apart = [max(abs(a[name] - b[name]) for name in a) for a, b in zip(slot, dohnuts, strict=True)]
        flips = sum(max(a, key=a.__getitem__) != max(b, key=b.__getitem__) for a, b in zip(slot, dohnuts, strict=True))
        print(
            f"slot (flash off) against dohnuts (flash {flash}), {len(asked)} prompts: largest difference "
            f"{max(apart):.4f}, mean {statistics.mean(apart):.4f}, other answer {flips}"
        )


def _answers(decider: Decider, asked: list) -> list[dict[str, float]]:
    with decider:
        return [dict(decider.decide(state, {"q": question})["q"].probabilities) for state, question in asked]


if __name__ == "__main__":
    main()
