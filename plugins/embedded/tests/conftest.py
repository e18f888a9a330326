from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tiebreak import Decider, models
from tiebreak.pool import Pool
from tiebreak_conformance.hybrid import write_hybrid
from tiebreak_embedded.context import Context, ContextOptions
from tiebreak_embedded.info import INFO
from tiebreak_embedded.library import Library, open_library


@pytest.fixture(scope="session")
def library() -> Library:
    return open_library()


@pytest.fixture(scope="session")
def hybrid_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_hybrid(tmp_path_factory.mktemp("models") / "hybrid.gguf")


@pytest.fixture(scope="session")
def hybrid(library: Library, hybrid_path: Path) -> Iterator[Context]:
    context = Context(library, hybrid_path, ContextOptions(window=512, sequences=6, threads=1))
    yield context
    context.close()


@pytest.fixture(scope="session")
def real(library: Library) -> Iterator[Context]:
    """A real model; the tests that ask for it are marked `live`."""
    path = models.resolve("smollm2-135m").path
    assert path is not None
    context = Context(library, path, ContextOptions(window=512, sequences=6, threads=1))
    yield context
    context.close()


@pytest.fixture(scope="session")
def pool() -> Iterator[Pool]:
    """The engines of this test run; all are closed at its end."""
    made = Pool()
    yield made
    made.close()


@pytest.fixture(scope="session", params=["hybrid", pytest.param("smol", marks=pytest.mark.live)])
def model(request: pytest.FixtureRequest, hybrid_path: Path) -> str:
    """A model with recurrent layers, and one without: the engine's default."""
    return str(hybrid_path) if request.param == "hybrid" else INFO.default_model or ""


@pytest.fixture(scope="session")
def make(model: str, pool: Pool) -> Callable[..., Decider]:
    """Makes Deciders on `model`, small, so that tests are quick; equal options share an engine."""
    return functools.partial(
        Decider, "embedded", model, pool=pool, context=512, sequences=4, threads=1, answer_cache=False
    )
