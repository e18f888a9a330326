"""`Graphs`: passes of few tokens as CUDA graphs, recorded once per shape and replayed.

A small model computes a pass of a few hundred tokens in less time than it takes Python to launch its kernels. A graph
launches all of them at once. It is bound to the shapes that it was recorded with, so integers are filled up to the next
size that has one; what is filled up belongs to no row, and nothing is read there.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import attrs

from tiebreak_transformers.attention import Packed
from tiebreak_transformers.passes import Pass

__all__ = ["MOST_TOKENS", "Graphs", "Shape"]

MOST_TOKENS = 16384
"""Longer passes keep the device busy by themselves."""
_KEPT = 48
_WARM_UPS = 3

Read = tuple[Any, Any, Any]


@attrs.frozen
class Shape:
    """Sizes that a graph is recorded for.

    Attributes:
        tokens, whole: new tokens, and all with prefixes (0 where there are none).
        stored: tokens of distinct prefixes.
        rows, targets: rows that are read, and tokens read in each.
        longest_q, longest_k: of a row, new and in all.
    """

    tokens: int
    whole: int
    stored: int
    rows: int
    targets: int
    longest_q: int
    longest_k: int

    @classmethod
    def of(cls, this: Pass) -> Shape:
        """The next sizes up from those of a pass."""
        return cls(
            tokens=_up(len(this.ids), 64),
            whole=0 if this.sources is None else _up(len(this.sources), 64),
            stored=_up(sum(len(prefix.ids) for prefix in this.prefixes), 64) if this.prefixes else 0,
            rows=_up(len(this.slots), 8),
            targets=_up(this.targets.shape[1], 8),
            longest_q=_up(this.longest_q, 64),
            longest_k=_up(this.longest_k, 64),
        )


@attrs.frozen(eq=False)
class _Recorded:
    """A graph with the tensors that it reads and writes."""

    graph: Any
    integers: dict[str, Any]
    stored: Any
    read: Read


class Graphs:
    """Records and replays. Use it from one thread at a time.

    Args:
        compute: (ids, positions, slots, targets, packed) to what is read; launches kernels only, waits for nothing.
        device: a CUDA device.
    """

    def __init__(self, compute: Callable[[Any, Any, Any, Any, Packed], Read], device: Any) -> None:
        import torch

        self._torch = torch
        self._compute = compute
        self._device = device
        self._pool = torch.cuda.graph_pool_handle()
        self._known: OrderedDict[Shape, _Recorded] = OrderedDict()

    def run(self, this: Pass) -> Read:
        """Compute a pass, all of whose rows are read."""
        shape = Shape.of(this)
        known = self._known.get(shape)
        if known is None:
            known = self._known[shape] = self._record(shape, this)
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)
        self._known.move_to_end(shape)
        self._fill(known, this)
        known.graph.replay()
        rows = len(this.slots)
        # The next replay writes over these, perhaps before they are looked at.
        wanted, total, top = (part[:rows].clone() for part in known.read)
        return wanted, total, top

    def _record(self, shape: Shape, this: Pass) -> _Recorded:
        torch = self._torch

        def made(*size: int) -> Any:
            return torch.zeros(size, dtype=torch.int32, device=self._device)

        integers = {
            "ids": made(shape.tokens),
            "positions": made(shape.tokens),
            "slots": made(shape.rows),
            "targets": made(shape.rows, shape.targets),
            "ends_q": made(shape.rows + 1),
            "ends_k": made(shape.rows + 1),
        }
        stored = None
        if this.prefixes:
            integers["sources"] = made(shape.whole)
            like = this.prefixes[0].states
            stored = torch.zeros(
                (*like.shape[:2], shape.stored, *like.shape[3:]), dtype=like.dtype, device=self._device
            )
        packed = Packed(
            kernel="flash",
            ends_q=integers["ends_q"],
            ends_k=integers["ends_k"],
            longest_q=shape.longest_q,
            longest_k=shape.longest_k,
            sources=integers.get("sources"),
            stored=stored,
        )
        recorded = _Recorded(graph=None, integers=integers, stored=stored, read=(None, None, None))
        self._fill(recorded, this)
        graph, read = self._capture(
            lambda: self._compute(
                integers["ids"], integers["positions"], integers["slots"], integers["targets"], packed
            )
        )
        return attrs.evolve(recorded, graph=graph, read=read)

    def _capture(self, compute: Callable[[], Read]) -> tuple[Any, Read]:
        """Record what an act launches; what it returned is written anew by every replay."""
        torch = self._torch
        beside = torch.cuda.Stream(self._device)
        beside.wait_stream(torch.cuda.current_stream(self._device))
        with torch.cuda.stream(beside):  # kernels are chosen and compiled now: a recording must not do it
            for _ in range(_WARM_UPS):
                compute()
        torch.cuda.current_stream(self._device).wait_stream(beside)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self._pool):
            read = compute()
        return graph, read

    def _fill(self, into: _Recorded, this: Pass) -> None:
        """Copy a pass into the tensors of a graph; places that it does not reach keep something harmless."""
        torch = self._torch
        for name, tensor in into.integers.items():
            given = torch.from_numpy(getattr(this, name))
            if name == "sources":  # new tokens lie behind the filled-up prefixes
                real = sum(len(prefix.ids) for prefix in this.prefixes)
                given = given + (given >= real) * (into.stored.shape[2] - real)
            if name in ("ends_q", "ends_k"):
                tensor.fill_(int(given[-1]))  # rows that are not there are empty
            place = tensor[tuple(slice(0, size) for size in given.shape)]
            place.copy_(given, non_blocking=True)
        if into.stored is not None:
            start = 0
            for prefix in this.prefixes:
                stop = start + len(prefix.ids)
                into.stored[:, :, start:stop].copy_(prefix.states)
                start = stop


def _up(size: int, least: int) -> int:
    """The next of `least` times 1, 1.5, 2, 3, 4, 6, 8 ... that is not below a size."""
    step = least
    while step < size:
        if step * 3 // 2 >= size:
            return step * 3 // 2
        step *= 2
    return step
