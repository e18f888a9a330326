"""`Pass`: rows that are computed together, laid end to end without padding, each token with its own position.

Nothing between the attentions mixes tokens, so rows need no padding there. Where attention has a kernel for rows of
unequal length it needs none either; elsewhere rows are filled up to the right inside it (`Padding`), behind the last
token that is read, where causal attention cannot see it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import attrs

from tiebreak_transformers.prefixes import Ids, Prefix

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Job", "Padding", "Pass", "passes"]

_SPREAD = 2
"""Rows that are padded share a pass where the longest is at most this much longer than the shortest."""


@attrs.define(eq=False)
class Job:
    """One prompt to compute.

    Attributes:
        ids: its tokens.
        targets: tokens to read behind the last one; None where it is computed for its states alone.
        mark: length of the beginning that may be kept and reused, 0 for none.
        prefix: the beginning that is there already.
        cached: it was there before this batch.
        keep: keep the states of the first `mark` tokens.
        logprobs, top: what was read: per target, and the most probable token.
        states: what was kept.
    """

    ids: Ids
    targets: Ids | None
    mark: int = 0
    prefix: Prefix | None = None
    cached: bool = False
    keep: bool = False
    logprobs: tuple[float, ...] = ()
    top: int = 0
    states: Any = None

    @property
    def known(self) -> int:
        """Tokens that need not be computed."""
        return len(self.prefix.ids) if self.prefix else 0

    @property
    def new(self) -> int:
        """Tokens that have to be computed."""
        return len(self.ids) - self.known


def passes(jobs: Sequence[Job], room: int, *, padded: bool) -> list[list[Job]]:
    """Deal jobs out to passes of at most `room` new tokens, longest first; a longer job is a pass of its own.

    Args:
        jobs: in any order.
        room: tokens of one pass.
        padded: attention fills rows up, so that those of one pass should be about equally long.
    """
    dealt: list[list[Job]] = []
    used = 0
    for job in sorted(jobs, key=lambda job: -job.new):
        fits = bool(dealt) and used + job.new <= room and (not padded or job.new * _SPREAD >= dealt[-1][0].new)
        if fits:
            dealt[-1].append(job)
            used += job.new
        else:
            dealt.append([job])
            used = job.new
    return dealt


@attrs.frozen(eq=False)
class Padding:
    """Index arrays that fill rows up to equal length and take the filling out again.

    Attributes:
        queries: (rows, longest) places among the new tokens; filling points at the first one.
        back: (new tokens) places among the filled-up queries.
        keys: (rows, longest with prefix) places among prefixes and new tokens.
    """

    queries: np.ndarray[Any, Any]
    back: np.ndarray[Any, Any]
    keys: np.ndarray[Any, Any]


@attrs.frozen(eq=False)
class Pass:
    """The integers of one pass, as arrays of int32.

    Attributes:
        ids, positions: (new tokens).
        slots: (rows that are read) places of their last tokens.
        targets: (rows that are read, most targets) tokens to read, filled up with 0.
        ends_q, ends_k: (rows + 1) where rows end, counted in new tokens, and in all with their prefixes.
        sources: (all tokens) places among distinct prefixes, end to end, and then the new tokens; None where no row has
            a prefix.
        prefixes: the distinct prefixes, in that order.
        longest_q, longest_k: tokens of the longest row, new and in all.
    """

    ids: np.ndarray[Any, Any]
    positions: np.ndarray[Any, Any]
    slots: np.ndarray[Any, Any]
    targets: np.ndarray[Any, Any]
    ends_q: np.ndarray[Any, Any]
    ends_k: np.ndarray[Any, Any]
    sources: np.ndarray[Any, Any] | None
    prefixes: tuple[Prefix, ...]
    longest_q: int
    longest_k: int

    @classmethod
    def of(cls, jobs: Sequence[Job]) -> Pass:
        """Lay jobs end to end."""
        import numpy as np

        new = [job.ids[job.known :] for job in jobs]
        ends_q = [0, *accumulate(map(len, new))]
        prefixes: dict[Ids, Prefix] = {job.prefix.ids: job.prefix for job in jobs if job.prefix}
        read = [index for index, job in enumerate(jobs) if job.targets is not None]
        most = max((len(jobs[index].targets or ()) for index in read), default=0)
        targets = np.zeros((len(read), most), np.int32)
        for line, index in enumerate(read):
            wanted = jobs[index].targets or ()
            targets[line, : len(wanted)] = wanted
        return cls(
            ids=np.fromiter((token for row in new for token in row), np.int32, ends_q[-1]),
            positions=np.concatenate([np.arange(job.known, len(job.ids), dtype=np.int32) for job in jobs]),
            slots=np.array([ends_q[index + 1] - 1 for index in read], np.int32),
            targets=targets,
            ends_q=np.array(ends_q, np.int32),
            ends_k=np.array([0, *accumulate(len(job.ids) for job in jobs)], np.int32),
            sources=_sources(jobs, ends_q, prefixes) if prefixes else None,
            prefixes=tuple(prefixes.values()),
            longest_q=max(map(len, new)),
            longest_k=max(len(job.ids) for job in jobs),
        )

    def padding(self) -> Padding | None:
        """How to fill the rows up; None where there is one row alone, or all are equal and have no prefix."""
        import numpy as np

        new = np.diff(self.ends_q)
        if self.sources is None and (new == self.longest_q).all():
            return None
        across = np.arange(self.longest_q)
        rows, columns = np.nonzero(across < new[:, None])
        sources = np.arange(self.ends_q[-1], dtype=np.int32) if self.sources is None else self.sources
        return Padding(
            queries=_filled(np.arange(self.ends_q[-1], dtype=np.int32), self.ends_q, self.longest_q),
            back=(rows * self.longest_q + columns).astype(np.int32),
            keys=_filled(sources, self.ends_k, self.longest_k),
        )


def _sources(jobs: Sequence[Job], ends_q: Sequence[int], prefixes: dict[Ids, Prefix]) -> np.ndarray[Any, Any]:
    """For every token of every row, prefix included, where its key and value lie."""
    import numpy as np

    starts: dict[Ids, int] = {}
    stored = 0
    for ids in prefixes:
        starts[ids] = stored
        stored += len(ids)
    parts = []
    for index, job in enumerate(jobs):
        if job.prefix:
            start = starts[job.prefix.ids]
            parts.append(np.arange(start, start + job.known, dtype=np.int32))
        parts.append(np.arange(stored + ends_q[index], stored + ends_q[index + 1], dtype=np.int32))
    return np.concatenate(parts)


def _filled(places: np.ndarray[Any, Any], ends: np.ndarray[Any, Any], longest: int) -> np.ndarray[Any, Any]:
    """Places of each row, filled up to the right with the first place of all."""
    import numpy as np

    filled = np.full((len(ends) - 1, longest), places[0], np.int32)
    for row in range(len(ends) - 1):
        filled[row, : ends[row + 1] - ends[row]] = places[ends[row] : ends[row + 1]]
    return filled
