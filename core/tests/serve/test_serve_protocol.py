"""The protocol: what is accepted, what is answered, what is refused and in which shape."""

from __future__ import annotations

import gzip
import json
import logging
import math
import sys
from collections.abc import Callable
from typing import Any

import pytest

from tiebreak import InvalidRequest
from tiebreak.serve.confidence import choice_confidence, score_confidence
from tiebreak.serve.settings import Settings

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

STATE = "I was charged twice."
NOUL = {"type": "noul", "instructions": "Is it about money?"}
CHOICE = {
    "type": "choice",
    "instructions": "Which team?",
    "criteria": {"billing": "Payments", "Größe ✓": None, "2": None},
}
SCORE = {"type": "score", "instructions": "How angry?", "criteria": ["Calm", {"level": "Angry"}, ["Furious"]]}
BODY = {"model": "jev-latest", "state": STATE, "questions": {"a ✓": NOUL, "b": CHOICE, "c": SCORE}}

Make = Callable[..., Any]


def with_question(question: Any, **more: Any) -> dict[str, Any]:
    return {"model": "jev-latest", "state": STATE, "questions": {"q": question}, **more}


def test_an_answer_has_the_protocol_s_shape(gateway: Make) -> None:
    reply = gateway().ask(BODY)
    assert reply.status_code == 200
    assert reply.headers["content-type"] == "application/json"
    assert reply.headers["x-typesafe-request-id"].startswith("req_")
    body = reply.json()
    assert set(body) == {"model", "answers", "usage", "x_tiebreak"}
    assert list(body["answers"]) == ["a ✓", "b", "c"]
    noul, choice, score = body["answers"].values()
    assert set(noul) == {"type", "noul"}
    assert list(choice["probabilities"]) == ["billing", "Größe ✓", "2"]
    assert choice["choice"] == max(choice["probabilities"], key=choice["probabilities"].get)
    assert math.isclose(sum(choice["probabilities"].values()), 1)
    assert choice["confidence"] == choice_confidence(list(choice["probabilities"].values()))
    assert score["legend"] == {"0": "Calm", "1": {"level": "Angry"}, "2": ["Furious"]}
    levels = list(score["probabilities"].values())
    assert list(score["probabilities"]) == ["0", "1", "2"]
    assert score["score"] == pytest.approx(levels[1] + 2 * levels[2])
    assert score["confidence"] == score_confidence(levels)
    assert type(body["usage"]["input_tokens"]) is int
    assert body["usage"]["output_tokens"] == 0
    assert body["x_tiebreak"]["cache"]["status"] == "hit"
    assert body["x_tiebreak"]["timings_ms"]["prefill"] == 1.0
    assert set(body["x_tiebreak"]["answers"]) == {"a ✓", "b", "c"}


def test_the_gateway_and_the_decider_answer_alike(gateway: Make) -> None:
    made = gateway()
    body = made.ask(BODY).json()["answers"]
    answer = made.decider.choose(STATE, {"billing": "Payments", "Größe ✓": None, "2": None}, "Which team?")
    assert body["b"]["probabilities"] == dict(answer.probabilities)
    rated = made.decider.rate(STATE, "How angry?", ["Calm", '{"level": "Angry"}', '["Furious"]'])
    assert list(body["c"]["probabilities"].values()) == list(rated.probabilities.values())
    checked = made.decider.check(STATE, "Is it about money?")
    assert body["a ✓"]["noul"] == checked.probabilities["yes"]


def test_ids_company_and_order_change_nothing(gateway: Make) -> None:
    made = gateway()
    first = made.ask(BODY).json()["answers"]
    other = made.ask({**BODY, "questions": {"z" * 5000: CHOICE, "\u202e": SCORE, "x": NOUL}}).json()["answers"]
    assert list(other.values()) == [first["b"], first["c"], first["a ✓"]]


def test_two_decimals(gateway: Make) -> None:
    made = gateway(Settings(decimals=2))
    answers = made.ask(BODY).json()["answers"]
    numbers = [answers["a ✓"]["noul"], answers["c"]["score"], answers["b"]["confidence"]]
    numbers += answers["b"]["probabilities"].values()
    assert all(number == round(number, 2) for number in numbers)


