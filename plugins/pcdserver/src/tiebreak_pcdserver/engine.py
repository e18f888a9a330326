"""`PcdEngine`: starts or reaches a pcd_server, sends it fields and reads what it chose."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Generator, Iterable, Mapping
from typing import Any

from tiebreak.answers import CacheReport, CacheStatus
from tiebreak.command import Command, Readiness
from tiebreak.engine import Call, Reply, Vocabulary, WireEngine
from tiebreak.errors import BadReply, ContextOverflow, EngineStartError, TiebreakError
from tiebreak.evidence import Outcome
from tiebreak.ledger import Budget
from tiebreak.memory import Footprint
from tiebreak.models import Model
from tiebreak.plan import Plan, Row
from tiebreak.refusal import message_of, refusal
from tiebreak_pcdserver import program
from tiebreak_pcdserver._wire import Decoded, Health
from tiebreak_pcdserver.info import INFO
from tiebreak_pcdserver.reading import evidence

__all__ = ["PcdEngine"]

TOO_LONG = re.compile(r"needs (\d+) tokens but the context window holds (\d+)")


class PcdEngine(WireEngine):
    """A pcd_server with one model, a process of ours or reached by its URL.

    Args:
        model: the model; None where a running server's own is meant.
        options: every option with its value, and `url`.
    """

    def __init__(self, model: Model | None, options: Mapping[str, Any]) -> None:
        self.info = INFO
        self.capabilities = INFO.capabilities
        self.limits = INFO.limits
        self.url = options["url"]
        self.headers: Mapping[str, str] = {}
        self.load_timeout = options["load_timeout"]
        self._options = options
        self._model = model
        self._build = ""
        self._header = model.header if model else None
        self.model_sha256 = model.sha256 if model else None
        if options["url"] is None:  # what a server of somebody else's may keep is not known
            self.cache_budget = Budget(
                bytes=options["cache_bytes"],
                entries=options["cache_entries"],
                option="cache_bytes",
                entries_option="cache_entries",
            )
        self.vocabulary = Vocabulary(control=self._header.control_tokens() if self._header else ())

    def launch(self) -> Command:
        """See `WireEngine.launch`."""
        if self._model is None or self._model.path is None:
            raise EngineStartError("No model file was named.", remedy="Pass model=.", engine=INFO.name)
        found = program.find(self._options["binary"])
        self._build = program.version(found)
        return program.command(found, self._model.path, self._options)

    def footprint(self) -> Footprint:
        """See `WireEngine.footprint`."""
        return program.footprint(self._header, self._options)

    def ready_call(self) -> Call:
        """See `WireEngine.ready_call`."""
        return Call(method="GET", path="/health")

    def readiness(self, reply: Reply) -> Readiness:
        """See `WireEngine.readiness`.

        Raises:
            EngineStartError: the server runs without a model, which waiting does not cure: it says 200 all the same.
        """
        try:
            health = Health.model_validate_json(reply.body)
        except ValueError:
            return Readiness(state="stranger", text=f"HTTP {reply.status}, and not what pcd_server says of its health")
        if not health.ready:
            raise EngineStartError(
                "The server runs, but without a model.",
                remedy="Start it with --model, or select one with POST /v1/models/select.",
                engine=INFO.name,
            )
        wanted = self._model.path.name if self._model and self._model.path else health.model
        if health.model != wanted:
            return Readiness(state="stranger", text=f"it runs {health.model!r}, not {wanted!r}")
        return Readiness(state="ready")

    def greeting(self) -> Generator[Call, Reply, None]:
        """See `WireEngine.greeting`; a running server says what it computes on."""
        reply = yield self.ready_call()
        health = _read(reply, Health)
        self.version = f"{self._build or f'pcd_server {health.apiVersion}'}, {health.description} on {health.backend}"

    def exchange(self, plan: Plan) -> Generator[Call, Reply, Outcome]:
        """See `WireEngine.exchange`; one call per schema of the plan."""
        outcomes = []
        for schema, rows in itertools.groupby(plan.rows, key=lambda row: row.text("schema")):
            group = tuple(rows)
            reply = yield _decode_call(schema, group[0])
            if reply.status != 200:
                raise _refusal(reply)
            outcomes.append(self._outcome(_read(reply, Decoded), group, plan))
        return outcomes[0] if len(outcomes) == 1 else _merged(outcomes)

    def _outcome(self, decoded: Decoded, rows: tuple[Row, ...], plan: Plan) -> Outcome:
        metrics = decoded.metrics
        status = self._status(metrics.schemaCacheStatus)
        phases = metrics.phasesMs
        first = phases.get("restoreOrPrefill", 0.0)
        computed = sum(phases.get(phase, 0.0) for phase in ("dynamicContext", "suffix", "tree"))
        found = {read.name: read for read in decoded.fields_}
        return Outcome(
            evidence=tuple(evidence(found, row, plan.request.questions[row.question]) for row in rows),
            cache=CacheReport(scope="schema", status=status, checkpoint_bytes=metrics.checkpointBytes),
            prefill_ms=computed if status == "hit" else computed + first,
            restore_ms=first if status == "hit" else None,
            engine_ms=metrics.elapsedMs,
            phases=phases,
            warnings=tuple(self._warnings(metrics.checkpointBytes)),
        )

    def _status(self, said: str) -> CacheStatus:
        if not self.url and not self._options["cache_entries"]:
            return "off"
        status: CacheStatus | None = {"hit": "hit", "miss": "miss", "fallback": "fallback"}.get(said)  # type: ignore[assignment]
        if status is None:
            raise BadReply(f"schemaCacheStatus is {said!r}; known are hit, miss and fallback.", engine=INFO.name)
        return status

    def _warnings(self, checkpoint: int) -> Iterable[str]:
        budget = self._options["cache_bytes"]
        if not self.url and self._options["cache_entries"] and checkpoint > budget:
            yield (
                f"cache: the checkpoint of these questions is {checkpoint:,} bytes and the whole budget {budget:,}, "
                "so it is never kept; raise cache_bytes"
            )


def _decode_call(schema: str, row: Row) -> Call:
    context = json.dumps(row.text("state"), ensure_ascii=False)
    body = f'{{"context":{context},"fields":{schema}}}'
    return Call(method="POST", path="/v1/pcd/decode", body=body.encode())


def _read(reply: Reply, kind: type[Any]) -> Any:
    if reply.status != 200:
        raise refusal(reply, INFO.name)
    try:
        return kind.model_validate_json(reply.body)
    except ValueError as error:
        raise BadReply(f"A reply is not a {kind.__name__}: {error}", engine=INFO.name) from None


def _refusal(reply: Reply) -> TiebreakError:
    said = message_of(reply)
    long = TOO_LONG.search(said)
    if long is None:
        return refusal(reply, INFO.name)
    return ContextOverflow(
        f"HTTP {reply.status}: {said}",
        tokens=int(long[1]),
        window=int(long[2]),
        remedy="Shorten the state or ask fewer questions at once; this server's window is fixed.",
        engine=INFO.name,
    )


def _merged(outcomes: list[Outcome]) -> Outcome:
    """Several exchanges as one: figures add up, and a part that was restored makes it a hit."""
    phases: dict[str, float] = {}
    for outcome in outcomes:
        for name, value in outcome.phases.items():
            phases[name] = phases.get(name, 0.0) + value
    statuses = [outcome.cache.status for outcome in outcomes]
    order: tuple[CacheStatus, ...] = ("fallback", "hit", "miss", "off")
    restores = [outcome.restore_ms for outcome in outcomes if outcome.restore_ms is not None]
    warnings = dict.fromkeys(text for outcome in outcomes for text in outcome.warnings)
    return Outcome(
        evidence=tuple(item for outcome in outcomes for item in outcome.evidence),
        cache=CacheReport(
            scope="schema",
            status=next(status for status in order if status in statuses),
            checkpoint_bytes=sum(outcome.cache.checkpoint_bytes or 0 for outcome in outcomes),
        ),
        prefill_ms=sum(outcome.prefill_ms or 0.0 for outcome in outcomes),
        restore_ms=sum(restores) if restores else None,
        engine_ms=sum(outcome.engine_ms or 0.0 for outcome in outcomes),
        phases=phases,
        warnings=(
            f"split: {len(outcomes[0].evidence)} of the questions went into the first of {len(outcomes)} exchanges; "
            "a question sees the questions of its own exchange only",
            *warnings,
        ),
    )
