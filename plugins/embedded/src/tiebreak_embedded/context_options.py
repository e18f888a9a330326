"""`ContextOptions`: how a context is made, and how much room that gives a prompt."""

from __future__ import annotations

import attrs

from tiebreak.errors import InvalidRequest
from tiebreak_embedded.schedule import FILL_MAX

__all__ = ["ContextOptions", "cells"]

_WINDOW = 2048
_CELLS = 256  # llama.cpp rounds a sequence's cells up to this


def cells(window: int) -> int:
    """Cells of keys and values that a sequence has for a window, fill included."""
    return -(-(window + FILL_MAX) // _CELLS) * _CELLS


@attrs.frozen(kw_only=True)
class ContextOptions:
    """How a context is made.

    Attributes:
        window: tokens that one prompt may have; None for what the model was trained with, at most
            2048.
        sequences: prompts that can be in memory side by side. Memory for that many of the longest
            that came is taken, at first for 760 tokens each.
        threads: compute threads; None for every free physical core.
        gpu_layers: layers on the GPU, -1 for all; needs a build with a GPU backend.
        micro_batch: most tokens in one pass.
        exact: nothing that was cached or batched may change an answer. Otherwise attention is computed
            in tiles, which takes up to a tenth less time and rounds differently in short chunks.
    """

    window: int | None = None
    sequences: int = 8
    threads: int | None = None
    gpu_layers: int = 0
    micro_batch: int = 512
    exact: bool = True

    def window_of(self, trained: int) -> int:
        """Tokens that one prompt may have with a model that was trained with so many."""
        return min(_WINDOW, trained) if self.window is None else self.window

    def check(self) -> None:
        """Refuse values that no context can have.

        Raises:
            InvalidRequest: naming the option, the value and what it should be.
        """
        least = {"window": 16, "sequences": 1, "threads": 1, "gpu_layers": -1, "micro_batch": 6}
        for name, low in least.items():
            value = getattr(self, name)
            if value is not None and value < low:
                raise InvalidRequest(f"Option {name} is {value}; it is at least {low}.", engine="embedded")
