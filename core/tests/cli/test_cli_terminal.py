"""What a person sees, and what a signal does."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FAKE = ("--engine", "fake")
COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def _on_a_terminal(*arguments: str, **environment: str) -> tuple[str, int]:
    """Output and exit code of a command whose standard output is a terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "tiebreak", *arguments],
        stdout=theirs,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "80", **environment},
    )
    os.close(theirs)
    raw = b""
    with contextlib.suppress(OSError):  # Linux reports the end of a terminal as an error
        while chunk := os.read(ours, 4096):
            raw += chunk
    os.close(ours)
    return raw.decode().replace("\r\n", "\n"), process.wait(60)


def test_a_chart_marks_the_winner(fake: Any) -> None:
    raw, code = _on_a_terminal("choose", "s", "left", "right", *FAKE, PYTHONIOENCODING="utf-8")
    assert code == 0
    assert "\x1b[" in raw
    text = COLOURS.sub("", raw)
    assert re.search(r"^▸ +right +█+\S? +73\.1 %$", text, re.MULTILINE)
    assert re.search(r"^ +left +█+\S? +26\.9 %$", text, re.MULTILINE)


def test_a_chart_in_ascii_and_without_colour(fake: Any) -> None:
    raw, code = _on_a_terminal("rate", "s", "q?", "[red]x", "é\x1b[2J", *FAKE, PYTHONIOENCODING="ascii", NO_COLOR="1")
    assert code == 0
    assert "[red]x" in raw and "\\xe9\\x1b[2J" in raw
    assert "\x1b[2J" not in raw and "\x1b[3" not in raw
    assert re.search(r"^> +\[red\]x +###", COLOURS.sub("", raw), re.MULTILINE)
    assert "expected level 0.50 of 0 to 1" in raw


def test_a_table_and_indented_json(fake: Any) -> None:
    raw, code = _on_a_terminal("engines", "--no-check")
    assert code == 0
    assert re.search(r"fake +unchecked +dist-of-fake 1.5", COLOURS.sub("", raw))
    raw, code = _on_a_terminal("engines", "--no-check", "--json")
    assert raw.startswith("{\n  ")


@pytest.mark.parametrize("name, code", [("SIGINT", 130), ("SIGTERM", 143)])
def test_a_signal_stops_the_engine(fake: Any, spawn: Any, tmp_path: Path, name: str, code: int) -> None:
    marker = tmp_path / "closed"
    result = spawn("choose", "s", "a", "b", *FAKE, "--option", f"mode={name}", FAKE_CLOSED=str(marker))
    assert (result.code, result.out) == (code, "")
    assert marker.exists()
    assert "Traceback" not in result.err
    assert result.err.endswith(("tiebreak: interrupted.\n", "tiebreak: terminated.\n"))


def test_the_engine_is_closed_after_an_answer(fake: Any, spawn: Any, tmp_path: Path) -> None:
    marker = tmp_path / "closed"
    assert spawn("choose", "s", "a", "b", *FAKE, FAKE_CLOSED=str(marker)).code == 0
    assert marker.exists()


def test_closed_streams(fake: Any) -> None:
    script = f'"{sys.executable}" -m tiebreak choose s a b --engine fake'
    for closed, code in ((">&-", 0), ("2>&-", 0), (">&- 2>&-", 0), ("<&-", 0)):
        assert subprocess.run(["sh", "-c", f"{script} {closed}"], check=False, capture_output=True).returncode == code
