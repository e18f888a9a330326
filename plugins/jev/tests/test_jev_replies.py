"""What single replies mean: every status, every malformed number, every way of rounding."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable
from typing import Any

import httpx
import pytest

import tiebreak
from tiebreak import Decider, DecisionWarning
from tiebreak.errors import (
    AuthError,
    BadReply,
    ContextOverflow,
    EngineError,
    EngineHung,
    EngineOverloaded,
    InvalidRequest,
    ModelUnavailable,
    QuotaError,
    RateLimited,
    TiebreakError,
    Unsupported,
)

Make = Callable[..., Decider]
URL = "https://decisions.example"
TEAM = {"team": tiebreak.choice("Which team?", ["billing", "sales", "legal"])}


def answering(status: int, body: Any, headers: dict[str, str] | None = None) -> httpx.MockTransport:
    """A wire on which every POST gets this reply."""
    text = body if isinstance(body, str) else json.dumps(body)

    def reply(request: httpx.Request) -> httpx.Response:
        if request.method == "GET":
            return httpx.Response(200, json={"models": []})
        return httpx.Response(status, text=text, headers=headers)

    return httpx.MockTransport(reply)


def team(probabilities: Any, pick: Any = "billing", **more: Any) -> dict[str, Any]:
    answer = {"type": "choice", "choice": pick, "probabilities": probabilities, **more}
    return {"model": "jev-1.13.0", "answers": {"team": answer}, "usage": {"input_tokens": 300, "output_tokens": 18}}


def anger(score: Any, probabilities: Any, **more: Any) -> dict[str, Any]:
    answer = {"type": "score", "score": score, "probabilities": probabilities, **more}
    return {"model": "jev-1.13.0", "answers": {"anger": answer}, "usage": {"input_tokens": 300, "output_tokens": 18}}


DETAIL = {"detail": {"error_type": "api_usage_error", "message": "Unknown model: jev-9"}}
VALIDATION = {"detail": [{"loc": ["body", "questions", "q"], "msg": "Field required", "type": "missing"}]}


@pytest.mark.parametrize(
    "status, body, error, says",
    [
        (302, "", BadReply, "redirects"),
        (400, DETAIL, ModelUnavailable, "Unknown model"),
        (400, {"detail": {"error_type": "max_tokens_exceeded"}}, ContextOverflow, "max_tokens_exceeded"),
        (400, {"detail": "Too many choices. Must have at most 255 choices."}, InvalidRequest, "Too many choices"),
        (400, {"error": {"type": "exceed_context_size_error", "n_prompt_tokens": 9, "n_ctx": 8}}, ContextOverflow, ""),
        (401, {"detail": {"error_type": "authentication_error", "message": "bad key"}}, AuthError, "bad key"),
        (402, {"error": {"code": 402, "message": "Insufficient credits"}}, QuotaError, "credits"),
        (
            403,
            {"detail": {"error_type": "authentication_error", "message": "Must supply an API key!"}},
            AuthError,
            "key",
        ),
        (403, {"message": "You have no credit left"}, QuotaError, "credit"),
        (404, {"detail": "Not Found"}, Unsupported, "/v1/systemone"),
        (404, {"error": {"message": "model 'jev' not found"}}, ModelUnavailable, "jev"),
        (408, "", EngineHung, "408"),
        (413, {"detail": "over the byte cap"}, InvalidRequest, "byte cap"),
        (413, {"detail": {"error_type": "max_tokens_exceeded", "message": "too long"}}, ContextOverflow, "too long"),
        (415, {"detail": "unsupported"}, InvalidRequest, "unsupported"),
        (422, VALIDATION, InvalidRequest, "questions.q: Field required"),
        (429, {"detail": {"error_type": "rate_limit_error", "message": "slow down"}}, RateLimited, "slow down"),
        (500, "oops", EngineError, "oops"),
        (501, {"error": {"message": "not a decision model"}}, Unsupported, "decision model"),
        (503, {"error": {"message": "busy"}}, EngineOverloaded, "busy"),
        (529, {"detail": {"error_type": "overloaded_error", "message": "overloaded"}}, EngineOverloaded, "overloaded"),
        (599, "", EngineError, "599"),
        (204, "", BadReply, "204"),
    ],
)
def test_each_status_is_a_typed_error(jev: Make, status: int, body: Any, error: type[TiebreakError], says: str) -> None:
    with pytest.raises(TiebreakError) as caught:
        jev("jev-9", url=URL, retries=0, mount=answering(status, body)).decide("x", TEAM)
    assert type(caught.value) is error
    assert says in str(caught.value)


def test_context_overflow_carries_both_counts(jev: Make) -> None:
    body = {
        "error": {"type": "exceed_context_size_error", "message": "too long", "n_prompt_tokens": 9000, "n_ctx": 4096}
    }
    with pytest.raises(ContextOverflow) as caught:
        jev(url=URL, mount=answering(400, body)).decide("x", TEAM)
    assert (caught.value.tokens, caught.value.window) == (9000, 4096)


def test_the_wait_that_was_asked_for_is_in_the_error(jev: Make) -> None:
    with pytest.raises(RateLimited) as caught:
        jev(url=URL, retries=0, mount=answering(429, "", {"retry-after-ms": "1500"})).decide("x", TEAM)
    assert caught.value.retry_after == 1.5


@pytest.mark.parametrize(
    "probabilities",
    [
        {"billing": 0.33, "sales": 0.33, "legal": 0.33},
        {"billing": 0.34, "sales": 0.34, "legal": 0.33},
        {"billing": 1, "sales": 0, "legal": 0},
        {"billing": 0.5000000001, "sales": 0.3, "legal": 0.1999999999},
    ],
)
def test_rounded_probabilities_are_renormalised(jev: Make, probabilities: dict[str, float]) -> None:
    answer = jev(url=URL, mount=answering(200, team(probabilities))).decide("x", TEAM)["team"]
    assert math.isclose(sum(answer.probabilities.values()), 1)
    assert answer.value == "billing"


@pytest.mark.parametrize("count, value, last", [(7, 0.15, 0.12), (40, 0.03, 0.01)])
def test_rounding_is_allowed_per_option(jev: Make, count: int, value: float, last: float) -> None:
    names = [f"option {n}" for n in range(count)]
    body = team({**dict.fromkeys(names, value), names[-1]: last}, names[0])
    answer = jev(url=URL, mount=answering(200, body)).decide("x", {"team": tiebreak.choice(None, names)})["team"]
    assert math.isclose(sum(answer.probabilities.values()), 1)
    assert answer.approximate == "rounded by the server to 2 decimals"


BAD = [None, "", "0.5", -0.01, 1.01, True, [0.5]]


@pytest.mark.parametrize("value", BAD)
def test_no_such_probability_is_believed(jev: Make, value: Any) -> None:
    body = team({"billing": value, "sales": 0.3, "legal": 0.2})
    with pytest.raises(BadReply):
        jev(url=URL, mount=answering(200, body)).decide("x", TEAM)


@pytest.mark.parametrize("value", [None, "", "0.5", -0.01, 1.01, True])
def test_no_such_noul_is_believed(jev: Make, value: Any) -> None:
    body = {"model": "m", "answers": {"q": {"type": "noul", "noul": value}}}
    with pytest.raises(BadReply):
        jev(url=URL, mount=answering(200, body)).decide("x", {"q": tiebreak.yes_no("Is it?")})


@pytest.mark.parametrize("text", ["NaN", "Infinity", "1e309"])
@pytest.mark.parametrize("field", ["noul", "confidence"])
def test_numbers_outside_json_are_not_believed(jev: Make, text: str, field: str) -> None:
    body = json.dumps({"model": "m", "answers": {"q": {"type": "noul", "noul": 0.5, "confidence": 0.5, field: "HERE"}}})
    body = body.replace('"HERE"', text)
    with pytest.raises(BadReply):
        jev(url=URL, mount=answering(200, body)).decide("x", {"q": tiebreak.yes_no("Is it?")})


@pytest.mark.parametrize(
    "body",
    [
        team({"billing": 0.5, "sales": 0.5}),
        team({"billing": 0.5, "sales": 0.3, "legal": 0.1, "other": 0.1}),
        team({"billing": 0.0, "sales": 0.0, "legal": 0.0}),
        team({"billing": 0.5, "sales": 0.5, "legal": 0.5}),
        team({"billing": 0.2, "sales": 0.6, "legal": 0.2}),
        team({"billing": 0.5, "sales": 0.3, "legal": 0.2}, pick="Billing"),
        team({"billing": 0.5, "sales": 0.3, "legal": 0.2}, pick=None),
        team({"billing": 0.5, "sales": 0.3, "legal": 0.2}, confidence=1.2),
        team({}),
        team(None),
        {"model": "m", "answers": {"team": {"type": "choice", "choice": "billing"}}},
        {"model": "m", "answers": {"team": {"type": "noul", "noul": 0.5}}},
        {"model": "m", "answers": {"team": None}},
        {"model": "m", "answers": {}},
        {"model": "m"},
        {"model": 1, "answers": {}},
        [],
        "",
        "<html>",
    ],
)
def test_no_such_choice_is_believed(jev: Make, body: Any) -> None:
    with pytest.raises(BadReply):
        jev(url=URL, mount=answering(200, body)).decide("x", TEAM)


LEVELS = {"0": 0.1, "1": 0.8, "2": 0.1}


@pytest.mark.parametrize(
    "body",
    [
        anger(None, LEVELS),
        anger("1.0", LEVELS),
        anger(2.0, LEVELS),
        anger(1.0, {"Calm": 0.1, "Frustrated": 0.8, "Furious": 0.1}),
        anger(1.0, {"1": 0.1, "2": 0.8, "3": 0.1}),
        anger(1.0, LEVELS, legend={"1": "Calm", "2": "Frustrated", "3": "Furious"}),
        anger(1.0, LEVELS, legend={"0": "Furious", "1": "Frustrated", "2": "Calm"}),
    ],
)
def test_no_such_score_is_believed(jev: Make, body: Any) -> None:
    questions = {"anger": tiebreak.score("How angry?", ["Calm", "Frustrated", "Furious"])}
    with pytest.raises(BadReply):
        jev(url=URL, mount=answering(200, body)).decide("x", questions)


def test_their_numbers_are_kept_beside_ours(jev: Make) -> None:
    questions = {"anger": tiebreak.score("How angry?", ["Calm", "Frustrated", "Furious"])}
    body = anger(1.05, {"0": 0.0, "1": 0.95, "2": 0.05}, confidence=0.9, legend={"0": "Calm", "1": {}, "2": "Furious"})
    answer = jev(url=URL, mount=answering(200, body)).decide("x", questions)["anger"]
    assert answer.native == {"confidence": 0.9, "score": 1.05}
    assert answer.value == "Frustrated"
    assert math.isclose(answer.expected or 0, 1.05)


def test_the_receipt_says_who_answered_and_what_it_cost(jev: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TYPESAFE_API_KEY", "apikey_1")
    wire = answering(200, team({"billing": 0.5, "sales": 0.3, "legal": 0.2}), {"x-typesafe-request-id": "req_1"})
    receipt = jev(mount=wire).decide("x", TEAM).receipt
    assert (receipt.model, receipt.resolved_model, receipt.request_id) == ("jev-latest", "jev-1.13.0", "req_1")
    assert receipt.usage["price_usd"] == pytest.approx(300 * 0.042e-6)
    assert "list price" in receipt.usage["price_source"]
    assert receipt.prompt_tokens == 300


def test_a_cost_in_the_reply_is_taken_as_it_is(jev: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", "sk-or-1")
    body = {**team({"billing": 0.5, "sales": 0.3, "legal": 0.2}), "id": "gen-1"}
    body["usage"]["cost"] = 0.0001
    receipt = jev("typesafe/jev-1.13", provider="openrouter", mount=answering(200, body)).decide("x", TEAM).receipt
    assert receipt.model == "typesafe/jev-1.13"
    assert receipt.request_id == "gen-1"
    assert receipt.usage["price_usd"] == 0.0001


def test_a_model_that_changes_within_one_client_warns(jev: Make) -> None:
    models = iter(["jev-1.13.0", "jev-1.13.0", "jev-1.14.0", "jev-1.13.0"])

    def reply(request: httpx.Request) -> httpx.Response:
        body = team({"billing": 0.5, "sales": 0.3, "legal": 0.2}) if request.method == "POST" else {}
        return httpx.Response(200, json={**body, "model": next(models) if body else ""})

    decider = jev(url=URL, mount=httpx.MockTransport(reply))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        decider.decide("x", TEAM)
        decider.decide("x", TEAM)
    with pytest.warns(DecisionWarning, match="from jev-1.13.0 to jev-1.14.0"):
        changed = decider.decide("x", TEAM)
    assert "from jev-1.13.0 to jev-1.14.0" in changed.receipt.warnings[0]
    with pytest.warns(DecisionWarning, match="from jev-1.14.0 to jev-1.13.0"):
        decider.decide("x", TEAM)
