"""What a GGUF file says about itself: metadata, vocabulary and tensor table, never a weight."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import attrs

from tiebreak._gguf_header import Array, Cursor, Scalar, Tensor, Value, damaged, mapped, parse
from tiebreak.errors import ModelUnavailable

__all__ = ["Array", "Gguf", "Scalar", "Tensor", "Value", "check_file", "read"]

# Parts of a model's own keys that only layers with a running state have (llama.cpp's key names).
_RECURRENT = ("ssm.", "wkv.", "kda.", "shortconv.")
# `tokenizer.ggml.token_type` (llama.cpp's llama_token_type).
_UNKNOWN, _CONTROL, _USER_DEFINED = 2, 3, 4
_MAX_LAYERS = 1 << 16


@attrs.frozen(kw_only=True)
class Gguf:
    """The header of one GGUF file.

    `actual_size` is the file's length in bytes when it was read. `metadata` holds small values
    themselves and an `Array` for each large one: `value(key)` reads those too.
    """

    path: Path
    version: int
    actual_size: int
    alignment: int
    data_offset: int
    metadata: Mapping[str, Value | Array] = attrs.field(repr=False, hash=False)
    tensors: tuple[Tensor, ...] = attrs.field(repr=False)

    def value(self, key: str) -> Value | None:
        """The metadata value of `key`, or None where the file has none.

        A large array is read from the file now. Text keeps bytes that are not UTF-8 as surrogates
        (PEP 383), so nothing is lost.

        Raises:
            ModelUnavailable: the file went away or changed its size since its header was read.
        """
        found = self.metadata.get(key)
        if not isinstance(found, Array):
            return found
        with mapped(self.path) as view:
            if len(view) != self.actual_size:
                raise damaged(self.path, f"it had {self.actual_size:,} bytes when it was opened")
            cursor = Cursor(self.path, view, at=found.offset)
            return tuple(cursor.elements(found.type, found.count, f"metadata {key!r}"))

    @property
    def architecture(self) -> str:
        """`general.architecture`, such as "llama", the prefix of its own keys; empty if missing."""
        return self._text("general.architecture") or ""

    @property
    def name(self) -> str | None:
        """`general.name`."""
        return self._text("general.name")

    @property
    def chat_template(self) -> str | None:
        """The Jinja chat template that the model carries."""
        return self._text("tokenizer.chat_template")

    @property
    def add_bos(self) -> bool | None:
        """Whether the tokenizer starts every text with BOS; None where the engine decides."""
        found = self.value("tokenizer.ggml.add_bos_token")
        return found if isinstance(found, bool) else None

    @property
    def bos_id(self) -> int | None:
        """Token id of the begin-of-text token."""
        return self._whole("tokenizer.ggml.bos_token_id")

    @property
    def eos_id(self) -> int | None:
        """Token id of the end-of-text token."""
        return self._whole("tokenizer.ggml.eos_token_id")

    @property
    def tokens(self) -> tuple[str, ...]:
        """The vocabulary's texts by token id, as the tokenizer writes them. Reads the file."""
        return cast("tuple[str, ...]", self._tuple("tokenizer.ggml.tokens"))

    @property
    def token_types(self) -> tuple[int, ...]:
        """By token id: 1 normal, 2 unknown, 3 control, 4 user-defined, 5 unused, 6 byte.

        Reads the file. Empty where it has none.
        """
        return cast("tuple[int, ...]", self._tuple("tokenizer.ggml.token_type"))

    def control_tokens(self) -> tuple[str, ...]:
        """Texts that become a control or unknown token where special tokens are parsed, by id."""
        return self._texts_of(_CONTROL, _UNKNOWN)

    def user_defined_tokens(self) -> tuple[str, ...]:
        """Texts that are one token whether special tokens are parsed or not, by id."""
        return self._texts_of(_USER_DEFINED)

    @property
    def context_length(self) -> int | None:
        """Tokens that the model was trained to see at once."""
        return self._own("context_length")

    @property
    def n_layers(self) -> int | None:
        """Number of blocks."""
        return self._own("block_count")

    @property
    def embedding_length(self) -> int | None:
        """Width of the residual stream."""
        return self._own("embedding_length")

    @property
    def kv_heads(self) -> tuple[int, ...] | None:
        """Key-value heads of each layer, 0 where it keeps no such cache; None if not said."""
        layers = self.n_layers
        found = self.value(f"{self.architecture}.attention.head_count_kv")
        if found is None:
            found = self.value(f"{self.architecture}.attention.head_count")
        if layers is None or not 0 < layers <= _MAX_LAYERS:
            return None
        if isinstance(found, tuple):
            whole = tuple(heads for heads in found if isinstance(heads, int))
            return whole if len(whole) == len(found) == layers else None
        if not isinstance(found, int):
            return None
        # Hybrids such as qwen35: only every n-th layer is attention, the others keep a state.
        interval = self._own("full_attention_interval") or 1
        return tuple(found if (layer + 1) % interval == 0 else 0 for layer in range(layers))

    def kv_bytes_per_token(self, element_size: float = 2.0) -> int | None:
        """Upper estimate of the key-value cache that one token takes, in bytes.

        The sum over layers of kv_heads x (key length + value length), as llama.cpp sizes its cache;
        sliding windows and compressed attention (MLA) need less.

        Args:
            element_size: bytes per element: 2 for the default f16 cache, 34/32 for q8_0.

        Returns:
            bytes, or None where the file does not say enough.
        """
        heads = self._own("attention.head_count")
        width, kv_heads = self.embedding_length, self.kv_heads
        default = width // heads if width and heads else None
        key = self._own("attention.key_length") or default
        value = self._own("attention.value_length") or default
        if key is None or value is None or kv_heads is None:
            return None
        return math.ceil(sum(kv_heads) * (key + value) * element_size)

    @property
    def is_recurrent(self) -> bool:
        """Whether layers keep a running state: a cache is then restored whole, never rewound."""
        own = tuple(f"{self.architecture}.{part}" for part in _RECURRENT)
        return any(key.startswith(own) for key in self.metadata)

    @property
    def size_bounds(self) -> tuple[int, int | None]:
        """Least and greatest length in bytes that a whole file has by its own tensor table.

        Some writers pad the last tensor to the alignment and some do not, so both ends are right.
        The greatest is None where the type of the last tensor is not known here.
        """
        low, last_offset, last_known = self.data_offset, -1, True
        for tensor in self.tensors:
            size = tensor.size
            low = max(low, self.data_offset + tensor.offset + (size or 0))
            if tensor.offset >= last_offset:
                last_offset, last_known = tensor.offset, size is not None
        return low, _aligned(low, self.alignment) if last_known else None

    @property
    def expected_size(self) -> int | None:
        """Bytes of the whole file by its own tensor table, padding included; None if unknown."""
        return self.size_bounds[1]

    def _text(self, key: str) -> str | None:
        found = self.value(key)
        return found if isinstance(found, str) else None

    def _whole(self, key: str) -> int | None:
        found = self.value(key)
        return found if isinstance(found, int) and not isinstance(found, bool) else None

    def _own(self, key: str) -> int | None:
        """A number under the architecture's own prefix; of one per layer, the greatest."""
        found = self.value(f"{self.architecture}.{key}")
        if isinstance(found, tuple):
            found = max((item for item in found if isinstance(item, int)), default=None)
        return found if isinstance(found, int) and not isinstance(found, bool) else None

    def _tuple(self, key: str) -> tuple[Scalar, ...]:
        found = self.value(key)
        return found if isinstance(found, tuple) else ()

    def _texts_of(self, *types: int) -> tuple[str, ...]:
        kinds = self.token_types
        if not kinds:
            return ()
        tokens = self.tokens
        if len(tokens) != len(kinds):
            raise damaged(self.path, f"{len(tokens):,} tokens have {len(kinds):,} token types")
        return tuple(text for text, kind in zip(tokens, kinds, strict=True) if kind in types)


