"""`Words`: states and questions that were never asked before, each of one length, the same in every run."""

from __future__ import annotations

import random
from collections.abc import Mapping

from tiebreak.decider import Decider
from tiebreak.errors import Unsupported
from tiebreak.questions import Question, choice, score, yes_no

__all__ = ["Words", "prompt_rows", "state_tokens", "words_for"]

_THINGS = ("The bin", "A lamp", "The road", "The old bridge", "Our bus", "The school bell", "A window", "The lift")
_DOES = ("rattles", "leaks", "smells", "stops", "burns", "shakes", "falls", "hums")
_TIMES = ("since Monday", "every night", "near the school", "at number 7", "in the rain", "for an hour", "once again")

CHARACTERS_PER_TOKEN = 4
"""English text in a common vocabulary; only where an engine does not show its tokens."""


class Words:
    """Draws texts from a generator with a fixed seed.

    Args:
        seed: two with one seed say the same.
    """

    def __init__(self, seed: int) -> None:
        self._dice = random.Random(seed)  # noqa: S311  repeatable on purpose

    def state(self, sentences: int) -> str:
        """A report of so many short sentences, numbered at its beginning, so that no two begin alike."""
        dice = self._dice
        told = [f"{dice.choice(_THINGS)} {dice.choice(_DOES)} {dice.choice(_TIMES)}." for _ in range(sentences)]
        return " ".join([f"{self.number()}: a report.", *told])

    def number(self, digits: int = 6) -> str:
        """So many digits."""
        return f"{self._dice.randrange(10**digits):0{digits}d}"

    def one(self) -> dict[str, Question]:
        """One question: a choice of four."""
        return {
            "team": choice(f"{self.number(4)}: which team should handle this?", ["roads", "waste", "noise", "parks"])
        }

    def two(self) -> dict[str, Question]:
        """Two questions: a choice of four and a yes/no."""
        return {**self.one(), "today": yes_no(f"{self.number(4)}: does it have to be settled today?")}

    def three(self) -> dict[str, Question]:
        """Three questions: a choice, a yes/no, and a score of five levels (which may take five prompts)."""
        levels = ["calm", "cool", "annoyed", "angry", "furious"]
        return {**self.two(), "anger": score(f"{self.number(4)}: how angry is the writer?", levels)}


def state_tokens(decider: Decider, state: str) -> int | None:
    """Tokens of a state as the decider's engine sees it, None where it does not show them."""
    questions = Words(0).one()
    try:
        shown = decider.explain(state, questions)
    except Unsupported:
        return None
    if shown.tokens is None:
        return None
    # The parts around the state are as long without it, but for a token or so at the borders.
    empty = decider.explain("-", questions)
    assert empty.tokens is not None
    return sum(map(len, shown.tokens[0])) - sum(map(len, empty.tokens[0])) + 1


def words_for(decider: Decider, tokens: int) -> int:
    """How many sentences make a state of about so many tokens."""
    sample = Words(1).state(20)
    counted = state_tokens(decider, sample) or len(sample) // CHARACTERS_PER_TOKEN
    return max(1, round(20 * tokens / counted))


def prompt_rows(decider: Decider, questions: Mapping[str, Question]) -> int:
    """Prompts that some questions take."""
    return len(decider.explain("-", questions).plan.rows)
