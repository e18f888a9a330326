"""The default model's own file, in float32: its weights, and how far llama.cpp is from it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gguf
import numpy as np
import pytest

from tiebreak import Decider, choice, models, yes_no
from tiebreak.pool import Pool

pytestmark = pytest.mark.live

MODEL = "smollm2-135m"
PLACE: dict[str, Any] = {"device": "cpu", "threads": 1}  # threads of PyTorch that wait for a busy CPU take minutes
ASKED = [
    ("The bins are full since Monday", choice("Which team?", {"roads": "holes", "waste": "bins", "noise": "music"})),
    ("Report 7: loud music at number 12, again.", yes_no("Does it have to be today?")),
    ("Die Tonnen sind voll.", choice(None, ["complaint", "question", "praise"])),
    ("How do I change the italic angle?", choice("What is wanted?", ["an explanation", "a script", "a glyph"])),
]


@pytest.fixture(scope="module")
def reference() -> Iterator[Decider]:
    pool = Pool()
    yield Decider("transformers", MODEL, pool=pool, **PLACE).start()
    pool.close()


def test_weights_are_what_the_file_says(reference: Decider) -> None:
    path = models.resolve(MODEL).path
    engine = reference.session.engine
    weights = engine._ready().network._model.state_dict()  # type: ignore[attr-defined]
    names = {
        "token_embd.weight": "model.embed_tokens.weight",
        "blk.3.ffn_down.weight": "model.layers.3.mlp.down_proj.weight",
        "blk.29.attn_v.weight": "model.layers.29.self_attn.v_proj.weight",
        "output_norm.weight": "model.norm.weight",
    }
    tensors = {tensor.name: tensor for tensor in gguf.GGUFReader(path).tensors}
    for ours, theirs in names.items():
        expected = gguf.quants.dequantize(tensors[ours].data, tensors[ours].tensor_type)
        assert np.array_equal(expected, weights[theirs].numpy()), ours


def test_llama_cpp_is_as_near_as_its_activations_of_eight_bits_allow(reference: Decider) -> None:
    with Decider("embedded", MODEL, sequences=1, context=256, threads=1) as other:
        apart = []
        for state, question in ASKED:
            right, found = reference.decide(state, {"q": question}), other.decide(state, {"q": question})
            assert right.receipt.prompt_tokens == found.receipt.prompt_tokens
            assert right.receipt.model_sha256 == found.receipt.model_sha256
            apart += [abs(right["q"].probabilities[name] - p) for name, p in found["q"].probabilities.items()]
    assert max(apart) < 0.12, apart


def test_cold_and_warm_are_within_the_declared_tolerance(reference: Decider) -> None:
    state, question = ASKED[0]
    reference.decide(state, {"q": question})
    warm = reference.decide(state, {"q": question})
    assert warm.cache.status == "hit"
    cold = Decider("transformers", MODEL, pool=reference._pool, cache="off", **PLACE).decide(state, {"q": question})
    found = [warm["q"].probabilities[name] - p for name, p in cold["q"].probabilities.items()]
    assert max(map(abs, found)) <= reference.session.engine.capabilities.tolerance
