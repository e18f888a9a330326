"""`run`: the gateway under uvicorn, stopped so that no request that was accepted is lost."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable
from types import FrameType

import uvicorn

from tiebreak.errors import EngineUnavailable
from tiebreak.serve.joined import JoinedWrites
from tiebreak.serve.ledger import Ledger
from tiebreak.serve.settings import Settings

__all__ = ["run"]

BACKLOG = 2048
LINGER = 1.0  # seconds in which open connections are told with their next reply that it is the last one
TICK = 0.02


def run(app: Ledger, settings: Settings, announce: Callable[[str], object] = print) -> None:
    """Serve until SIGTERM or SIGINT, then drain; a second signal stops at once.

    Args:
        app: from `create_app`.
        settings: the same that the app was made with.
        announce: called with the base URL once connections are accepted.

    Raises:
        EngineUnavailable: the address cannot be listened on.
    """
    listening = _listen(settings)
    host, port = listening.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    config = uvicorn.Config(
        app,
        http=JoinedWrites,
        ws="none",  # the protocol has none, and a connection that changes hands would need all of its transport
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="on",
        backlog=BACKLOG,
        timeout_graceful_shutdown=max(1, round(settings.drain)),
    )
    try:
        _Draining(config, app, lambda: announce(f"http://{shown}:{port}")).run(sockets=[listening])
    finally:
        listening.close()


def _listen(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        return socket.create_server((settings.host, settings.port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise EngineUnavailable(
            f"{settings.host} port {settings.port} cannot be listened on: {error.strerror or error}.",
            remedy="Choose another with --port; 0 takes a free one.",
        ) from None


class _Draining(uvicorn.Server):
    """A uvicorn server that says farewell before it hangs up.

    uvicorn alone closes kept-alive connections at once, and with them a request that a client has just put on the wire.
    So for a moment after the signal nobody new is let in, every reply carries `Connection: close`, and only then are
    idle connections closed.
    """

    def __init__(self, config: uvicorn.Config, app: Ledger, announce: Callable[[], object]) -> None:
        super().__init__(config)
        self._app = app
        self._announce = announce

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """See `uvicorn.Server`."""
        await super().startup(sockets)
        if self.started:
            self._announce()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """See `uvicorn.Server`."""
        self._app.draining = True
        for server in self.servers:
            server.close()
        until = time.monotonic() + LINGER
        # uvicorn keeps a set of connections and tells nobody when one goes.
        while self.server_state.connections and time.monotonic() < until and not self.force_exit:  # noqa: ASYNC110
            await asyncio.sleep(TICK)
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """The first signal drains, the second does not wait.

        uvicorn would raise the signal again when it is done; a gateway that has drained ended well.
        """
        self.force_exit = self.should_exit
        self.should_exit = True
