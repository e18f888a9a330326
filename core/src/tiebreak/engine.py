"""The contracts between the core and an engine.

An engine is one of two things. A `WireEngine` talks HTTP but does no I/O: its exchanges are generators that yield
`Call`s, are sent `Reply`s and return what they learnt; the core drives them, sync or async, live or from a recording.
(Generators, not an encode and a decode: some engines must be asked twice, for a label outside the top N, say.)
A `LocalEngine` computes in this process (or in a child of its own) when its `evidence` is called.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import attrs

from tiebreak.calls import Call, Reply, Spent
from tiebreak.errors import InvalidRequest, Unsupported
from tiebreak.evidence import Outcome
from tiebreak.ledger import Budget
from tiebreak.names import unknown
from tiebreak.options import OptionSpec
from tiebreak.plan import Plan
from tiebreak.questions import KINDS, Kind, Request

if TYPE_CHECKING:
    from tiebreak.command import Command, Readiness
    from tiebreak.memory import Footprint, Guarded
    from tiebreak.pace import Pace

__all__ = [
    "Call",
    "Capabilities",
    "ChatTurns",
    "Engine",
    "EngineInfo",
    "Limits",
    "LocalEngine",
    "OptionSpec",
    "Reply",
    "Spent",
    "Vocabulary",
    "WireEngine",
]

EvidenceKind = Literal["tokens", "distribution"]
Openness = Literal["open", "named", "fixed"]
ModelFormat = Literal["gguf", "folder"]


@attrs.frozen(kw_only=True)
class Limits:
    """What an engine accepts; None means no limit that the engine is known to have.

    Byte counts are of UTF-8. `questions` bounds one exchange: engines that can split say so themselves.
    """

    questions: int | None = None
    options: int = 255
    state_bytes: int | None = None
    min_state_bytes: int = 0
    name_bytes: int | None = None
    option_bytes: int | None = None
    window_tokens: int | None = None

    def check(self, request: Request, engine: str) -> None:
        """Refuse a request that the engine would refuse, before any I/O.

        Raises:
            InvalidRequest: naming the limit, the engine, and what was given.
        """
        count = len(request.questions)
        if self.questions is not None and count > self.questions:
            raise InvalidRequest(f"{count} questions; it takes {self.questions} at once.", engine=engine)
        size = len(request.state_text.encode())
        if self.state_bytes is not None and size > self.state_bytes:
            raise InvalidRequest(
                f"The state is {size:,} bytes; it takes {self.state_bytes:,}.",
                remedy="Shorten the state: nothing is ever cut silently.",
                engine=engine,
            )
        if size < self.min_state_bytes:
            raise InvalidRequest("The state is empty; it needs at least one character.", engine=engine)
        for name, question in request.questions.items():
            if self.name_bytes is not None and len(name.encode()) > self.name_bytes:
                raise InvalidRequest(
                    f"Question name {name[:40]!r} is longer than {self.name_bytes} bytes.",
                    engine=engine,
                )
            if len(question.options) > self.options:
                raise InvalidRequest(
                    f"Question {name!r} has {len(question.options)} options; it takes {self.options}.",
                    engine=engine,
                )
            for option in question.options:
                if self.option_bytes is not None and len(option.name.encode()) > self.option_bytes:
                    raise InvalidRequest(
                        f"Option {option.name[:40]!r} of question {name!r} is longer than {self.option_bytes} bytes.",
                        engine=engine,
                    )


@attrs.frozen(kw_only=True)
class Capabilities:
    """What an engine can do: true is tested by the conformance suite, false must refuse with `Unsupported`.

    Attributes:
        kinds: the question kinds it answers.
        evidence: `tokens` (log-probabilities of labels) or `distribution` (finished probabilities).
        coverage: it says how much mass the labels had before they were renormalised.
        independent: a question alone gets the same answer as in company.
        prefix_cache: it can reuse a prompt prefix between requests; None where only a probe can tell.
        sees_cache: its replies say what was reused.
        tolerance: largest difference in a probability between cold, warm and batched answers to the same
            question (0 where it claims that they are bit-identical).
        cancels: it stops computing when the client leaves.
        concurrency: requests that it works on at the same time.
        json_state: it takes the state as JSON and renders it itself.
        hosted: it is somebody else's machine: prompts leave this one, and each call may cost money.
        pins: it can be told to keep a prefix, so that nothing pushes it out.
    """

    kinds: tuple[Kind, ...] = KINDS
    evidence: EvidenceKind = "tokens"
    coverage: bool = True
    independent: bool = True
    prefix_cache: bool | None = False
    sees_cache: bool = False
    tolerance: float = 0.0
    cancels: bool = False
    concurrency: int = 1
    json_state: bool = False
    hosted: bool = False
    pins: bool = False

    def check(self, request: Request, engine: str) -> None:
        """Refuse a question kind that the engine does not answer.

        Raises:
            Unsupported: naming the question, the kind and what the engine does answer.
        """
        for name, question in request.questions.items():
            if question.kind not in self.kinds:
                raise Unsupported(
                    f"Question {name!r} is a {question.kind}; it answers {', '.join(self.kinds)} only.",
                    remedy="Ask it in one of those forms, or use another engine.",
                    engine=engine,
                )


@attrs.frozen(kw_only=True)
class EngineInfo:
    """What a plugin says about its engine before the engine's module is imported.

    Attributes:
        name: the engine's name, as the entry point calls it.
        summary: one line.
        capabilities, limits: the defaults; a loaded engine may narrow them.
        layouts, readouts, caches: names that it accepts; the first is its default.
        stages: how open each stage is: `open` takes any that fits, `named` those listed, `fixed` one.
        formats: what a model may be: `gguf`, one file, and `folder`, a local folder or a whole repository of the hub
            in Hugging Face format.
        options: its keyword options.
        once: options that a program which asks once and ends (the command line) uses where it is not told otherwise.
        default_model: a model reference, or None where the caller must name one.
        needs_model: False where the engine brings its own (a server that is attached to, a hosted one).
    """

    name: str
    summary: str
    capabilities: Capabilities = attrs.field(factory=Capabilities)
    limits: Limits = attrs.field(factory=Limits)
    layouts: tuple[str, ...] = ("decider",)
    readouts: tuple[str, ...] = ("letters",)
    caches: tuple[str, ...] = ("prefix", "off")
    stages: Mapping[str, Openness] = attrs.field(
        factory=lambda: {"load": "fixed", "layout": "open", "readout": "open", "cache": "named"}
    )
    formats: tuple[ModelFormat, ...] = ("gguf",)
    options: tuple[OptionSpec, ...] = ()
    once: Mapping[str, Any] = attrs.field(factory=dict)
    default_model: str | None = None
    needs_model: bool = True

    def check_options(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """All options with their values: those given, checked, and the defaults of the rest.

        Raises:
            InvalidRequest: an unknown name (with the nearest one) or a bad value.
        """
        specs = {spec.name: spec for spec in self.options}
        for name in given:
            if name not in specs:
                raise InvalidRequest(unknown("option", name, specs), engine=self.name)
        return {
            name: spec.check(given[name], self.name) if given.get(name) is not None else spec.default
            for name, spec in specs.items()
        }


@attrs.frozen(kw_only=True)
class ChatTurns:
    """A model's chat template, rendered once around a marker: what stands before and after the user's text."""

    before: str
    after: str


@attrs.frozen(kw_only=True)
class Vocabulary:
    """What a layout may need to know about the tokens of a model.

    Attributes:
        labels: spelling -> token id of the letter labels that are single tokens: A to Z, then two-letter
            ones, at most 255, in the order that they are dealt out.
        control: spellings that the tokenizer would turn into control tokens.
        chat: the chat template around the user's turn, None where the model has none or nobody knows it.
    """

    labels: Mapping[str, int] = attrs.field(factory=dict)
    control: tuple[str, ...] = ()
    chat: ChatTurns | None = None


class Engine(ABC):
    """A loaded engine, ready or able to be made ready to look at plans.

    Attributes:
        info: what its plugin said about it.
        capabilities, limits: what is true of this loaded one.
        vocabulary: what layouts may know about its tokens (empty where the engine hides them).
        version: the build that runs, for receipts; may be known only once it was started.
        model_sha256: hash of the model file, None where there is none.
        cache_budget: what its prefix cache may hold, as far as is known.
    """

    info: EngineInfo
    capabilities: Capabilities
    limits: Limits
    vocabulary: Vocabulary
    version: str = ""
    model_sha256: str | None = None
    cache_budget: Budget = Budget()

    @property
    def phases(self) -> Mapping[str, float]:
        """Milliseconds that its last start took, by phase; empty where it does not say."""
        return {}


class WireEngine(Engine):
    """An engine behind HTTP, described without any I/O: the core starts it, talks to it and stops it.

    Attributes:
        url: base URL of a running server to attach to, None where `launch` says how to start one.
        headers: sent with every call; values may be secrets and are never shown.
        load_timeout: seconds from start to ready.
        pace: the rate that its server allows, None where it allows any.
    """

    url: str | None
    headers: Mapping[str, str]
    load_timeout: float = 180.0
    pace: Pace | None = None

    @abstractmethod
    def launch(self) -> Command:
        """The command that starts the engine on a port of its own; not called where `url` is set.

        Raises:
            EngineUnavailable: no binary was found, with every place that was looked in.
        """

    @abstractmethod
    def footprint(self) -> Footprint:
        """What the engine will need in memory, for the guard; asked before it is started."""

    @abstractmethod
    def ready_call(self) -> Call:
        """The question that tells whether the engine is ready."""

    @abstractmethod
    def readiness(self, reply: Reply) -> Readiness:
        """What the reply to `ready_call` means: ready, still loading, or a stranger on the port."""

    @abstractmethod
    def greeting(self) -> Generator[Call, Reply, None]:
        """Learn what only the running engine knows, once per start: version, limits, vocabulary.

        Yields:
            calls, one at a time; each is answered with its reply, whatever its status.
        """

    @abstractmethod
    def exchange(self, plan: Plan) -> Generator[Call, Reply, Outcome]:
        """Encode a plan as calls and decode their replies.

        Yields:
            calls, one at a time; each is answered with its reply, whatever its status.

        Returns:
            evidence for every row.

        Raises:
            BadReply, ContextOverflow, EngineOverloaded, ...: what a reply means.
        """

    def tokens(self, plan: Plan) -> Generator[Call, Reply, Sequence[Sequence[Sequence[int]]]]:
        """Token ids of each piece of each row, for `explain`.

        Raises:
            Unsupported: the engine does not say how it tokenises.
        """
        yield from ()  # a generator like every other exchange
        raise Unsupported("It does not show its tokens.", engine=self.info.name)


class LocalEngine(Engine):
    """An engine that computes when it is called. Calls come from several threads; it does its own locking."""

    @property
    @abstractmethod
    def ready(self) -> bool:
        """Whether `start` would return at once: cheap, asked before every async request."""

    @abstractmethod
    def start(self) -> None:
        """Load the model; returns at once where it is loaded. Thread-safe.

        Raises:
            EngineStartError: it cannot be loaded.
            EngineUnavailable: a library is missing.
            MemoryRefused: it would not fit.
        """

    def footprint(self) -> Footprint:
        """What the engine will need in memory, for the guard; nothing, unless it says otherwise."""
        from tiebreak.memory import Footprint

        return Footprint(weights=0)

    @property
    def process(self) -> Guarded | None:
        """The child process that the memory guard has to watch, None where it computes in this one."""
        return None

    @abstractmethod
    def close(self) -> None:
        """Let go of everything, once; a second call does nothing."""

    @abstractmethod
    def evidence(self, plans: Sequence[Plan], cancelled: Callable[[], bool]) -> Sequence[Outcome]:
        """Look at the slots of several plans, together where that is cheaper.

        Args:
            plans: at least one.
            cancelled: asked before work starts; true means that nobody waits for the answer any more.

        Returns:
            one outcome per plan, in order.
        """

    def tokens(self, plan: Plan) -> Sequence[Sequence[Sequence[int]]]:
        """Token ids of each piece of each row, for `explain`.

        Raises:
            Unsupported: the engine does not say how it tokenises.
        """
        raise Unsupported("It does not show its tokens.", engine=self.info.name)

    def pin(self, plan: Plan) -> None:
        """Compute the reusable prefix of each row now and keep it until it is unpinned as often.

        Raises:
            InvalidRequest: the plan has no reusable prefix, or the cache has no room for it.
            Unsupported: the engine does not pin (`Capabilities.pins`).
        """
        raise Unsupported("It does not pin prefixes.", engine=self.info.name)

    def unpin(self, plan: Plan) -> None:
        """Take one pin away from the reusable prefix of each row; without one, nothing happens.

        Raises:
            Unsupported: the engine does not pin (`Capabilities.pins`).
        """
        raise Unsupported("It does not pin prefixes.", engine=self.info.name)
