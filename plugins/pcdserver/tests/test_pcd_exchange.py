"""What is sent and what replies mean, against recorded and made-up replies."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from tiebreak import (
    BadReply,
    ContextOverflow,
    Decider,
    EngineError,
    EngineHung,
    EngineOverloaded,
    EngineStartError,
    EngineUnavailable,
    InvalidRequest,
    choice,
    score,
    yes_no,
)
from tiebreak.memory import Footprint
from tiebreak_pcdserver import program
from tiebreak_pcdserver.engine import PcdEngine
from tiebreak_pcdserver.info import INFO

Attach = Callable[..., Decider]

# A reply of pcd_server (wheel ornotto 0.1.3) with SmolLM2-135M, as it came.
RECORDED = (
    '{"fields":[{"levels":1,"name":"a","probabilities":{"billing":0.9968941363939862,"other":0.0013718272435683692,'
    '"technical":0.0017340363624456095},"probability":0.9968941363939862,"value":"billing"},{"levels":1,"name":"b",'
    '"probabilities":{"false":0.7969892603312084,"true":0.20301073966879163},"probability":0.7969892603312084,'
    '"value":false}],"metrics":{"checkpointBytes":2743932,"elapsedMs":2255.575362,"forwardPasses":2,"phasesMs":'
    '{"broadcast":0.049964,"dynamicContext":1305.774059,"restoreOrPrefill":16.025261,"suffix":933.277648,'
    '"tokenize":0.443953,"tree":0.000451},"schemaCacheStatus":"hit"},"model":"smol.gguf","values":{"a":"billing",'
    '"b":false}}'
)
ASKED = {"a": choice("Which team?", ["billing", "technical", "other"]), "b": yes_no("Urgent?")}


def reply(*fields: dict[str, Any], status: str = "miss", **metrics: Any) -> httpx.Response:
    """A reply with these fields."""
    costs = {"elapsedMs": 9.0, "forwardPasses": 3, "checkpointBytes": 1000, "schemaCacheStatus": status}
    phases = {"tokenize": 0.5, "restoreOrPrefill": 4.0, "dynamicContext": 2.0, "broadcast": 0.25, "suffix": 1.0}
    body = {"model": "m.gguf", "fields": fields, "metrics": {**costs, "phasesMs": {**phases, "tree": 0.5}, **metrics}}
    return httpx.Response(200, json=body)


def field(name: str, levels: int = 1, value: Any = None, /, **probabilities: float) -> dict[str, Any]:
    best = max(probabilities, key=probabilities.__getitem__)
    return {
        "name": name,
        "value": best if value is None else value,
        "probability": probabilities[best],
        "probabilities": dict(sorted(probabilities.items())),
        "levels": levels,
    }


def yes(name: str, probability: float) -> dict[str, Any]:
    return {**field(name, false=1 - probability, true=probability), "value": probability > 0.5}


def test_a_recorded_reply(attached: Attach, fake: Any) -> None:
    fake.replies = [httpx.Response(200, text=RECORDED)]
    decision = attached().decide("Charged twice.", ASKED)
    assert list(decision["a"].probabilities) == ["billing", "technical", "other"]
    assert decision["a"].value == "billing"
    assert decision["a"].probabilities["technical"] == pytest.approx(0.0017340363624456095, rel=1e-12)
    assert decision["b"].value is False and decision["b"].probabilities["yes"] == pytest.approx(0.20301073966879163)
    assert decision["a"].approximate is None and decision["a"].coverage is None
    assert fake.asked == [
        {
            "context": "Charged twice.",
            "fields": [
                {"name": "a", "description": "Which team?", "choices": ["billing", "technical", "other"]},
                {"name": "b", "description": "Urgent?", "choices": [False, True]},
            ],
        }
    ]
    assert decision.timings.engine["dynamicContext"] == 1305.774059
    assert decision.timings.restore == 16.025261
    assert decision.timings.prefill == pytest.approx(1305.774059 + 933.277648 + 0.000451)
    assert (decision.cache.scope, decision.cache.status, decision.cache.checkpoint_bytes) == ("schema", "hit", 2743932)
    assert decision.receipt.engine_version == "pcd_server v1, llama 256M Q4_1 on CPU"


@pytest.mark.parametrize("status", ["miss", "fallback"])
def test_without_a_hit_the_schema_is_prefill(attached: Attach, fake: Any, status: str) -> None:
    fake.replies = [reply(yes("q", 0.75), status=status)]
    decision = attached().decide("x", {"q": yes_no("Is it?")})
    assert decision.timings.prefill == 7.5 and decision.timings.restore is None
    assert decision.cache.status == status


def test_losers_that_begin_alike_are_marked(attached: Attach, fake: Any) -> None:
    fake.replies = [reply(field("answer", refund=0.9, new_york=0.05, new_orleans=0.05))]
    answer = attached().choose("x", ["refund", "new_york", "new_orleans"])
    assert answer.approximate is not None
    assert answer.approximate.startswith("'new_york', 'new_orleans' begin alike and share their mass evenly")


def test_two_options_never_share(attached: Attach, fake: Any) -> None:
    fake.replies = [reply(yes("answer", 0.5))]
    assert attached().check("x", "Is it?").approximate is None


def test_the_engines_own_value_is_kept_beside_the_most_probable(attached: Attach, fake: Any) -> None:
    fake.replies = [reply(field("answer", 2, "new", old=0.45, new=0.28, newer=0.27))]
    answer = attached().choose("x", ["old", "new", "newer"])
    assert answer.value == "old" and answer.native["value"] == "new" and answer.native["levels"] == 2


def test_codes_come_back_as_names(attached: Attach, fake: Any) -> None:
    fake.replies = [reply(field("mood", a=0.25, b=0.75), field("anger", 1, None, **{"0": 0.5, "1": 0.25, "2": 0.25}))]
    asked = {"mood": choice("Mood?", ["👍", "👎"]), "anger": score("How angry?", ["calm", "cross", "furious"])}
    decision = attached().decide("x", asked)
    assert decision["mood"].probabilities == {"👍": 0.25, "👎": 0.75}
    assert decision["mood"].native["labels"] == {"a": "👍", "b": "👎"}
    assert decision["anger"].expected == 0.75
    assert decision["anger"].approximate is not None and "'cross', 'furious'" in decision["anger"].approximate


def test_a_mapped_name_is_said(attached: Attach, fake: Any) -> None:
    fake.replies = [reply(yes("q1", 0.75))]
    decision = attached().decide("x", {"n" * 129: yes_no("Is it?")})
    assert decision["n" * 129].native["field"] == "q1"


def test_130_questions_are_split_and_come_back_in_order(attached: Attach, fake: Any) -> None:
    names = [f"q{n}" for n in range(130)]
    parts = [names[:63], names[63:126], names[126:]]
    fake.replies = [
        reply(*(yes(name, int(name[1:]) / 200) for name in part), status=status)
        for part, status in zip(parts, ["hit", "miss", "miss"], strict=True)
    ]
    with pytest.warns(UserWarning, match="split: 63 of the questions went into the first of 3 exchanges"):
        decision = attached().decide("x", {name: yes_no("Is it?") for name in names})
    assert list(decision.answers) == names
    assert [decision[name].probabilities["yes"] for name in names] == pytest.approx([n / 200 for n in range(130)])
    assert [len(body["fields"]) for body in fake.asked] == [63, 63, 4]
    assert decision.cache.status == "hit" and decision.cache.checkpoint_bytes == 3000
    assert decision.timings.restore == 4.0 and decision.timings.prefill == pytest.approx(3.5 + 7.5 + 7.5)


def test_async_reads_the_same(attached: Attach, fake: Any) -> None:
    fake.replies = [reply(yes("answer", 0.75))]
    answer = asyncio.run(attached().acheck("x", "Is it?"))
    assert answer.probabilities == {"no": 0.25, "yes": 0.75}


@pytest.mark.parametrize(
    "body",
    [
        "<html>",
        "[]",
        '{"fields":[]}',
        json.dumps(json.loads(reply(field("other", no=0.5, yes=0.5)).text)),
        reply(field("answer", false=0.5, wrong=0.5)).text,
        reply(field("answer", false=0.5)).text,
        reply(field("answer", false=0.5, true=0.5, more=0.0)).text,
        reply({**yes("answer", 0.75), "value": "maybe"}).text,
        reply(yes("answer", 0.75), status="perhaps").text,
        reply(field("answer", false=0.5, true=0.75)).text,
        re.sub(r"0\.75", "NaN", reply(yes("answer", 0.75)).text),
    ],
)
def test_replies_that_cannot_be_believed(attached: Attach, fake: Any, body: str) -> None:
    fake.replies = [httpx.Response(200, text=body)]
    with pytest.raises(BadReply):
        attached().check("x", "Is it?")


@pytest.mark.parametrize(
    "status,code,kind",
    [
        (400, "invalid_json", InvalidRequest),
        (400, "invalid_request", InvalidRequest),
        (404, "not_found", EngineError),
        (413, "payload_too_large", InvalidRequest),
        (422, "schema_error", InvalidRequest),
        (500, "internal_error", EngineError),
        (503, "no_model", EngineOverloaded),
    ],
)
def test_refusals_are_typed_and_say_why(
    attached: Attach, fake: Any, status: int, code: str, kind: type[Exception]
) -> None:
    fake.replies = [httpx.Response(status, json={"code": code, "message": "the reason"})]
    expected = kind if status != 404 else Exception
    with pytest.raises(expected, match="the reason") as caught:
        attached().check("x", "Is it?")
    assert caught.value.engine == "pcdserver"  # type: ignore[attr-defined]


def test_a_prompt_that_is_too_long_carries_both_figures(attached: Attach, fake: Any) -> None:
    said = "request needs 13108 tokens but the context window holds 8192"
    fake.replies = [httpx.Response(400, json={"code": "invalid_request", "message": said})]
    with pytest.raises(ContextOverflow) as caught:
        attached().check("x", "Is it?")
    assert (caught.value.tokens, caught.value.window) == (13108, 8192)


@pytest.mark.parametrize(
    "state,questions,said",
    [
        ("", {"q": yes_no("Is it?")}, "state is empty"),
        ("x" * 65_537, {"q": yes_no("Is it?")}, "65,537 bytes; it takes 65,536"),
        ("é" * 32_769, {"q": yes_no("Is it?")}, "65,538 bytes"),
        ("x", {"q": choice("Which?", [str(n) for n in range(257)])}, "257 options; it takes 256"),
        ("x", {"q": choice("Which?", ["a" * 257, "b"])}, "257 bytes"),
        ("x", {"q": yes_no("q" * 1025)}, "1,025 bytes"),
    ],
)
def test_limits_are_checked_before_anything_is_sent(
    attached: Attach, fake: Any, state: str, questions: Any, said: str
) -> None:
    with pytest.raises(InvalidRequest, match=said):
        attached().decide(state, questions)
    assert fake.asked == []


def test_a_server_without_a_model_is_refused_at_once(attached: Attach, fake: Any) -> None:
    fake.health = {**fake.health, "ready": False, "model": None, "description": None, "backend": None}
    with pytest.raises(EngineStartError, match="without a model"):
        attached().start()


@pytest.mark.parametrize("health", [{"status": "ok"}, {"status": "ok", "model": "decider"}])
def test_a_stranger_is_recognised(attached: Attach, fake: Any, health: dict[str, Any]) -> None:
    fake.health = health
    with pytest.raises(EngineStartError, match="is not pcdserver"):
        attached().start()


def test_a_server_that_never_answers_is_hung(fake: Any) -> None:
    def silent(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/health":
            return fake(request)  # type: ignore[no-any-return]
        raise httpx.ReadTimeout("nothing came", request=request)

    with (
        Decider("pcdserver", url="http://127.0.0.1:9", mount=httpx.MockTransport(silent)) as decider,
        pytest.raises(EngineHung),
    ):
        decider.check("x", "Is it?")


def options(**given: Any) -> dict[str, Any]:
    return {**INFO.check_options(given), "url": None}


def test_the_command_line_states_every_limit(tmp_path: Path) -> None:
    binary = tmp_path / "pcd_server"
    binary.touch(mode=0o755)
    command = program.command(program.find(str(binary)), Path("m.gguf"), options(cache_entries=4, cpu=True))
    assert command.argv == (
        *(str(binary), "--bind", "127.0.0.1", "--port", "{port}", "--model", "m.gguf"),
        *("--cache-entries", "4", "--cache-bytes", "536870912", "--gpu-layers", "-1", "--cpu"),
    )


def test_a_named_binary_is_used_or_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIEBREAK_PCD_SERVER", str(tmp_path / "missing"))
    with pytest.raises(EngineUnavailable, match="named by TIEBREAK_PCD_SERVER, does not exist"):
        program.find()


def test_without_any_binary_every_place_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TIEBREAK_PCD_SERVER", raising=False)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(program, "WHEEL", "no_such_wheel")
    with pytest.raises(EngineUnavailable, match=r"tiebreak-pcdserver\[server\]"):
        program.find()
    (finding,) = program.findings()
    assert finding.state == "fail" and finding.remedy


def test_without_a_model_nothing_is_known_of_its_size() -> None:
    assert PcdEngine(None, options()).footprint() == Footprint(weights=0)


def test_the_doctor_reports_binary_version_and_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {finding.subject: finding for finding in program.findings()}
    assert set(found) == {"binary", "version", "threads"}
    assert found["binary"].state == found["version"].state == "ok"
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {0}, raising=False)
    assert program.findings()[-1].state == ("warn" if sys.platform == "linux" else "ok")
