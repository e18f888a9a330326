"""Weights of every type that llama.cpp has kernels for: no answer may depend on where a prompt was cut."""

from __future__ import annotations

import ctypes as c
import functools
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tiebreak import Decider, choice
from tiebreak.gguf import read
from tiebreak.pool import Pool
from tiebreak_conformance.hybrid import write_hybrid
from tiebreak_embedded.context import Context, ContextOptions, Item
from tiebreak_embedded.library import Library
from tiebreak_embedded.model import Model, repacks
from tiebreak_embedded.reading import Read

KINDS = ("F32", "F16", "Q4_0", "Q4_1", "Q5_0", "Q8_0", "IQ4_NL", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ4_XS")
SHAPE = {"width": 512, "hidden": 1024, "heads": 4, "kv_heads": 2, "head_width": 128, "state_width": 128}
LENGTH = 150
CUTS: tuple[tuple[int, ...], ...] = ((100,), (75,), (147,), (10, 20, 30), (2, 4, 6, 8, 10), (64, 128))

Write = Callable[[str], Path]


@pytest.fixture(scope="module")
def write(library: Library, tmp_path_factory: pytest.TempPathFactory) -> Write:
    """Writes the tiny recurrent model with matrices of a type, quantised by llama.cpp itself; each once."""
    folder = tmp_path_factory.mktemp("kinds")
    base = next(path for path in library.location.ggml.parent.iterdir() if "ggml-base" in path.name)
    chunk = c.CDLL(str(base))["ggml_quantize_chunk"]
    chunk.restype = c.c_size_t
    chunk.argtypes = [c.c_int, c.c_void_p, c.c_void_p, c.c_int64, c.c_int64, c.c_int64, c.c_void_p]

    def quantise(values: np.ndarray[Any, Any], kind: int, row_bytes: int) -> np.ndarray[Any, Any]:
        rows, columns = values.shape
        found = np.empty((rows, row_bytes), dtype=np.uint8)
        assert chunk(kind, values.ctypes.data, found.ctypes.data, 0, rows, columns, None) == found.nbytes
        return found

    @functools.cache
    def written(kind: str) -> Path:
        return write_hybrid(folder / f"{kind}.gguf", matrices=kind, quantise=quantise, **SHAPE)

    return written


def logits(context: Context, cuts: tuple[int, ...]) -> bytes:
    """Those of one prompt, decoded in parts."""
    prompt = [(31 * place + 7) % context.model.vocabulary_size for place in range(LENGTH)]
    context.drop(0)
    start = 0
    for cut in cuts:
        context.decode([Item(0, start, prompt[start:cut], keep=True)])
        start = cut
    ((found,),) = context.decode([Item(0, start, prompt[start:], (Read(LENGTH - start - 1, raw=True),))])
    assert found.logits is not None
    return found.logits.tobytes()


@pytest.mark.parametrize("kind", KINDS)
def test_where_a_prompt_is_cut_changes_no_bit(library: Library, write: Write, kind: str) -> None:
    path = write(kind)
    model = Model(library, path, repack=repacks(read(path)))
    context = Context(library, model, ContextOptions(window=256, sequences=1, threads=2))
    try:
        assert context.exact
        whole = logits(context, ())
        assert [cuts for cuts in CUTS if logits(context, cuts) != whole] == []
    finally:
        context.close()


@pytest.mark.parametrize("kind,expected", [("Q4_0", True), ("Q8_0", True), ("F16", True), ("Q4_K", False)])
def test_only_weights_whose_repacked_kernels_are_exact_are_repacked(write: Write, kind: str, expected: bool) -> None:
    assert repacks(read(write(kind))) is expected


def test_an_engine_says_that_a_file_of_k_quants_is_exact(write: Write, pool: Pool) -> None:
    decider = Decider("embedded", str(write("Q4_K")), pool=pool, context=256, sequences=2, threads=1, min_coverage=0.0)
    question = {"team": choice("Which team?", ["roads", "waste"])}
    whole = decider.decide("A lamp is broken. " * 8, question)
    again = decider.decide("A lamp is broken. " * 8, question)
    assert decider.session.engine.capabilities.tolerance == 0.0
    assert whole["team"].probabilities == again["team"].probabilities


_LOOK = """
import sys
from pathlib import Path
from tiebreak_embedded.context import Context, ContextOptions
from tiebreak_embedded.library import open_library
context = Context(open_library(), Path(sys.argv[1]), ContextOptions(window=256, sequences=1, threads=1))
print(context.exact)
context.close()
"""


def exact_under(path: Path, cache: Path, **variables: str) -> str:
    """What a context finds about itself in a process of its own."""
    environment = {"TIEBREAK_CACHE": str(cache), "PYTHONPATH": ":".join(filter(None, sys.path)), **variables}
    done = subprocess.run(
        [sys.executable, "-c", _LOOK, str(path)], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_a_context_finds_out_when_a_user_has_two_kernels_used(write: Write, tmp_path: Path) -> None:
    """Its own check is long enough for both, and what passed under one setting has not passed under another."""
    path = write("Q6_K")
    assert exact_under(path, tmp_path) == "True"
    assert exact_under(path, tmp_path, GGML_CPU_TILED_MM_FORCE="0") == "False"
    assert exact_under(path, tmp_path, GGML_CPU_TILED_MM="0") == "True"


def test_repacked_k_quants_are_found_to_be_inexact(library: Library, write: Write) -> None:
    """The reason for `repacks`. When this fails, llama.cpp has changed and the rule may go."""
    context = Context(library, write("Q4_K"), ContextOptions(window=256, sequences=1, threads=1))
    try:
        assert not context.exact
    finally:
        context.close()
