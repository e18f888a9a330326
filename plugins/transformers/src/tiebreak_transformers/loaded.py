"""`Loaded`: all that exists only while a model is loaded."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tiebreak.engine import Vocabulary
from tiebreak.errors import InvalidRequest
from tiebreak.evidence import Outcome
from tiebreak.models import Model
from tiebreak.plan import Plan
from tiebreak.turns import Turns
from tiebreak_transformers.asked import Asked, Reader, Spent
from tiebreak_transformers.device import choose, import_torch
from tiebreak_transformers.info import INFO
from tiebreak_transformers.loading import load
from tiebreak_transformers.network import Network
from tiebreak_transformers.passes import Job
from tiebreak_transformers.prefixes import Ids, Prefixes
from tiebreak_transformers.runner import Runner
from tiebreak_transformers.targets import Targets
from tiebreak_transformers.tokens import Tokens
from tiebreak_transformers.vocabulary import folder_template, vocabulary

__all__ = ["Loaded"]

LONGEST = 8192
_ROOM = {"cpu": 2048, "mps": 8192, "cuda": 65536}
"""Tokens of one pass by device: enough to keep it busy, few enough for its memory."""
_ROWS = 512
"""Rows of requests that wait at the same time and are computed together."""


class Loaded:
    """A model with its tokenizer, cache and queue.

    Args:
        model: a GGUF file or a folder.
        options: every option of `INFO`.

    Attributes:
        device, dtype: where it computes and in which type.
        version: of what computes, for receipts.
        window: tokens that fit in one prompt.

    Raises:
        EngineUnavailable, ModelUnavailable, Unsupported, EngineStartError: see `load`, `Tokens` and `Network`.
    """

    def __init__(self, model: Model, options: Mapping[str, Any]) -> None:
        assert model.path is not None
        torch = import_torch()
        if options["threads"] is not None:
            torch.set_num_threads(options["threads"])
        self.dtype: str = options["dtype"]
        self.device = choose(options["device"])
        header = model.header
        self.tokens = Tokens.of_folder(model.path) if header is None else Tokens.of_gguf(header)
        template = folder_template(model.path) if header is None else header.chat_template
        self.vocabulary: Vocabulary = vocabulary(self.tokens, template)
        placed = load(model.path, self.device, self.dtype)
        self.network = Network(
            placed,
            options["batch_tokens"] or _ROOM[self.device],
            fuse=options["compile"],
            record=options["graphs"],
        )
        import transformers

        self.version = (
            f"transformers {transformers.__version__}, torch {torch.__version__}, {self.dtype} on {self.device}"
        )
        self.window: int = options["context"] or min(placed.trained or LONGEST, LONGEST)
        self._reader = Reader(tokens=self.tokens, targets=Targets(self.tokens, self.vocabulary), window=self.window)
        self._runner = Runner(
            self.network,
            Prefixes(max_bytes=options["cache_mib"] << 20, max_entries=options["cache_entries"]),
        )
        self._lock = threading.Lock()  # pins come from threads that are in no queue
        self._turns: Turns[list[Asked]] = Turns(self._run, _ROWS, INFO.name)

    def evidence(self, plans: Sequence[Plan], cancelled: Callable[[], bool]) -> list[Outcome]:
        """See `LocalEngine.evidence`."""
        started = time.perf_counter()
        asked = [Asked(self._reader, plan) for plan in plans]
        tokenised = (time.perf_counter() - started) * 1e3
        waited = self._turns.take(asked, sum(len(one.jobs) for one in asked), cancelled)
        return [one.outcome(self.tokens, tokenised, waited) for one in asked]

    def pin(self, plan: Plan) -> None:
        """Keep the reusable prefix of each row; all or none."""
        prefixes = self._prefixes(plan)
        kept: list[Ids] = []
        with self._lock:
            for ids in prefixes:
                if self._runner.keep(ids) is None or not self._runner.prefixes.pin(ids):
                    for other in kept:
                        self._runner.prefixes.unpin(other)
                    raise InvalidRequest(
                        f"{len(ids)} tokens do not fit into the cache of {self._runner.prefixes.max_bytes >> 20} MiB "
                        "beside what is pinned.",
                        remedy="Raise cache_mib, or unpin something.",
                        engine=INFO.name,
                    )
                kept.append(ids)

    def unpin(self, plan: Plan) -> None:
        """Take one pin away from each row's reusable prefix."""
        with self._lock:
            for ids in self._prefixes(plan):
                self._runner.prefixes.unpin(ids)

    def _prefixes(self, plan: Plan) -> list[Ids]:
        """The different prefixes of a plan, one after another."""
        found: dict[Ids, None] = {}
        for row in plan.rows:
            ids, mark = self._reader.prompt(row)
            if not mark:
                raise InvalidRequest(
                    f"The layout {plan.layout!r} has no part here that could be kept, or cache is 'off'.",
                    remedy="Pin a state in a state-first layout, questions in a schema-first one.",
                    engine=INFO.name,
                )
            found[ids[:mark]] = None
        return list(found)

    def _run(self, batch: Sequence[list[Asked]]) -> None:
        """Compute the rows of several requests; equal rows once."""
        with self._lock:
            started = time.perf_counter()
            prefixes = self._runner.prefixes
            evictions = prefixes.evictions
            everything = [one for work in batch for one in work]
            jobs: dict[object, Job] = {}
            for one in everything:
                one.share(jobs)
            tokens = self._runner.run(list(jobs.values()))
            took = (time.perf_counter() - started) * 1e3
            spent = Spent(
                total=took,
                compute=took,
                requests=len(everything),
                rows=len(jobs),
                tokens=tokens,
                entries=len(prefixes),
                bytes=prefixes.bytes,
                evictions=prefixes.evictions - evictions,
            )
            for one in everything:
                one.spent = spent
