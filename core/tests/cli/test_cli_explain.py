"""explain: the prompt, its segments, tokens and cut."""

from __future__ import annotations

import json
from typing import Any

import pytest

FAKE = ("--engine", "fake")


def test_text(fake: Any, run: Any) -> None:
    result = run("explain", "choose", "on fire", "a", "b", *FAKE)
    assert result.code == 0
    lines = result.out.splitlines()
    assert lines[0] == ("engine fake, model of the engine, layout decider (state-first), readout letters, cache prefix")
    prompt = "Context:\non fire\n\nQuestion: Which option fits best?\nOptions:\n(A) a\n(B) b\nAnswer: ("
    assert f'row 1: question "answer", {len(prompt)} tokens, read at A, B' in lines
    cut = lines.index("  -- cut: what is above can be reused --")
    assert lines[cut - 3 : cut] == ["  piece 1, 16 tokens", "    state        | Context:", "                 | on fire"]
    assert lines[cut + 1].startswith("  piece 2, ")
    assert lines[-1].endswith("| Answer: (")
    assert "noise" not in result.err  # the model was not asked


def test_json(fake: Any, run: Any) -> None:
    record = json.loads(run("explain", "rate", "s", "q?", "low", "high", *FAKE, "--json").out)
    assert list(record) == ["layout", "direction", "rows", "receipt"]
    assert [row["level"] for row in record["rows"]] == [0, 1]
    for row in record["rows"]:
        assert "".join(segment["text"] for segment in row["segments"]) == row["prompt"]
        assert "".join(piece["text"] for piece in row["pieces"]) == row["prompt"]
        assert [segment["reusable"] for segment in row["segments"]] == [True, False, False, False]
        assert all(len(piece["tokens"]) == len(piece["text"]) for piece in row["pieces"])
    assert record["receipt"]["fingerprint"]


def test_no_cut_and_no_tokens(fake: Any, run: Any) -> None:
    result = run("explain", "check", "s", "q?", *FAKE, "--cache", "off", "--option", "mode=blind")
    assert "-- no cut: nothing is reused --" in result.out
    assert "piece 1, tokens not shown by the engine" in result.out


def test_a_request_file(fake: Any, spawn: Any) -> None:
    request = {"state": "s", "questions": {"x": {"kind": "choice", "options": ["a", "b"]}}}
    result = spawn("explain", "decide", "-", *FAKE, stdin=json.dumps(request).encode())
    assert result.code == 0 and 'question "x"' in result.out


@pytest.mark.parametrize("arguments", [("explain", "choose", "s", "a"), ("explain", "nothing"), ("explain",)])
def test_refusals(fake: Any, run: Any, arguments: tuple[str, ...]) -> None:
    result = run(*arguments)
    assert (result.code, result.out) == (2, "")
