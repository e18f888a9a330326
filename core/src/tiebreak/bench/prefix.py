"""`prefix`: what it gives that an engine need not compute again what it has computed: a prefix cache, off and on.

The second table of the book, and one row more: a state of about 190 tokens, one question; three questions, which take
seven prompts where a score takes one per level; two questions about a state that was asked about before; and a question
that was asked before about a new state. "Before" is twice: engines may keep only what came again.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Literal

import attrs

from tiebreak.answers import Decision
from tiebreak.bench.figures import apart
from tiebreak.bench.machine import describe, now
from tiebreak.bench.methods import Field, Loaded, Wish, load, model_of, quietly, timed
from tiebreak.bench.omissions import Omissions
from tiebreak.bench.progress import Progress
from tiebreak.bench.records import Method
from tiebreak.bench.results import PrefixRow, PrefixSection
from tiebreak.bench.statistics import measured, ratio
from tiebreak.bench.words import Words, prompt_rows, state_tokens, words_for
from tiebreak.decider import Decider
from tiebreak.engine import EngineInfo
from tiebreak.errors import InvalidRequest
from tiebreak.questions import Question

__all__ = ["PrefixPlan", "prefix"]

SCENARIOS = ("1 question", "3 questions", "2 questions, state seen before", "1 question, asked before")
ONCE_MORE = "once more"
"""A request that is there only so that the next one has been met twice before."""
WARM_UP = 2  # rounds that do not count

Way = Literal["policy", "option", "repeat"]


@attrs.frozen(kw_only=True)
class PrefixPlan:
    """What to measure: which methods, in how many rounds, with states of how many tokens."""

    field: Field
    rounds: int = 10
    tokens: int = 190
    command: str = ""


@attrs.frozen(kw_only=True)
class _Call:
    """What one call came to."""

    ms: float
    decision: Decision


def prefix(plan: PrefixPlan, progress: Progress, keep: Callable[[PrefixSection], object]) -> PrefixSection:
    """Measure every method with its prefix cache off and on.

    How a cache is switched off differs, and the notes say it: by policy (both on one loaded engine, call by call in
    turns), by the engine's option (two engines, one after the other), or not at all: then a request about a new state
    is held against the same request again.

    Raises:
        InvalidRequest, EngineUnavailable: the plan is wrong; nothing was started.
        TiebreakError: no method could be measured at all; the last one's reason.
    """
    for name, value in (("--repeat", plan.rounds), ("--tokens", plan.tokens)):
        if value < 1:
            raise InvalidRequest(f"{name} is {value}; it is at least 1.")
    wishes, skipped = plan.field.wishes()
    calls = (2 * len(SCENARIOS) + 2) * (plan.rounds + WARM_UP)
    progress.plan({wish.name: calls for wish in wishes}, {wish.name: 1 for wish in wishes})
    machine, started, began = describe(), now(), time.monotonic()
    methods: list[Method] = []
    rows: list[PrefixRow] = []
    heard: dict[str, None] = {}
    omissions = Omissions(skipped, progress)
    try:
        for wish in wishes:
            bench = _Bench(plan, wish, progress)
            try:
                with omissions.around(wish), quietly(heard):
                    model_of(wish, plan.field.registry)
                    bench.measure()
            finally:
                found = bench.found()
                if bench.method is not None and found:
                    methods.append(bench.method)
                    rows += found
                    heard[f"{wish.engine}: {_NOTES[bench.way]}"] = None
    finally:
        section = PrefixSection(
            machine=machine,
            command=plan.command,
            started=started,
            seconds=time.monotonic() - began,
            notes=list(heard),
            methods=methods,
            skipped=skipped,
            rounds=plan.rounds,
            rows=rows,
        )
        if rows:
            keep(section)
    omissions.refuse_nothing(rows)
    return section


_NOTES: Mapping[Way, str] = {
    "policy": "the cache is switched off for one request by policy; both are asked in turns on one loaded engine",
    "option": "the cache is switched off by an option, so the engine is loaded twice, with it on and then with it off",
    "repeat": "the cache cannot be switched off; off is a state that is new, on the same request once more",
}


class _Bench:
    """One method, off and on."""

    def __init__(self, plan: PrefixPlan, wish: Wish, progress: Progress) -> None:
        self.plan = plan
        self.wish = wish
        self.progress = progress
        self.registry = plan.field.registry
        self.way = _way(self.registry.plugin(wish.engine).engine())
        self.method: Method | None = None
        self.pairs: dict[str, list[tuple[_Call, _Call]]] = {}  # scenario -> (off, on), the same request
        self.sentences = 0
        self.tokens: int | None = None
        self.rows: dict[str, int] = {}

    def measure(self) -> None:
        with self._loaded(self.wish) as loaded:
            self.method = loaded.method
            if self.way == "policy":
                self._both(loaded.decider, loaded.beside("off"))
            elif self.way == "repeat":
                self._again(loaded.decider)
            else:
                on = list(self._alone(loaded.decider))
        if self.way == "option":
            without = attrs.evolve(self.wish, options={**self.wish.options, "cache_entries": 0})
            with self._loaded(without) as loaded:
                for (name, fast), (_, slow) in zip(on, self._alone(loaded.decider), strict=True):
                    self._pair(name, slow, fast)

    def found(self) -> list[PrefixRow]:
        """A row for each scenario, of the pairs that there are."""
        return [self._row(name, pairs) for name, pairs in self.pairs.items()]

    @contextmanager
    def _loaded(self, wish: Wish) -> Iterator[Loaded]:
        with load(wish, self.registry) as loaded:
            self.progress.loaded(self.wish.name, loaded.ready_ms / 1e3)
            if not self.sentences:
                self.sentences = words_for(loaded.decider, self.plan.tokens)
                self.tokens = state_tokens(loaded.decider, Words(2).state(self.sentences))
                words = Words(3)
                asked = (words.one(), words.three(), words.two(), words.one())
                for name, questions in zip(SCENARIOS, asked, strict=True):
                    self.rows[name] = prompt_rows(loaded.decider, questions)
            yield loaded

    def _both(self, on: Decider, off: Decider) -> None:
        """With the cache on first: what a request leaves behind where it is off must help nobody."""
        for name, state, questions in self._requests():
            fast = self._ask(on, state, questions)
            if name != ONCE_MORE:
                self._pair(name, self._ask(off, state, questions), fast)

    def _again(self, decider: Decider) -> None:
        """What was seen before is the same request: new, asked once more, and then again."""
        for name, state, questions in self._requests():
            if name in SCENARIOS[2:]:
                fresh = f"again {state}"
                first = self._ask(decider, fresh, questions)
                self._ask(decider, fresh, questions)
                self._pair(name, first, self._ask(decider, fresh, questions))

    def _pair(self, name: str, off: _Call, on: _Call) -> None:
        if name:
            self.pairs.setdefault(name, []).append((off, on))

    def _alone(self, decider: Decider) -> Iterator[tuple[str, _Call]]:
        for name, state, questions in self._requests():
            found = self._ask(decider, state, questions)
            if name != ONCE_MORE:
                yield name, found

    def _requests(self) -> Iterator[tuple[str, str, Mapping[str, Question]]]:
        """The scenarios of all rounds, with "" for a name where they do not count."""
        words = Words(4)
        for number in range(WARM_UP + self.plan.rounds):
            one, three, two, other = words.one(), words.three(), words.two(), words.one()
            first, second, third, fourth = (words.state(self.sentences) for _ in range(4))
            for name, state, questions in (
                (SCENARIOS[0], first, one),
                (SCENARIOS[1], second, three),
                (ONCE_MORE, second, other),
                (SCENARIOS[2], second, two),
                (ONCE_MORE, third, one),
                (SCENARIOS[3], fourth, one),
            ):
                yield (name if number >= WARM_UP or name == ONCE_MORE else ""), state, questions

    def _ask(self, decider: Decider, state: str, questions: Mapping[str, Question]) -> _Call:
        decision, ms = timed(decider, state, questions)
        self.progress.asked(self.wish.name, ms / 1e3)
        return _Call(ms=ms, decision=decision)

    def _row(self, name: str, pairs: Sequence[tuple[_Call, _Call]]) -> PrefixRow:
        answers = [(off.decision[asked], on.decision[asked]) for off, on in pairs for asked in off.decision.answers]
        assert self.method is not None
        return PrefixRow(
            method=self.method.id,
            scenario=name,
            rows=self.rows[name],
            off=measured([[off.ms for off, _ in pairs]]),
            on=measured([[on.ms for _, on in pairs]]),
            speed_up=ratio([(off.ms, on.ms) for off, on in pairs]),
            max_deviation=max(max(apart(a.probabilities, b.probabilities)) for a, b in answers),
            flips=sum(a.value != b.value for a, b in answers),
            status=dict(Counter(on.decision.cache.status for _, on in pairs)),
            state_tokens=self.tokens,
            prompt_tokens=pairs[0][0].decision.receipt.prompt_tokens,
        )


def _way(info: EngineInfo) -> Way:
    """How the cache of an engine can be switched off."""
    if "off" in info.caches and len(info.caches) > 1:
        return "policy"
    if any(spec.name == "cache_entries" and spec.minimum == 0 for spec in info.options):
        return "option"
    return "repeat"
