"""The cache of what was read in whole prompts, by itself."""

from __future__ import annotations

import math
from array import array

from tiebreak_embedded.answer_cache import AnswerCache
from tiebreak_embedded.reading import Read, Reading
from tiebreak_embedded.stems import Leaf


def leaf(*tokens: int, ids: tuple[int, ...] = (1, 2), marks: tuple[int, ...] = (2,), read: float | None = None) -> Leaf:
    """A prompt of three tokens or more, decoded if `read` is given."""
    made = Leaf(array("i", tokens), (Read(len(tokens) - 1, ids),), marks)
    if read is not None:
        made.readings = [Reading((read, read), 0.0, 1)]
    return made


def keep(cache: AnswerCache, decoded: Leaf) -> None:
    """As the engine does: what is not known is decoded and kept."""
    readings, decoded.readings = decoded.readings, []
    cache.fill(decoded)
    decoded.readings = readings
    cache.put(decoded)


def test_the_same_prompt_and_reads_are_filled_in() -> None:
    cache = AnswerCache(1 << 20)
    keep(cache, leaf(1, 2, 3, read=-0.5))
    same = leaf(1, 2, 3)
    assert cache.fill(same)
    assert [reading.logprobs for reading in same.readings] == [(-0.5, -0.5)]
    assert same.reused == 3


def test_another_prompt_other_reads_and_a_cache_that_is_off_are_not() -> None:
    cache = AnswerCache(1 << 20)
    keep(cache, leaf(1, 2, 3, read=-0.5))
    keep(cache, leaf(7, 8, 9, marks=(), read=-0.5))
    assert len(cache) == 1
    for other in (leaf(1, 2, 4), leaf(1, 2, 3, ids=(1, 3)), leaf(1, 2, 3, marks=()), leaf(7, 8, 9)):
        assert not cache.fill(other)
        assert not other.readings


def test_it_is_bounded_and_the_least_recently_used_goes_first() -> None:
    cache = AnswerCache(1000)
    for number in range(100):
        keep(cache, leaf(0, 0, number, read=-0.5))
        assert cache.bytes <= cache.max_bytes
        assert cache.fill(leaf(0, 0, 0))
    assert 2 <= len(cache) <= 5
    assert cache.fill(leaf(0, 0, 99))
    assert not cache.fill(leaf(0, 0, 50))


def test_a_whole_row_of_logits_is_not_kept() -> None:
    cache = AnswerCache(1 << 20)
    raw = Leaf(array("i", (1, 2, 3)), (Read(2, (1, 2), raw=True),), (2,))
    raw.readings = [Reading((-0.5, -0.5), 0.0, 1)]
    keep(cache, raw)
    assert len(cache) == 0


def test_what_comes_out_is_what_went_in_to_the_last_bit() -> None:
    cache = AnswerCache(1 << 20)
    reads = (Read(1, (7,)), Read(2, (1, 2, 3)))
    readings = [Reading((-0.1,), 12.345678901234567, 49151), Reading((-1e-300, -math.inf, -2.5), -3.0, 0)]
    first = Leaf(array("i", (1, 2, 3)), reads, (2,))
    first.readings = readings
    keep(cache, first)
    again = Leaf(array("i", (1, 2, 3)), reads, (2,))
    assert cache.fill(again)
    assert [(r.logprobs, r.log_z, r.top) for r in again.readings] == [(r.logprobs, r.log_z, r.top) for r in readings]


def test_a_prompt_that_is_put_twice_counts_once() -> None:
    cache = AnswerCache(1 << 20)
    keep(cache, leaf(1, 2, 3, read=-0.5))
    size = cache.bytes
    keep(cache, leaf(1, 2, 3, read=-0.5))
    assert (len(cache), cache.bytes) == (1, size)


def test_without_room_nothing_is_kept() -> None:
    cache = AnswerCache(0)
    keep(cache, leaf(1, 2, 3, read=-0.5))
    assert len(cache) == cache.bytes == 0
