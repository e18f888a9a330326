"""What type checkers infer. `tox -e types` checks this file, and here it runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from enum import Enum
from typing import Literal

from pydantic import BaseModel
from typing_extensions import assert_type

from tiebreak import Cascade, Decider, Form, Gate, Judged, decision


class Team(Enum):
    BILLING = "billing"
    TECH = "tech"


class Ticket(BaseModel):
    team: Team
    urgent: bool


def test_extract_and_classify(reference: Callable[..., Decider]) -> None:
    decider = reference()
    assert_type(decider.extract(Ticket, "x"), Ticket)
    assert_type(decider.extract(Ticket, "x", probabilities=True), Judged[Ticket])
    assert_type(decider.extract(Ticket, "x", probabilities=True).value.team, Team)
    assert_type(decider.extract(Team, "x"), Team)
    assert_type(decider.classify("x", Team), Team)
    assert_type(decider.classify("x", ["a", "b"]), str)
    assert_type(decider.classify("x", {1: "one", 2: None}), int)
    assert_type(decider.classify("x", (Team.TECH, Team.BILLING)), Team)
    assert_type(decider.classify("x", ["a", "b"], probabilities=True), Judged[str])
    assert_type(Form.of(Ticket), Form[Ticket])
    with Cascade([decider, reference(salt="x")], Gate(min_margin=0.5)) as cascade:
        assert_type(cascade.extract(Ticket, "x"), Ticket)


def test_functions(reference: Callable[..., Decider]) -> None:
    decider = reference()

    @decision(decider=decider)
    def team(ticket: str, number: int = 1) -> Literal["billing", "tech"]:
        """Which team?"""
        raise NotImplementedError

    @decider.decision
    async def urgent(ticket: str) -> bool:
        """Is it urgent?"""
        raise NotImplementedError

    @decision(decider=decider, probabilities=True)
    def judged(ticket: str) -> Ticket:
        """Understand it."""
        raise NotImplementedError

    @decider.decision(probabilities=True)
    async def ajudged(ticket: str) -> Ticket:
        """Understand it."""
        raise NotImplementedError

    async def tasks() -> None:
        assert_type(await urgent("x"), bool)
        assert_type(await ajudged("x"), Judged[Ticket])
        assert_type(await decider.aextract(Ticket, "x"), Ticket)
        assert_type(await decider.aclassify("x", Team, probabilities=True), Judged[Team])

    assert_type(team("x", number=2), Literal["billing", "tech"])
    assert_type(judged("x"), Judged[Ticket])
    asyncio.run(tasks())
