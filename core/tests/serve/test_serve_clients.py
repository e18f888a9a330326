"""Clients of the ecosystem against the gateway: the conformance suite, the official SDK and pydantic-ai."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Callable
from enum import Enum
from typing import Literal

import httpx2
import pytest
from jevcompat import runner
from pydantic import BaseModel, Field
from pydantic_ai import Agent, AgentRunResult
from pydantic_ai.models.system_one import SystemOneModel
from pydantic_ai.providers.system_one import SystemOneProvider
from typesafe_sdk import (
    Choice,
    Noul,
    Score,
    TypeSafeAuthenticationError,
    TypeSafeClient,
    TypeSafeUnprocessableEntityError,
)

Serving = Callable[..., tuple["subprocess.Popen[str]", str]]


@pytest.mark.parametrize("key", [None, "a-key"])
@pytest.mark.parametrize("decimals", [None, 2])
def test_the_conformance_suite_finds_nothing(serving: Serving, key: str | None, decimals: int | None) -> None:
    _, url = serving({}, api_key=key, decimals=decimals)
    report = runner.run(url, key=key)
    found = [(result.id, [f.message for f in result.findings]) for result in report.results if result.status == "fail"]
    assert found == []
    assert report.verdict == "conformant"
    skipped = {result.id for result in report.results if result.status == "skip"}
    assert skipped == ({"auth.ignored-when-off"} if key else {"auth.bearer", "auth.missing", "auth.invalid"})


@pytest.mark.parametrize("compression", ["zstd", False])
def test_the_official_sdk(serving: Serving, compression: Literal["zstd", False]) -> None:
    _, url = serving({})
    with TypeSafeClient(api_key="any", base_url=url, compression=compression) as client:
        reply = client.system_one(
            state={"subject": "Charged twice", "body": "again and again " * 200},
            questions={
                "refund": Noul(instructions="Is money wanted back?"),
                "team": Choice(instructions="Which team?", criteria={"Größe": None, "billing": "Payments"}),
                "anger": Score(instructions="How angry?", criteria=["calm", "annoyed", "furious"]),
            },
        )
        names = [model.name for model in client.models.list().models]
    assert 0 <= reply.nouls["refund"].noul <= 1
    assert reply.choices["team"].choice in ("Größe", "billing")
    assert list(reply.scores["anger"].probabilities) == [0, 1, 2]
    assert reply.usage.input_tokens
    assert "jev-latest" in names


def test_the_official_sdk_reads_our_errors(serving: Serving) -> None:
    _, url = serving({}, api_key="right")
    with (
        TypeSafeClient(api_key="wrong", base_url=url) as client,
        pytest.raises(TypeSafeAuthenticationError, match="wrong"),
    ):
        client.system_one(state="x", questions={"q": Noul(instructions="Is it?")})
    with (
        TypeSafeClient(api_key="right", base_url=url) as client,
        pytest.raises(TypeSafeUnprocessableEntityError) as caught,
    ):
        client.system_one(state="x", questions={"q": Choice(instructions="Which?", criteria={"a": None, " ": None})})
    assert "questions" in str(caught.value)


class Team(str, Enum):
    """Who looks after a ticket."""

    billing = "billing"
    support = "support"


class Ticket(BaseModel):
    """A customer's ticket, sorted."""

    urgent: bool = Field(description="Does it need an answer today?")
    team: Team = Field(description="Which team should handle it?")
    mood: Literal["calm", "angry"]
    tags: list[Literal["refund", "bug"]] = Field(description="What is it about?")


def test_pydantic_ai(serving: Serving) -> None:
    _, url = serving({})

    async def ask() -> AgentRunResult[Ticket]:
        async with httpx2.AsyncClient() as wire:
            model = SystemOneModel("jev-latest", provider=SystemOneProvider(base_url=url, http_client=wire))
            agent = Agent(model, output_type=Ticket, instructions="Sort support tickets.")
            return await agent.run("I was charged twice and want my money back today.")

    result = asyncio.run(ask())
    assert isinstance(result.output, Ticket)
    assert isinstance(result.output.team, Team)
    details = result.response.provider_details
    assert details is not None
    assert set(details["probabilities"]["team"]) == {"billing", "support"}
    assert result.usage.input_tokens > 0
