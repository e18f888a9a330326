"""`tiebreak serve`: its flags, what it prints where, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import httpx
import pytest

Run = Callable[..., Any]
BODY = {"model": "jev-latest", "state": "x", "questions": {"q": {"type": "noul", "instructions": "Is it?"}}}


def test_the_url_goes_to_standard_output_and_the_log_to_standard_error(fake: Any) -> None:
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "tiebreak",
            "serve",
            "--engine",
            "fake",
            "--port",
            "0",
            "--json",
            "--api-key-env",
            "KEY",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=fake.path,
        env={**os.environ, "KEY": "open-sesame"},
    )
    assert process.stdout is not None
    url = process.stdout.readline().strip()
    assert url.startswith("http://127.0.0.1:")
    with httpx.Client(base_url=url, timeout=60, trust_env=False) as client:
        assert client.post("/v1/systemone", json=BODY).status_code == 401
        headers = {"authorization": "Bearer open-sesame"}
        assert client.post("/v1/systemone", json=BODY, headers=headers).status_code == 200
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert out == ""
    lines = [json.loads(line) for line in err.splitlines() if line.startswith("{")]
    assert [line["status"] for line in lines if line.get("route") == "/v1/systemone"] == [401, 200]
    assert "open-sesame" not in err


@pytest.mark.parametrize(
    "flags, code, says",
    [
        (("--api-key-env", "NO_SUCH_VARIABLE"), 2, "NO_SUCH_VARIABLE is not set"),
        (("--port", "70000"), 2, "port is 70000"),
        (("--decimals", "1"), 2, "decimals is 1"),
        (("--queue", "-1"), 2, "queue_limit"),
        (("--queue", "3", "--option", "queue_limit=4"), 2, "are the same"),
        (("--option", "mode=start"), 3, "It never became ready"),
        (("--option", "mode=memory"), 5, "9 GB"),
        (("--host", "203.0.113.1"), 3, "cannot be listened on"),
    ],
)
def test_what_cannot_be_served_is_said(fake: Any, run: Run, flags: tuple[str, ...], code: int, says: str) -> None:
    result = (
        run("serve", "--engine", "fake", "--port", "0", *flags)
        if "--port" not in flags
        else run("serve", "--engine", "fake", *flags)
    )
    assert result.code == code
    assert result.out == ""
    assert says in result.err


def test_without_the_extra_it_says_what_to_install(fake: Any, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib import util

    real = util.find_spec
    monkeypatch.setattr(util, "find_spec", lambda name, *more: None if name == "uvicorn" else real(name, *more))
    result = run("serve", "--engine", "fake")
    assert result.code == 3
    assert "tiebreak[serve]" in result.err
