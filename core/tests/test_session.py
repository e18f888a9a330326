"""Stages that fit, observers that cannot harm, receipts that tell settings apart."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import psutil
import pytest

import tiebreak
from tiebreak import Decider, InvalidRequest, Request, Unsupported, choice

Make = Callable[..., Decider]
QUESTION = {"q": choice(None, ["a", "b", "c"])}


def test_stages_that_do_not_fit_are_refused_at_open_with_the_reason(decider: Make) -> None:
    with pytest.raises(
        Unsupported, match="readout 'distribution' needs finished distributions, but this engine returns"
    ):
        decider(readout="distribution").start()


def test_unknown_stages_suggest(decider: Make) -> None:
    with pytest.raises(InvalidRequest, match="Did you mean 'decider'"):
        decider(layout="decidr").start()
    with pytest.raises(InvalidRequest, match="There is no cache 'of'"):
        decider(cache="of").start()


def test_a_fingerprint_changes_with_what_can_change_an_answer_and_with_nothing_else(decider: Make) -> None:
    def fingerprint(**options: Any) -> str:
        return decider(**options).decide("x", QUESTION).receipt.fingerprint

    base = fingerprint()
    assert fingerprint() == base
    assert fingerprint(timeout=5.0, queue_limit=7) == base
    changed = [fingerprint(layout="schema-first"), fingerprint(temperature=2.0), fingerprint(cache="off")]
    assert len({base, *changed}) == 4


def test_observers_see_each_request_and_change_nothing(decider: Make) -> None:
    seen: list[object] = []

    @contextlib.contextmanager
    def watching(request: Request) -> Iterator[None]:
        seen.append(request.state)
        yield
        seen.append("done")

    @contextlib.contextmanager
    def swallowing(request: Request) -> Iterator[None]:
        with contextlib.suppress(BaseException):
            yield

    def breaking(request: Request) -> Any:
        raise RuntimeError("an observer's own trouble")

    made = decider().start()
    made.session.observers = (watching, swallowing, breaking)
    with pytest.warns(UserWarning, match="an observer's own trouble"):
        decision = made.decide("x", QUESTION)
    assert decision["q"].probabilities == decider().decide("x", QUESTION)["q"].probabilities
    assert seen == ["x", "done"]
    with pytest.raises(InvalidRequest):
        made.decide("x" * 10, {"q": choice(None, [f"{i}" for i in range(99)])})


def test_a_closed_decider_says_so(decider: Make) -> None:
    made = decider()
    with made:
        made.choose("x", ["a", "b"])
    made.close()
    with pytest.raises(InvalidRequest, match="closed"):
        made.choose("x", ["a", "b"])


def test_the_module_functions_share_one_decider(http_stub: ModuleType, stub: Any) -> None:
    used = tiebreak.use("stub", url=stub.url, registry=http_stub.registry())
    try:
        assert tiebreak.default() is used
        assert tiebreak.choose("x", ["a", "b"]).value in ("a", "b")
        assert tiebreak.check("x", "Is it?").value in (True, False)
        assert tiebreak.rate("x", "How?", ["low", "high"]).value in ("low", "high")
        assert set(tiebreak.decide("x", QUESTION).answers) == {"q"}
        with pytest.raises(InvalidRequest, match="no memory limit 'overide'"):
            tiebreak.memory_limits(overide=True)
    finally:
        tiebreak.shutdown()
        tiebreak.shutdown()


def test_10000_decisions_leave_nothing_behind(http_stub: ModuleType, stub: Any) -> None:
    program = textwrap.dedent(
        f"""
        import importlib.util, sys, gc, psutil, threading
        spec = importlib.util.spec_from_file_location("http_stub", {http_stub.__file__!r})
        module = importlib.util.module_from_spec(spec); sys.modules["http_stub"] = module
        spec.loader.exec_module(module)
        import tiebreak
        d = tiebreak.Decider("stub", url={stub.url!r}, registry=module.registry())
        me = psutil.Process()
        def ask(n):
            for i in range(n):
                d.choose(f"state {{i}}", ["a", "b", "c"])
            gc.collect()
        ask(1000)
        before = me.memory_info().rss, me.num_fds(), threading.active_count()
        ask(9000)
        after = me.memory_info().rss, me.num_fds(), threading.active_count()
        print(after[0] - before[0], after[1] - before[1], after[2] - before[2], after[0])
        """
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr
    grown, files, threads, rss = map(int, done.stdout.split())
    assert grown < 5 << 20
    assert files <= 0
    assert threads == 0
    assert rss < 80 << 20


def test_the_answer_as_json_is_complete(decider: Make) -> None:
    out = decider().decide("x", QUESTION).as_dict()
    assert set(out) == {"answers", "timings_ms", "cache", "receipt"}
    assert set(out["answers"]["q"]) >= {
        "kind", "value", "probabilities", "probability", "margin", "coverage", "approximate", "calibrated",
    }  # fmt: skip
    assert set(out["timings_ms"]) == {
        "queue",
        "layout",
        "transport",
        "prefill",
        "restore",
        "readout",
        "total",
        "engine",
    }


def test_nothing_of_ours_stays_open_in_this_process() -> None:
    children = [
        child for child in psutil.Process(os.getpid()).children(recursive=True) if "keeper" in str(child.cmdline())
    ]
    assert children == []
