"""The model's own tokenizer, out of its GGUF, and the tokens that serve as labels."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from string import ascii_uppercase
from typing import TYPE_CHECKING

from tiebreak.gguf import read

if TYPE_CHECKING:
    from tokenizers import Tokenizer

__all__ = ["label_tokens", "load"]

_NORMAL = 1  # llama.cpp's llama_token_type; every other type is matched as a whole before byte pairs are merged
_MOST_LABELS = 255


def load(path: Path) -> Tokenizer:
    """The tokenizer of a GGUF whose `tokenizer.ggml.pre` is `smollm`: digits apart, then GPT-2's byte pairs.

    Raises:
        ValueError: the file has another tokenizer.
        ModelUnavailable: it cannot be read.
    """
    from tokenizers import Tokenizer

    header = read(path)
    kind = (header.value("tokenizer.ggml.model"), header.value("tokenizer.ggml.pre"))
    if kind != ("gpt2", "smollm"):
        raise ValueError(f"{path} has the tokenizer {kind}, not gpt2 with the pre-tokenizer smollm")
    merges = header.value("tokenizer.ggml.merges")
    assert isinstance(merges, tuple)
    levels = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    special = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    described = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {"id": number, "content": text, **special}
            for number, (text, kind) in enumerate(zip(header.tokens, header.token_types, strict=True))
            if kind != _NORMAL
        ],
        "normalizer": None,
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [{"type": "Digits", "individual_digits": True}, levels],
        },
        "post_processor": None,
        "decoder": levels,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "vocab": {text: number for number, text in enumerate(header.tokens)},
            "merges": [str(merge).split(" ", 1) for merge in merges],
        },
    }
    return Tokenizer.from_str(json.dumps(described))


def label_tokens(tokenizer: Tokenizer) -> Mapping[str, int]:
    """The letter labels in the order in which the product deals them out: A to Z, then pairs that are one token."""
    pairs = ("".join(pair) for pair in product(ascii_uppercase, repeat=2))
    found: dict[str, int] = {}
    for label in (*ascii_uppercase, *pairs):
        tokens = tokenizer.encode(label, add_special_tokens=False).ids
        if len(tokens) == 1 and len(found) < _MOST_LABELS:
            found[label] = tokens[0]
    return found