def read(path: str | os.PathLike[str]) -> Gguf:
    """Read the header of a GGUF file; its weights are not touched and nothing stays open.

    Args:
        path: the file.

    Raises:
        ModelUnavailable: it cannot be read, is not a GGUF file of version 2 or 3, or its header is
            damaged; the message names the file and its size.
    """
    file = Path(path)
    with mapped(file) as view:
        header = parse(file, view)
        end = _aligned(header.end, header.alignment) if header.tensors else header.end
        return Gguf(
            path=file,
            version=header.version,
            actual_size=len(view),
            alignment=header.alignment,
            data_offset=end,
            metadata=header.metadata,
            tensors=header.tensors,
        )


def check_file(path: str | os.PathLike[str]) -> Gguf:
    """Refuse a file that is not one whole GGUF model, before anything is started with it.

    The length is compared with what the file's own tensor table needs. Where a tensor has a type
    that is not known here, only what is certainly missing is refused.

    Args:
        path: the file.

    Returns:
        its header.

    Raises:
        ModelUnavailable: missing, unreadable, a directory, empty, not GGUF, damaged, cut short or
            too long; the message names the file and the sizes.
    """
    header = read(path)
    actual = header.actual_size
    low, high = header.size_bounds
    if actual < low:
        raise ModelUnavailable(
            f"{header.path} is cut short: it has {actual:,} bytes, its tensor table needs {low:,},"
            f" so {low - actual:,} are missing (a download or copy that did not finish).",
            remedy="Fetch or copy it again.",
        )
    if high is not None and actual > high:
        raise ModelUnavailable(
            f"{header.path} is too long: it has {actual:,} bytes, its tensor table accounts for"
            f" {high:,}, so {actual - high:,} do not belong to it (two downloads in one file?).",
            remedy="Fetch or copy it again.",
        )
    # The first part of a split model may carry the metadata alone.
    if not header.tensors and header.value("split.count") in (None, 0, 1):
        raise ModelUnavailable(
            f"{header.path} ({actual:,} bytes) holds no tensors: a vocabulary, not a model.",
            remedy="Use the GGUF file that carries the weights.",
        )
    return header


def _aligned(at: int, alignment: int) -> int:
    return -(-at // alignment) * alignment
