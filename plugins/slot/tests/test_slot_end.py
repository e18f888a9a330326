"""However a program ends, its llama-server ends with it, and nobody else's does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import psutil
import pytest

from tiebreak import Decider

pytestmark = pytest.mark.live

PROGRAM = """
import os, signal, sys, threading, tiebreak
made = tiebreak.Decider("slot", {model!r}, threads=1, context=256, parallel=1, min_coverage=0)
print(made.choose("x", ["a", "b"]).value, made.session.opened.server.process.pid, flush=True)
{end}
"""

ENDS = {
    "return": "",
    "exception": "raise RuntimeError('on purpose')",
    "sys.exit": "sys.exit(3)",
    "os._exit": "os._exit(0)",
    "SIGTERM": "threading.Event().wait()",
    "SIGINT": "threading.Event().wait()",
    "SIGHUP": "threading.Event().wait()",
    "SIGKILL": "threading.Event().wait()",
}


@pytest.mark.parametrize("end", ENDS)
def test_the_server_is_gone_when_its_program_is(end: str, tiny: Path, live: Decider) -> None:
    program = textwrap.dedent(PROGRAM).format(model=str(tiny), end=ENDS[end])
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as parent:
        assert parent.stdout is not None
        value, pid = parent.stdout.readline().split()
        assert value in ("a", "b")
        server = psutil.Process(int(pid))
        try:
            if end.startswith("SIG"):
                os.kill(parent.pid, getattr(signal, end))
            parent.wait(timeout=60)
        finally:
            parent.kill()
        ended = time.monotonic()
        psutil.wait_procs([server], timeout=30)
        assert not server.is_running() or server.status() == psutil.STATUS_ZOMBIE
        assert time.monotonic() - ended < 30
    assert live.choose("still there", ["a", "b"]).value in ("a", "b"), "another program's server was not touched"


def test_a_server_that_somebody_started_by_hand_is_left_alone(tiny: Path) -> None:
    from tiebreak_slot.program import LAUNCHER

    flags = ["--ctx-size", "256", "--parallel", "1", "--threads", "1", "--threads-batch", "1"]
    argv = [sys.executable, str(LAUNCHER), "--model", str(tiny), "--host", "127.0.0.1", "--port", "0"]
    with subprocess.Popen(
        [*argv, *flags, "--gpu-layers", "0", "--cache-ram", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as mine:
        assert mine.stdout is not None
        url = mine.stdout.readline().split()[-1]
        with Decider("slot", url=url, min_coverage=0) as attached:
            assert attached.choose("x", ["a", "b"]).value in ("a", "b")
        program = textwrap.dedent(PROGRAM).format(model=str(tiny), end="")
        subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, timeout=120)
        assert mine.poll() is None
        with Decider("slot", url=url, min_coverage=0) as attached:
            assert attached.choose("x", ["a", "b"]).value in ("a", "b")
        mine.terminate()
        assert mine.wait(timeout=30) == 0
