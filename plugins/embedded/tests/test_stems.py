from __future__ import annotations

from array import array
from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from tiebreak_embedded.reading import Read
from tiebreak_embedded.stems import Leaf, Source, Stem, common, stems

prompts = st.lists(
    st.tuples(st.lists(st.integers(0, 1), min_size=1, max_size=40), st.integers(0, 40), st.booleans()),
    min_size=1,
    max_size=8,
    unique_by=lambda drawn: tuple(drawn[0]),
)


def leaf(tokens: list[int], depth: int = 0, *, marks: bool = True) -> Leaf:
    made = Leaf(array("i", tokens), (Read(len(tokens) - 1),), (1,) if marks else ())
    made.source = Source(min(depth, made.limit), bytearray(1)) if marks else Source()
    return made


def walk(parts: list[Stem | Leaf], around: tuple[int, ...] = ()) -> Iterator[tuple[Leaf, tuple[int, ...]]]:
    for part in parts:
        if isinstance(part, Leaf):
            yield part, around
            continue
        prefix = tuple(part.first.tokens[: part.stop])
        assert prefix[: len(around)] == around
        assert len(prefix) - max(part.source.depth, len(around)) >= 2, "one token alone is never decoded"
        assert part.source.depth <= part.stop
        yield from walk(list(part.parts), prefix)


@given(prompts, st.booleans())
def test_every_prompt_is_there_once_behind_beginnings_that_are_its_own(
    drawn: list[tuple[list[int], int, bool]], rewinds: bool
) -> None:
    leaves = [leaf(tokens, depth, marks=marks) for tokens, depth, marks in drawn]
    found = list(walk(stems(leaves, rewinds=rewinds)))
    assert {id(one) for one, _ in found} == {id(one) for one in leaves}
    assert len(found) == len(leaves)
    for one, prefix in found:
        assert tuple(one.tokens[: len(prefix)]) == prefix
        assert len(prefix) <= one.limit
        assert one.marks or not prefix, "what may not be reused is decoded whole"


@given(st.lists(st.integers(0, 2), max_size=30), st.lists(st.integers(0, 2), max_size=30))
def test_common_counts_whole_tokens(one: list[int], other: list[int]) -> None:
    expected = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    assert common(array("i", one).tobytes(), array("i", other).tobytes()) == expected


def test_a_long_beginning_is_decoded_once_and_a_short_one_is_not() -> None:
    state = list(range(100))
    (stem,) = stems([leaf([*state, 200 + n, 7]) for n in range(3)], rewinds=True)
    assert isinstance(stem, Stem)
    assert stem.stop == 100
    assert len(stem.parts) == 3
    assert all(isinstance(part, Leaf) for part in stems([leaf([1, 2, 200 + n, 7]) for n in range(3)], rewinds=True))


def test_a_beginning_that_is_there_already_makes_no_stem() -> None:
    state = list(range(100))
    parts = stems([leaf([*state, 200 + n, 7], depth=100) for n in range(3)], rewinds=True)
    assert all(isinstance(part, Leaf) for part in parts)


def test_stems_branch_where_it_pays() -> None:
    state, question = list(range(100)), list(range(300, 320))
    leaves = [leaf([*state, 900, 7]), *(leaf([*state, *question, 500 + n]) for n in range(5))]
    (stem,) = stems(leaves, rewinds=False)
    assert isinstance(stem, Stem)
    inner = [part for part in stem.parts if isinstance(part, Stem)]
    assert [part.stop for part in inner] == [120]
    assert inner[0].source.depth == 0, "it goes on from the stem around it"
