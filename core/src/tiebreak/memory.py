"""The memory guard: refuses a load that would not fit, and stops a run before the machine suffers.

A model that barely fits does not fail: the machine swaps for minutes, fills its disk with swap, or
kills some process, not always the right one. So the sum is made before the load, and while a model
runs the guard looks every two seconds at what is left.
"""

from __future__ import annotations

import logging
import threading
import time
import warnings
from typing import TYPE_CHECKING, Literal, Protocol

import attrs

from tiebreak.errors import InvalidRequest, MemoryRefused, TiebreakError
from tiebreak.meminfo import GIB, MIB, MemInfo, read_meminfo, resident_size, size_text

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "Footprint",
    "Guarded",
    "MemInfo",
    "MemoryGuard",
    "MemoryLimits",
    "MemoryTightWarning",
    "read_meminfo",
]

logger = logging.getLogger(__name__)


class MemoryTightWarning(UserWarning):
    """A model fits, but with so little to spare that the machine may swap."""


@attrs.frozen(kw_only=True)
class Footprint:
    """What a model will take, in bytes.

    Args:
        weights: the tensors, which is the size of the model file or a little less.
        cache: the budget of the engine's prompt or checkpoint cache.
        kv: keys and values of all slots at full context, and recurrent states.
        compute: scratch buffers for the largest batch.

    Raises:
        InvalidRequest: a size is negative.
    """

    weights: int
    cache: int = 0
    kv: int = 0
    compute: int = 0

    def __attrs_post_init__(self) -> None:
        for name in ("weights", "cache", "kv", "compute"):
            if getattr(self, name) < 0:
                raise InvalidRequest(f"{name} must be 0 bytes or more, not {getattr(self, name)}.")

    @property
    def total(self) -> int:
        """The sum, in bytes."""
        return self.weights + self.cache + self.kv + self.compute

    def __str__(self) -> str:
        return (
            f"weights {size_text(self.weights)} + cache budget {size_text(self.cache)} + "
            f"KV {size_text(self.kv)} + compute {size_text(self.compute)} = {size_text(self.total)}"
        )


@attrs.frozen(kw_only=True)
class MemoryLimits:
    """What the guard allows. A limit of None is not watched.

    Args:
        reserve: bytes of available memory that no load may count on.
        warn_at: share of the usable memory above which a load is called tight.
        max_swap_growth: bytes by which swap may grow while an engine runs.
        min_free_disk: bytes that have to stay free on the boot disk.
        min_available: bytes of memory that have to stay available.
        max_rss: bytes that the engine and its children may hold.
        max_run_s: seconds that an engine may run.
        one_model_at_a_time: refuse a load while another model of this guard is loaded.
        override: load even what does not fit; the sum becomes a warning. Running engines are
            watched all the same.

    Raises:
        InvalidRequest: a limit is negative, or `warn_at` is not between 0 and 1.
    """

    reserve: int = 512 * MIB
    warn_at: float = 0.8
    max_swap_growth: int | None = 1 * GIB
    min_free_disk: int | None = 1 * GIB
    min_available: int | None = 256 * MIB
    max_rss: int | None = None
    max_run_s: float | None = None
    one_model_at_a_time: bool = False
    override: bool = False

    def __attrs_post_init__(self) -> None:
        if not 0 < self.warn_at <= 1:
            raise InvalidRequest(f"warn_at must be above 0 and at most 1, not {self.warn_at!r}.")
        for field in attrs.fields(MemoryLimits):
            value = getattr(self, field.name)
            if value is not None and not value >= 0:
                raise InvalidRequest(f"{field.name} must be 0 or more, not {value!r}.")


class Guarded(Protocol):
    """What the guard needs of an engine process; `tiebreak.process.EngineProcess` is one."""

    name: str

    @property
    def running(self) -> bool:
        """Whether it is ready and has not ended."""
        ...

    @property
    def pid(self) -> int | None:
        """Its process id, None when there is no process."""
        ...

    def ensure(self) -> str:
        """Starts it where it does not run, and returns its URL."""
        ...

    def halt(self, reason: TiebreakError) -> None:
        """Stops it; the next call raises `reason`."""
        ...

    def saw_rss(self, size: int) -> None:
        """Takes note of its resident size in bytes."""
        ...


@attrs.define(kw_only=True, eq=False)
class _Resident:
    """A model that this guard let in."""

    process: Guarded
    footprint: Footprint
    loaders: int = 0  # threads inside `ensure`, waiting for it to load
    watcher: threading.Thread | None = None

    @property
    def present(self) -> bool:
        return self.loaders > 0 or self.process.running


