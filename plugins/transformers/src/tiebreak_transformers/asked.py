"""`Asked`: one plan on its way through the engine, from tokens to evidence."""

from __future__ import annotations

import attrs

from tiebreak.answers import CacheReport, CacheStatus
from tiebreak.errors import ContextOverflow
from tiebreak.evidence import Outcome
from tiebreak.plan import Plan, Row
from tiebreak.stages.cache import CachePolicy
from tiebreak_transformers.info import INFO
from tiebreak_transformers.passes import Job
from tiebreak_transformers.prefixes import Ids
from tiebreak_transformers.targets import Target, Targets
from tiebreak_transformers.tokens import Tokens

__all__ = ["Asked", "Reader", "Spent"]


@attrs.frozen(kw_only=True, eq=False)
class Reader:
    """What turns rows into jobs: tokenizer, targets and window of a loaded model."""

    tokens: Tokens
    targets: Targets
    window: int

    def prompt(self, row: Row) -> tuple[Ids, int]:
        """The tokens of a row, and how many of them may be kept and reused (0: none).

        Raises:
            InvalidRequest: a text that is not valid Unicode.
            ContextOverflow: they do not fit the window; nothing was computed.
        """
        ids = list(self.tokens.opening)
        for piece in row.pieces(0, row.cut):
            ids += self.tokens.piece(piece)
        mark = len(ids) if row.cut else 0
        for piece in row.pieces(row.cut):
            ids += self.tokens.piece(piece)
        if len(ids) > self.window:
            raise ContextOverflow(
                f"The prompt is {len(ids)} tokens long; the window has {self.window}.",
                tokens=len(ids),
                window=self.window,
                remedy="Shorten the state, or raise context where the model was trained for more.",
                engine=INFO.name,
            )
        return tuple(ids), mark if mark < len(ids) else 0


@attrs.frozen(kw_only=True)
class Spent:
    """What one batch took, and the cache after it.

    Attributes:
        total, compute: milliseconds, all of it and the passes alone.
        requests, rows, tokens: how much it was: requests, different prompts, tokens that were computed.
        entries, bytes, evictions: prefixes that are kept, their size, and those that this batch pushed out.
    """

    total: float
    compute: float
    requests: int
    rows: int
    tokens: int
    entries: int
    bytes: int
    evictions: int


class Asked:
    """One plan: its rows as jobs, and what became of them.

    Args:
        reader: of the loaded model.
        plan: what is asked.

    Raises:
        ContextOverflow, InvalidRequest, Unsupported: the plan cannot be computed here.
    """

    def __init__(self, reader: Reader, plan: Plan) -> None:
        self.spent: Spent | None = None
        self._scope = CachePolicy.scope(plan)
        self._targets: list[Target] = []
        self.jobs: list[Job] = []
        for row in plan.rows:
            target = reader.targets.of(row)
            ids, mark = reader.prompt(row)
            self._targets.append(target)
            self.jobs.append(Job(ids=ids, targets=target.ids, mark=mark))
        self.prompt_tokens = sum(len(job.ids) for job in self.jobs)

    def share(self, jobs: dict[object, Job]) -> None:
        """Add the jobs to a batch, using those that are in it already."""
        self.jobs = [jobs.setdefault((job.ids, job.targets, job.mark), job) for job in self.jobs]

    def outcome(self, tokens: Tokens, tokenised: float, waited: float) -> Outcome:
        """What was found, and what it took.

        Args:
            tokens: of the model.
            tokenised: milliseconds that tokenising took.
            waited: milliseconds that it waited for its turn.
        """
        spent = self.spent
        assert spent is not None
        return Outcome(
            evidence=tuple(
                target.score(job.logprobs, tokens.text(job.top))
                for target, job in zip(self._targets, self.jobs, strict=True)
            ),
            cache=self._report(spent),
            prefill_ms=spent.compute,
            engine_ms=tokenised + spent.total,
            waited_ms=waited,
            phases={
                "tokenise_ms": tokenised,
                "compute_ms": spent.compute,
                "batch_requests": float(spent.requests),
                "batch_rows": float(spent.rows),
                "batch_tokens": float(spent.tokens),
            },
            prompt_tokens=self.prompt_tokens,
        )

    def _report(self, spent: Spent) -> CacheReport:
        status: CacheStatus = "miss"
        if not any(job.mark for job in self.jobs):
            status = "off"
        elif any(job.cached for job in self.jobs):
            status = "hit"
        used = [job.prefix.bytes for job in self.jobs if job.prefix]
        return CacheReport(
            scope="none" if status == "off" else self._scope,
            status=status,
            reused_tokens=sum(job.known for job in self.jobs if job.cached),
            checkpoint_bytes=max(used, default=0) or None,
            entries=spent.entries,
            resident_bytes=spent.bytes,
            evictions=spent.evictions,
        )
