"""The model answers plain questions on a real engine, in both layouts; MODEL_CARD.md says how often it is right."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tiebreak import Decider
from tiebreak.models import Model

pytestmark = [pytest.mark.live, pytest.mark.filterwarnings("ignore::tiebreak.session.DecisionWarning")]

COMPLAINTS = {
    "There is a deep hole in the asphalt in front of our house.": "roads",
    "Nobody has emptied the garbage for three weeks.": "waste",
    "The bar downstairs plays techno until four in the morning.": "noise",
}
ROOMS = {"roads": "potholes and pavements", "waste": "bins and litter", "noise": "loud sound at night"}


@pytest.fixture(scope="module", params=["decider", "schema-first"])
def decider(request: pytest.FixtureRequest, model: Model) -> Iterator[Decider]:
    """Depends on `model` so that the run's own cache holds it."""
    with Decider("slot", "smol-decider", layout=request.param, parallel=1, threads=1) as found:
        yield found


@pytest.mark.parametrize("state, answer", COMPLAINTS.items())
def test_choices(decider: Decider, state: str, answer: str) -> None:
    found = decider.choose(state, ROOMS, "Which department handles this complaint?")
    assert found.value == answer
    assert found.calibrated == "model card of smol-decider"


@pytest.mark.parametrize(
    "names",
    [("roads", "waste", "noise"), ("street and pavement upkeep", "refuse", "acoustic disturbances"), ("R", "W", "N")],
    ids=["words", "synonyms of other lengths", "letters"],
)
def test_what_an_option_is_called_does_not_change_which_is_picked(decider: Decider, names: tuple[str, ...]) -> None:
    options = dict(zip(names, ROOMS.values(), strict=True))
    states = list(COMPLAINTS)
    found = [decider.choose(state, options, "Which department handles this complaint?").value for state in states]
    assert found == list(names)


def test_yes_and_no(decider: Decider) -> None:
    question = "Does the customer ask for a refund?"
    assert decider.check("Please send me my money back, the kettle is broken.", question).value is True
    assert decider.check("Thanks, the kettle arrived and works well.", question).value is False


def test_a_rubric_is_not_called_calibrated(decider: Decider) -> None:
    levels = {"0": "very unhappy", "1": "neutral", "2": "very happy"}
    found = decider.rate("I love it, best purchase of my life!", "How happy is the customer?", levels)
    assert found.value == "2"
    assert found.calibrated is None