@pytest.mark.parametrize(
    "question, settled",
    [
        ({"type": "noul", "criteria": {"true": "It is"}}, False),
        ({"type": "noul", "instructions": "Is it?", "criteria": None}, False),
        (
            {"type": "noul", "instructions": {"question": "Is it?", "goal": ["a", 1]}, "criteria": {"false": ["no"]}},
            False,
        ),
        ({"type": "choice", "criteria": {"a": {"d": 1}, "b": None}}, False),
        ({"type": "choice", "instructions": " ", "criteria": {"a": "", "b": []}}, False),
        ({"type": "choice", "criteria": {"only": None}}, True),
        ({"type": "score", "criteria": ["only"]}, True),
        ({"type": "choice", "criteria": dict.fromkeys(f"o{n}" for n in range(255))}, False),
        ({"type": "score", "criteria": [f"level {n}" for n in range(10)]}, False),
        ({**NOUL, "x_more": 1}, False),
    ],
)
def test_what_is_accepted(gateway: Make, question: Any, settled: bool) -> None:
    made = gateway()
    reply = made.ask(with_question(question, x_trace=1, temperature=0))
    assert reply.status_code == 200, reply.text
    assert made.decider.session.engine.asked == (0 if settled else 1)
    if settled:
        answer = reply.json()["answers"]["q"]
        assert list(answer["probabilities"].values()) == [1.0]
        assert answer["confidence"] == 1.0


@pytest.mark.parametrize("state", ["", "text", {"a": [1, None, True]}, ["a", {"b": 1.5}], {}, []])
def test_states_that_are_accepted(gateway: Make, state: Any) -> None:
    assert gateway().ask({**BODY, "state": state}).status_code == 200


@pytest.mark.parametrize(
    "body, path",
    [
        (b"{", None),
        (b"\xff", None),
        (b'{"a":NaN}', None),
        (b"[" * 100_000, None),
        (b"1" * 5000, None),
        (b'{"model":"jev-latest","state":"x","questions":{"q":{"type":"choice","criteria":{"a":null,"a":"b"}}}}', None),
        ([], []),
        ("x", []),
        ({"state": STATE, "questions": {"q": NOUL}}, ["model"]),
        ({**BODY, "model": 1}, ["model"]),
        ({"model": "jev-latest", "questions": {"q": NOUL}}, ["state"]),
        ({**BODY, "state": None}, ["state"]),
        ({**BODY, "state": 3}, ["state"]),
        ({**BODY, "state": True}, ["state"]),
        ({"model": "jev-latest", "state": STATE}, ["questions"]),
        ({**BODY, "questions": {}}, ["questions"]),
        ({**BODY, "questions": [NOUL]}, ["questions"]),
        ({**BODY, "questions": {"": NOUL}}, ["questions", ""]),
        (with_question({"instructions": "Is it?"}), ["questions", "q"]),
        (with_question({"type": "boolean", "instructions": "Is it?"}), ["questions", "q"]),
        (with_question({"type": "box"}), ["questions", "q"]),
        (with_question({"type": "noul"}), ["questions", "q", "noul"]),
        (with_question({"type": "noul", "instructions": 5}), ["questions", "q", "noul", "instructions"]),
        (with_question({**NOUL, "criteria": {"yes": "x"}}), ["questions", "q", "noul", "criteria", "yes"]),
        (with_question({"type": "choice", "criteria": {}}), ["questions", "q", "choice", "criteria"]),
        (with_question({"type": "choice", "criteria": ["a", "b"]}), ["questions", "q", "choice", "criteria"]),
        (with_question({"type": "choice"}), ["questions", "q", "choice", "criteria"]),
        (
            with_question({"type": "choice", "criteria": {"a": 1, "b": None}}),
            ["questions", "q", "choice", "criteria", "a"],
        ),
        (
            with_question({"type": "choice", "criteria": {"\u00e9": None, "e\u0301": None}}),
            ["questions", "q", "choice"],
        ),
        (with_question({"type": "choice", "criteria": {" ": None, "b": None}}), ["questions", "q", "choice"]),
        (with_question({"type": "score", "criteria": {"0": "a", "1": "b"}}), ["questions", "q", "score", "criteria"]),
        (with_question({"type": "score", "criteria": ["a", None]}), ["questions", "q", "score", "criteria", 1]),
        (with_question({"type": "score", "criteria": ["a", "a"]}), ["questions", "q", "score"]),
        (
            with_question({"type": "score", "criteria": [f"l{n}" for n in range(11)]}),
            ["questions", "q", "score", "criteria"],
        ),
        (
            with_question({"type": "choice", "criteria": dict.fromkeys(f"o{n}" for n in range(256))}),
            ["questions", "q", "choice", "criteria"],
        ),
        ({**BODY, "state": "\x00"}, []),
        (b'{"model":"jev-latest","state":"\\ud800","questions":{"q":{"type":"noul","instructions":"x"}}}', []),
        (b'{"model":"jev-latest","state":[1e999],"questions":{"q":{"type":"noul","instructions":"x"}}}', []),
        ({**BODY, "state": "x" * 100_001}, []),
    ],
)
def test_what_is_wrong_is_a_422_with_its_path(gateway: Make, body: Any, path: list[Any] | None) -> None:
    reply = gateway().ask(body)
    assert reply.status_code == 422, reply.text
    first = reply.json()["detail"][0]
    assert set(first) == {"loc", "msg", "type"}
    assert first["loc"][0] == "body"
    assert path is None or first["loc"][1:] == path


