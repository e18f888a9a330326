"""`Base`: the weights of the model that is trained, dequantised out of its GGUF."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import numpy as np

from tiebreak.gguf import Gguf, Tensor
from tiebreak.gguf import read as read_gguf
from tiebreak_smol_decider.blocks import Q8_0, from_q4_1

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MATRICES", "Base", "Shape", "read"]

MATRICES = {
    "q": "attn_q",
    "k": "attn_k",
    "v": "attn_v",
    "o": "attn_output",
    "gate": "ffn_gate",
    "up": "ffn_up",
    "down": "ffn_down",
}
"""What a layer's matrices are called here and in the GGUF."""
_F32, _Q4_1, _Q8_0 = 0, 3, 8  # ggml_type


@attrs.frozen(kw_only=True)
class Shape:
    """The numbers that describe a Llama: all from the GGUF's metadata."""

    layers: int
    width: int
    heads: int
    kv_heads: int
    rope_base: float
    epsilon: float

    @property
    def head_width(self) -> int:
        """Numbers per head."""
        return self.width // self.heads


@attrs.frozen(kw_only=True, eq=False)
class Base:
    """The weights as float32; rows of q and k in the order of the GGUF (pairs that are rotated together adjoin).

    Attributes:
        shape: the numbers of the architecture.
        embedding: vocabulary x width, also the output matrix.
        matrices: name -> layers x rows x columns, with the names of `MATRICES`.
        norm_attention, norm_feed: layers x width.
        norm_last: width.
    """

    shape: Shape
    embedding: NDArray[np.float32]
    matrices: Mapping[str, NDArray[np.float32]]
    norm_attention: NDArray[np.float32]
    norm_feed: NDArray[np.float32]
    norm_last: NDArray[np.float32]


def read(path: Path) -> Base:
    """Read a Llama whose output matrix is its embedding, in F32, Q4_1 and Q8_0.

    Raises:
        ValueError: the file holds another architecture or another type of tensor.
        ModelUnavailable: it cannot be read.
    """
    header = read_gguf(path)
    shape = _shape(header)
    tensors = {tensor.name: tensor for tensor in header.tensors}
    if "output.weight" in tensors:
        raise ValueError(f"{path} has an output matrix of its own")

    def weights(name: str) -> NDArray[np.float32]:
        return _weights(header, tensors[f"{name}.weight"])

    def stacked(name: str) -> NDArray[np.float32]:
        return np.stack([weights(f"blk.{layer}.{name}") for layer in range(shape.layers)])

    return Base(
        shape=shape,
        embedding=weights("token_embd"),
        matrices={short: stacked(name) for short, name in MATRICES.items()},
        norm_attention=stacked("attn_norm"),
        norm_feed=stacked("ffn_norm"),
        norm_last=weights("output_norm"),
    )


def _shape(header: Gguf) -> Shape:
    if header.architecture != "llama":
        raise ValueError(f"{header.path} is a {header.architecture}, not a llama")

    def number(key: str) -> float:
        found = header.value(f"llama.{key}")
        if not isinstance(found, (int, float)):
            raise ValueError(f"{header.path} has no number llama.{key}")  # noqa: TRY004  # the file's fault
        return found

    return Shape(
        layers=int(number("block_count")),
        width=int(number("embedding_length")),
        heads=int(number("attention.head_count")),
        kv_heads=int(number("attention.head_count_kv")),
        rope_base=number("rope.freq_base"),
        epsilon=number("attention.layer_norm_rms_epsilon"),
    )


def _weights(header: Gguf, tensor: Tensor) -> NDArray[np.float32]:
    with header.path.open("rb") as file:
        file.seek(header.data_offset + tensor.offset)
        data = file.read(tensor.size or 0)
    if tensor.type == _F32:
        flat = np.frombuffer(data, "<f4").astype(np.float32)
    elif tensor.type == _Q4_1:
        flat = from_q4_1(data).astype(np.float32)
    elif tensor.type == _Q8_0:
        blocks = np.frombuffer(data, Q8_0)
        flat = blocks["steps"].astype(np.float32) * blocks["scale"].astype(np.float32)[:, None]
    else:
        raise ValueError(f"{tensor.name} has the type {tensor.type}; F32, Q4_1 and Q8_0 are read here")
    return flat.reshape(tensor.shape[::-1])  # GGUF writes the fastest dimension first
