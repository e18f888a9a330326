"""`Pool`: the engines that are open in this process, shared by every Decider that asks for the same one."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs

from tiebreak.admission import Admission
from tiebreak.engine import Engine, EngineInfo, LocalEngine, WireEngine
from tiebreak.errors import Unsupported
from tiebreak.memory import MemoryGuard
from tiebreak.models import Model
from tiebreak.registry import Plugin
from tiebreak.session import Opened

if TYPE_CHECKING:
    from tiebreak.fleet import Fleet
    from tiebreak.server import Server

__all__ = ["PROCESS", "Pool", "Process", "Wanted"]


@attrs.frozen(kw_only=True)
class Wanted:
    """Which engine a Decider wants: two that want the same share one.

    Attributes:
        info: the engine.
        model: the resolved model, None where the engine brings its own.
        options: every option with its value, `url` among them.
        queue_limit: requests that may wait before the next is refused.
        mount: replaces the wire, for tests and recordings; never shared.
        urls: servers to attach to, where there are several; the first is among the options, too.
    """

    info: EngineInfo
    model: Model | None
    options: Mapping[str, Any]
    queue_limit: int
    mount: Any = None
    urls: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for engines that can be shared."""
        model = None if self.model is None else (self.model.reference, str(self.model.path))
        options = tuple(sorted((name, repr(value)) for name, value in self.options.items()))
        return (
            self.info.name,
            model,
            options,
            self.queue_limit,
            self.urls,
            id(self.mount) if self.mount is not None else None,
        )


class Pool:
    """Open engines by what was wanted, each with a count of the Deciders that use it.

    Args:
        guard: the memory guard that all of them are loaded under; None makes one with default limits.
    """

    def __init__(self, guard: MemoryGuard | None = None) -> None:
        self.guard = guard or MemoryGuard()
        self._lock = threading.Lock()
        self._open: dict[tuple[object, ...], _Shared] = {}

    def open(self, plugin: Plugin, wanted: Wanted) -> Opened:
        """The engine that was wanted, opened if it is not yet; one slow opening never blocks another.

        Every call takes a share, to be given back with `release`.
        """
        with self._lock:
            shared = self._open.setdefault(wanted.key, _Shared())
            shared.users += 1
        with shared.lock:
            if shared.opened is None:
                try:
                    shared.opened = _open(plugin, wanted, self.guard)
                except BaseException:
                    self._give_back(wanted.key)
                    raise
            return shared.opened

    def release(self, wanted: Wanted) -> None:
        """Give a share back; the last one closes the engine."""
        shared = self._give_back(wanted.key)
        if shared is not None and shared.opened is not None:
            _close(shared.opened)

    def close(self) -> None:
        """Close every engine, whoever still uses it. A second call does nothing."""
        with self._lock:
            everything, self._open = list(self._open.values()), {}
        for shared in everything:
            if shared.opened is not None:
                _close(shared.opened)

    def _give_back(self, key: tuple[object, ...]) -> _Shared | None:
        """Count one user less; the shared engine where it was the last."""
        with self._lock:
            shared = self._open.get(key)
            if shared is None:
                return None
            shared.users -= 1
            if shared.users:
                return None
            return self._open.pop(key)


class Process:
    """The pool that everything in this process shares, made when it is first needed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pool: Pool | None = None

    def pool(self) -> Pool:
        """The pool."""
        with self._lock:
            if self._pool is None:
                self._pool = Pool()
            return self._pool

    def close(self) -> None:
        """Close the pool with all its engines; the next call of `pool` makes a new one."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()


PROCESS = Process()


class _Shared:
    __slots__ = ("lock", "opened", "users")

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.users = 0
        self.opened: Opened | None = None


def _open(plugin: Plugin, wanted: Wanted, guard: MemoryGuard) -> Opened:
    engine = plugin.load(wanted.info, wanted.model, wanted.options)
    return Opened(
        engine=engine,
        admission=Admission(engine.capabilities.concurrency, wanted.queue_limit, wanted.info.name),
        guard=guard,
        server=_reached(plugin, engine, wanted, guard),
        plugin=f"{plugin.entry.distribution} {plugin.entry.version}",
        model=wanted.model.reference if wanted.model else "",
        options=wanted.options,
    )


def _reached(plugin: Plugin, engine: Engine, wanted: Wanted, guard: MemoryGuard) -> Server | Fleet | None:
    """What runs and reaches a wire engine: one server, or several of the same kind."""
    if not isinstance(engine, WireEngine):
        if wanted.urls:
            raise Unsupported("It computes in this process; there is no server to attach to.", engine=wanted.info.name)
        return None
    first = _server(engine, wanted, guard)
    if len(wanted.urls) < 2:
        return first
    from tiebreak.fleet import Fleet

    servers = [first]
    for url in wanted.urls[1:]:
        other = plugin.load(wanted.info, wanted.model, {**wanted.options, "url": url})
        assert isinstance(other, WireEngine)  # as the first one of the same plugin
        servers.append(_server(other, wanted, guard))
    return Fleet(servers)


def _server(engine: WireEngine, wanted: Wanted, guard: MemoryGuard) -> Server:
    # Imported here: whoever uses local engines alone needs no HTTP client.
    from tiebreak.server import Server
    from tiebreak.transport import Transport

    return Server(engine, Transport(wanted.info.name, wanted.mount, engine.pace), guard)


def _close(opened: Opened) -> None:
    if opened.server is not None:
        opened.server.close()
    elif isinstance(opened.engine, LocalEngine):
        opened.engine.close()
