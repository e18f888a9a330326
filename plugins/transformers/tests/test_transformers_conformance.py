"""The conformance suite on the `transformers` engine: every check, on the CPU, on a tiny model made on the spot."""

from __future__ import annotations

from pathlib import Path

import pytest

from tiebreak_conformance import ConformanceSuite, Target


class TestTransformers(ConformanceSuite):
    """Every check, in float32."""

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def _model(cls, tiny: Path) -> None:
        cls.target = Target(engine="transformers", model=str(tiny), options={"device": "cpu", "threads": 1})
