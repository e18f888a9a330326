"""`tiebreak serve` over real engines and real models: the conformance suite of the protocol, and our own client.

The suite is asked of the default engine and model, a local one; our client asks a gateway in front of a server.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest
from jevcompat import runner

import tiebreak
from tiebreak import Decider, InvalidRequest
from tiebreak.pool import Pool

pytestmark = pytest.mark.live

# The suite's longest request has 255 described options: about 4,700 tokens, which take their time on a small machine.
LONGEST = 900.0
SERVE = ("serve", "--port", "0", "--option", "context=8192", "--option", "threads=1", "--timeout", str(LONGEST))


@contextlib.contextmanager
def gateway(*arguments: str) -> Iterator[str]:
    """The URL of a gateway that was started with some more arguments; it must end well."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tiebreak", *SERVE, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "NO_COLOR": "1"},
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=120)
    assert process.returncode == 0


def test_the_gateway_conforms_on_a_real_engine() -> None:
    with gateway() as url:
        report = runner.run(url, timeout=LONGEST)
    assert [(r.id, [f.message for f in r.findings]) for r in report.results if r.status == "fail"] == []
    assert report.verdict == "conformant", report.inconclusive
    skipped = {result.id for result in report.results if result.status == "skip"}
    assert skipped == {"auth.bearer", "auth.missing", "auth.invalid"}


def test_jev_asks_the_gateway_and_hears_what_the_engine_says() -> None:
    pool = Pool()
    questions = {
        "team": tiebreak.choice("Which team?", {"billing": "Payments", "sales": None}),
        "urgent": tiebreak.yes_no("Is it urgent?", yes="It must be done today"),
        "mood": tiebreak.score("How angry?", ["calm", "annoyed", "furious"]),
    }
    state = {"subject": "Charged twice", "lines": ["again", "Größe"]}
    engine, model = "slot", "smollm2-135m"
    try:
        with gateway("--engine", engine) as url:
            near = Decider(engine, model, pool=pool, context=8192, threads=1).decide(state, questions)
            far = Decider("jev", url=url, pool=pool)
            there = far.decide(state, questions)
            also = asyncio.run(far.adecide(state, questions))
            with pytest.raises(InvalidRequest):
                far.choose("x" * 5_000_000, ["a", "b"])
    finally:
        pool.close()
    assert there.receipt.resolved_model == model
    assert (there.receipt.request_id or "").startswith("req_")
    assert there.receipt.prompt_tokens == near.receipt.prompt_tokens
    for name, answer in near.answers.items():
        assert list(there[name].probabilities) == list(answer.probabilities)
        for option, probability in answer.probabilities.items():
            assert there[name].probabilities[option] == pytest.approx(probability, abs=0.02)
            assert also[name].probabilities[option] == pytest.approx(probability, abs=0.02)
