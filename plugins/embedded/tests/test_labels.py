from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiebreak.errors import InvalidRequest
from tiebreak_embedded.labels import LabelTree
from tiebreak_embedded.reading import Reading

VOCABULARY = 5
labels_of = st.lists(
    st.lists(st.integers(0, VOCABULARY - 2), min_size=1, max_size=4).map(tuple),
    min_size=1,
    max_size=8,
    unique=True,
)


def distribution(prefix: tuple[int, ...]) -> list[float]:
    """A made-up language model: log-probabilities of the next token."""
    weights = [random.Random(f"{prefix}/{token}").random() + 0.01 for token in range(VOCABULARY)]
    return [math.log(weight / sum(weights)) for weight in weights]


def read_all(tree: LabelTree) -> dict[tuple[int, ...], Reading]:
    readings = {}
    for line in tree.lines(suffix=(9,)):
        for read, prefix in zip(line.reads, line.prefixes, strict=True):
            assert prefix not in readings, "a prefix is read once"
            assert line.tokens[1 : read.at + 1] == prefix
            scores = distribution(prefix)
            readings[prefix] = Reading(tuple(scores[i] for i in read.ids), 0.0, 0)
    return readings


@given(labels_of)
def test_labels_with_a_terminator_get_the_probability_of_exactly_their_text(
    labels: list[tuple[int, ...]],
) -> None:
    tree = LabelTree(labels, terminator=(VOCABULARY - 1,))
    expected = [
        math.fsum(distribution(whole[:n])[token] for n, token in enumerate(whole))
        for whole in ((*label, VOCABULARY - 1) for label in labels)
    ]
    scores = tree.score(read_all(tree))
    assert scores == pytest.approx(expected)
    assert math.fsum(map(math.exp, scores)) <= 1 + 1e-12


@given(labels_of)
def test_labels_without_a_terminator_are_disjoint(labels: list[tuple[int, ...]]) -> None:
    """Enumerate every text of four tokens: it counts for the longest label that it starts with."""
    tree = LabelTree(labels)
    scores = tree.score(read_all(tree))
    mass = dict.fromkeys(labels, 0.0)

    def walk(text: tuple[int, ...], logprob: float) -> None:
        if len(text) < 4:
            for token, step in enumerate(distribution(text)):
                walk((*text, token), logprob + step)
            return
        starts = [text[:n] for n in range(4, 0, -1) if text[:n] in mass]
        if starts:
            mass[starts[0]] += math.exp(logprob)

    walk((), 0.0)
    assert [math.exp(x) for x in scores] == pytest.approx([mass[x] for x in labels], abs=1e-9)


def test_labels_of_one_token_need_the_slot_only() -> None:
    tree = LabelTree([(1,), (2,), (3,)])
    assert tree.single
    (line,) = tree.lines(suffix=(8, 9))
    assert line.tokens == (8, 9)
    assert [(read.at, read.ids) for read in line.reads] == [(1, (1, 2, 3))]
    assert tree.lines() == ()


def test_a_shared_beginning_is_one_line() -> None:
    (line,) = LabelTree([(1, 2), (1, 3)]).lines(suffix=(9,))
    assert line.tokens == (9, 1)
    assert [(read.at, read.ids) for read in line.reads] == [(0, (1,)), (1, (2, 3))]


def test_the_slot_can_be_read_before() -> None:
    tree = LabelTree([(1, 2), (1, 3), (4,)])
    assert tree.slot(7).at == 7
    assert tree.slot(7).ids == (1, 4)
    (line,) = tree.lines()
    assert line.tokens == (1,)
    assert line.prefixes == ((1,),)


@pytest.mark.parametrize(
    "labels,reason", [([], "at least one token"), ([()], "at least"), ([(1,), (1,)], "same tokens")]
)
def test_labels_that_mean_nothing_are_refused(labels: list[tuple[int, ...]], reason: str) -> None:
    with pytest.raises(InvalidRequest, match=reason):
        LabelTree(labels)
