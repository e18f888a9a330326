"""A local engine made for the gateway's tests: answers are a function of the prompt, and take as long as is asked.

Run as a program it serves itself: `python gateway_stub.py '{"delay_ms": 50}' '{"port": 0}'`.
"""

from __future__ import annotations

import hashlib
import json
import math
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from tiebreak import Decider, Registry, hookimpl
from tiebreak.answers import CacheReport
from tiebreak.engine import Capabilities, EngineInfo, Limits, LocalEngine, OptionSpec, Vocabulary
from tiebreak.errors import EngineDied
from tiebreak.evidence import Outcome, TokenScores
from tiebreak.memory import Footprint
from tiebreak.plan import Plan
from tiebreak.pool import Pool

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
LABELS = [*LETTERS, *(first + second for first in LETTERS for second in LETTERS)][:255]

INFO = EngineInfo(
    name="stub",
    summary="Answers from a hash.",
    capabilities=Capabilities(concurrency=2),
    limits=Limits(options=255, state_bytes=100_000),
    needs_model=False,
    options=(
        OptionSpec(name="delay_ms", type=float, default=0.0, help="How long an answer takes."),
        OptionSpec(name="places", type=int, default=2, help="Requests at once."),
    ),
)


class StubEngine(LocalEngine):
    """Looks at the state for what to do: `DIE` dies, `CRASH` has a defect."""

    ready = True

    def __init__(self, options: Mapping[str, Any]) -> None:
        self.info, self.limits = INFO, INFO.limits
        self.capabilities = attrs.evolve(INFO.capabilities, concurrency=options["places"])
        self.vocabulary = Vocabulary(labels={label: number for number, label in enumerate(LABELS)})
        self.asked = 0
        self._delay: float = options["delay_ms"] / 1e3

    def footprint(self) -> Footprint:
        return Footprint(weights=0)

    def start(self) -> None:
        pass

    def close(self) -> None:
        pass

    def evidence(self, plans: Sequence[Plan], cancelled: Callable[[], bool]) -> Sequence[Outcome]:
        self.asked += 1
        time.sleep(self._delay)
        return [self._outcome(plan) for plan in plans]

    def _outcome(self, plan: Plan) -> Outcome:
        text = plan.rows[0].text()
        if "DIE" in text:
            raise EngineDied("It ended with signal 9.", remedy="Ask again.", engine="stub", log="secret log line")
        if "CRASH" in text:
            raise ZeroDivisionError("a defect")
        scores = [TokenScores(logprobs=_logprobs(row.text(), len(row.labels))) for row in plan.rows]
        tokens = sum(len(row.text()) // 4 for row in plan.rows)
        return Outcome(
            evidence=tuple(scores),
            cache=CacheReport(scope="state", status="hit", reused_tokens=7),
            prefill_ms=1.0,
            engine_ms=1.0,
            prompt_tokens=tokens,
        )


def _logprobs(text: str, count: int) -> tuple[float, ...]:
    raw = [1 + hashlib.sha256(f"{number}{text}".encode()).digest()[0] for number in range(count)]
    return tuple(math.log(value / sum(raw)) for value in raw)


class Plugin:
    """The hooks, as a module would have them."""

    @staticmethod
    @hookimpl
    def tiebreak_engine() -> EngineInfo:
        return INFO

    @staticmethod
    @hookimpl
    def tiebreak_load(options: Mapping[str, Any]) -> StubEngine:
        return StubEngine(options)


def decider(**options: Any) -> Decider:
    """A Decider on the stub alone."""
    registry = Registry()
    registry.add(Plugin, "stub")
    return Decider("stub", registry=registry, pool=Pool(), **options)


def main() -> None:
    """Serve the stub; the first line printed is the URL."""
    from tiebreak.serve.app import create_app
    from tiebreak.serve.runner import run
    from tiebreak.serve.settings import Settings

    options, settings = (json.loads(text) for text in sys.argv[1:3])
    chosen = Settings(**settings)
    with decider(**options) as answering:
        run(create_app(answering, chosen), chosen, lambda url: print(url, flush=True))
    print("drained", flush=True)


if __name__ == "__main__":
    main()
