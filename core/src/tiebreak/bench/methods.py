"""`Wish` and `Loaded`: the methods that are to be measured, and one of them while it is in memory, alone."""

from __future__ import annotations

import socket
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import attrs

from tiebreak.answers import Decision
from tiebreak.bench.machine import Peak
from tiebreak.bench.records import Method, Skipped
from tiebreak.decider import Decider
from tiebreak.engine import EngineInfo, LocalEngine
from tiebreak.errors import EngineError, EngineUnavailable, InvalidRequest
from tiebreak.memory import MemoryGuard, MemoryTightWarning
from tiebreak.models import Model, resolve
from tiebreak.names import unknown
from tiebreak.pool import PROCESS, Pool
from tiebreak.ports import LOOPBACK
from tiebreak.questions import JSON, Question
from tiebreak.registry import Registry
from tiebreak.server import Server
from tiebreak.session import DecisionWarning
from tiebreak.settings import CORE_OPTIONS, Settings

__all__ = ["Field", "Loaded", "Wish", "computed", "load", "model_of", "quietly", "timed"]

PORT_FREE_WITHIN = 10.0  # seconds


@attrs.frozen(kw_only=True)
class Wish:
    """A method that is to be measured.

    Attributes:
        engine, model, layout: names, None for the engine's own.
        options: of the engine, those that differ from its defaults.
        cache: policy, None for the engine's own.
        url: of a running server that is attached to, None to start one.
    """

    engine: str
    model: str | None = None
    layout: str | None = None
    cache: str | None = None
    url: str | None = None
    options: Mapping[str, Any] = attrs.field(factory=dict)

    @property
    def name(self) -> str:
        """What it is called before its model and layout are known for sure."""
        return " ".join(part for part in (self.engine, self.model, self.layout) if part)


@attrs.frozen(kw_only=True)
class Field:
    """What is to be compared: engines x models x layouts, with the same options as far as engines have them.

    Attributes:
        engines: names; empty for all that are installed and run on this machine.
        models: references; empty for each engine's default.
        layouts: names; empty for each engine's own.
        options: engine option -> value; an engine that has no such option goes without.
        threads: for engines that can be told.
        url: of a running server that is attached to; then there is one engine.
        registry: where engines are found.
    """

    engines: Sequence[str] = ()
    models: Sequence[str] = ()
    layouts: Sequence[str] = ()
    options: Mapping[str, Any] = attrs.field(factory=dict)
    threads: int | None = None
    url: str | None = None
    registry: Registry = attrs.field(factory=Registry)

    def infos(self) -> list[EngineInfo]:
        """The engines, in the order given.

        Raises:
            EngineUnavailable: one of them is not installed, or broken, or there is none.
            InvalidRequest: one is given twice, or none of them has an option or a layout that was asked for.
        """
        if len(set(self.engines)) < len(self.engines):
            raise InvalidRequest(f"An engine is given twice: {', '.join(self.engines)}.", remedy="Name each once.")
        if self.url is not None and len(self.engines) != 1:
            raise InvalidRequest(f"{self.url} is one server.", remedy="Name the one engine that it is with --engine.")
        if self.engines:
            infos = [self.registry.plugin(name).engine() for name in self.engines]
        else:
            infos, _ = self._installed()
        known = {spec.name for info in infos for spec in (*info.options, *CORE_OPTIONS)}
        for name in self.options:
            if name not in known:
                raise InvalidRequest(unknown("option", name, known), remedy="No engine of this run has it.")
        layouts = {name for info in infos for name in info.layouts}
        for name in self.layouts:
            if name not in layouts and ":" not in name:
                raise InvalidRequest(unknown("layout", name, layouts))
        return infos

    def wishes(self) -> tuple[list[Wish], list[Skipped]]:
        """Every method that these settings ask for, and those that an engine says it cannot be.

        Raises: see `infos`.
        """
        wishes: list[Wish] = []
        skipped = [] if self.engines else self._installed()[1]
        for info in self.infos():
            options = self._options(info)
            for model in self.models or (None,):
                for layout in self.layouts or (None,):
                    wish = Wish(engine=info.name, model=model, layout=layout, url=self.url, options=options)
                    if layout is None or layout in info.layouts or ":" in layout:
                        wishes.append(wish)
                    else:
                        skipped.append(Skipped(method=wish.name, reason=unknown("layout", layout, info.layouts)))
        return wishes, skipped

    def _installed(self) -> tuple[list[EngineInfo], list[Skipped]]:
        """The engines that run on this machine, and those whose plugins are broken.

        Somebody else's machine is only asked when it is named: every call may cost money.
        """
        infos, broken = [], []
        for name in self.registry.names() or [self.registry.default_engine()]:
            try:
                info = self.registry.plugin(name).engine()
            except EngineUnavailable as error:
                broken.append(Skipped(method=name, reason=str(error)))
                continue
            if not info.capabilities.hosted:
                infos.append(info)
        if not infos:
            raise EngineUnavailable(
                "No engine that runs on this machine is installed.",
                remedy="Install one: pip install tiebreak-embedded.",
            )
        return infos, broken

    def _options(self, info: EngineInfo) -> Mapping[str, Any]:
        has = {spec.name for spec in (*info.options, *CORE_OPTIONS)}
        threads = {} if self.threads is None else {"threads": self.threads}
        options = {name: value for name, value in {**threads, **self.options}.items() if name in has}
        Settings.of(info, options, (), None)  # a value that it does not take is an error now, not after an hour
        return options