@pytest.mark.parametrize(
    "change, status, error_type",
    [
        ({"model": "gpt"}, 400, "api_usage_error"),
        ({"assets": {"cat": {"type": "image"}}}, 400, "api_usage_error"),
        ({"state": "DIE"}, 502, "engine_error"),
        ({"state": "CRASH"}, 500, "internal_error"),
    ],
)
def test_other_refusals_have_a_type(gateway: Make, change: dict[str, Any], status: int, error_type: str) -> None:
    reply = gateway().ask({**BODY, **change})
    assert reply.status_code == status
    assert reply.json()["detail"]["error_type"] == error_type
    assert "secret log line" not in reply.text
    assert "defect" not in reply.text


@pytest.mark.parametrize("model", ["jev-latest", "jev-preview", "stub", "mine"])
def test_models_that_may_be_named(gateway: Make, model: str) -> None:
    made = gateway(Settings(aliases=("mine",)))
    assert made.ask({**BODY, "model": model}).json()["model"] == "stub"
    listed = made.call("GET", "/v1/models").json()["models"]
    assert model in [each["name"] for each in listed]
    assert all(set(each) == {"name", "description", "release_date"} for each in listed)


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_compressed_bodies(gateway: Make, encoding: str) -> None:
    made = gateway(Settings(max_body=10_000))
    packers: dict[str, Callable[[bytes], bytes]] = {"gzip": gzip.compress, "zstd": zstd.compress}
    pack = packers[encoding]
    raw = json.dumps(BODY).encode()
    headers = {"content-encoding": encoding}
    plain = made.ask(BODY).json()["answers"]
    assert made.ask(pack(raw), headers=headers).json()["answers"] == plain
    assert made.ask(pack(raw[:9]) + pack(raw[9:]), headers=headers).json()["answers"] == plain
    assert made.ask(pack(raw)[:-3], headers=headers).status_code == 422
    assert made.ask(b"not packed", headers=headers).status_code == 422
    assert made.ask(pack(b" " * 5_000_000), headers=headers).status_code == 413


def test_encodings_and_types_that_are_not_understood(gateway: Make) -> None:
    made = gateway()
    refused = made.ask(BODY, headers={"content-encoding": "br"})
    assert (refused.status_code, refused.headers["accept-encoding"]) == (415, "gzip, zstd")
    assert made.ask(BODY, headers={"content-type": "text/plain"}).status_code == 415
    assert made.ask(BODY, headers={"content-type": "application/vnd.x+json; charset=utf-8"}).status_code == 200
    assert made.call("POST", "/v1/systemone", content=json.dumps(BODY)).status_code == 200


def test_bodies_that_are_too_large(gateway: Make) -> None:
    made = gateway(Settings(max_body=200))
    assert made.ask({**BODY, "state": "x" * 200}).status_code == 413

    async def chunks() -> Any:
        for _ in range(30):
            yield b" " * 10

    reply = made.call("POST", "/v1/systemone", content=chunks(), headers={"content-type": "application/json"})
    assert reply.status_code == 413
    assert reply.json()["detail"]["error_type"] == "request_too_large"


@pytest.mark.parametrize("path, status", [("/v1/evaluate", 404), ("/v1/systemone/", 404), ("/v1/systemone", 405)])
def test_unknown_paths_and_methods_are_json_too(gateway: Make, path: str, status: int) -> None:
    reply = gateway().call("GET", path)
    assert reply.status_code == status
    assert reply.json()["detail"]["error_type"]
    assert reply.headers["x-typesafe-request-id"]


