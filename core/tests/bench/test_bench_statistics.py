"""Intervals and calibration figures, against values that were worked out by other means."""

from __future__ import annotations

import math
import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as some

from tiebreak.bench.statistics import bootstrap, brier, calibration, measured, quantile, ratio, wilson


@pytest.mark.parametrize("hits, of", [(55, 67), (62, 67), (1, 2), (9, 10), (300, 900)])
def test_wilson_ends_where_the_score_test_does(hits: int, of: int) -> None:
    """Wilson's definition: the shares p that the normal approximation with p's own spread does not refuse."""
    found = wilson(hits, of)
    assert (found.hits, found.of, found.value) == (hits, of, hits / of)
    for end in (found.low, found.high):
        assert abs(found.value - end) == pytest.approx(1.959963984540054 * math.sqrt(end * (1 - end) / of))
    assert found.low < found.value < found.high


def test_wilson_at_the_ends() -> None:
    assert wilson(0, 10).low == 0.0
    assert wilson(10, 10).high == 1.0
    assert wilson(0, 10).high == pytest.approx(1 - wilson(10, 10).low)
    assert 0.2 < wilson(0, 10).high < 0.31  # the rule of three says about 3/10


@given(some.integers(1, 500).flatmap(lambda of: some.tuples(some.integers(0, of), some.just(of))))
def test_wilson_holds_the_share_and_stays_inside(pair: tuple[int, int]) -> None:
    found = wilson(*pair)
    assert 0 <= found.low <= found.value <= found.high <= 1


@given(some.lists(some.floats(-1e6, 1e6), min_size=2, max_size=40), some.floats(0, 1))
def test_quantile_is_that_of_the_standard_library(values: list[float], share: float) -> None:
    ordered = sorted(values)
    # its 100 cut points of the inclusive method are definition 7
    cuts = [ordered[0], *statistics.quantiles(ordered, n=100, method="inclusive"), ordered[-1]]
    hundredth = round(share * 100)
    assert quantile(ordered, hundredth / 100) == pytest.approx(cuts[hundredth], rel=1e-9, abs=1e-6)


def test_bootstrap_covers_what_the_theory_says() -> None:
    dice = random.Random(3)
    values = [dice.gauss(100, 10) for _ in range(400)]
    found = measured([values]).mean
    half = 1.96 * statistics.stdev(values) / math.sqrt(len(values))
    assert found.value == statistics.fmean(values)
    assert found.low is not None
    assert found.high is not None
    assert found.value - found.low == pytest.approx(half, rel=0.15)
    assert found.high - found.value == pytest.approx(half, rel=0.15)


def test_rounds_that_differ_widen_the_interval() -> None:
    dice = random.Random(4)
    slow, fast = ([dice.gauss(mean, 1) for _ in range(50)] for mean in (110, 100))
    together, apart = measured([slow + fast]).mean, measured([slow, fast]).mean
    assert together.value == apart.value
    assert together.low is not None
    assert apart.low is not None
    assert apart.low < together.low - 2


def test_one_value_has_no_interval() -> None:
    found = measured([[3.0], []])
    assert found.count == 1
    assert (found.mean.value, found.mean.low, found.mean.high) == (3.0, None, None)


def test_the_same_values_give_the_same_figures() -> None:
    values = [[1.0, 2.0, 5.0], [2.0, 9.0]]
    assert measured(values) == measured(values)
    assert measured(values).p95.value == quantile([1.0, 2.0, 2.0, 5.0, 9.0], 0.95)


def test_ratio_is_of_pairs() -> None:
    found = ratio([(10, 5), (30, 10), (40, 10)])
    assert found.value == 3
    assert (found.low, found.high) == (2, 4)


def test_brier() -> None:
    assert brier({"a": 1.0, "b": 0.0}, "a") == 0
    assert brier({"a": 1.0, "b": 0.0}, "b") == 2
    assert brier({"a": 0.5, "b": 0.3, "c": 0.2}, "a") == pytest.approx(0.25 + 0.09 + 0.04)


def test_calibration_by_hand() -> None:
    answers = [
        ({"a": 0.95, "b": 0.05}, "a"),
        ({"a": 0.91, "b": 0.09}, "b"),
        ({"a": 0.62, "b": 0.38}, "a"),
        ({"a": 0.0, "b": 1.0}, "b"),
    ]
    found = calibration(answers)
    assert [(each.low, each.high, each.count, each.right) for each in found.bins] == [
        (0.6, 0.7, 1, 1),
        (0.9, 1.0, 3, 2),
    ]
    assert found.bins[1].confidence == pytest.approx((0.95 + 0.91 + 1.0) / 3)
    # a quarter of the answers is off by 0.38, three quarters by their mean probability minus 2/3
    assert found.ece.value == pytest.approx(0.38 / 4 + abs(0.95 + 0.91 + 1.0 - 2) / 4)
    assert found.brier.value == pytest.approx(statistics.fmean([0.005, 1.6562, 0.2888, 0.0]))


def test_a_perfect_model_is_calibrated() -> None:
    found = calibration([({"a": 1.0, "b": 0.0}, "a")] * 5)
    assert found.ece.value == found.brier.value == 0


def test_bootstrap_takes_any_figure() -> None:
    found = bootstrap([["x", "y", "x"]], lambda drawn: drawn.count("x"))
    assert found.value == 2
    assert found.low is not None
    assert found.low >= 0
