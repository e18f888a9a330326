"""Every error that tiebreak raises, in one tree.

TiebreakError
├── InvalidRequest          the caller's input, found wrong before any I/O
│   └── ContextOverflow     the prompt is longer than the engine's window
├── Unsupported             the engine, model or stage does not do this
├── EngineUnavailable       not installed, no binary, a broken plugin
│   └── ModelUnavailable    the model file cannot be found, fetched or trusted
├── MemoryRefused           loading would not fit, or a running engine was stopped by the guard
└── EngineError             an engine was reached and something went wrong
    ├── EngineStartError    it never became ready
    ├── EngineDied          its process ended under us
    ├── EngineHung          no answer before the deadline
    ├── EngineOverloaded    too many requests, here or there
    │   └── RateLimited     more than the account may send
    ├── BadReply            an answer that cannot be believed
    ├── AuthError           the key is missing or refused
    └── QuotaError          out of credit

Each one says what failed, who said so and what to do next. `exit_code` is what the command line returns.
"""

from __future__ import annotations

__all__ = [
    "AuthError",
    "BadReply",
    "ContextOverflow",
    "EngineDied",
    "EngineError",
    "EngineHung",
    "EngineOverloaded",
    "EngineStartError",
    "EngineUnavailable",
    "InvalidRequest",
    "MemoryRefused",
    "ModelUnavailable",
    "QuotaError",
    "RateLimited",
    "TiebreakError",
    "Unsupported",
]


class TiebreakError(Exception):
    """The root: catch this to catch everything that tiebreak raises on purpose.

    Args:
        message: what failed, with the names and numbers that matter.
        remedy: what to do next, one sentence.
        engine: the engine that was asked, where one was.
        log: the tail of the engine's log, where there is one.

    Attributes:
        build: the build of the engine that ran, set by whoever knows it.
    """

    exit_code = 4

    def __init__(self, message: str, *, remedy: str = "", engine: str = "", log: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy
        self.engine = engine
        self.log = log
        self.build = ""

    def __str__(self) -> str:
        who = f"{self.engine} ({self.build})" if self.engine and self.build else self.engine
        text = f"{who}: {self.message}" if who else self.message
        if self.remedy:
            text = f"{text} {self.remedy}"
        if self.log:
            text = f"{text}\nThe end of the engine's log:\n{self.log}"
        return text

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.args, self.__dict__))


class InvalidRequest(TiebreakError, ValueError):
    """The request is wrong; nothing was sent. The message names the argument and what it should be."""

    exit_code = 2


class ContextOverflow(InvalidRequest):
    """The prompt is longer than the window; it was refused whole, never cut.

    Args:
        message: what was too long.
        tokens: length of the prompt in tokens, where known.
        window: tokens that fit in one request, where known.
        remedy: the setting that raises the window.
        engine: the engine that was asked.
    """

    def __init__(
        self,
        message: str,
        *,
        tokens: int | None = None,
        window: int | None = None,
        remedy: str = "",
        engine: str = "",
        log: str = "",
    ) -> None:
        super().__init__(message, remedy=remedy, engine=engine, log=log)
        self.tokens = tokens
        self.window = window


class Unsupported(TiebreakError):
    """The engine, the model or a stage says that it does not do this."""

    exit_code = 2


class EngineUnavailable(TiebreakError):
    """The engine cannot be used here: not installed, no binary, or its plugin is broken (cause chained)."""

    exit_code = 3


class ModelUnavailable(EngineUnavailable):
    """The model cannot be found, fetched or trusted; the message names file and sizes."""


class MemoryRefused(TiebreakError):
    """The guard refused a load or stopped a run; the message says the sum."""

    exit_code = 5


class EngineError(TiebreakError):
    """An engine was started or asked, and it failed."""


class EngineStartError(EngineError):
    """The engine never became ready."""

    exit_code = 3


class EngineDied(EngineError):
    """The engine's process ended; the message names the exit status or signal and the uptime."""


class EngineHung(EngineError):
    """No answer before the deadline. The engine may still be working on it."""


class EngineOverloaded(EngineError):
    """Too many requests: our queue is full, or the engine said so.

    Args:
        message: which queue.
        retry_after: seconds that the engine asked us to wait, where it said.
        remedy: what to do next.
        engine: the engine that was asked.
    """

    def __init__(
        self,
        message: str,
        *,
        retry_after: float | None = None,
        remedy: str = "",
        engine: str = "",
        log: str = "",
    ) -> None:
        super().__init__(message, remedy=remedy, engine=engine, log=log)
        self.retry_after = retry_after


class RateLimited(EngineOverloaded):
    """The account sends more than it may; the engine itself has room. Attributes as in `EngineOverloaded`."""


class BadReply(EngineError):
    """The engine answered something that cannot be believed; nothing was guessed from it."""


class AuthError(EngineError):
    """The key is missing or refused. The key itself is never in the message."""


class QuotaError(EngineError):
    """The account has no credit left."""


def _rebuild(kind: type[TiebreakError], args: tuple[object, ...], state: dict[str, object]) -> TiebreakError:
    """Errors cross process borders (workers, isolated engines): pickle must not call `__init__`."""
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(state)
    return error
