"""Lifecycle: nothing starts early, everything is gone after close."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from tiebreak.engine import LocalEngine
from tiebreak.errors import EngineError, InvalidRequest
from tiebreak_conformance.claims import Topic, check
from tiebreak_conformance.samples import state
from tiebreak_conformance.subject import refused, server_of

if TYPE_CHECKING:
    from tiebreak.decider import Decider
    from tiebreak_conformance.subject import Subject

__all__ = ["LifecycleChecks"]


class LifecycleChecks(Topic):
    """Nothing starts early, everything is gone after close."""

    @check(
        "LIFE-01",
        since="0.1",
        claim="Nothing starts before the first question: a Decider and its session cost nothing.",
        note="tiebreak_load makes an object; loading belongs into start (local) or launch and greeting (wire).",
    )
    def test_life_01_starts_late(self, subject: Subject) -> None:
        session = subject.open(apart=True).session
        if isinstance(session.engine, LocalEngine):
            assert not session.engine.ready, "it is loaded before anybody asked"
        else:
            server = session.opened.server
            assert server is not None and server.process is None, "its process runs before anybody asked"
            assert not server.ready, "it was greeted before anybody asked"

    @check(
        "LIFE-02",
        since="0.1",
        claim="Starting twice is starting once.",
        note="start returns at once where the model is loaded.",
    )
    def test_life_02_start_is_idempotent(self, subject: Subject) -> None:
        before = subject.ask(state("LIFE-02"))
        process = _pid(subject.decider)
        subject.decider.start().start()
        assert _pid(subject.decider) == process, "a second process was started"
        subject.same(before, subject.ask(state("LIFE-02")), "after a second start")

    @check(
        "LIFE-03",
        since="0.1",
        claim="Closing twice, or without ever having started, is no error.",
        note="Engine.close does nothing the second time.",
    )
    def test_life_03_close_is_idempotent(self, subject: Subject) -> None:
        subject.open(apart=True).close()
        unused = subject.open(apart=True)
        engine = unused.session.engine
        unused.close()
        unused.close()
        if isinstance(engine, LocalEngine):
            engine.close()

    @check(
        "LIFE-04",
        since="0.1",
        claim="After close the engine is gone: it is not ready, and a closed Decider refuses to answer.",
        note="LocalEngine.ready is false after close; weights and contexts are freed there.",
    )
    def test_life_04_close_closes(self, subject: Subject) -> None:
        decider = subject.open(apart=True).start()
        decider.session.decide  # noqa: B018  bound before it is closed
        engine = decider.session.engine
        decider.close()
        if isinstance(engine, LocalEngine):
            assert not engine.ready, "it still calls itself ready"
        error = refused(lambda: decider.choose(state("LIFE-04"), ["a", "b"]), InvalidRequest)
        assert "closed" in str(error), f"the error does not say why: {error}"

    @check(
        "LIFE-05",
        since="0.1",
        claim="Close leaves no thread, no process and no open port.",
        note="Join worker threads and end children in close; the core ends processes that it started.",
    )
    def test_life_05_leaves_nothing(self, subject: Subject) -> None:
        subject.ask(state("LIFE-05"))  # what is shared by all engines of this kind is there now
        threads, children = set(threading.enumerate()), _children()
        decider = subject.open(apart=True)
        decider.choose(state("LIFE-05"), ["a", "b"])
        port, pid = _port(decider), _pid(decider)
        decider.close()
        assert _soon(subject, lambda: not set(threading.enumerate()) - threads), (
            f"threads are left: {sorted(t.name for t in set(threading.enumerate()) - threads)}"
        )
        assert _soon(subject, lambda: not _children() - children), (
            f"processes are left: {sorted(_children() - children)}"
        )
        if pid is not None and port is not None:
            assert _soon(subject, lambda: not _listens(port)), f"port {port} is still open"

    @check(
        "LIFE-06",
        since="0.1",
        claim="An engine that was closed and opened again answers as before.",
        note="Nothing that answers depend on may live outside the engine object, or be random.",
    )
    def test_life_06_reopens(self, subject: Subject) -> None:
        with subject.open(apart=True) as first:
            before = first.choose(state("LIFE-06"), ["billing", "shipping"])
        with subject.open(apart=True) as second:
            subject.same(before, second.choose(state("LIFE-06"), ["billing", "shipping"]), "after reopening")

    @check(
        "LIFE-07",
        since="0.1",
        claim="Two Deciders share one engine, and closing one leaves the other working.",
        note="Engines keep no account of who uses them: the pool does.",
    )
    def test_life_07_is_shared(self, subject: Subject) -> None:
        before = subject.ask(state("LIFE-07"))
        other = subject.open()
        assert other.session.engine is subject.engine, "a second engine was opened"
        other.close()
        subject.same(before, subject.ask(state("LIFE-07")), "after another Decider was closed")

    @check(
        "LIFE-08",
        since="0.1",
        claim="A killed engine process is a typed error or is restarted, and the next answer is as before.",
        note="launch must give the same command again; nothing learnt from the dead process may be kept.",
    )
    def test_life_08_survives_a_kill(self, subject: Subject) -> str | None:
        if not subject.is_ours:
            return "no process of ours runs"
        with subject.open(apart=True) as decider:
            before = decider.choose(state("LIFE-08"), ["billing", "shipping"])
            process = _pid(decider)
            assert process is not None
            os.kill(process, signal.SIGKILL)
            with contextlib.suppress(EngineError):
                decider.choose(state("LIFE-08"), ["billing", "shipping"])
            after = decider.choose(state("LIFE-08"), ["billing", "shipping"])
            subject.same(before, after, "after its process was killed")
        return None


def _pid(decider: Decider) -> int | None:
    server = server_of(decider)
    return server.process.pid if server and server.process else None


def _port(decider: Decider) -> int | None:
    server = server_of(decider)
    return int(server.url.rpartition(":")[2]) if server and server.process else None


def _children() -> set[int]:
    import psutil

    return {child.pid for child in psutil.Process().children(recursive=True)}


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _soon(subject: Subject, true: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + subject.target.patience
    while not true():
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.02)
    return True