@attrs.define(kw_only=True, eq=False)
class Loaded:
    """A method in memory, the only one there.

    Attributes:
        decider: what is asked.
        method: who it is.
        ready_ms: from the start of its process, or of loading, to ready.
        peak: what it holds at most, None where it is not ours to look into.
        wish: what it was loaded for.
    """

    decider: Decider
    method: Method
    ready_ms: float
    peak: Peak | None
    wish: Wish
    _pool: Pool
    _registry: Registry

    def beside(self, cache: str | None = None) -> Decider:
        """Another Decider on the same engine, with a session and so a ledger of its own; closed with the method.

        Args:
            cache: policy, None for that of the method.
        """
        return _decider(attrs.evolve(self.wish, cache=cache or self.wish.cache), self._registry, self._pool)

    def ask(self, state: JSON, questions: Mapping[str, Question]) -> tuple[Decision, float]:
        """See `timed`."""
        return timed(self.decider, state, questions)


def timed(decider: Decider, state: JSON, questions: Mapping[str, Question]) -> tuple[Decision, float]:
    """A decision, and the milliseconds from the call to it. Errors as in `Decider.decide`."""
    started = time.perf_counter()
    decision = decider.decide(state, questions)
    return decision, (time.perf_counter() - started) * 1e3


def computed(decision: Decision) -> float | None:
    """What the engine says that it computed for a decision, in milliseconds; None where it does not say.

    Everything of the total that is not ours and not the wire's, as `Timings` tells them apart.
    """
    spent = decision.timings
    if spent.transport is None:
        return None
    return spent.total - spent.queue - spent.layout - spent.transport - spent.readout


@contextmanager
def load(wish: Wish, registry: Registry) -> Iterator[Loaded]:
    """Load a method in a pool of its own under the memory guard, and prove afterwards that nothing of it is left.

    Raises:
        TiebreakError: it could not be started, or did not go away.
    """
    limits = attrs.evolve(PROCESS.pool().guard.limits, one_model_at_a_time=True)
    pool = Pool(MemoryGuard(limits))
    decider = _decider(wish, registry, pool)
    port: int | None = None
    try:
        session = decider.session  # imports, header and vocabulary: not what a load of the model costs
        local = session.engine if isinstance(session.engine, LocalEngine) else None
        peak = Peak(None) if local is not None else None
        started = time.perf_counter()
        decider.start()
        ready = (time.perf_counter() - started) * 1e3
        process = session.opened.server.process if isinstance(session.opened.server, Server) else None
        if process is not None:
            port = int(process.url.rpartition(":")[2])
            peak = Peak(process.pid)
        elif local is not None and local.process is not None:
            peak = Peak(local.process.pid)
        yield Loaded(
            decider=decider,
            method=_method(decider, wish, registry),
            ready_ms=ready,
            peak=peak,
            wish=wish,
            pool=pool,
            registry=registry,
        )
    finally:
        decider.close()
        pool.close()
        if port is not None:
            _prove_free(port, wish.engine)


