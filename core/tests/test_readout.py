"""Probabilities from evidence: exact values, honest marks, and refusals."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiebreak import Answer, BadReply, Question, Request, choice, score, yes_no
from tiebreak.engine import Vocabulary
from tiebreak.evidence import Distribution, Evidence, TokenScores
from tiebreak.stages.decider import DeciderLayout
from tiebreak.stages.readout import DistributionReadout, LettersReadout, Reading, softmax

LETTERS, FINISHED = LettersReadout(), DistributionReadout()


def read(question: Question, *evidence: Evidence, **reading: object) -> Answer:
    plan = DeciderLayout().plan(Request.of("s", {"q": question}), Vocabulary())
    readout = FINISHED if isinstance(evidence[0], Distribution) else LETTERS
    return readout.read(plan, evidence, Reading(**reading))["q"]  # type: ignore[arg-type]


def logs(*probabilities: float) -> TokenScores:
    return TokenScores(logprobs=tuple(math.log(p) if p else -math.inf for p in probabilities))


@pytest.mark.parametrize(
    "scores, expected",
    [
        ([0.0, 0.0, 0.0, 0.0], [0.25] * 4),
        ([1e4, 1e4 - math.log(3)], [0.75, 0.25]),
        ([-1e4, -1e4 + math.log(3)], [0.25, 0.75]),
        ([-math.inf, 0.0], [0.0, 1.0]),
        ([math.log(2), math.log(6)], [0.25, 0.75]),
        ([-745.0, -746.0, -math.inf], [1 / (1 + math.exp(-1)), 1 / (1 + math.exp(1)), 0.0]),
    ],
)
def test_softmax_of_known_scores(scores: list[float], expected: list[float]) -> None:
    assert softmax(scores) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("scores", [[math.nan, 0.0], [-math.inf, -math.inf], [math.inf, 0.0]])
def test_scores_that_make_no_distribution_are_refused(scores: list[float]) -> None:
    with pytest.raises(BadReply):
        softmax(scores)


@given(st.lists(st.floats(-700, 50), min_size=2, max_size=40), st.floats(0.05, 20))
def test_probabilities_are_a_distribution_and_keep_the_order(scores: list[float], temperature: float) -> None:
    found = softmax(scores, temperature)
    assert math.fsum(found) == pytest.approx(1, abs=1e-12)
    assert all(0 <= p <= 1 for p in found)
    assert max(range(len(found)), key=found.__getitem__) == max(range(len(scores)), key=scores.__getitem__) or (
        max(found) == found[max(range(len(scores)), key=scores.__getitem__)]
    )


def test_letters_are_renormalised_and_their_mass_is_the_coverage() -> None:
    answer = read(choice(None, ["a", "b", "c"]), logs(0.1, 0.3, 0.1))
    assert answer.value == "b"
    assert answer.probabilities == pytest.approx({"a": 0.2, "b": 0.6, "c": 0.2})
    assert answer.probability == pytest.approx(0.6)
    assert answer.margin == pytest.approx(0.4)
    assert answer.coverage == pytest.approx(0.5)
    assert answer.approximate is None
    assert answer.expected is None


def test_yes_is_true() -> None:
    answer = read(yes_no("?"), logs(0.25, 0.75))
    assert answer.value is True
    assert answer.probability == pytest.approx(0.75)
    assert read(yes_no("?"), logs(0.75, 0.25)).value is False


def test_a_tie_goes_to_the_first_and_says_so() -> None:
    answer = read(choice(None, ["a", "b"]), logs(0.4, 0.4))
    assert (answer.value, answer.margin, answer.near_tie) == ("a", 0, True)
    assert not read(choice(None, ["a", "b"]), logs(0.4, 0.41)).near_tie
    assert read(choice(None, ["a", "b"]), logs(0.4, 0.41), tolerance=0.01).near_tie


def test_temperature_divides_log_probabilities_and_never_moves_the_winner() -> None:
    answer = read(choice(None, ["a", "b"]), logs(0.2, 0.8), temperature={"choice": 2.0, "yes_no": 9.0})
    assert answer.probabilities["b"] == pytest.approx(2 / 3)


def test_levels_share_the_fit_out() -> None:
    answer = read(
        score("How?", ["low", "mid", "high"]), logs(0.9, 0.1), logs(0.4, 0.4), logs(0.5, 0.1), min_coverage=0.0
    )
    fit = [0.1, 0.5, 1 / 6]
    assert answer.probabilities == pytest.approx(
        dict(zip(("low", "mid", "high"), (f / sum(fit) for f in fit), strict=True))
    )
    assert answer.value == "mid"
    assert answer.expected == pytest.approx((0.5 + 2 / 6) / sum(fit))
    assert answer.native["fit_mass"] == pytest.approx(sum(fit))
    assert answer.coverage == pytest.approx(0.6)


def test_a_label_that_was_not_reported_is_a_bound_and_never_a_silent_zero() -> None:
    evidence = TokenScores(logprobs=(math.log(0.5), math.log(0.01)), bounds=frozenset({1}))
    answer = read(choice(None, ["a", "b"]), evidence)
    assert answer.approximate == "upper bound for 'b'"
    assert answer.probabilities["b"] > 0
    with pytest.raises(BadReply, match="did not report label B"):
        read(choice(None, ["a", "b"]), evidence, strict=True)


def test_low_coverage_is_refused_when_strict() -> None:
    with pytest.raises(BadReply, match=r"0\.10% of the mass"):
        read(choice(None, ["a", "b"]), logs(0.0005, 0.0005), strict=True)
    assert read(choice(None, ["a", "b"]), logs(0.0005, 0.0005)).coverage == pytest.approx(0.001)


@pytest.mark.parametrize("top", ["<think>", "<think", "<|channel|>"])
def test_a_model_that_wants_to_think_is_not_read(top: str) -> None:
    with pytest.raises(BadReply, match="Thinking is not disabled"):
        read(choice(None, ["a", "b"]), TokenScores(logprobs=(-9.0, -9.1), top=top))


@pytest.mark.parametrize(
    "given_",
    [
        (0.33, 0.33, 0.33),
        (0.15,) * 6 + (0.12,),
        tuple([0.03] * 38 + [0.02] * 2),
        (0.34, 0.33, 0.34),
    ],
)
def test_probabilities_rounded_to_two_decimals_are_renormalised(given_: tuple[float, ...]) -> None:
    question = choice(None, [f"o{i}" for i in range(len(given_))])
    plan = DeciderLayout().plan(Request.of("s", {"q": question}), Vocabulary(labels={f"L{i}": i for i in range(99)}))
    answer = FINISHED.read(plan, [Distribution(probabilities=given_, rounding=0.005)], Reading())["q"]
    assert math.fsum(answer.probabilities.values()) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize(
    "given_", [(0.5, 0.6), (-0.1, 1.1), (math.nan, 1.0), (1.5, 0.0), (0.0, 0.0), (0.2, 0.2), (math.inf, 0.0)]
)
def test_distributions_that_cannot_be_believed_are_refused(given_: tuple[float, ...]) -> None:
    with pytest.raises(BadReply):
        read(choice(None, ["a", "b"]), Distribution(probabilities=given_, rounding=0.005))


def test_evidence_of_the_wrong_size_is_refused() -> None:
    with pytest.raises(BadReply, match="3 values for 2 labels"):
        read(choice(None, ["a", "b"]), logs(0.1, 0.2, 0.3))
    with pytest.raises(BadReply, match="2 pieces of evidence for 1 rows"):
        read(choice(None, ["a", "b"]), logs(0.1, 0.2), logs(0.1, 0.2))
