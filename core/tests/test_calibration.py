"""Temperatures fitted on labelled answers, their file, and what it is bound to."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tiebreak
from tiebreak import Answer, Decider, InvalidRequest, Labelled, Question, Registry
from tiebreak.calibration import Binding, Fitted, Profile, calibrate
from tiebreak.calibration.fit import Sample, error, fit, loss, tempered
from tiebreak.pool import Pool
from tiebreak.stages.readout import softmax
from tiebreak_conformance.reference import ReferencePlugin

Make = Callable[..., Decider]

QUESTIONS = {
    "pick": tiebreak.choice("Which?", ["x", "y", "z"]),
    "yes": tiebreak.yes_no("Is it?"),
    "place": tiebreak.score("How much?", ["little", "some", "much"]),
}


@pytest.fixture
def reference() -> Iterator[Make]:
    """Makes Deciders on the suite's reference engine, and closes them."""
    pool, registry = Pool(), Registry()
    registry.add(ReferencePlugin(), "reference")
    yield lambda **options: Decider("reference", registry=registry, pool=pool, **options)
    pool.close()


def labelled(decider: Decider, count: int, questions: dict[str, Question], heat: float) -> list[Labelled]:
    """Rows whose right answers are drawn as if the engine's probabilities were too sure by this factor."""
    chance = random.Random(0)
    rows = []
    for number in range(count):
        decision = decider.decide(f"row {number}", questions)
        right: dict[str, str | bool] = {}
        for name, answer in decision.answers.items():
            weights = tempered(sample(answer), heat)
            drawn = chance.choices(list(answer.probabilities), weights)[0]
            right[name] = drawn == "yes" if answer.kind == "yes_no" else drawn
        rows.append(Labelled.of(f"row {number}", questions, right))
    return rows


def sample(answer: Answer, **more: Any) -> Sample:
    return Sample(**{"kind": answer.kind, "answer": answer, "temperature": 1.0, "right": 0, "held_out": False, **more})


def test_the_temperature_that_was_put_in_comes_out(reference: Make) -> None:
    decider = reference()
    profile = calibrate(decider, labelled(decider, 600, QUESTIONS, heat=2.5))
    assert set(profile.kinds) == {"choice", "yes_no", "score"}
    for kind, fitted in profile.kinds.items():
        assert 1.9 < fitted.temperature < 3.4, kind
        assert (fitted.fitted_on, fitted.held_out) == (480, 120)
        assert fitted.loss_after < fitted.loss_before, kind
        assert fitted.error_after < fitted.error_before, kind
    assert profile.binding == Binding(model="reference:", layout="decider", readout="letters")


def test_what_is_fitted_does_not_depend_on_the_temperature_that_was_used(reference: Make) -> None:
    rows = labelled(reference(), 200, QUESTIONS, heat=2.5)
    cold = calibrate(reference(), rows)
    hot = calibrate(reference(temperature={"choice": 3.0, "score": 1.7}), rows)
    for kind, fitted in cold.kinds.items():
        assert hot.kinds[kind].temperature == pytest.approx(fitted.temperature, rel=5e-3)
        assert hot.kinds[kind].loss_after == pytest.approx(fitted.loss_after, rel=1e-3)
    # Compared with what was used before: 3 is better than 1 here.
    assert hot.kinds["choice"].loss_before < cold.kinds["choice"].loss_before


@pytest.mark.parametrize("layout", ["decider", "schema-first", "chat"])
@pytest.mark.parametrize("to", [0.3, 1.0, 4.0])
def test_tempering_an_answer_is_what_the_engine_would_have_said(reference: Make, layout: str, to: float) -> None:
    given_ = reference(layout=layout, temperature=1.5).decide("state", QUESTIONS)
    wanted = reference(layout=layout, temperature=to).decide("state", QUESTIONS)
    for name, answer in given_.answers.items():
        got = tempered(sample(answer, temperature=1.5), to)
        assert list(got) == pytest.approx(list(wanted[name].probabilities.values()), abs=1e-9)