def test_keys(gateway: Make) -> None:
    made = gateway(Settings(api_key="right"))
    for path in ("/v1/models", "/metrics"):
        assert made.call("GET", path).status_code == 401
    missing = made.ask(BODY)
    assert missing.status_code == 401
    assert missing.headers["www-authenticate"] == "Bearer"
    assert missing.json()["detail"]["error_type"] == "authentication_error"
    for value, status in (("Bearer wrong", 401), ("Basic right", 401), ("Bearer right", 200), ("bearer right", 200)):
        assert made.ask(BODY, headers={"authorization": value}).status_code == status
    assert made.call("GET", "/health").json()["key"] is True
    assert made.call("GET", "/").status_code == 200
    assert "right" not in repr(Settings(api_key="right"))
    assert gateway().ask(BODY, headers={"authorization": "Bearer any"}).status_code == 200


def test_pages_of_other_sites_are_kept_out(gateway: Make) -> None:
    made = gateway()
    assert made.ask(BODY, headers={"origin": "http://evil.example"}).status_code == 403
    assert made.ask(BODY, headers={"origin": "null"}).status_code == 403
    assert made.ask(BODY, headers={"origin": "http://127.0.0.1:8765"}).status_code == 200
    assert made.ask(BODY, base_url="http://evil.example").status_code == 403
    assert made.ask(BODY, base_url="http://localhost:8765").status_code == 200
    assert made.ask(BODY, base_url="http://[::1]:8765").status_code == 200
    keyed = gateway(Settings(api_key="right"))
    reply = keyed.ask(BODY, base_url="http://box.example", headers={"authorization": "Bearer right"})
    assert reply.status_code == 200


def test_the_log_has_timings_and_no_contents(gateway: Make, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="tiebreak")
    made = gateway(Settings(api_key="right"))
    reply = made.ask({**BODY, "state": "CANARY-STATE"}, headers={"authorization": "Bearer right"})
    made.ask({**BODY, "state": "CANARY-STATE DIE"}, headers={"authorization": "Bearer right"})
    line = next(record.getMessage() for record in caplog.records if record.name == "tiebreak.serve.access")
    for part in ("POST /v1/systemone 200", "cache=hit", "prefill_ms=1.0", "questions=3", "reused=7"):
        assert part in line
    assert reply.headers["x-typesafe-request-id"] in line
    assert "CANARY" not in caplog.text
    assert "right" not in caplog.text


def test_metrics_count(gateway: Make) -> None:
    made = gateway()
    made.ask(BODY)
    made.ask({**BODY, "model": "gpt"})
    made.call("GET", "/nowhere/at/all")
    text = made.call("GET", "/metrics").text
    for line in (
        'tiebreak_requests_total{route="/v1/systemone",status="200"} 1.0',
        'tiebreak_requests_total{route="/v1/systemone",status="400"} 1.0',
        'tiebreak_requests_total{route="other",status="404"} 1.0',
        'tiebreak_cache_total{status="hit"} 1.0',
        "tiebreak_reused_tokens_total 7.0",
        "tiebreak_questions_total 3.0",
    ):
        assert line in text


def test_the_page_needs_nothing_from_elsewhere(gateway: Make) -> None:
    made = gateway()
    page = made.call("GET", "/")
    assert page.headers["content-type"].startswith("text/html")
    assert "script-src 'self'" in page.headers["content-security-policy"]
    assert made.call("GET", "/page.css").headers["content-type"].startswith("text/css")
    script = made.call("GET", "/page.js")
    assert script.headers["content-type"].startswith("text/javascript")
    assert "http://" not in page.text + script.text
    assert "https://" not in page.text + script.text


@pytest.mark.parametrize(
    "settings",
    [
        {"port": 70000},
        {"max_body": 0},
        {"decimals": 1},
        {"drain": -1},
        {"api_key": ""},
        {"api_key": "ä"},
        {"max_open": 0},
    ],
)
def test_settings_that_cannot_be_right(settings: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest):
        Settings(**settings)


@pytest.mark.parametrize(
    "probabilities, choice, score",
    [
        ([1.0], 1.0, 1.0),
        ([0.5, 0.5], 0.0, 0.0),
        ([0.0, 0.0, 1.0], 1.0, 1.0),
        ([0.88, 0.12], 0.76, 0.76),
        ([0.0, 0.95, 0.05], 0.925, 0.925),
        ([0.25] * 4, 0.0, 0.0),
    ],
)
def test_confidence_matches_published_examples(probabilities: list[float], choice: float, score: float) -> None:
    assert choice_confidence(probabilities) == pytest.approx(choice)
    assert score_confidence(probabilities) == pytest.approx(score)


def test_health_says_who_answers(gateway: Make) -> None:
    health = gateway().call("GET", "/health")
    assert health.status_code == 200
    assert health.json() == {
        "status": "ok",
        "ready": True,
        "engine": "stub",
        "model": "stub",
        "open": 0,
        "key": False,
    }
