"""The conformance suite on the `embedded` engine, in this process and in a child, with and without recurrent layers."""

from __future__ import annotations

import pytest

from tiebreak_conformance import ConformanceSuite, Target
from tiebreak_conformance.hybrid import write_hybrid

SEED = 3
"""Of a model whose random weights never want to think first, whatever the suite asks."""


@pytest.mark.live
class TestEmbedded(ConformanceSuite):
    """Every check, with the model and the options that a user gets, but one thread: test machines are busy."""

    target = Target(engine="embedded", options={"threads": 1}, rounds=1)


class _Hybrid(ConformanceSuite):
    isolate = False

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def _model(cls, tmp_path_factory: pytest.TempPathFactory) -> None:
        path = write_hybrid(tmp_path_factory.mktemp("models") / "hybrid.gguf", seed=SEED)
        options = {"context": 4096, "sequences": 4, "threads": 1, "answer_cache": False, "isolate": cls.isolate}
        cls.target = Target(engine="embedded", model=str(path), options=options, rounds=1 if cls.isolate else 4)


class TestEmbeddedRecurrent(_Hybrid):
    """Every check, on a tiny model with recurrent layers."""


class TestEmbeddedIsolated(_Hybrid):
    """The same with the engine in a child process."""

    isolate = True