def test_a_profile_is_used_and_named(reference: Make, tmp_path: Path) -> None:
    decider = reference()
    profile = calibrate(decider, labelled(decider, 300, QUESTIONS, heat=2.5))
    profile.save(tmp_path / "mine.json")
    assert Profile.load(tmp_path / "mine.json").as_dict() == profile.as_dict()
    plain = decider.decide("another", QUESTIONS)
    for given_ in (tmp_path / "mine.json", str(tmp_path / "mine.json"), profile):
        tuned = reference(calibration=given_).decide("another", QUESTIONS)
        for name, answer in tuned.answers.items():
            assert answer.value == plain[name].value
            temperature = profile.kinds[answer.kind].temperature
            assert tuned.receipt.temperature[answer.kind] == temperature
            expected = tempered(sample(plain[name]), temperature)
            assert list(answer.probabilities.values()) == pytest.approx(list(expected))
        assert tuned.receipt.fingerprint != plain.receipt.fingerprint
    assert reference(calibration=tmp_path / "mine.json").decide("x", QUESTIONS)["pick"].calibrated == (
        "mine.json, fitted on 240 answers"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["mine.json"]


def fitted(**changes: Any) -> Fitted:
    figures = {"loss_before": 1.0, "loss_after": 0.5, "error_before": 0.2, "error_after": 0.1}
    return Fitted(**{"temperature": 2.0, "fitted_on": 80, "held_out": 20, **figures, **changes})


def bound(**changes: str) -> Binding:
    return Binding(**{"model": "reference:", "layout": "decider", "readout": "letters", **changes})


@pytest.mark.parametrize("name", ["model", "layout", "readout"])
def test_a_profile_is_refused_elsewhere(name: str, reference: Make) -> None:
    profile = Profile(binding=bound(**{name: "other"}), kinds={"choice": fitted()}, name="mine.json")
    with pytest.raises(InvalidRequest, match=f"'mine.json' is for {name} 'other', and this is"):
        reference(calibration=profile).choose("x", ["a", "b"])


def test_a_kind_that_did_not_stand_the_check_keeps_its_temperature(reference: Make) -> None:
    kinds = {"choice": fitted(), "yes_no": fitted(loss_after=1.0)}
    profile = Profile(binding=bound(), kinds=kinds)
    decision = reference(calibration=profile).decide("x", QUESTIONS)
    assert decision.receipt.temperature == {"choice": 2.0, "yes_no": 1.0, "score": 1.0}
    assert [answer.calibrated is None for answer in decision.answers.values()] == [False, True, True]


def test_a_server_whose_model_nobody_knows_takes_no_profile(decider: Make) -> None:
    with pytest.raises(InvalidRequest, match="Nobody can say which model this server has"):
        decider(calibration=Profile(binding=bound(), kinds={"choice": fitted()})).start()


def test_what_cannot_be_given_together_or_read_is_refused_at_once(reference: Make, tmp_path: Path) -> None:
    profile = Profile(binding=bound(), kinds={"choice": fitted()})
    with pytest.raises(InvalidRequest, match="Both temperature and calibration"):
        reference(calibration=profile, temperature=2.0)
    with pytest.raises(InvalidRequest, match=r"none.json' cannot be read"):
        reference(calibration=tmp_path / "none.json")
    good = profile.as_dict()
    broken = {
        "text": "no json",
        "list": "[]",
        "format": json.dumps({**good, "format": "tiebreak-calibration/2"}),
        "extra": json.dumps({**good, "more": 1}),
        "kind": json.dumps({**good, "kinds": {"other": good["kinds"]["choice"]}}),
        "temperature": json.dumps({**good, "kinds": {"choice": {**good["kinds"]["choice"], "temperature": 0}}}),
        "nan": json.dumps({**good, "kinds": {"choice": {**good["kinds"]["choice"], "loss_after": math.nan}}}),
    }
    for name, text in broken.items():
        path = tmp_path / f"{name}.json"
        path.write_text(text)
        with pytest.raises(InvalidRequest, match=f"{name}.json' is no calibration: "):
            reference(calibration=path)
    with pytest.raises(InvalidRequest, match="cannot be written"):
        profile.save(tmp_path / "no" / "folder.json")


def test_rows_are_checked() -> None:
    for answers, reason in (
        ({"pick": "x", "yes": True}, "answers.place is missing"),
        ({"pick": "xx", "yes": True, "place": "some"}, "There is no option 'xx'"),
        ({"pick": "x", "yes": "yes", "place": "some"}, "answers.yes is 'yes'"),
        ({"pick": "x", "yes": True, "place": "some", "plac": 1}, "There is no question 'plac'. Did you mean 'place'"),
    ):
        with pytest.raises(InvalidRequest, match=reason):
            Labelled.of("x", QUESTIONS, answers)


def test_too_little_to_fit_on_is_refused(reference: Make) -> None:
    decider = reference()
    rows = labelled(decider, 20, {"pick": QUESTIONS["pick"]}, heat=1.0)
    with pytest.raises(InvalidRequest, match="Too few labelled answers: 20 of choice"):
        calibrate(decider, rows)
    with pytest.raises(InvalidRequest, match="no labelled row"):
        calibrate(decider, [])
    with pytest.raises(InvalidRequest, match="held_out is 1"):
        calibrate(decider, rows, held_out=1)


def test_rows_about_one_state_stay_together(reference: Make) -> None:
    decider = reference()
    rows = labelled(decider, 60, {"pick": QUESTIONS["pick"]}, heat=1.0)
    once, twice = calibrate(decider, rows), calibrate(decider, [*rows, *reversed(rows)])
    assert twice.kinds["choice"].held_out == 2 * once.kinds["choice"].held_out
    assert twice.kinds["choice"].temperature == pytest.approx(once.kinds["choice"].temperature)
    assert twice.kinds["choice"].loss_after == pytest.approx(once.kinds["choice"].loss_after)


def test_loss_and_error_by_hand() -> None:
    given_ = [[0.9, 0.1], [0.6, 0.4], [0.3, 0.7]]
    right = [0, 1, 1]
    assert loss(given_, right) == pytest.approx(-(math.log(0.9) + math.log(0.4) + math.log(0.7)) / 3)
    # Three bins of one answer each: |0.9 - 1|, |0.6 - 0|, |0.7 - 1|.
    assert error(given_, right) == pytest.approx((0.1 + 0.6 + 0.3) / 3)
    assert loss([[1.0, 0.0]], [1]) == pytest.approx(-math.log(1e-12))
    assert error([[1.0, 0.0]], [0]) == 0


@given(scores=st.lists(st.lists(st.floats(-6, 6), min_size=3, max_size=3), min_size=40, max_size=60), data=st.data())
@settings(max_examples=25, deadline=None)
def test_no_temperature_is_better_than_the_fitted_one(scores: list[list[float]], data: st.DataObject) -> None:
    samples = []
    for number, each in enumerate(scores):
        probabilities = dict(zip("abc", softmax(each), strict=True))
        answer = Answer(
            kind="choice", value=max(probabilities, key=probabilities.__getitem__), probabilities=probabilities
        )
        samples.append(sample(answer, right=data.draw(st.integers(0, 2)), held_out=number % 5 == 0))
    found = fit(samples)
    assert found is not None
    used = [each for each in samples if not each.held_out]

    def at(temperature: float) -> float:
        return loss([tempered(each, temperature) for each in used], [each.right for each in used])

    best = at(found.temperature)
    assert all(best <= at(other) + 1e-4 for other in (0.05, 0.2, 0.5, 1, 2, 5, 20))
