"""What the supervisor is given: a command line, a readiness check and the limits of a process."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

import attrs

from tiebreak.errors import InvalidRequest
from tiebreak.launch import looks_secret

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["Command", "Probe", "ProcessOptions", "Readiness"]


def _as_tuple(argv: Iterable[str]) -> tuple[str, ...]:
    if isinstance(argv, str):
        raise InvalidRequest("argv must be a sequence of arguments, not one string.")
    return tuple(argv)


@attrs.frozen(kw_only=True)
class Command:
    """The command line of an engine.

    Args:
        argv: program and arguments; `{port}` in any of them is replaced by the chosen port.
        env: variables set on top of this process's environment. Keys belong here: other users of
            the machine can read a command line. Their values stay out of reprs and log tails. `{token}`
            in a value is replaced by a secret of this process, `tiebreak.keepers.token()`.
        cwd: working directory, None for this process's own.

    Raises:
        InvalidRequest: no program, a port that is not asked for, or a key on the command line.
    """

    argv: tuple[str, ...] = attrs.field(converter=_as_tuple)
    env: Mapping[str, str] = attrs.field(factory=dict, repr=lambda env: f"<{', '.join(env)}>")
    cwd: str | None = None

    def __attrs_post_init__(self) -> None:
        if not self.argv:
            raise InvalidRequest("a command needs a program to start; argv is empty.")
        if not any("{port}" in argument for argument in self.argv):
            raise InvalidRequest(
                "no argument of the command holds {port}, so the engine would choose its own port.",
                remedy='Pass it where the engine expects it, as in ("--port", "{port}").',
            )
        for name, value in self.env.items():
            if looks_secret(name, value) and any(value in argument for argument in self.argv):
                raise InvalidRequest(
                    f"the value of {name} is on the command line, where every user can read it.",
                    remedy="Hand keys over in env only.",
                )

    def on_port(self, port: int) -> tuple[str, ...]:
        """The command line for one port."""
        return tuple(argument.replace("{port}", str(port)) for argument in self.argv)


@attrs.frozen(kw_only=True)
class Readiness:
    """What a readiness check found.

    Args:
        state: "ready"; "loading", also for a refused connection or a check that timed out; or
            "stranger", when the answer proves that this is not the engine that was started.
        text: what the engine said, or why it is a stranger.
    """

    state: Literal["ready", "loading", "stranger"]
    text: str = ""


class Probe(Protocol):
    """An engine's own check that it is ready and that it is the one that was started."""

    def __call__(self, url: str, timeout: float) -> Readiness:
        """Asks once.

        Args:
            url: `http://127.0.0.1:PORT`.
            timeout: seconds after which the check has to return "loading".
        """
        ...


@attrs.frozen(kw_only=True)
class ProcessOptions:
    """The limits under which an engine process runs.

    Args:
        load_timeout: seconds from start to ready; apart from any answer's deadline.
        grace: seconds between SIGTERM and SIGKILL.
        log_bytes: bytes of output kept at least; twice that at most is on disk.
        log_dir: a directory where logs stay after the engine; None for a temporary one.
        restarts: crashes after which the engine is started again, before it counts as a crash loop.
        backoff: seconds before the first restart, doubled for each further one.
        crash_window: seconds in which crashes without an answer between them are counted together.
        death_signal: on Linux, let the kernel kill the engine should its keeper be killed.

    Raises:
        InvalidRequest: a limit is not a positive number.
    """

    load_timeout: float = 180.0
    grace: float = 5.0
    log_bytes: int = 1 << 20
    log_dir: Path | None = None
    restarts: int = 1
    backoff: float = 0.5
    crash_window: float = 300.0
    death_signal: bool = True

    def __attrs_post_init__(self) -> None:
        for name in ("load_timeout", "grace", "log_bytes", "crash_window"):
            if not getattr(self, name) > 0:
                raise InvalidRequest(f"{name} must be more than 0, not {getattr(self, name)!r}.")
        for name in ("restarts", "backoff"):
            if not getattr(self, name) >= 0:
                raise InvalidRequest(f"{name} must be 0 or more, not {getattr(self, name)!r}.")
