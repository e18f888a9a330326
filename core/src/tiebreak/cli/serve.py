"""`tiebreak serve`: the System One gateway over any engine."""

from __future__ import annotations

import importlib.util
import logging
import os
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

import attrs
import click

from tiebreak.cli import streams
from tiebreak.cli.progress import ProgressBar
from tiebreak.cli.settings import Settings, flags
from tiebreak.errors import EngineUnavailable, InvalidRequest

if TYPE_CHECKING:
    from tiebreak.serve.settings import Settings as Serving

__all__ = ["command"]

F = TypeVar("F", bound=Callable[..., Any])

QUEUE = 64
EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104  named here in order to warn


def _serving_flags(command: F) -> F:
    """Add the flags of the gateway itself, which a command's function gets as keywords."""
    for decorate in reversed(
        (
            click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="Where it listens."),
            click.option("--port", type=int, default=8765, show_default=True, help="0 takes a free one."),
            click.option(
                "--api-key-env", metavar="VAR", help="Environment variable with the key that clients must send."
            ),
            click.option(
                "--alias", metavar="NAME", multiple=True, help="Another model name to answer to; may be repeated."
            ),
            click.option(
                "--queue", type=int, default=QUEUE, show_default=True, help="Requests that may wait; then 503."
            ),
            click.option("--max-body", type=int, metavar="BYTES", help="Largest request body.  [default: 4 MiB]"),
            click.option("--decimals", type=int, help="Round probabilities; full floats without it."),
            click.option(
                "--drain", type=float, metavar="SECONDS", help="For requests under way at SIGTERM.  [default: 30]"
            ),
        )
    ):
        command = decorate(command)
    return command


@click.command("serve", short_help="Serve an engine over HTTP (System One), with a page at /.")
@_serving_flags
@flags
def command(**given: Any) -> None:
    """Serve an engine as POST /v1/systemone, so that any client of that protocol can ask it.

    Also served: GET /v1/models, /health, /metrics (Prometheus) and a page for people at /. The URL is printed to
    standard output once it answers, the access log (timings and cache status, never what was asked) to standard error;
    with --json every line of it is a JSON object. SIGTERM lets requests under way finish. Needs tiebreak[serve].
    """
    queue = given.pop("queue")
    serving = _serving({name: given.pop(name) for name in _OF_THE_GATEWAY})
    settings = Settings(**given)
    if any(name == "queue_limit" for name, _ in settings.option):
        raise InvalidRequest("--queue and --option queue_limit are the same.", remedy="Leave one.")
    settings = attrs.evolve(settings, option=(*settings.option, ("queue_limit", str(queue))))
    if serving.api_key is None and serving.host in EVERYWHERE:
        streams.complain("warning: everybody who can reach this machine can ask; set a key with --api-key-env.")
    _log_to_stderr(as_json=settings.json)
    _run(settings, serving)


def _run(settings: Settings, serving: Serving) -> None:
    from tiebreak.serve.app import create_app
    from tiebreak.serve.runner import run

    with (
        _Announcement() as announcement,
        streams.reserved(),
        ProgressBar() as progress,
        settings.decider(progress) as decider,
    ):
        decider.start()
        run(create_app(decider, serving), serving, announcement.write)


class _Announcement:
    """Standard output for one line, while everything else that is written there goes to standard error."""

    def __enter__(self) -> _Announcement:
        try:
            self._to: TextIO | None = os.fdopen(os.dup(1), "w", encoding="utf-8")
        except OSError:  # closed by the caller: nobody waits for the URL
            self._to = None
        return self

    def __exit__(self, *error: object) -> None:
        if self._to is not None:
            self._to.close()

    def write(self, url: str) -> None:
        """Say where the gateway answers."""
        if self._to is not None:
            self._to.write(f"{url}\n")
            self._to.flush()


def _serving(given: Mapping[str, Any]) -> Serving:
    """The gateway's settings from its flags.

    Raises:
        EngineUnavailable: the extra is not installed.
        InvalidRequest: a value that cannot be right, or the variable that should hold the key is not set.
    """
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise EngineUnavailable(
            f"The gateway needs {', '.join(missing)}, which {'is' if len(missing) == 1 else 'are'} not installed.",
            remedy="pip install 'tiebreak[serve]'",
        )
    from tiebreak.serve.settings import Settings as Serving

    values = {name: value for name, value in given.items() if value is not None}
    key = _key(values.pop("api_key_env", None))
    return Serving(api_key=key, aliases=values.pop("alias"), **values)


_NEEDED = ("starlette", "uvicorn", "httptools", "prometheus_client")
_OF_THE_GATEWAY = ("host", "port", "api_key_env", "alias", "max_body", "decimals", "drain")


def _key(variable: str | None) -> str | None:
    """The key that clients must send.

    Raises:
        InvalidRequest: the variable that should hold it is not set: the gateway must not open itself by accident.
    """
    if variable is None:
        return None
    key = os.environ.get(variable, "").strip()
    if not key:
        raise InvalidRequest(
            f"{variable} is not set, so there is no key to ask clients for.", remedy=f"Set {variable}."
        )
    return key


def _log_to_stderr(*, as_json: bool) -> None:
    """Let the gateway's loggers write to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_json_lines() if as_json else logging.Formatter("%(asctime)s %(message)s"))
    for name in ("tiebreak.serve", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.propagate = False
        logger.setLevel(logging.INFO if name == "tiebreak.serve" else logging.WARNING)


def _json_lines() -> logging.Formatter:
    from tiebreak.serve.ledger import JsonLines

    return JsonLines()
