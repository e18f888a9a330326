"""The conformance suite on the `dohnuts` engine: replayed from what a real dohnuts-cli said, and on a running one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tiebreak_conformance import ConformanceSuite, Target
from tiebreak_dohnuts._wire import Health, Predicted


class TestDohnutsReplayed(ConformanceSuite):
    """Every check, without network, binary or model; `--wire=record` records it anew."""

    target = Target(
        engine="dohnuts",
        model="smollm2-135m",
        wire="replay",
        cassette=Path(__file__).parent / "cassettes" / "dohnuts.jsonl",
        reads={"/health": Health, "/predict": Predicted},
        clocks=("elapsed_ms",),
        options={"threads": 1, "timeout": 300.0},
    )


@pytest.mark.live
class TestDohnutsLive(ConformanceSuite):
    """Every check, with one thread, because test machines are busy."""

    target = Target(engine="dohnuts", model="smollm2-135m", options={"threads": 1, "timeout": 300.0}, rounds=1)