class MemoryGuard:
    """Decides what may be loaded, and watches what was; it remembers its models, no global does.

    Args:
        limits: what is allowed.
        meminfo: how to learn what the machine has left.
        interval: seconds between two looks at a running engine.
    """

    def __init__(
        self,
        limits: MemoryLimits | None = None,
        *,
        meminfo: Callable[[], MemInfo] | None = None,
        interval: float = 2.0,
    ) -> None:
        self.limits = limits or MemoryLimits()
        self._meminfo = meminfo or read_meminfo
        self._interval = interval
        self._lock = threading.Lock()
        self._residents: dict[int, _Resident] = {}  # by id of the process object

    def preflight(self, footprint: Footprint, name: str) -> Literal["ok", "tight"]:
        """Says whether a model fits, before anything is started.

        Args:
            footprint: what it will take.
            name: what to call it in messages.

        Returns:
            "ok", or "tight" (with a `MemoryTightWarning`) when little would be left.

        Raises:
            MemoryRefused: it does not fit, or another model is loaded where one is allowed.
        """
        with self._lock:
            return self._judge(footprint, name, self._present())

    def ensure(self, process: Guarded, footprint: Footprint) -> str:
        """Returns the URL of an engine, which is judged before it is started and watched after.

        Only the judgement is serialised: a slow load never holds up another model.

        Args:
            process: the engine.
            footprint: what its model will take.

        Raises:
            MemoryRefused: as for `preflight`, or the guard has stopped this engine.
            EngineStartError: it could not be started.
        """
        if process.running:
            return process.ensure()
        with self._lock:
            present = self._present()
            resident = self._residents.get(id(process))
            if resident is None:
                self._judge(footprint, process.name, present)
                resident = _Resident(process=process, footprint=footprint)
                self._residents[id(process)] = resident
            resident.loaders += 1
        try:
            self._look_after(resident)
            return process.ensure()
        finally:
            with self._lock:
                resident.loaders -= 1

    def watch(self, process: Guarded, footprint: Footprint | None = None) -> None:
        """Watches a running engine from a thread of its own, until it ends; safe to repeat.

        When a limit is crossed the engine is stopped and its next call raises `MemoryRefused`.

        Args:
            process: the engine.
            footprint: what it was expected to take; holding more is logged as a warning, once.
        """
        with self._lock:
            self._present()
            resident = self._residents.setdefault(
                id(process),
                _Resident(process=process, footprint=footprint or Footprint(weights=0)),
            )
        self._look_after(resident)

    def _present(self) -> list[_Resident]:
        """The models that are loaded or loading; those that have gone are forgotten."""
        self._residents = {key: one for key, one in self._residents.items() if one.present}
        return list(self._residents.values())

    def _judge(self, footprint: Footprint, name: str, present: list[_Resident]) -> Literal["ok", "tight"]:
        if present and self.limits.one_model_at_a_time:
            names = ", ".join(f"{one.process.name} ({size_text(one.footprint.total)})" for one in present)
            raise MemoryRefused(
                f"one model at a time: {names} is loaded.",
                remedy="Stop it with tiebreak.shutdown(), or allow several with "
                "tiebreak.memory_limits(one_model_at_a_time=False).",
                engine=name,
            )
        info = self._meminfo()
        # What is still loading is not yet missing from the available memory.
        pending = sum(one.footprint.total for one in present if not one.process.running)
        usable = info.available - self.limits.reserve - pending
        figures = f"{footprint}; available {size_text(info.available)}"
        if self.limits.reserve:
            figures += f" - reserve {size_text(self.limits.reserve)}"
        if pending:
            figures += f" - other loads under way {size_text(pending)}"
        figures += f" = {size_text(usable)}"
        if footprint.total > usable and not self.limits.override:
            raise MemoryRefused(
                f"the model does not fit and was not loaded: {figures}.",
                remedy="Choose a smaller model, context or cache, or free memory; to load it all the same, "
                "call tiebreak.memory_limits(override=True), or pass --memory-override.",
                engine=name,
            )
        if footprint.total > self.limits.warn_at * usable:
            fit = "does not fit, loaded by override" if footprint.total > usable else "barely fits"
            warnings.warn(f"{name}: the model {fit}: {figures}.", MemoryTightWarning, stacklevel=3)
            return "tight"
        return "ok"

    def _look_after(self, resident: _Resident) -> None:
        with self._lock:
            if resident.watcher and resident.watcher.is_alive():
                return
            before = self._meminfo()  # here, so that a machine that cannot be read is an error here
            resident.watcher = threading.Thread(
                target=self._watch,
                args=(resident, before),
                name=f"tiebreak-{resident.process.name}-memory",
                daemon=True,
            )
            resident.watcher.start()

    def _watch(self, resident: _Resident, before: MemInfo) -> None:
        began = time.monotonic()
        pause = threading.Event()
        expected, process = resident.footprint.total, resident.process
        warned = expected == 0
        while resident.present:
            rss = resident_size(process.pid)
            if rss:
                process.saw_rss(rss)
            if rss > expected and not warned:
                warned = True
                logger.warning(
                    "%s holds %s, more than was added up for it: %s",
                    process.name,
                    size_text(rss),
                    resident.footprint,
                )
            now = self._meminfo()
            crossed = self._crossed(before, now, rss, time.monotonic() - began)
            if crossed:
                process.halt(
                    MemoryRefused(
                        f"the memory guard stopped it: {crossed}. At that moment: {now}, "
                        f"and the engine held {size_text(rss)}.",
                        remedy="Choose a smaller model, context or cache, or raise that limit.",
                    )
                )
                return
            pause.wait(self._interval)

    def _crossed(self, before: MemInfo, now: MemInfo, rss: int, elapsed: float) -> str:
        """Which limit was crossed, with its figures; empty when none was."""
        limits = self.limits
        grown = now.swap_used - before.swap_used
        too_much = (
            ("max_swap_growth", limits.max_swap_growth, "swap grew by", grown),
            ("max_rss", limits.max_rss, "the engine grew to", rss),
        )
        too_little = (
            ("min_free_disk", limits.min_free_disk, "free disk fell to", now.disk_free),
            ("min_available", limits.min_available, "available memory fell to", now.available),
        )
        crossed = [row for row in too_much if row[1] is not None and row[3] > row[1]]
        crossed += [row for row in too_little if row[1] is not None and row[3] < row[1]]
        for name, limit, what, found in crossed:
            return f"{what} {size_text(found)} ({name} {size_text(limit or 0)})"
        if limits.max_run_s is not None and elapsed > limits.max_run_s:
            return f"it ran for {elapsed:.0f} s (max_run_s {limits.max_run_s:g})"
        return ""
