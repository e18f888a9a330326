"""Evaluates a model as the product runs it: `python -m training.evaluate MODEL.gguf OUT_DIR --engine slot`.

Asks the held-out files and the router set through a `Decider` at temperature 1; writes `answers.jsonl`, `report.json`
and `report.md` to a folder. `--answers FILE` reports on answers that are there already (of training.pick, for example).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from tiebreak import Decider, Decision
from training.answers import Answered, load, save
from training.heldout import FOLDER, MOST_ROTATIONS, Case, cases, router
from training.report import markdown, report

__all__ = ["ask", "main"]


def ask(decider: Decider, some: Sequence[Case], layout: str) -> Iterator[Answered]:
    """Ask cases one by one, in order.

    Args:
        decider: at temperature 1, in the layout.
        some: what is asked.
        layout: what the answers are said to be of.
    """
    decisions = decider.decide_many((case.example.state, {"q": case.example.question}) for case in some)
    for case, decision in zip(some, decisions, strict=True):
        assert isinstance(decision, Decision)  # errors are raised
        answer = decision.answers["q"]
        fits = answer.native.get("fit", {})
        yield Answered.of(case, layout, answer.probabilities.values(), fits=fits.values(), coverage=answer.coverage)


def main() -> None:
    """Asks, and reports."""
    options = argparse.ArgumentParser(prog="training.evaluate", description=__doc__)
    options.add_argument("model", help="a GGUF, or a registered name")
    options.add_argument("out", type=Path, help="folder of the results")
    options.add_argument("--engine", default="slot")
    options.add_argument("--layouts", nargs="+", default=["decider", "schema-first"])
    options.add_argument("--heldout", type=Path, default=FOLDER, help="folder of held-out files")
    options.add_argument("--rotations", type=int, default=MOST_ROTATIONS, help="most orders of a choice's options")
    options.add_argument("--no-router", action="store_true", help="do not ask the router set")
    options.add_argument("--first", type=int, help="ask so many cases only, to try things out")
    options.add_argument("--answers", type=Path, help="report on these answers, ask nothing")
    given = options.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    if given.answers is not None:
        answers = load(given.answers)
    else:
        answers = _asked(given)
        save(answers, given.out / "answers.jsonl")
    found = report(answers)
    (given.out / "report.json").write_text(json.dumps(found, indent=1, ensure_ascii=False), encoding="utf-8")
    text = markdown(found)
    (given.out / "report.md").write_text(text, encoding="utf-8")
    print(text)


def _asked(given: argparse.Namespace) -> list[Answered]:
    asked = [case for path in sorted(given.heldout.glob("*.txt")) for case in cases(path, rotations=given.rotations)]
    if not given.no_router:
        asked += router()
    asked = asked[: given.first]
    answers: list[Answered] = []
    for layout in given.layouts:
        with Decider(given.engine, given.model, layout=layout, temperature=1.0, min_coverage=0.0) as decider:
            answers += ask(decider, asked, layout)
    return answers


if __name__ == "__main__":
    main()