@contextmanager
def quietly(heard: dict[str, None]) -> Iterator[None]:
    """Collect what sessions and the memory guard warn of, each once, instead of showing it in the middle of a run."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DecisionWarning)
        warnings.simplefilter("always", MemoryTightWarning)
        try:
            yield
        finally:
            for each in caught:
                heard[str(each.message)] = None


def model_of(wish: Wish, registry: Registry) -> Model | None:
    """The model of a method, fetched or made if it must be, so that no load is timed that is a download.

    Raises:
        ModelUnavailable: it cannot be found, fetched or trusted.
    """
    info = registry.plugin(wish.engine).engine()
    reference = wish.model or info.default_model
    if reference is None or info.capabilities.hosted or wish.url is not None:
        return None
    return resolve(reference, lambda: registry.models()[0], formats=info.formats)


def _decider(wish: Wish, registry: Registry, pool: Pool) -> Decider:
    return Decider(
        wish.engine,
        wish.model,
        layout=wish.layout,
        cache=wish.cache,
        url=wish.url,
        registry=registry,
        pool=pool,
        **wish.options,
    )


def _method(decider: Decider, wish: Wish, registry: Registry) -> Method:
    session = decider.session
    model = model_of(wish, registry)
    receipt = session.receipt()
    options = {name: value for name, value in session.opened.options.items() if value is not None}
    device = _device(decider.info, options)
    name = model.name if model is not None else session.opened.model
    return Method(
        id=" ".join(part for part in (receipt.engine, name, receipt.layout, "" if device == "cpu" else device) if part),
        engine=receipt.engine,
        model=name,
        layout=receipt.layout,
        readout=receipt.readout,
        cache=receipt.cache,
        device=device,
        plugin=receipt.plugin,
        engine_build=receipt.engine_version,
        model_sha256=receipt.model_sha256,
        model_bytes=model.path.stat().st_size if model is not None and model.path is not None else None,
        temperature=dict(receipt.temperature),
        threads=options.get("threads"),
        options={name: value for name, value in options.items() if isinstance(value, (str, int, float, bool))},
        fingerprint=receipt.fingerprint,
    )


def _device(info: EngineInfo, options: Mapping[str, Any]) -> str:
    """What computes, as far as the options say."""
    if info.capabilities.hosted:
        return "remote"
    if options.get("device"):
        return str(options["device"])
    layers = options.get("gpu_layers", 0)
    if options.get("cpu") or layers == 0:
        return "cpu"
    return "auto" if layers == -1 else f"gpu ({layers} layers)"


def _prove_free(port: int, engine: str) -> None:
    """Wait until nobody answers on the port; what only lingers in TIME_WAIT cannot take the next engine's calls."""
    deadline = time.monotonic() + PORT_FREE_WITHIN
    while _answers(port):
        if time.monotonic() > deadline:
            raise EngineError(
                f"Somebody still answers on port {port}, {PORT_FREE_WITHIN:g} s after the engine was stopped.",
                remedy=f"Find and end what listens on port {port}.",
                engine=engine,
            )
        time.sleep(0.05)


def _answers(port: int) -> bool:
    try:
        socket.create_connection((LOOPBACK, port), timeout=1.0).close()
    except ConnectionRefusedError:
        return False
    except OSError:  # a full backlog or a time limit: somebody is there
        return True
    return True
