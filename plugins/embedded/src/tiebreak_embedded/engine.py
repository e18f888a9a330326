"""`EmbeddedEngine`: decisions from llama.cpp in this process."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from tiebreak.engine import Capabilities, Limits, LocalEngine, Vocabulary
from tiebreak.errors import EngineError, InvalidRequest
from tiebreak.evidence import Outcome
from tiebreak.inprocess import refuse_fork
from tiebreak.ledger import Budget
from tiebreak.plan import Plan
from tiebreak.turns import Turns
from tiebreak_embedded.answer_cache import AnswerCache
from tiebreak_embedded.asked import Asked, Spent
from tiebreak_embedded.checkpoints import CheckpointTree, SavingPolicy
from tiebreak_embedded.context import Context, ContextOptions
from tiebreak_embedded.info import INFO
from tiebreak_embedded.library import Library
from tiebreak_embedded.model import ISOLATED, Model, load, repacks
from tiebreak_embedded.prompts import Prompts
from tiebreak_embedded.reading import Read
from tiebreak_embedded.runner import Runner
from tiebreak_embedded.stems import Leaf
from tiebreak_embedded.targets import Targets
from tiebreak_embedded.vocabulary import vocabulary

if TYPE_CHECKING:
    from tiebreak.memory import Footprint
    from tiebreak.models import Model as ModelFile
    from tiebreak_embedded.store import CheckpointStore

__all__ = ["EmbeddedEngine"]

INEXACT = 0.1
"""Tolerance where a build does not repeat itself to the bit (a GPU, say), or was not asked to."""

_ANSWER_BYTES = 256 << 10
_ANSWER_SHARE = 64
_HOLES, _HOLE_SHARE = 4 << 20, 16
"""Of the budget, what answers cost beside their own bytes: the allocator's holes between checkpoints that come and go.
They were 5 MiB after 10,000 requests with a budget of 64, however much the answers took; 1 MiB without answers."""


class EmbeddedEngine(LocalEngine):
    """llama.cpp in this process; requests of several threads are decoded together.

    Args:
        model: with a path.
        options: every option of `INFO`.
        weights: loads the model; None loads it as `load` does. For who has begun to.
    """

    def __init__(
        self, model: ModelFile, options: Mapping[str, Any], weights: Callable[[], Model] | None = None
    ) -> None:
        self.info = INFO
        self.capabilities: Capabilities = attrs.evolve(
            INFO.capabilities,
            concurrency=options["sequences"],
            tolerance=0.0 if options["exact"] and not options["gpu_layers"] else INEXACT,
        )
        self.limits: Limits = attrs.evolve(INFO.limits, window_tokens=options["context"])
        self.vocabulary = Vocabulary()
        self.model_sha256 = model.sha256
        self.cache_budget = Budget(
            bytes=_rooms(options)[0],
            entries=options["cache_entries"],
            option="cache_mib",
            entries_option="cache_entries",
            unit=1 << 20,
        )
        self._model = model
        self._options = options
        self._weights = weights
        self._lock = threading.Lock()
        self._loaded: _Loaded | None = None
        self._phases: Mapping[str, float] = {}
        self._process = os.getpid()

    @property
    def ready(self) -> bool:
        """See `LocalEngine.ready`."""
        return self._loaded is not None and self._process == os.getpid()

    def footprint(self) -> Footprint:
        """See `LocalEngine.footprint`."""
        from tiebreak_embedded.footprint import footprint  # a child never needs it

        return footprint(self._model, self._options)

    def start(self) -> None:
        """See `LocalEngine.start`.

        Raises:
            EngineUnavailable: no llama.cpp is installed, or it was loaded before this process was forked.
            ModelUnavailable: llama.cpp refused the file.
            EngineStartError: the context could not be made, or failed its own check.
        """
        if self.ready:
            return
        refuse_fork(self._process, INFO.name, ISOLATED)
        with self._lock:
            if self._loaded is not None:
                return
            options = self._options
            settings = ContextOptions(
                window=options["context"],
                sequences=options["sequences"],
                threads=options["threads"],
                gpu_layers=options["gpu_layers"],
                exact=options["exact"],
            )
            settings.check()
            model = self._weights() if self._weights else self._load()
            library = model.library
            try:
                with ThreadPoolExecutor(1) as beside:
                    words = beside.submit(vocabulary, model)  # while llama.cpp clears the memory of the context
                    context = Context(library, model, settings)
            except BaseException:
                model.close()
                raise
            try:
                loaded = _Loaded(context, words.result(), options, self._store(library))
            except BaseException:
                context.close()
                raise
            self.version = library.version
            self.vocabulary = loaded.vocabulary
            self.limits = attrs.evolve(self.limits, window_tokens=context.window)
            self.capabilities = attrs.evolve(
                self.capabilities,
                prefix_cache=None if context.model.recurrent else True,  # saved when it is met again
                tolerance=0.0 if context.exact else INEXACT,
            )
            self._phases = {**model.phases, **context.phases}
            self._loaded = loaded

    @property
    def phases(self) -> Mapping[str, float]:
        """See `Engine.phases`; the vocabulary is read beside the context and has no phase of its own."""
        return self._phases

    def describe(self) -> Mapping[str, str]:
        """What runs and how: library, file, backends, how threads wait, threads, window and whether it is exact."""
        context = self._ready().context
        return {
            **context.library.describe(),
            "model": context.model.description(),
            "threads": str(context.threads),
            "window": str(context.window),
            "exact": str(context.exact),
        }

    def evidence(self, plans: Sequence[Plan], cancelled: Callable[[], bool]) -> Sequence[Outcome]:
        """See `LocalEngine.evidence`.

        Raises:
            ContextOverflow: a prompt is longer than the window; nothing was computed.
            EngineHung: it was cancelled before its turn came.
            EngineError: a decode failed.
        """
        loaded = self._ready()
        started = time.perf_counter()
        asked = [Asked(loaded, plan) for plan in plans]
        tokenised = (time.perf_counter() - started) * 1e3
        waited = loaded.turns.take(asked, sum(one.size for one in asked), cancelled)
        warnings = loaded.take_refused()
        return [one.outcome(loaded, tokenised, waited, warnings) for one in asked]

    def tokens(self, plan: Plan) -> Sequence[Sequence[Sequence[int]]]:
        """See `LocalEngine.tokens`."""
        prompts = self._ready().prompts
        return [[prompts.piece(piece).tolist() for piece in row.pieces()] for row in plan.rows]

    def pin(self, plan: Plan) -> None:
        """See `LocalEngine.pin`."""
        self._ready().pin(plan)

    def unpin(self, plan: Plan) -> None:
        """See `LocalEngine.unpin`."""
        self._ready().unpin(plan)

    def close(self) -> None:
        """See `LocalEngine.close`; checkpoints go to their folder first. A forked child lets go of nothing."""
        with self._lock:
            loaded, self._loaded = self._loaded, None
        if loaded is not None and self._process == os.getpid():
            loaded.close()

    def _load(self) -> Model:
        header = self._model.header
        assert header is not None
        return load(header.path, self._options, repack=repacks(header))

    def _store(self, library: Library) -> CheckpointStore | None:
        folder = self._options["checkpoints"]
        if folder is None:
            return None
        from tiebreak_embedded.checkpoint_file import Binding
        from tiebreak_embedded.store import CheckpointStore

        binding = Binding(
            model_sha256=self.model_sha256 or "",
            build=library.build,
            settings=f"gpu_layers={self._options['gpu_layers']} exact={self._options['exact']}",
        )
        return CheckpointStore(Path(folder).expanduser(), binding, self._options["cache_mib"] << 20)

    def _ready(self) -> _Loaded:
        refuse_fork(self._process, INFO.name, ISOLATED)
        loaded = self._loaded
        if loaded is None:
            raise EngineError("It is closed, or was never started.", remedy="Call start().", engine=INFO.name)
        return loaded


class _Loaded:
    """All that exists only while a model is loaded."""

    def __init__(
        self, context: Context, words: Vocabulary, options: Mapping[str, Any], store: CheckpointStore | None
    ) -> None:
        self.context = context
        self.store = store
        self.vocabulary = words
        self.prompts = Prompts(context.model)
        self.targets = Targets(context.model, self.vocabulary)
        room, answers = _rooms(options)
        self.tree = CheckpointTree(max_bytes=room, max_entries=options["cache_entries"])
        self.answers = AnswerCache(answers)
        # A folder for checkpoints says that prefixes come again: one meeting is enough.
        self.policy = SavingPolicy(times=1 if store else 2)
        self.runner = Runner(context, self.tree, store)
        self.turns: Turns[list[Asked]] = Turns(self._run, context.options.sequences, INFO.name)
        self._pieces: dict[int, str] = {}

    def piece(self, token: int) -> str:
        """The text of a token."""
        known = self._pieces.get(token)
        if known is None:
            known = self._pieces[token] = self.context.model.piece(token)
        return known

    def pin(self, plan: Plan) -> None:
        """Keep a checkpoint of each row's reusable prefix; all or none."""
        prefixes = self._prefixes(plan)
        kept: list[Leaf] = []
        with self.context.lock:
            for leaf in prefixes:
                length = leaf.marks[-1]
                if not self.runner.keep(leaf, length) or not self.tree.pin(leaf.tokens[:length]):
                    for other in kept:
                        self.tree.unpin(other.tokens[: other.marks[-1]])
                    raise InvalidRequest(
                        f"A checkpoint of {length} tokens does not fit into the cache of "
                        f"{self.tree.max_bytes >> 20} MiB beside what is pinned.",
                        remedy="Raise cache_mib, or unpin something.",
                        engine=INFO.name,
                    )
                kept.append(leaf)

    def unpin(self, plan: Plan) -> None:
        """Take one pin away from each row's reusable prefix."""
        with self.context.lock:
            for leaf in self._prefixes(plan):
                self.tree.unpin(leaf.tokens[: leaf.marks[-1]])

    def close(self) -> None:
        """Write what is to be kept, and free everything."""
        with self.context.lock:
            try:
                if self.store is not None:
                    self.runner.sequences.flush()
            finally:
                self.context.close()

    def _prefixes(self, plan: Plan) -> list[Leaf]:
        leaves: dict[bytes, Leaf] = {}
        for row in plan.rows:
            prompt = self.prompts.of(row)
            if not prompt.marks:
                raise InvalidRequest(
                    f"The layout {plan.layout!r} has no part here that could be kept, or cache is 'off'.",
                    remedy="Pin a state in a state-first layout, questions in a schema-first one.",
                    engine=INFO.name,
                )
            if prompt.marks[-1] > self.context.window:
                raise self.context.overflow(prompt.marks[-1])
            leaf = Leaf(prompt.tokens, (Read(len(prompt.tokens) - 1),), prompt.marks)
            leaves[leaf.key[: 4 * prompt.marks[-1]]] = leaf
        return list(leaves.values())

    def take_refused(self) -> tuple[str, ...]:
        """Why checkpoint files were not used, each said once."""
        if self.store is None or not self.store.refused:
            return ()
        refused, self.store.refused = self.store.refused, []
        return tuple(refused)

    def _run(self, batch: Sequence[list[Asked]]) -> None:
        """Decode the rows of several requests; equal rows once, and none that was decoded lately."""
        with self.context.lock:
            started = time.perf_counter()
            context, sequences = self.context, self.runner.sequences
            before = (sequences.restore_ms, context.decode_ms, context.read_ms, sequences.save_ms)
            evictions = self.tree.stats().evictions
            leaves: dict[object, Leaf] = {}
            everything = [one for work in batch for one in work]
            for one in everything:
                one.meet(self.policy)
                one.share(leaves)
            new = [leaf for leaf in leaves.values() if not self.answers.fill(leaf)]
            if new:
                self.runner.run(new)
                for leaf in new:
                    self.answers.put(leaf)
            cache = self.tree.stats()
            spent = Spent(
                restore=sequences.restore_ms - before[0],
                decode=context.decode_ms - before[1],
                read=context.read_ms - before[2],
                save=sequences.save_ms - before[3],
                evictions=cache.evictions - evictions,
                cache=cache,
                resident=cache.bytes + self.answers.bytes,
                total=(time.perf_counter() - started) * 1e3,
            )
            for one in everything:
                one.spent = spent


def _rooms(options: Mapping[str, Any]) -> tuple[int, int]:
    """Bytes for checkpoints and for answers; with what answers cost beside, together what `cache_mib` says."""
    whole = options["cache_mib"] << 20
    if not options["answer_cache"]:
        return whole, 0
    answers = min(_ANSWER_BYTES, whole // _ANSWER_SHARE)
    return whole - answers - min(_HOLES, whole // _HOLE_SHARE), answers
