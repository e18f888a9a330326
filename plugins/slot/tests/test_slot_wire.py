"""What the slot engine sends, and what it makes of every kind of reply; against a mock server."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tiebreak import (
    AuthError,
    BadReply,
    ContextOverflow,
    Decider,
    EngineError,
    EngineOverloaded,
    EngineStartError,
    InvalidRequest,
    TiebreakError,
    Unsupported,
    choice,
    yes_no,
)

Make = Callable[..., Decider]
ABC = ["a", "b", "c"]


def when(path: str, response: Callable[[], httpx.Response]) -> Callable[[httpx.Request], httpx.Response | None]:
    return lambda request: response() if request.url.path == path else None


def decided(mock: Any) -> dict[str, Any]:
    """The completion that asked the decision (those before it probed the server)."""
    return mock.calls("/completion")[-1]  # type: ignore[no-any-return]


def test_letters_are_read_by_token_id_and_renormalised(mocked: Make, mock: Any) -> None:
    answer = mocked().choose("state", ABC)
    raw = [math.exp(-k) for k in (1, 2, 3)]
    assert list(answer.probabilities.values()) == pytest.approx([r / sum(raw) for r in raw])
    assert answer.coverage == pytest.approx(sum(raw))


def test_everything_that_server_defaults_could_move_is_pinned(mocked: Make, mock: Any) -> None:
    mocked().choose("state", ABC)
    body = decided(mock)
    pinned = {"n_predict": 1, "n_probs": 100, "temperature": 0.0, "grammar": "", "repeat_penalty": 1.0, "mirostat": 0}
    assert {name: body[name] for name in pinned} == pinned
    assert body["post_sampling_probs"] is False
    assert body["logit_bias"][0][0] == 65, "a label is generated, so that the reply always has probabilities"


def test_published_setting_is_cache_off(mocked: Make, mock: Any) -> None:
    decision = mocked(cache="off").decide("state", {"q": choice(None, ABC)})
    assert decided(mock)["cache_prompt"] is False
    assert decision.cache.status == "off"


def test_reuse_that_was_not_proven_exact_is_not_used(mocked: Make, mock: Any) -> None:
    made = mocked()
    made.choose("state", ABC)
    assert decided(mock)["cache_prompt"] is False, "the mock never reuses, so nothing was proven"
    made = mocked(reuse="always")
    made.choose("state", ABC)
    assert decided(mock)["cache_prompt"] is True


def test_prompt_of_an_unknown_model_is_all_ids_and_control_tokens_stay_text(mocked: Make, mock: Any) -> None:
    mocked().choose("hi<|im_end|>", ABC)
    assert all(isinstance(part, int) for part in decided(mock)["prompt"])
    texts = [body for body in mock.calls("/tokenize") if "im_end" in str(body["content"])]
    assert [body["parse_special"] for body in texts] == [False]


def test_a_bos_that_the_model_wants_stands_there_exactly_once(mocked: Make, mock: Any) -> None:
    def fault(request: httpx.Request) -> httpx.Response | None:
        body = json.loads(request.content) if request.content else {}
        if request.url.path == "/tokenize" and body.get("add_special"):
            return httpx.Response(200, json={"tokens": [1]})
        if request.url.path == "/apply-template":
            return httpx.Response(200, json={"prompt": f"<s>[INST]{body['messages'][0]['content']}[/INST]"})
        return None

    mock.fault = fault
    mocked().choose("state", ABC)
    assert decided(mock)["prompt"][0] == 1
    assert decided(mock)["prompt"].count(1) == 1
    mocked(layout="chat").choose("state", ABC)
    assert decided(mock)["prompt"][:2] == [1, ord("[")], "the template's own BOS is left out"


def test_chat_counts_every_spelling_of_a_letter(mocked: Make, mock: Any) -> None:
    made = mocked(layout="chat").start()
    top = [("A", -2.0), (" A", -3.0), ("B", -2.5), ("the", -1.0)]
    items = [{"id": i, "token": text, "logprob": p} for i, (text, p) in enumerate(top)]
    body = {**mock.completion(), "completion_probabilities": [{"top_logprobs": items}]}
    mock.fault = when("/completion", lambda: httpx.Response(200, json=body))
    answer = made.choose("state", ["a", "b"])
    mass = math.exp(-2) + math.exp(-3)
    assert answer.probabilities["a"] == pytest.approx(mass / (mass + math.exp(-2.5)))


def test_labels_outside_the_top_are_asked_for_again(mocked: Make, mock: Any) -> None:
    made = mocked().start()
    mock.listed = {65: -0.5, 90: -1.5}

    def fault(request: httpx.Request) -> httpx.Response | None:
        if request.url.path == "/completion" and json.loads(request.content)["n_probs"] > 1000:
            mock.listed = {65: -0.5, 90: -1.5, 66: -9.0, 67: -12.0}
        return None

    mock.fault = fault
    answer = made.choose("state", ABC)
    assert answer.approximate is None
    assert answer.probabilities["c"] == pytest.approx(math.exp(-12) / sum(math.exp(x) for x in (-0.5, -9, -12)))


def test_labels_outside_the_top_are_bounds_when_wanted(mocked: Make, mock: Any) -> None:
    mock.listed = {65: -0.5, 90: -4.0}
    answer = mocked(missing="bound").choose("state", ABC)
    assert answer.approximate == "upper bound for 'b', 'c'"
    assert 0 < answer.probabilities["b"] <= math.exp(-4) / math.exp(-0.5)
    with pytest.raises(BadReply, match="did not report label B, C"):
        mocked(missing="bound", strict=True).choose("state", ABC)


def test_thirty_labels_three_of_them_unlisted(mocked: Make, mock: Any) -> None:
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    mock.listed = {ord(c): -3.0 - i / 10 for i, c in enumerate(letters[:23])}
    answer = mocked(missing="bound").choose("state", [f"option {i}" for i in range(26)])
    assert answer.approximate == "upper bound for 'option 23', 'option 24', 'option 25'"
    assert sum(answer.probabilities.values()) == pytest.approx(1)


@pytest.mark.parametrize(
    "body",
    [
        {"completion_probabilities": None},
        {"completion_probabilities": []},
        {"completion_probabilities": [{"top_logprobs": []}]},
        {},
    ],
    ids=["null", "empty", "no top", "missing"],
)
def test_a_build_that_reports_no_probabilities_is_named(body: dict[str, Any], mocked: Make, mock: Any) -> None:
    made = mocked().start()
    reply = mock.completion()
    del reply["completion_probabilities"]
    mock.fault = when("/completion", lambda: httpx.Response(200, json={**reply, **body}))
    with pytest.raises(BadReply, match="completion_probabilities") as caught:
        made.choose("state", ABC)
    assert caught.value.engine == "slot"


@pytest.mark.parametrize(
    "change",
    [
        {"logprob": 0.7},
        {"logprob": None},
        {"logprob": "-1"},
        {"id": "65"},
        {"id": None},
    ],
)
def test_numbers_that_are_none_are_refused(change: dict[str, Any], mocked: Make, mock: Any) -> None:
    made = mocked().start()
    reply = mock.completion()
    reply["completion_probabilities"][0]["top_logprobs"][0].update(change)
    mock.fault = when("/completion", lambda: httpx.Response(200, json=reply))
    with pytest.raises(BadReply):
        made.choose("state", ABC)


def test_more_mass_than_there_is_is_refused(mocked: Make, mock: Any) -> None:
    made = mocked().start()
    mock.listed = {65: -0.1, 66: -0.2, 67: -0.3}
    with pytest.raises(BadReply, match="of the mass"):
        made.choose("state", ABC)


def test_a_cut_prompt_is_an_overflow_even_with_200(mocked: Make, mock: Any) -> None:
    made = mocked().start()
    mock.fault = when("/completion", lambda: httpx.Response(200, json={**mock.completion(), "truncated": True}))
    with pytest.raises(ContextOverflow, match="cut the prompt"):
        made.choose("state", ABC)


def test_an_overlong_prompt_names_tokens_window_and_setting(mocked: Make, mock: Any) -> None:
    made = mocked().start()
    error = {
        "code": 400,
        "message": "too long",
        "type": "exceed_context_size_error",
        "n_prompt_tokens": 900,
        "n_ctx": 512,
    }
    mock.fault = when("/completion", lambda: httpx.Response(400, json={"error": error}))
    with pytest.raises(ContextOverflow, match=r"900 tokens long; one request has 512 .*option context") as caught:
        made.choose("state", ABC)
    assert (caught.value.tokens, caught.value.window) == (900, 512)


@pytest.mark.parametrize(
    "status, kind",
    [
        (400, InvalidRequest),
        (401, AuthError),
        (403, AuthError),
        (404, Unsupported),
        (501, Unsupported),
        (500, EngineError),
        (503, EngineOverloaded),
        (418, BadReply),
    ],
)
def test_every_refusal_is_typed(status: int, kind: type[TiebreakError], mocked: Make, mock: Any) -> None:
    made = mocked().start()
    mock.fault = when(
        "/completion", lambda: httpx.Response(status, json={"error": {"message": "the server's own words"}})
    )
    with pytest.raises(kind, match="the server's own words"):
        made.choose("state", ABC)


@pytest.mark.parametrize("cache_n, prompt_n, status", [(0, 40, "miss"), (5, 35, "miss"), (30, 2, "hit")])
def test_a_hit_is_reported_only_when_the_whole_prefix_was_reused(
    cache_n: int, prompt_n: int, status: str, mocked: Make, mock: Any
) -> None:
    made = mocked(reuse="always").start()
    timings = {"cache_n": cache_n, "prompt_n": prompt_n}
    mock.fault = when("/completion", lambda: httpx.Response(200, json=mock.completion(**timings)))
    decision = made.decide("state", {"q": choice(None, ABC)})
    assert (decision.cache.status, decision.cache.reused_tokens) == (status, cache_n)


def test_several_questions_go_out_together_and_come_back_in_order(mocked: Make, mock: Any) -> None:
    made = mocked().start()

    def fault(request: httpx.Request) -> httpx.Response | None:
        if request.url.path != "/completion":
            return None
        mock.listed = {65: -1.0, 66: -2.0}
        first = {**mock.completion(), "index": 0}
        mock.listed = {65: -2.0, 66: -1.0}
        return httpx.Response(200, json=[{**mock.completion(), "index": 1}, first])

    mock.fault = fault
    decision = made.decide("state", {"x": choice(None, ["a", "b"]), "y": yes_no("Is it?")})
    assert len(mock.calls("/completion")[-1]["prompt"]) == 2
    assert decision["x"].value == "a"
    assert decision["y"].value is True


def test_a_lost_row_is_a_bad_reply(mocked: Make, mock: Any) -> None:
    made = mocked().start()
    mock.fault = when("/completion", lambda: httpx.Response(200, json=[mock.completion()]))
    with pytest.raises(BadReply, match="1 completions for 2 prompts"):
        made.decide("state", {"x": choice(None, ["a", "b"]), "y": yes_no("Is it?")})


def test_a_thinking_model_is_not_read(mocked: Make, mock: Any) -> None:
    made = mocked(missing="bound").start()
    items = [{"id": 7, "token": "<think>", "logprob": -0.01}, {"id": 65, "token": "A", "logprob": -9.0}]
    body = {**mock.completion(), "completion_probabilities": [{"top_logprobs": items}]}
    mock.fault = when("/completion", lambda: httpx.Response(200, json=body))
    with pytest.raises(BadReply, match="Thinking is not disabled"):
        made.choose("state", ABC)


def test_low_coverage_warns_once_and_is_in_every_receipt(mocked: Make, mock: Any) -> None:
    mock.listed = {65: -8.0, 66: -8.0, 67: -8.0}
    made = mocked()
    with pytest.warns(UserWarning, match="low coverage") as seen:
        decisions = [made.decide("state", {"q": choice(None, ABC)}) for _ in range(3)]
    assert len([w for w in seen if "coverage" in str(w.message)]) == 1
    assert all("low coverage" in d.receipt.warnings[0] for d in decisions)


def test_a_server_that_is_not_llama_server_is_a_stranger(mocked: Make, mock: Any) -> None:
    mock.fault = when("/props", lambda: httpx.Response(200, json={"hello": "world"}))
    with pytest.raises(EngineStartError, match="not llama-server's"):
        mocked().choose("state", ABC)


def test_the_key_comes_from_the_environment_and_stays_in_the_header(
    mocked: Make, mock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(os.environ, "MY_KEY", "canary-value")
    sent = []
    refuse: list[bool] = []

    def fault(request: httpx.Request) -> httpx.Response | None:
        sent.append(request.headers["authorization"])
        return httpx.Response(401, json={"error": {"message": "invalid key"}}) if refuse else None

    mock.fault = fault
    made = mocked(api_key_env="MY_KEY")
    made.choose("state", ABC)
    refuse.append(True)
    with pytest.raises(AuthError) as caught:
        made.choose("state", ABC)
    assert set(sent) == {"Bearer canary-value"}
    assert "canary" not in str(caught.value) + repr(caught.value) + repr(made) + repr(made.session.opened)


def test_a_key_that_the_server_refuses_stops_the_start(mocked: Make, mock: Any) -> None:
    mock.fault = when("/props", lambda: httpx.Response(401, json={"error": {"message": "invalid key"}}))
    with pytest.raises(AuthError):
        mocked().start()


def test_neither_model_nor_url_is_a_mistake() -> None:
    from tiebreak_slot.engine import SlotEngine
    from tiebreak_slot.info import INFO

    with pytest.raises(InvalidRequest, match="No model and no url"):
        SlotEngine(None, {**INFO.check_options({}), "url": None})
