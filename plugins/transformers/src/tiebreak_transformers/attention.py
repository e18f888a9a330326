"""Attention among rows that lie end to end, with or without prefixes that are there already.

It is handed to transformers as an attention implementation of its own (`AttentionInterface`), so that every model whose
code calls that interface computes packed rows without being written for it. transformers builds no mask for an
implementation that it does not know; all masking is done here.
"""

from __future__ import annotations

from typing import Any

import attrs

from tiebreak_transformers.passes import Pass

__all__ = ["NAME", "Kernel", "Packed", "attend", "of_pass", "register"]

NAME = "tiebreak-packed"
"""Under which transformers knows it."""

Kernel = str
"""`flash`: PyTorch's own flash attention for rows of unequal length, CUDA and 16 bits only. `padded`: anywhere."""


@attrs.define(eq=False)
class Packed:
    """The tensors of one pass that attention needs, all on the device.

    Attributes:
        kernel: which computes.
        ends_q, ends_k, longest_q, longest_k, sources: as in `Pass`.
        stored: keys and values of the distinct prefixes, (layers, 2, tokens, heads, width); None without any.
        padding: queries, back and keys as in `Padding`; None where nothing has to be filled up.
        before: (rows) tokens of each row's prefix.
        masks: which keys a query sees, per width of window (0: all that were before it).
        kept: layer -> its keys and values, where they are to be kept.
    """

    kernel: Kernel
    ends_q: Any
    ends_k: Any
    longest_q: int
    longest_k: int
    sources: Any = None
    stored: Any = None
    padding: tuple[Any, Any, Any] | None = None
    before: Any = None
    masks: dict[int, Any] = attrs.field(factory=dict)
    kept: dict[int, tuple[Any, Any]] | None = None


def register() -> None:
    """Make `attend` known to transformers; a second call changes nothing."""
    import torch
    from transformers import AttentionInterface

    # A compiler would make one version of it per layer, for a call that is a kernel of its own anyway.
    AttentionInterface.register(NAME, torch.compiler.disable(attend))


def attend(
    module: Any, query: Any, key: Any, value: Any, attention_mask: Any, *, packed: Packed, **how: Any
) -> tuple[Any, None]:
    """Causal attention of each row to itself and to its prefix.

    Args:
        module: the layer's attention; its `layer_idx` says which prefix states are its own.
        query, key, value: (1, heads, new tokens, width), rotated.
        attention_mask: None: transformers makes none for this implementation.
        packed: what the pass is.
        how: `scaling`, and `sliding_window` where this layer sees only so far back.

    Returns:
        (1, new tokens, heads, width), and None in place of weights.
    """
    import torch

    layer = module.layer_idx
    queries, keys, values = (part[0].transpose(0, 1) for part in (query, key, value))
    if packed.kept is not None:
        packed.kept[layer] = (keys, values)
    if packed.stored is not None:
        keys = torch.cat([packed.stored[layer, 0], keys])
        values = torch.cat([packed.stored[layer, 1], values])
    window = how.get("sliding_window")
    if window is not None and window >= packed.longest_k:
        window = None
    scale = how.get("scaling") or query.shape[-1] ** -0.5
    compute = _flash if packed.kernel == "flash" else _padded
    return compute(queries, keys, values, packed, scale, window)[None], None


def _flash(queries: Any, keys: Any, values: Any, packed: Packed, scale: float, window: int | None) -> Any:
    """PyTorch's flash attention on rows of unequal length: causal from the end of each row backwards."""
    import torch

    if packed.sources is not None:
        keys, values = keys.index_select(0, packed.sources), values.index_select(0, packed.sources)
    back = {} if window is None else {"window_size_left": window - 1, "window_size_right": 0}
    found = torch.ops.aten._flash_attention_forward(
        queries,
        keys,
        values,
        packed.ends_q,
        packed.ends_k,
        packed.longest_q,
        packed.longest_k,
        0.0,
        True,
        False,
        scale=scale,
        **back,
    )
    return found[0]


def _padded(queries: Any, keys: Any, values: Any, packed: Packed, scale: float, window: int | None) -> Any:
    """PyTorch's scaled dot-product attention, rows filled up to the right where they are unequal."""
    import torch

    rows = packed.ends_q.shape[0] - 1
    heads, width = queries.shape[1:]
    shared = heads // keys.shape[1]
    mask = None
    if packed.padding is None:
        shaped = [part.view(rows, -1, *part.shape[1:]) for part in (queries, keys, values)]
    else:
        into, _, source = packed.padding
        shaped = [queries[into], keys[source], values[source]]
    if packed.stored is not None or window is not None:
        mask = _mask(packed, window)
    q, k, v = (part.transpose(1, 2) for part in shaped)
    if shared > 1:  # not every backend of SDPA shares the heads of keys itself
        k, v = k.repeat_interleave(shared, 1), v.repeat_interleave(shared, 1)
    found = torch.nn.functional.scaled_dot_product_attention(
        q, k, v, attn_mask=mask, is_causal=mask is None, scale=scale
    )
    flat = found.transpose(1, 2).reshape(-1, heads, width)
    return flat if packed.padding is None else flat[packed.padding[1]]


def _mask(packed: Packed, window: int | None) -> Any:
    """(rows, 1, queries, keys): which keys a query sees; made once per pass and window."""
    import torch

    key = window or 0
    if key not in packed.masks:
        device = packed.ends_q.device
        place = packed.before[:, None, None] + torch.arange(packed.longest_q, device=device)[:, None]
        other = torch.arange(packed.longest_k, device=device)
        seen = other <= place
        if window is not None:
            seen = seen & (other > place - window)
        packed.masks[key] = seen[:, None]
    return packed.masks[key]


def of_pass(this: Pass, kernel: Kernel, upload: Any) -> Packed:
    """The tensors of a pass.

    Args:
        this: its integers.
        kernel: which will compute.
        upload: makes a tensor on the device of an array.
    """
    import torch

    packed = Packed(
        kernel=kernel,
        ends_q=upload(this.ends_q),
        ends_k=upload(this.ends_k),
        longest_q=this.longest_q,
        longest_k=this.longest_k,
    )
    if this.prefixes:
        states = [prefix.states for prefix in this.prefixes]
        packed.stored = states[0] if len(states) == 1 else torch.cat(states, dim=2)
    if kernel == "flash":
        if this.sources is not None:
            packed.sources = upload(this.sources)
        return packed
    padding = this.padding()
    packed.before = upload((this.ends_k[1:] - this.ends_k[:-1]) - (this.ends_q[1:] - this.ends_q[:-1]))
    if padding is not None:
        packed.padding = (
            upload(padding.queries).long(),
            upload(padding.back).long(),
            upload(padding.keys).long(),
        )
    return packed
