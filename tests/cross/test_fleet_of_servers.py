"""Two real servers behind one Decider: both work, and one that ends takes no answer with it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tiebreak import Decider, Decision, choice
from tiebreak.fleet import Fleet
from tiebreak.pool import Pool
from tiebreak.server import Server

pytestmark = pytest.mark.live

MODEL = "smol-decider"
LAYOUT = "schema-first"  # the question is read once and reused: the states are what differs
QUESTIONS = {"team": choice("Which team should handle this?", ["roads", "waste", "noise"])}
STATES = [f"Report {number}: the bins are full again." for number in range(24)]


@pytest.fixture(scope="module")
def servers() -> Iterator[list[Decider]]:
    """Two Deciders, each with a server of its own; without the model's temperature, which attached ones do not know."""
    pools = [Pool(), Pool()]
    yield [Decider("slot", MODEL, pool=pool, layout=LAYOUT, threads=1, temperature=1.0).start() for pool in pools]
    for pool in pools:
        pool.close()


def test_two_servers_answer_as_one_and_go_on_without_the_other(servers: list[Decider]) -> None:
    running = [decider.session.opened.server for decider in servers]
    one, other = [each for each in running if isinstance(each, Server)]
    right = [servers[0].decide(state, QUESTIONS)["team"].probabilities for state in STATES]
    pool = Pool()
    with Decider("slot", urls=[one.url, other.url], pool=pool, layout=LAYOUT) as both:
        assert both.session.capacity == 2 * servers[0].session.capacity
        for kill in (False, True):
            found = []
            for number, decision in enumerate(both.decide_many((state, QUESTIONS) for state in STATES)):
                if kill and number == 4:
                    other.close()
                assert isinstance(decision, Decision)
                found.append(dict(decision["team"].probabilities))
            for got, wanted in zip(found, right, strict=True):
                assert got == pytest.approx(dict(wanted), abs=0.05)
        fleet = both.session.opened.server
        assert isinstance(fleet, Fleet)
        first, second = fleet.health()
        assert first.up and first.answered and second.answered
        both.decide("Another one.", QUESTIONS)
    pool.close()
