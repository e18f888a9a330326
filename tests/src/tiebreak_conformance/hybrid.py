"""A tiny model with recurrent layers, made on the spot: for tests of how engines handle state.

Architecture `qwen35`: gated delta-net layers, and full attention in every fourth. The weights are
random but seeded, so its answers mean nothing, are the same everywhere, and depend on the whole
prompt. llama.cpp, pcdServer and dohnuts.cpp load it. Needs numpy and gguf (0.19 or newer).

Tensor names and shapes follow llama.cpp's loader of that architecture (b11434 to b11739).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    import numpy as np

__all__ = ["HybridShape", "write_hybrid"]

CONTROL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<think>", "</think>")
CHAT_TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
LABELS = 255
"""One-token labels in the vocabulary, A to Z and then AA, AB ...: dohnuts.cpp wants that many."""

_FILE_TYPES = {"F32": "ALL_F32"}
"""Those that are not called `MOSTLY_` and the type of the matrices."""

Quantise = Callable[["np.ndarray[Any, Any]", int, int], "np.ndarray[Any, Any]"]
"""(a float32 matrix, its type's number, bytes per row) -> its rows as bytes."""

_TEXT = """
Context: a customer writes that the parcel came late and the screen is cracked. Question: which team
should answer this message? Options: (A) billing (B) shipping (C) technical support (D) something
else. Answer: ( Is the customer angry? (A) no (B) yes. How urgent is it? low medium high. The order,
the invoice, the refund and the password are what people ask about; today, tomorrow or next week.
"""


@attrs.frozen(kw_only=True)
class HybridShape:
    """Sizes of the model; the defaults make a file of about 1 MB.

    Attributes:
        layers: of which every `attention_every`-th has full attention.
        attention_every: see `layers`.
        width, hidden: of the residual stream and of the feed-forward part.
        heads, kv_heads, head_width: of full attention.
        state_width: of a recurrent head's square state.
        key_heads, value_heads: of the recurrent layers.
        window: tokens that the file says it was trained with.
        seed: of the weights.
    """

    layers: int = 4
    attention_every: int = 4
    width: int = 64
    hidden: int = 128
    heads: int = 2
    kv_heads: int = 1
    head_width: int = 32
    state_width: int = 32
    key_heads: int = 2
    value_heads: int = 4
    window: int = 32768
    seed: int = 7


def write_hybrid(
    path: Path,
    *,
    matrices: str = "F32",
    vocabulary: Path | None = None,
    quantise: Quantise | None = None,
    **shape: int,
) -> Path:
    """Write the model; the same shape and vocabulary give the same bytes.

    Args:
        path: where to, ending in `.gguf`.
        matrices: type of the weight matrices, as ggml names it; each row must be a multiple of its block (32,
            256 for K-quants).
        vocabulary: a GGUF file whose tokens and merges it gets (a byte-level BPE), so that its prompts are
            as long as real ones; None for a small vocabulary of its own.
        quantise: makes the matrices; None for the `gguf` package, which knows all but the K-quants.
        shape: fields of `HybridShape`.

    Returns:
        the path.
    """
    import gguf

    sizes = HybridShape(**shape)
    tokens, merges = _labelled(*(_learnt() if vocabulary is None else _borrowed(vocabulary)))
    writer = gguf.GGUFWriter(path, "qwen35")
    kind = gguf.GGMLQuantizationType[matrices]
    _describe(writer, sizes, _file_type(matrices))
    _tokenizer(writer, tokens, merges)
    for name, values in _Weights(sizes, len(tokens) + len(CONTROL)).tensors():
        if values.ndim != 2 or "conv" in name or matrices == "F32":
            writer.add_tensor(name, values)
        elif quantise is None:
            writer.add_tensor(name, gguf.quants.quantize(values, kind), raw_dtype=kind)
        else:
            elements, size = gguf.GGML_QUANT_SIZES[kind]
            rows = quantise(values, int(kind), values.shape[1] // elements * size)
            writer.add_tensor(name, rows, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _file_type(matrices: str) -> int:
    import gguf

    names = (_FILE_TYPES.get(matrices), f"MOSTLY_{matrices}", f"MOSTLY_{matrices}_M")
    return int(next(kind for kind in gguf.LlamaFileType if kind.name in names))


def _describe(writer: Any, sizes: HybridShape, file_type: int) -> None:
    writer.add_name("tiny-hybrid")
    writer.add_license("CC0-1.0")
    writer.add_context_length(sizes.window)
    writer.add_embedding_length(sizes.width)
    writer.add_block_count(sizes.layers)
    writer.add_feed_forward_length(sizes.hidden)
    writer.add_head_count(sizes.heads)
    writer.add_head_count_kv(sizes.kv_heads)
    writer.add_key_length(sizes.head_width)
    writer.add_value_length(sizes.head_width)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_freq_base(1e7)
    turned = max(8, sizes.head_width // 4)  # a quarter of each head is rotated
    writer.add_rope_dimension_count(turned)
    third = (turned // 2 + 2) // 3  # sections of the multi-axis rope; text uses them all alike
    writer.add_rope_dimension_sections([third, third, turned // 2 - 2 * third, 0])
    writer.add_ssm_conv_kernel(4)
    writer.add_ssm_state_size(sizes.state_width)
    writer.add_ssm_group_count(sizes.key_heads)
    writer.add_ssm_time_step_rank(sizes.value_heads)
    writer.add_ssm_inner_size(sizes.state_width * sizes.value_heads)
    writer.add_full_attention_interval(sizes.attention_every)
    writer.add_file_type(file_type)


def _tokenizer(writer: Any, tokens: list[str], merges: list[str]) -> None:
    import gguf

    names = [*tokens, *CONTROL]
    normal, control = int(gguf.TokenType.NORMAL), int(gguf.TokenType.CONTROL)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen35")
    writer.add_token_list(names)
    writer.add_token_types([normal] * len(tokens) + [control] * len(CONTROL))
    writer.add_token_merges(merges)
    writer.add_bos_token_id(names.index("<|endoftext|>"))
    writer.add_eos_token_id(names.index("<|im_end|>"))
    writer.add_pad_token_id(names.index("<|endoftext|>"))
    writer.add_add_bos_token(False)
    writer.add_chat_template(CHAT_TEMPLATE)


class _Weights:
    """Seeded random tensors, in the order in which they are drawn and written."""

    def __init__(self, sizes: HybridShape, vocabulary: int) -> None:
        import numpy

        self._np = numpy
        self._sizes = sizes
        self._vocabulary = vocabulary
        self._random = numpy.random.default_rng(sizes.seed)

    def tensors(self) -> list[tuple[str, np.ndarray[Any, Any]]]:
        """Every tensor with its name."""
        sizes = self._sizes
        found = {
            # also the output matrix
            "token_embd.weight": self._matrix(self._vocabulary, sizes.width, 0.5 * sizes.width**0.5),
            "output_norm.weight": self._norm(sizes.width),
        }
        for layer in range(sizes.layers):
            attention = (layer + 1) % sizes.attention_every == 0
            block = {
                "attn_norm.weight": self._norm(sizes.width),
                "post_attention_norm.weight": self._norm(sizes.width),
                **(self._attention() if attention else self._recurrent()),
                "ffn_gate.weight": self._matrix(sizes.hidden, sizes.width),
                "ffn_up.weight": self._matrix(sizes.hidden, sizes.width),
                "ffn_down.weight": self._matrix(sizes.width, sizes.hidden),
            }
            found |= {f"blk.{layer}.{name}": values for name, values in block.items()}
        return [(n, self._np.ascontiguousarray(v, self._np.float32)) for n, v in found.items()]

    def _attention(self) -> dict[str, np.ndarray[Any, Any]]:
        sizes = self._sizes
        queries, keys = sizes.heads * sizes.head_width, sizes.kv_heads * sizes.head_width
        return {
            "attn_q.weight": self._matrix(2 * queries, sizes.width, 2.0),  # queries and their gate
            "attn_k.weight": self._matrix(keys, sizes.width, 2.0),
            "attn_v.weight": self._matrix(keys, sizes.width),
            "attn_output.weight": self._matrix(sizes.width, queries),
            "attn_q_norm.weight": self._norm(sizes.head_width),
            "attn_k_norm.weight": self._norm(sizes.head_width),
        }

    def _recurrent(self) -> dict[str, np.ndarray[Any, Any]]:
        sizes, random = self._sizes, self._random
        keys, values = (sizes.state_width * n for n in (sizes.key_heads, sizes.value_heads))
        return {
            "attn_qkv.weight": self._matrix(2 * keys + values, sizes.width),
            "attn_gate.weight": self._matrix(values, sizes.width),
            "ssm_conv1d.weight": random.standard_normal((2 * keys + values, 4)) * 0.5,
            "ssm_dt.bias": random.uniform(-4.0, -1.0, sizes.value_heads),
            "ssm_a": -random.uniform(0.02, 0.5, sizes.value_heads),  # slow decay: it remembers
            "ssm_beta.weight": self._matrix(sizes.value_heads, sizes.width),
            "ssm_alpha.weight": self._matrix(sizes.value_heads, sizes.width),
            "ssm_norm.weight": self._norm(sizes.state_width),
            "ssm_out.weight": self._matrix(sizes.width, values),
        }

    def _matrix(self, rows: int, columns: int, gain: float = 1.0) -> np.ndarray[Any, Any]:
        spread = gain / columns**0.5
        return self._np.asarray(self._random.normal(0.0, spread, (rows, columns)))

    def _norm(self, size: int) -> np.ndarray[Any, Any]:
        return self._np.asarray(self._random.normal(1.0, 0.1, size))


def _learnt() -> tuple[list[str], list[str]]:
    """A byte-level BPE: 256 bytes, and merges learnt from a short text."""
    letters = _byte_letters()
    tokens, merges = list(letters), []
    words = Counter(tuple(word) for word in _words(letters))
    while True:
        pairs: Counter[tuple[str, str]] = Counter()
        for word, times in words.items():
            for pair in pairwise(word):
                pairs[pair] += times
        if not pairs:
            break
        best = max(pairs, key=lambda pair: (pairs[pair], pair))
        merges.append(" ".join(best))
        if (joined := "".join(best)) not in tokens:
            tokens.append(joined)
        words = Counter({_merge(word, best): times for word, times in words.items()})
    return tokens, merges


def _borrowed(path: Path) -> tuple[list[str], list[str]]:
    """The tokens of another model, without those that are not text, and its merges."""
    import gguf

    fields = gguf.GGUFReader(path).fields
    tokens, kinds, merges = (fields[f"tokenizer.ggml.{name}"].contents() for name in ("tokens", "token_type", "merges"))
    normal = int(gguf.TokenType.NORMAL)
    return [token for token, kind in zip(tokens, kinds, strict=True) if kind == normal], list(merges)


def _labelled(tokens: list[str], merges: list[str]) -> tuple[list[str], list[str]]:
    """The same with a token for each label; their merges come last, so that they never win over another."""
    known = set(tokens)
    labels = [*LETTERS, *(a + b for a in LETTERS for b in LETTERS)][:LABELS]
    missing = [label for label in labels if label not in known]
    return [*tokens, *missing], [*merges, *map(" ".join, missing)]


def _words(letters: list[str]) -> list[str]:
    """The text's words with the space before them, in the letters that stand for bytes."""
    table = dict(zip(_byte_order(), letters, strict=True))
    plain = ["".join(x for x in word if x.isalpha()) for word in _TEXT.split()]
    return ["".join(table[b] for b in f" {word}".encode()) for word in plain if word]


def _merge(word: tuple[str, ...], pair: tuple[str, str]) -> tuple[str, ...]:
    merged: list[str] = []
    for letter in word:
        if merged and (merged[-1], letter) == pair:
            merged[-1] += letter
        else:
            merged.append(letter)
    return tuple(merged)


def _byte_order() -> list[int]:
    """Byte values in the order of token ids 0 to 255 in GPT-2's vocabulary: printable ones first."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    return printable + [byte for byte in range(256) if byte not in printable]


def _byte_letters() -> list[str]:
    """GPT-2's printable letter for each byte, in that order: itself, or one from U+0100 on."""
    order = _byte_order()
    count = sum(1 for byte in order if 33 <= byte < 127 or 161 <= byte < 173 or byte >= 174)
    return [chr(byte) for byte in order[:count]] + [chr(256 + n) for n in range(256 - count)]
