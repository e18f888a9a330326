"""The model answers plain questions on a real engine, in both layouts; MODEL_CARD.md says how often it is right."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tiebreak import Decider
from tiebreak.models import Model

pytestmark = [pytest.mark.live, pytest.mark.filterwarnings("ignore::tiebreak.session.DecisionWarning")]

ROOMS = {"roads": "potholes and pavements", "waste": "bins and litter", "noise": "loud sound at night"}


@pytest.fixture(scope="module", params=["decider", "schema-first"])
def decider(request: pytest.FixtureRequest, model: Model) -> Iterator[Decider]:
    """Depends on `model` so that the run's own cache holds it."""
    with Decider("slot", "smol-decider", layout=request.param, parallel=1, threads=1) as found:
        yield found


@pytest.mark.parametrize(
    "state, answer",
    [
        ("There is a deep hole in the asphalt in front of our house.", "roads"),
        ("Nobody has emptied the garbage for three weeks.", "waste"),
        ("The bar downstairs plays techno until four in the morning.", "noise"),
    ],
)
def test_choices(decider: Decider, state: str, answer: str) -> None:
    found = decider.choose(state, ROOMS, "Which department handles this complaint?")
    assert found.value == answer
    assert found.calibrated == "model card of smol-decider"


def test_yes_and_no(decider: Decider) -> None:
    question = "Does the customer ask for a refund?"
    assert decider.check("Please send me my money back, the kettle is broken.", question).value is True
    assert decider.check("Thanks, the kettle arrived and works well.", question).value is False


def test_a_rubric_is_not_called_calibrated(decider: Decider) -> None:
    levels = {"0": "very unhappy", "1": "neutral", "2": "very happy"}
    found = decider.rate("I love it, best purchase of my life!", "How happy is the customer?", levels)
    assert found.value == "2"
    assert found.calibrated is None
