"""The conformance suite on the `pcdserver` engine: replayed from what a real pcd_server said, and on a running one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tiebreak_conformance import ConformanceSuite, Target
from tiebreak_pcdserver._wire import Decoded, Health


class TestPcdserverReplayed(ConformanceSuite):
    """Every check, without network, binary or model; `--wire=record` records it anew."""

    target = Target(
        engine="pcdserver",
        model="smollm2-135m",
        wire="replay",
        cassette=Path(__file__).parent / "cassettes" / "pcdserver.jsonl",
        reads={"/health": Health, "/v1/pcd/decode": Decoded},
        clocks=("elapsedMs", "phasesMs"),
        options={"timeout": 300.0},
    )


@pytest.mark.live
class TestPcdserverLive(ConformanceSuite):
    """Every check, with the model and the options that a user gets."""

    target = Target(engine="pcdserver", model="smollm2-135m", options={"timeout": 300.0}, rounds=1)
