"""Every fault that the mock server can inject, and what becomes of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from jevcompat.mock import FAULTS, MockConfig, Running

import tiebreak
from tiebreak import Decider
from tiebreak.errors import AuthError, BadReply, InvalidRequest, ModelUnavailable, TiebreakError, Unsupported

STATE = ["Charged twice in March.", "Refund promised, not received."]
QUESTIONS = {
    "refund ✓": tiebreak.yes_no("Does the customer want money back?", yes="A refund or a chargeback"),
    "team": tiebreak.choice("Which team?", {"Billing": "Payments", "Größe": None, "Sales": "Contracts"}),
    "anger": tiebreak.score("How angry?", ["Calm", "Frustrated", "Furious"]),
    "queue": tiebreak.choice("Which queue?", [f"Queue {n}" for n in range(70)]),
    "length": tiebreak.score("How long?", [f"{n} lines" for n in range(7)]),
}

ERRORS: dict[str, type[TiebreakError]] = {
    "wrong-route": Unsupported,
    "xssi-200": BadReply,
    "reject-array-state": InvalidRequest,
    "reject-jev-latest": ModelUnavailable,
    "first-question-only": BadReply,
    "strict-ids": InvalidRequest,
    "nfd-keys": BadReply,
    "noul-two-sided": InvalidRequest,
    "no-null-description": InvalidRequest,
    "cap-64": InvalidRequest,
    "cap-5-levels": InvalidRequest,
    "extra-answer": BadReply,
    "boolean-type": BadReply,
    "nan": BadReply,
    "noul-range": BadReply,
    "choice-key-case": BadReply,
    "choice-sum": BadReply,
    "choice-second": BadReply,
    "legend-1-based": BadReply,
    "score-keys-1-based": BadReply,
    "score-sum": BadReply,
    "score-argmax": BadReply,
    "confidence-over": BadReply,
}
"""Faults that an ordinary request runs into."""

HARMLESS = {
    "plain-content-type": "the body is what counts",
    "models-404": "the list of models is optional",
    "forbid-extra": "nothing extra is sent",
    "string-only-text": "only text is sent",
    "noul-needs-instructions": "a question is always sent",
    "accept-map-score": "scores are sent as arrays",
    "no-usage": "usage is then unknown",
    "float-usage": "whole numbers all the same",
    "unprefixed-extra": "more than was asked for is ignored outside the answers",
    "choice-no-confidence": "confidence is computed here",
    "score-no-legend": "the levels are known here",
    "confidence-margin": "confidence is computed here",
    "500-on-unknown-type": "no unknown type is sent",
    "accept-boolean": "no unknown type is sent",
    "id-leaks": "no single reply shows it",
    "batch-leaks": "no single reply shows it",
    "order-leaks": "no single reply shows it",
}
"""Faults that cannot make an answer wrong, with the reason."""

Special = tuple[dict[str, Any], dict[str, Any], type[TiebreakError]]
SPECIAL: dict[str, Special] = {
    "text-errors": ({}, {"model": "gpt"}, ModelUnavailable),
    "error-flat": ({}, {"model": "gpt"}, ModelUnavailable),
    "auth-rejects-header": ({}, {"key": "wrong"}, AuthError),
    "auth-x-api-key": ({"key": "right"}, {"key": "right"}, AuthError),
    "auth-plain": ({"key": "right"}, {}, AuthError),
    "auth-invalid-403-text": ({"key": "right"}, {"key": "wrong"}, AuthError),
    "validation-400": ({"also": "reject-array-state"}, {}, InvalidRequest),
}
"""Faults that need a particular server, key or model to show."""

Start = Callable[..., Running]
Make = Callable[..., Decider]


def test_every_fault_has_a_row() -> None:
    rows = [*ERRORS, *HARMLESS, *SPECIAL]
    assert sorted(rows) == sorted(FAULTS)


@pytest.mark.parametrize("fault", ERRORS)
def test_fault_is_a_typed_error(fault: str, mock: Start, jev: Make) -> None:
    decider = jev(url=mock(fault).url, retries=0)
    with pytest.raises(TiebreakError) as caught:
        decider.decide(STATE, QUESTIONS)
    assert type(caught.value) is ERRORS[fault]
    assert caught.value.engine == "jev"
    assert caught.value.remedy or ERRORS[fault] is BadReply


@pytest.mark.parametrize("fault", HARMLESS)
def test_fault_changes_no_answer(fault: str, mock: Start, jev: Make) -> None:
    faulty = jev(url=mock(fault).url).decide(STATE, QUESTIONS)
    assert set(faulty.answers) == set(QUESTIONS)
    if not fault.endswith("-leaks"):
        clean = jev(url=mock().url).decide(STATE, QUESTIONS)
        assert {n: a.probabilities for n, a in faulty.answers.items()} == {
            n: a.probabilities for n, a in clean.answers.items()
        }


@pytest.mark.parametrize("fault", SPECIAL)
def test_fault_of_a_particular_server(fault: str, mock: Start, jev: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    server, client, error = SPECIAL[fault]
    faults = [fault, server["also"]] if "also" in server else [fault]
    running = mock(*faults, **({"key": server["key"]} if "key" in server else {}))
    if "key" in client:
        monkeypatch.setenv("SYSTEM_ONE_API_KEY", client["key"])
    with pytest.raises(TiebreakError) as caught:
        jev(client.get("model"), url=running.url).decide(STATE, QUESTIONS)
    assert type(caught.value) is error
    assert caught.value.remedy


def test_usage_is_read_or_unknown(mock: Start, jev: Make) -> None:
    floats = jev(url=mock("float-usage").url).decide(STATE, QUESTIONS).receipt
    assert type(floats.usage["input_tokens"]) is int
    assert floats.prompt_tokens == floats.usage["input_tokens"]
    nothing = jev(url=mock("no-usage").url).decide(STATE, QUESTIONS).receipt
    assert nothing.usage == {}
    assert nothing.prompt_tokens is None


def test_a_busy_server_is_asked_again(mock: Start, jev: Make) -> None:
    running = mock(busy_every=2)
    decider = jev(url=running.url, retries=2)
    for _ in range(4):
        decider.decide(STATE, QUESTIONS)
    assert _config(running).requests > 4


def _config(running: Running) -> MockConfig:
    config: MockConfig = running.server.RequestHandlerClass.cfg
    return config
