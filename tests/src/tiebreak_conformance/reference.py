"""`ReferenceEngine`: a trusted engine in memory, whose evidence is a pure function of the prompt.

Its model is a hash. A prompt is a sequence of token ids (bytes, and one id for each control token); the state after it
is SHA-256 of those ids, and a label's score is read off SHA-256 of state and label. So every byte of a prompt matters,
equal prompts score equally everywhere, and a prefix can be restored exactly: a copy of the hash object is a checkpoint.
"""

from __future__ import annotations

import hashlib
import math
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any

import attrs

from tiebreak.answers import CacheReport
from tiebreak.engine import Capabilities, ChatTurns, EngineInfo, Limits, LocalEngine, OptionSpec, Vocabulary
from tiebreak.errors import ContextOverflow, EngineError, EngineHung
from tiebreak.evidence import Evidence, Outcome, TokenScores
from tiebreak.hookspecs import hookimpl
from tiebreak.plan import Piece, Plan, Row
from tiebreak.stages.cache import PrefixCache

if TYPE_CHECKING:
    from tiebreak.engine import Engine

__all__ = ["INFO", "ReferenceEngine", "ReferencePlugin", "evidence_of", "token_ids"]

CONTROL = ("<|im_start|>", "<|im_end|>")
LETTERS = (*ascii_uppercase, *(a + b for a in ascii_uppercase for b in ascii_uppercase))[:255]
SPREAD = 3.0
"""Scores lie between minus and plus this many nats, against 0 for all that is not a label."""

INFO = EngineInfo(
    name="reference",
    summary="A hash for a model: exact, instant, and different for every prompt.",
    capabilities=Capabilities(
        evidence="tokens",
        coverage=True,
        independent=True,
        prefix_cache=True,
        sees_cache=True,
        tolerance=0.0,
        concurrency=4,
    ),
    limits=Limits(options=255, window_tokens=6_000),
    layouts=("decider", "schema-first", "chat"),
    readouts=("letters",),
    caches=("prefix", "off"),
    needs_model=False,
    options=(
        OptionSpec(name="entries", type=int, default=4, minimum=1, help="Checkpoints that are kept."),
        OptionSpec(name="window", type=int, default=6_000, minimum=64, help="Tokens that fit in one request."),
        OptionSpec(name="salt", default="", affects_answers=True, help="Mixed into every prompt: another model."),
    ),
)


def token_ids(piece: Piece) -> list[int]:
    """The ids of a piece: its UTF-8 bytes, and 256 and up for control tokens where the piece may hold them."""
    if not piece.control:
        return list(piece.text.encode())
    ids: list[int] = []
    for part in re.split("(" + "|".join(map(re.escape, CONTROL)) + ")", piece.text):
        ids += [256 + CONTROL.index(part)] if part in CONTROL else part.encode()
    return ids


def evidence_of(plan: Plan, salt: str = "") -> list[TokenScores]:
    """The evidence that the model has for every row of a plan: what any engine around it must return."""
    return [scores(advance(begin(salt), row.pieces()), row.labels) for row in plan.rows]


def begin(salt: str) -> Any:
    """The state before any token."""
    return hashlib.sha256(salt.encode())


def advance(state: Any, pieces: Any) -> Any:
    """The state after some more pieces; the one given stays as it is."""
    after = state.copy()
    for piece in pieces:
        after.update(b"".join(id.to_bytes(2, "big") for id in token_ids(piece)))
    return after


def scores(state: Any, labels: Sequence[str]) -> TokenScores:
    """Log-probabilities of labels in a state."""
    digest = state.digest()
    logits = [_unit(digest + label.encode()) * SPREAD for label in labels]
    total = math.log(math.fsum([1.0, *map(math.exp, logits)]))
    return TokenScores(logprobs=tuple(logit - total for logit in logits))


def _unit(data: bytes) -> float:
    """A number from -1 to 1 that looks random."""
    return int.from_bytes(hashlib.sha256(data).digest()[:6], "big") / 2**47 - 1.0


