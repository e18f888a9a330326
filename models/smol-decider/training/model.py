"""`Model`: the forward pass of a Llama over stacked weights, one compiled function for all layers.

Weights of all layers are stacked, so that the low-rank change of all of them is one batched product, and a layer is a
plain function of its slices, which is compiled once for every length. Prompts are padded at their right end: attention
looks back only, so what is behind the last token of a prompt cannot reach it and no mask is needed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping

import attrs
import torch
import torch.nn.functional as F  # noqa: N812  # as everybody calls it
from torch import Tensor

from training.base import Base, Shape

__all__ = ["Model", "Weights"]


@attrs.frozen(kw_only=True, eq=False)
class Weights:
    """What a forward pass needs of the layers.

    Attributes:
        matrices: name -> layers x rows x columns, float32.
        norm_attention, norm_feed: layers x width.
        norm_last: width.
    """

    matrices: Mapping[str, Tensor]
    norm_attention: Tensor
    norm_feed: Tensor
    norm_last: Tensor

    @classmethod
    def of(cls, base: Base, device: torch.device) -> Weights:
        """The base's own weights."""
        return cls(
            matrices={name: torch.from_numpy(stack).to(device) for name, stack in base.matrices.items()},
            norm_attention=torch.from_numpy(base.norm_attention).to(device),
            norm_feed=torch.from_numpy(base.norm_feed).to(device),
            norm_last=torch.from_numpy(base.norm_last).to(device),
        )


class Model:
    """Runs prompts through given weights.

    Args:
        base: shape and embedding, which is never trained.
        device: where to compute.
        compiled: compile the layer; pays off after some seconds on a GPU.
        longest: tokens of the longest prompt.
    """

    def __init__(self, base: Base, device: torch.device, *, compiled: bool, longest: int) -> None:
        self.shape = base.shape
        self.device = device
        self.dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
        self.embedding = torch.from_numpy(base.embedding).to(device)
        self._embedding = self.embedding.to(self.dtype)
        self._cos, self._sin = _rotations(base.shape, longest, device, self.dtype)
        layer = functools.partial(_layer, base.shape)
        self._layer: Callable[..., Tensor] = torch.compile(layer, dynamic=True) if compiled else layer

    def states(self, tokens: Tensor, weights: Weights, middle: int) -> tuple[Tensor, Tensor]:
        """The residual stream behind the layer `middle` and behind the last layer.

        Args:
            tokens: rows x length, int64, padded at the right end.
            weights: of the layers.
            middle: index of a layer.

        Returns:
            two of rows x length x width.
        """
        cast = {name: stack.to(self.dtype) for name, stack in weights.matrices.items()}
        layers = zip(
            torch.cat([cast["q"], cast["k"], cast["v"]], 1).unbind(0),
            cast["o"].unbind(0),
            torch.cat([cast["gate"], cast["up"]], 1).unbind(0),
            cast["down"].unbind(0),
            weights.norm_attention.to(self.dtype).unbind(0),
            weights.norm_feed.to(self.dtype).unbind(0),
            strict=True,
        )
        length = tokens.shape[1]
        cos, sin = self._cos[:length], self._sin[:length]
        stream = F.embedding(tokens, self._embedding)
        seen = stream
        for number, layer in enumerate(layers):
            stream = self._layer(stream, cos, sin, *layer)
            if number == middle:
                seen = stream
        return seen, stream

    def normed(self, stream: Tensor, last: Tensor, weights: Weights) -> Tensor:
        """What the output matrix sees at the position `last` of each row: rows x width, float32."""
        at = stream[torch.arange(len(last), device=self.device), last].float()
        return F.rms_norm(at, (self.shape.width,), weights.norm_last, self.shape.epsilon)


def _layer(
    shape: Shape,
    stream: Tensor,
    cos: Tensor,
    sin: Tensor,
    qkv: Tensor,
    out: Tensor,
    gate_up: Tensor,
    down: Tensor,
    norm_attention: Tensor,
    norm_feed: Tensor,
) -> Tensor:
    rows, length, width = stream.shape
    head = shape.head_width
    rotated = shape.heads + shape.kv_heads
    normed = F.rms_norm(stream, (width,), norm_attention, shape.epsilon)
    heads = F.linear(normed, qkv).view(rows, length, rotated + shape.kv_heads, head)
    # Pairs adjoin in the GGUF. Putting their firsts before their seconds changes q and k alike, so no product of them.
    first, second = heads[:, :, :rotated].reshape(rows, length, rotated, head // 2, 2).unbind(-1)
    cos, sin = cos[None, :, None], sin[None, :, None]
    turned = torch.cat([first * cos - second * sin, second * cos + first * sin], -1)
    query, key = turned[:, :, : shape.heads].transpose(1, 2), turned[:, :, shape.heads :].transpose(1, 2)
    value = heads[:, :, rotated:].transpose(1, 2)
    mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True, enable_gqa=True)
    stream = stream + F.linear(mixed.transpose(1, 2).reshape(rows, length, width), out)
    normed = F.rms_norm(stream, (width,), norm_feed, shape.epsilon)
    gate, up = F.linear(normed, gate_up).chunk(2, -1)
    return stream + F.linear(F.silu(gate) * up, down)


def _rotations(shape: Shape, longest: int, device: torch.device, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Cosines and sines of rotary positions (Su et al. 2021): longest x half a head."""
    steps = torch.arange(0, shape.head_width, 2, device=device).float() / shape.head_width
    angles = torch.outer(torch.arange(longest, device=device).float(), shape.rope_base**-steps)
    return angles.cos().to(dtype), angles.sin().to(dtype)
