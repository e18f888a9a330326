"""The conformance suite on the `slot` engine: replayed from what a real llama-server said, and on a running one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tiebreak_conformance import ConformanceSuite, Target
from tiebreak_slot._wire import Completion, Pieces, Prompt, Properties, Tokens


class TestSlotReplayed(ConformanceSuite):
    """Every check, without network, binary or model; `--wire=record` records it anew.

    The window and the list of candidates are smaller than by default, and a label outside of it is not asked for
    again: both would make a recording of megabytes.
    """

    target = Target(
        engine="slot",
        model="smollm2-135m",
        wire="replay",
        cassette=Path(__file__).parent / "cassettes" / "slot.jsonl",
        volatile=("id_slot",),
        reads={
            "/completion": Completion | list[Completion],
            "/tokenize": Tokens | Pieces,
            "/props": Properties,
            "/apply-template": Prompt,
        },
        clocks=("prompt_ms", "predicted_ms"),
        options={"top_n": 6, "missing": "bound", "context": 1024, "threads": 1, "timeout": 300.0},
    )


@pytest.mark.live
class TestSlotLive(ConformanceSuite):
    """Every check, with the model and the options that a user gets, but one thread: test machines are busy."""

    target = Target(engine="slot", model="smollm2-135m", options={"threads": 1, "timeout": 300.0}, rounds=1)