class ReferenceEngine(LocalEngine):
    """The model above with a prefix cache, limits and a window.

    Args:
        options: every option of `INFO`.
        info: what it says about itself.
    """

    def __init__(self, options: Mapping[str, Any], info: EngineInfo = INFO) -> None:
        self.info = info
        self.capabilities = info.capabilities
        self.limits: Limits = attrs.evolve(info.limits, window_tokens=options["window"])
        self.vocabulary = Vocabulary(
            labels={label: 1000 + index for index, label in enumerate(LETTERS)},
            control=CONTROL,
            chat=ChatTurns(before="<|im_start|>user\n", after="<|im_end|>\n<|im_start|>assistant\n"),
        )
        self.version = "1"
        self.window: int = options["window"]
        self.entries: int = options["entries"]
        self.salt: str = options["salt"]
        self.checkpoints: OrderedDict[tuple[Piece, ...], Any] = OrderedDict()
        self._lock = threading.Lock()
        self._open = False

    @property
    def ready(self) -> bool:
        """See `LocalEngine.ready`."""
        return self._open

    def start(self) -> None:
        """See `LocalEngine.start`."""
        self._open = True

    def close(self) -> None:
        """See `LocalEngine.close`."""
        self._open = False
        with self._lock:
            self.checkpoints.clear()

    def evidence(self, plans: Sequence[Plan], cancelled: Callable[[], bool]) -> Sequence[Outcome]:
        """See `LocalEngine.evidence`."""
        if not self._open:
            raise EngineError("It is closed.", remedy="Make a new Decider.", engine=self.info.name)
        if cancelled():
            raise EngineHung("Nobody waits for this any more.", remedy="Raise timeout.", engine=self.info.name)
        with self._lock:
            return [self.outcome(plan) for plan in plans]

    def tokens(self, plan: Plan) -> Sequence[Sequence[Sequence[int]]]:
        """See `LocalEngine.tokens`."""
        return [[token_ids(piece) for piece in row.pieces()] for row in plan.rows]

    def outcome(self, plan: Plan) -> Outcome:
        """What is found for one plan; the lock is held."""
        started = time.perf_counter()
        sizes = [sum(len(token_ids(piece)) for piece in row.pieces()) for row in plan.rows]
        self.fits(max(sizes))
        reused: list[int] = []
        evicted = 0
        found = []
        for row in plan.rows:
            state, restored = self.restore(row)
            if restored:
                reused.append(sum(len(token_ids(piece)) for piece in row.prefix()))
            elif row.cut:
                evicted += self.keep(row, state)
            found.append(self.judge(advance(state, row.pieces(row.cut)), row))
        return Outcome(
            evidence=tuple(found),
            cache=self.report(plan, reused, evicted),
            prefill_ms=(time.perf_counter() - started) * 1e3,
            engine_ms=(time.perf_counter() - started) * 1e3,
            prompt_tokens=sum(sizes),
        )

    def fits(self, tokens: int) -> None:
        """Refuse a prompt that is longer than the window."""
        if tokens > self.window:
            raise ContextOverflow(
                f"The prompt is {tokens} tokens long; one request has {self.window}.",
                tokens=tokens,
                window=self.window,
                remedy="Shorten the state, or raise the option window.",
                engine=self.info.name,
            )

    def restore(self, row: Row) -> tuple[Any, bool]:
        """The state after the row's prefix, and whether it came from a checkpoint."""
        prefix = row.prefix()
        known = self.checkpoints.get(prefix) if prefix else None
        if known is None:
            return advance(begin(self.salt), prefix), False
        self.checkpoints.move_to_end(prefix)
        return known, True

    def keep(self, row: Row, state: Any) -> int:
        """Keep the state after a row's prefix; the number of checkpoints that had to go."""
        self.checkpoints[row.prefix()] = state
        gone = 0
        while len(self.checkpoints) > self.entries:
            self.checkpoints.popitem(last=False)
            gone += 1
        return gone

    def judge(self, state: Any, row: Row) -> Evidence:
        """The labels of a row in the state at its slot."""
        return scores(state, row.labels)

    def report(self, plan: Plan, reused: Sequence[int], evicted: int) -> CacheReport:
        """What the cache did for a plan."""
        if not any(row.cut for row in plan.rows):
            return CacheReport(status="off", reused_tokens=0)
        return CacheReport(
            scope=PrefixCache.scope(plan),
            status="hit" if reused else "miss",
            reused_tokens=sum(reused),
            entries=len(self.checkpoints),
            evictions=evicted,
        )


class ReferencePlugin:
    """The hooks around a reference engine, or around one that is made to be wrong.

    Args:
        make: makes the engine from its options.
        info: what it says about itself.
    """

    def __init__(self, make: Callable[[Mapping[str, Any]], Engine] = ReferenceEngine, info: EngineInfo = INFO) -> None:
        self._make = make
        self._info = info

    @hookimpl
    def tiebreak_engine(self) -> EngineInfo:
        """Describe the engine."""
        return self._info

    @hookimpl
    def tiebreak_load(self, options: Mapping[str, Any]) -> Engine:
        """Make the engine object."""
        return self._make(options)
