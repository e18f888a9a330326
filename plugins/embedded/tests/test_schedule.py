from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiebreak.errors import InvalidRequest
from tiebreak_embedded.schedule import FILL_MAX, schedule

rows = st.lists(
    st.tuples(st.integers(1, 80), st.booleans()).map(lambda r: (r[0] + r[1], r[1])),
    min_size=1,
    max_size=12,
)


@given(rows, st.sampled_from([6, 16, 64, 512]))
def test_every_token_is_decoded_once_in_order_and_never_alone(rows: list[tuple[int, bool]], micro_batch: int) -> None:
    lengths, kept = [n for n, _ in rows], [k for _, k in rows]
    done = [0] * len(rows)
    for step in schedule(lengths, kept, micro_batch):
        assert step.width >= 2
        assert step.width * len(step.parts) <= micro_batch
        for part in step.parts:
            assert part.start == done[part.row]
            assert part.start < part.stop <= part.start + step.width
            fill = step.width - (part.stop - part.start)
            assert fill == 0 or (part.stop == lengths[part.row] and not kept[part.row])
            assert fill <= FILL_MAX
            done[part.row] = part.stop
    assert done == lengths


def test_a_lone_row_is_one_step() -> None:
    (step,) = schedule([27], [False], 512)
    assert step.width == 27


def test_one_token_too_many_for_a_micro_batch_is_cut_in_halves() -> None:
    assert [step.width for step in schedule([513], [True], 512)] == [256, 257]


def test_rows_of_nearly_equal_length_take_one_pass() -> None:
    (step,) = schedule([27, 25, 26], [False] * 3, 512)
    assert step.width == 27


def test_a_much_longer_row_is_not_waited_for() -> None:
    assert [(s.width, len(s.parts)) for s in schedule([40, 10], [False] * 2, 512)] == [
        (10, 2),
        (30, 1),
    ]


def test_one_token_behind_a_restored_prefix_gets_company() -> None:
    (step,) = schedule([1], [False], 512)
    assert step.width == 2
    assert step.parts[0].stop == 1


@pytest.mark.parametrize("length,keep", [(0, False), (0, True), (1, True)])
def test_what_cannot_be_decoded_exactly_is_refused(length: int, keep: bool) -> None:
    with pytest.raises(InvalidRequest, match="cannot be decoded"):
        schedule([length], [keep], 512)
