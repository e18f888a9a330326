"""Finds held-out text in training text: `python -m training.overlap --base BASE.gguf`; ends with 1 where there is any.

Every line of every task file, in several fillings of its slots, and a sample of what the generators draw, are compared
with the held-out files and the router set: a run of words, or of characters for languages that are written without
spaces, that stands in both is a hit. Case, punctuation and white space are ignored. Phrases that everybody uses and
that say nothing about an answer are listed in phrases.txt; hits inside them are not counted.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random

import attrs

from tiebreak.questions import dumps
from training import sources
from training.examples import Example
from training.generators import GENERATORS, sourced
from training.heldout import FOLDER, cases, router
from training.slots import expand
from training.tasks import Task, read

__all__ = ["Hit", "Index", "main"]

WORDS = 5
CHARACTERS = 20
SPOKEN = 3
"""Fewer words than this among numbers are times, dates and sums, which coincide by chance."""
FILLINGS = 3
HERE = Path(__file__).parent
PHRASES = HERE / "phrases.txt"
# A script whose words are not set apart by spaces: only there do runs of characters say more than runs of words.
_UNSPACED = re.compile(r"[぀-ヿ㐀-鿿฀-๿]")


@attrs.frozen(kw_only=True)
class Hit:
    """The longest run that a training text shares with a held-out text."""

    shared: str
    training: str
    heldout: str


class Index:
    """Held-out texts, indexed by their runs of words and characters.

    Args:
        texts: where a text is from, and the text.
        phrases: runs that may occur anywhere.
    """

    def __init__(self, texts: Iterable[tuple[str, str]], phrases: Iterable[str] = ()) -> None:
        self._allowed = [" ".join(_words(phrase)) for phrase in phrases]
        self._runs: dict[str, str] = {}
        for where, text in texts:
            for run in _runs(text):
                if not any(run in allowed for allowed in self._allowed):
                    self._runs.setdefault(run, where)

    def search(self, text: str, where: str) -> Hit | None:
        """What a training text shares, None where that is nothing."""
        found = [run for run in _runs(text) if run in self._runs]
        if not found:
            return None
        return Hit(shared=_joined(found), training=where, heldout=self._runs[found[0]])


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold().replace("_", " "))


def _runs(text: str) -> Iterator[str]:
    words = _words(text)
    for start in range(len(words) - WORDS + 1):
        run = words[start : start + WORDS]
        if sum(word.isalpha() for word in run) >= SPOKEN:
            yield " ".join(run)
    if _UNSPACED.search(text):
        together = "".join(words)
        for start in range(len(together) - CHARACTERS + 1):
            yield together[start : start + CHARACTERS]


def _joined(runs: list[str]) -> str:
    """Overlapping runs of words as one."""
    whole = runs[0].split()
    for run in runs[1:]:
        words = run.split()
        if words[:-1] != whole[-len(words) + 1 :]:
            break
        whole.append(words[-1])
    return " ".join(whole)


def task_texts(task: Task) -> Iterator[str]:
    """Every line of a task that a model can see, slots not filled."""
    yield from task.questions
    for label in task.labels:
        yield from (*label.descriptions, *label.states)
    for asked in task.asked:
        yield from (asked.state, *asked.yes, *asked.no)


def example_texts(example: Example) -> Iterator[str]:
    """State, question and options of an example."""
    yield dumps(example.state)
    yield example.question.text
    for option in example.question.options:
        yield option.text


def main() -> None:
    """Prints the hits, one a line, and how many there are.

    Raises:
        SystemExit: 1 where there is a hit.
    """
    options = argparse.ArgumentParser(prog="training.overlap", description=__doc__)
    options.add_argument("--tasks", type=Path, default=HERE / "tasks", help="folder of task files")
    options.add_argument("--heldout", type=Path, default=FOLDER, help="folder of held-out files")
    options.add_argument("--sources", type=Path, help="what training.sources wrote, for the generators that need it")
    options.add_argument("--samples", type=int, default=400, help="examples drawn from each generator")
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    phrases = [line for line in PHRASES.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    held = [case for path in sorted(given.heldout.glob("*.txt")) for case in cases(path)] + router()
    index = Index(((f"{case.set} {case.key}", text) for case in held for text in example_texts(case.example)), phrases)
    rng = Random(given.seed)
    hits: dict[str, Hit] = {}
    for where, text in _training(given, rng):
        hit = index.search(text, where)
        if hit is not None:
            hits.setdefault(hit.shared, hit)
    for hit in hits.values():
        print(f"{hit.shared!r}: {hit.training} and {hit.heldout}")
    print(f"{len(hits)} shared runs")
    raise SystemExit(1 if hits else 0)


def _training(given: argparse.Namespace, rng: Random) -> Iterator[tuple[str, str]]:
    for task in read(sorted(given.tasks.glob("*.txt"))):
        for text in task_texts(task):
            yield from ((task.name, expand(text, rng)) for _ in range(FILLINGS))
    generators = [*GENERATORS, *(sourced(sources.read(given.sources)) if given.sources else ())]
    for generator in generators:
        for _ in range(given.samples):
            example = generator(rng)
            yield from ((generator.name, text) for text in example_texts(example))


if __name__ == "__main__":
    main()
