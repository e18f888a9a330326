"""The memory of pieces: what repeats is tokenised once, and what does not is forgotten before it takes much."""

from __future__ import annotations

from collections import Counter
from typing import cast

from tiebreak.plan import Piece
from tiebreak_embedded.model import Model
from tiebreak_embedded.prompts import Prompts


class CountingModel:
    """Makes a token of each character, and counts the texts."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()

    def opening(self) -> list[int]:
        return []

    def tokenise(self, text: str, *, special: bool) -> list[int]:
        self.asked[text] += 1
        return [ord(character) for character in text]


def test_a_piece_that_repeats_is_tokenised_once_however_many_come_between() -> None:
    model = CountingModel()
    prompts = Prompts(cast(Model, model))
    for number in range(5000):
        prompts.piece(Piece(text="always the same", control=False))
        prompts.piece(Piece(text=f"{number} is new", control=False))
    assert model.asked["always the same"] == 1


def test_many_short_pieces_are_forgotten_as_soon_as_a_few_long_ones() -> None:
    prompts = Prompts(cast(Model, CountingModel()))
    for number in range(10_000):
        prompts.piece(Piece(text=f"state {number}", control=False))
    short = len(prompts._known)
    for number in range(1000):
        prompts.piece(Piece(text=f"{number}" * 2000, control=False))
    assert 1000 < short < 10_000
    assert 10 < len(prompts._known) < 100


def test_a_piece_beyond_the_bound_is_tokenised_all_the_same() -> None:
    model = CountingModel()
    prompts = Prompts(cast(Model, model))
    text = "x" * (1 << 20)
    assert (
        len(prompts.piece(Piece(text=text, control=False)))
        == len(prompts.piece(Piece(text=text, control=False)))
        == 1 << 20
    )
    assert model.asked[text] == 2
