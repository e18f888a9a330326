"""A tiny model in Hugging Face format, made on the spot: random but seeded weights, the suite's small vocabulary."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tiebreak import Decider, gguf
from tiebreak.pool import Pool
from tiebreak_conformance.hybrid import write_hybrid
from tiebreak_transformers.gguf_tokenizer import gguf_tokenizer

SPREAD = 0.25
"""Standard deviation of the weights: wide enough that the whole prompt matters to the answer."""


def write_tiny(folder: Path, *, kind: str = "llama", seed: int = 5, **shape: Any) -> Path:
    """Write a decoder of two layers with its tokenizer and chat template.

    Args:
        folder: where to; made if need be.
        kind: transformers' model type.
        seed: of the weights.
        shape: further entries of its configuration.

    Returns:
        the folder.
    """
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    folder.mkdir(parents=True, exist_ok=True)
    header = gguf.read(write_hybrid(folder / "vocabulary.gguf"))
    tokenizer = gguf_tokenizer(header)
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": header.chat_template}))
    (folder / "vocabulary.gguf").unlink()
    config = AutoConfig.for_model(
        kind,
        **{
            "vocab_size": tokenizer.get_vocab_size(),
            "hidden_size": 64,
            "intermediate_size": 128,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "head_dim": 16,
            "max_position_embeddings": 8192,
            "initializer_range": SPREAD,
            "tie_word_embeddings": False,
            "bos_token_id": None,
            "eos_token_id": None,
            "pad_token_id": None,
            **shape,
        },
    )
    torch.manual_seed(seed)
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    with torch.no_grad():  # a model that wants to think first is refused, so this one never does
        for text in ("<think>", "</think>"):
            model.get_output_embeddings().weight[tokenizer.token_to_id(text)] = 0
    model.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def write() -> Callable[..., Path]:
    """Writes such a model to a folder; see `write_tiny`."""
    return write_tiny


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with attention in every layer."""
    return write_tiny(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="session")
def pool() -> Iterator[Pool]:
    """The engines of this test run; all are closed at its end."""
    made = Pool()
    yield made
    made.close()


@pytest.fixture(scope="session")
def make(tiny: Path, pool: Pool) -> Callable[..., Decider]:
    """Makes Deciders on `tiny`; equal options share an engine."""

    def made(model: Path = tiny, **options: Any) -> Decider:
        chosen = {"min_coverage": 0, "device": "cpu", "threads": 1, **options}
        return Decider("transformers", model, pool=pool, **chosen)

    return made
