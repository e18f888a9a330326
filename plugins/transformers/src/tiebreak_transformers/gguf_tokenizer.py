"""The tokenizer of a GGUF file, so that its ids are llama.cpp's.

transformers' own conversion leaves out the file's `tokenizer.ggml.pre`, which says how text is split before the merges:
SmolLM2 then joins spaces before a digit that the model was trained to see apart. So it is built here from the file's
vocabulary and merges, with the splits that llama.cpp (`llama-vocab.cpp`) has under these names. Nothing is normalised
there, so nothing is here.
"""

from __future__ import annotations

from typing import Any

from tiebreak.errors import Unsupported
from tiebreak.gguf import Gguf
from tiebreak_transformers.info import INFO

__all__ = ["SPLITS", "gguf_tokenizer"]

_GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_LATER = r"|\s*[\r\n]+|\s+(?!\S)|\s+"
_CONTRACTED = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_LLAMA3 = _CONTRACTED + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*" + _LATER
_QWEN2 = _CONTRACTED + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*" + _LATER
_QWEN35 = _CONTRACTED + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*" + _LATER

SPLITS: dict[str, tuple[str, ...]] = {
    "gpt-2": (_GPT2,),
    "smollm": (r"\p{N}", _GPT2),
    "starcoder": (r"\p{N}", _GPT2),
    "llama-bpe": (_LLAMA3,),
    "llama3": (_LLAMA3,),
    "qwen2": (_QWEN2,),
    "qwen35": (_QWEN35,),
}
"""`tokenizer.ggml.pre` -> the patterns that text is split by, one after another."""

_WHOLE_WORDS_FIRST = ("llama-bpe", "llama3")
"""Where a word that is in the vocabulary is that token, whatever the merges would make of it."""


def gguf_tokenizer(header: Gguf) -> Any:
    """A `tokenizers.Tokenizer` from a file's header.

    Raises:
        Unsupported: a kind of vocabulary that was never compared with llama.cpp's.
    """
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers

    kind, split = header.value("tokenizer.ggml.model"), header.value("tokenizer.ggml.pre")
    if kind != "gpt2" or split not in SPLITS:
        raise Unsupported(
            f"{header.path.name} has a vocabulary of kind {kind!r} with the split {split!r}; known from GGUF files are "
            f"gpt2 with {', '.join(SPLITS)}.",
            remedy="Name the model's folder in Hugging Face format, which brings its own tokenizer.",
            engine=INFO.name,
        )
    assert isinstance(split, str)
    tokens = header.tokens
    merges = header.value("tokenizer.ggml.merges")
    pairs = [tuple(str(merge).split(" ", 1)) for merge in merges] if isinstance(merges, tuple) else []
    tokenizer = Tokenizer(
        models.BPE(
            vocab={text: number for number, text in enumerate(tokens)},
            merges=pairs,
            ignore_merges=split in _WHOLE_WORDS_FIRST,
        )
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            *(pre_tokenizers.Split(Regex(pattern), behavior="isolated") for pattern in SPLITS[split]),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(text, normalized=False) for text in header.control_tokens()])
    tokenizer.add_tokens([AddedToken(text, normalized=False) for text in header.user_defined_tokens()])
    return tokenizer
