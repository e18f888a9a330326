"""`Runner`: computes a batch of jobs, what several of them begin with once, and keeps beginnings that come again."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Sequence

from tiebreak_transformers.network import Network
from tiebreak_transformers.passes import Job
from tiebreak_transformers.prefixes import Ids, Prefix, Prefixes

__all__ = ["Runner"]

_FEW = 8
"""In a batch of at most that many rows every beginning is kept, in a larger one those that were met before: a stream of
states that never come again must not spend its time on copying them."""
_REMEMBERED = 4096


class Runner:
    """Runs batches on one network. Use it from one thread at a time.

    Args:
        network: the model.
        prefixes: where beginnings are kept.
    """

    def __init__(self, network: Network, prefixes: Prefixes) -> None:
        self.network = network
        self.prefixes = prefixes
        self._met: OrderedDict[int, None] = OrderedDict()

    def run(self, jobs: Sequence[Job]) -> int:
        """Compute jobs and fill in what they ask for.

        Args:
            jobs: no two alike.

        Returns:
            tokens that were computed.

        Raises:
            BadReply, EngineError: see `Network.run`.
        """
        for job in jobs:
            if job.mark:
                job.prefix = self.prefixes.get(job.ids[: job.mark])
                job.cached = job.prefix is not None
        missing = [job for job in jobs if job.mark and job.prefix is None]
        users = Counter(job.ids[: job.mark] for job in missing)
        computed = self._grow([ids for ids, count in users.items() if count > 1], missing)
        for job in missing:
            if job.prefix is None:
                job.keep = len(jobs) <= _FEW or self._meet(job.ids[: job.mark])
        self.network.run(jobs)
        for job in missing:
            if job.keep:
                self._put(job.ids[: job.mark], job)
        return computed + sum(job.new for job in jobs)

    def keep(self, ids: Ids) -> Prefix | None:
        """Compute a beginning and keep it; None where there is no room for it."""
        known = self.prefixes.get(ids)
        if known is not None:
            return known
        job = Job(ids=ids, targets=None, mark=len(ids), keep=True)
        self.network.run([job])
        prefix = self._prefix(ids, job)
        return prefix if self.prefixes.put(prefix) else None

    def _grow(self, shared: Sequence[Ids], missing: Sequence[Job]) -> int:
        """Compute the beginnings that several jobs share, and give them to these; returns their tokens."""
        stems = {ids: Job(ids=ids, targets=None, mark=len(ids), keep=True) for ids in shared}
        if not stems:
            return 0
        self.network.run(list(stems.values()))
        grown = {ids: self._put(ids, job) for ids, job in stems.items()}
        for job in missing:
            job.prefix = grown.get(job.ids[: job.mark])
        return sum(map(len, shared))

    def _put(self, ids: Ids, job: Job) -> Prefix:
        prefix = self._prefix(ids, job)
        self.prefixes.put(prefix)
        return prefix

    def _prefix(self, ids: Ids, job: Job) -> Prefix:
        states, job.states = job.states, None
        return Prefix(ids=ids, states=states, bytes=states.numel() * states.element_size())

    def _meet(self, ids: Ids) -> bool:
        """Whether a beginning was met before; from now on it was."""
        key = hash(ids)
        known = key in self._met
        self._met[key] = None
        self._met.move_to_end(key)
        while len(self._met) > _REMEMBERED:
            self._met.popitem(last=False)
        return known
