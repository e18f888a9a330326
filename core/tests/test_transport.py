"""The wire: pools, event loops, threads, stale connections, deadlines, retries, proxies."""

from __future__ import annotations

import asyncio
import concurrent.futures
import email.utils
import os
import socket
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

import psutil
import pytest

from tiebreak import (
    BadReply,
    Decider,
    EngineError,
    EngineHung,
    EngineOverloaded,
    EngineStartError,
    InvalidRequest,
    choice,
)
from tiebreak.transport import check_url, is_loopback, retry_after

Make = Callable[..., Decider]
OPTIONS = ["a", "b", "c"]


def right(http_stub: ModuleType, state: str) -> list[float]:
    text = f"Context:\n{state}\n\nQuestion: Which option fits best?\nOptions:\n(A) a\n(B) b\n(C) c\nAnswer: ("
    return list(http_stub.expected(text, 3))


def test_sync_async_loops_and_threads_share_one_decider(http_stub: ModuleType, decider: Make, stub: Any) -> None:
    made = decider()

    def ask(state: str) -> None:
        assert list(made.choose(state, OPTIONS).probabilities.values()) == pytest.approx(right(http_stub, state))

    async def aask(state: str) -> None:
        answer = await made.achoose(state, OPTIONS)
        assert list(answer.probabilities.values()) == pytest.approx(right(http_stub, state))

    async def inside() -> None:
        await aask("async")
        ask("sync, in a running loop")
        await asyncio.to_thread(ask, "sync, in a thread of a loop")

    ask("sync")
    for turn in range(3):
        asyncio.run(aask(f"loop {turn}"))
    asyncio.run(inside())
    thread = threading.Thread(target=lambda: asyncio.run(aask("a loop in a thread")))
    thread.start()
    thread.join()
    ask("sync again")


@pytest.mark.parametrize("how", ["tasks", "threads"])
def test_200_at_once_are_all_right_and_none_is_mixed_up(
    how: str, http_stub: ModuleType, decider: Make, stub: Any
) -> None:
    made = decider(places=4)
    states = [f"nonce {i}" for i in range(200)]

    async def gather() -> list[Any]:
        return await asyncio.gather(*(made.achoose(state, OPTIONS) for state in states))

    if how == "tasks":
        answers = asyncio.run(gather())
    else:
        with concurrent.futures.ThreadPoolExecutor(32) as pool:
            answers = list(pool.map(lambda state: made.choose(state, OPTIONS), states))
    for state, answer in zip(states, answers, strict=True):
        assert list(answer.probabilities.values()) == pytest.approx(right(http_stub, state))
    assert stub.busiest <= 4, "never more at the engine than it has places"


def test_1000_tasks_queue_here_without_a_pool_error_and_the_wait_is_seen(decider: Make, stub: Any) -> None:
    made = decider(places=2)
    question = {"q": choice(None, OPTIONS)}

    async def gather() -> list[Any]:
        return await asyncio.gather(*(made.adecide(f"{i}", question) for i in range(1000)))

    decisions = asyncio.run(gather())
    assert len(decisions) == 1000
    assert max(d.timings.queue for d in decisions) > min(d.timings.queue for d in decisions)
    assert stub.busiest <= 2


def test_no_connection_is_left_open(decider: Make, stub: Any) -> None:
    made = decider(places=8)

    async def gather() -> None:
        await asyncio.gather(*(made.achoose(f"{i}", OPTIONS) for i in range(50)))

    made.choose("x", OPTIONS)
    before = psutil.Process().num_fds()
    for _ in range(5):
        asyncio.run(gather())
    deadline = time.monotonic() + 30
    while psutil.Process().num_fds() > before and time.monotonic() < deadline:
        time.sleep(0.02)  # the stub is in this process, too, and sees the ends of its connections a little later
    assert psutil.Process().num_fds() <= before
    made.close()
    port = stub.server_address[1]
    ours = [c for c in psutil.Process().net_connections() if c.raddr and c.raddr.port == port]
    assert [c for c in ours if c.status == "ESTABLISHED"] == []


def test_a_full_queue_is_refused_at_once(decider: Make, stub: Any) -> None:
    release = threading.Event()
    stub.fault = lambda handler: handler.path == "/answer" and not release.wait(20)
    made = decider(places=1, queue_limit=2).start()
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        waiting = [pool.submit(made.choose, f"{i}", OPTIONS) for i in range(3)]
        admission = made.session.opened.admission
        while len(admission._waiting) < 2:
            time.sleep(0.005)
        with pytest.raises(EngineOverloaded, match="2 requests are already waiting for 1 at work"):
            made.choose("one too many", OPTIONS)
        release.set()
        assert all(future.result().value in OPTIONS for future in waiting)


@pytest.mark.parametrize("broken", ["idle", "counted"])
def test_a_stale_connection_is_replaced_once_and_counted(broken: str, decider: Make, stub: Any) -> None:
    made = decider()
    made.choose("first", OPTIONS)

    def fault(handler: Any) -> bool:
        # The server closes a connection that has already served: without a word, while we write.
        if handler.answered:
            handler.close_connection = True
            handler.connection.shutdown(socket.SHUT_RDWR)
            return True
        if broken == "counted":
            handler.send(200, {"rows": [[0.5, 0.25, 0.25]]}, connection="close")
            handler.close_connection = True
            return True
        return False

    stub.fault = fault
    for turn in range(5):
        assert made.choose(f"{turn}", OPTIONS).value in OPTIONS
    server = made.session.opened.server
    assert server is not None
    assert server.transport.replaced >= 1


def test_a_connection_that_always_breaks_is_an_error_not_a_loop(decider: Make, stub: Any) -> None:
    made = decider().start()

    def fault(handler: Any) -> bool:
        handler.close_connection = True
        handler.connection.shutdown(socket.SHUT_RDWR)
        return True

    stub.fault = fault
    asked = len(stub.seen)
    with pytest.raises(EngineError, match="connection failed"):
        made.choose("x", OPTIONS)
    assert len(stub.seen) - asked == 2


def test_a_deadline_is_kept_and_what_was_abandoned_is_explained(decider: Make, stub: Any) -> None:
    release = threading.Event()
    stub.fault = lambda handler: handler.path == "/answer" and release.wait(20) and False
    made = decider(places=2, timeout=0.2).start()
    for _ in range(2):
        with pytest.raises(EngineHung, match="No answer after"):
            made.choose("slow", OPTIONS)
    assert made.session.opened.admission.abandoned == 2
    release.set()
    patient = decider(places=2, timeout=20.0)
    with pytest.warns(UserWarning, match="2 earlier requests timed out"):
        decision = patient.decide("now", {"q": choice(None, OPTIONS)})
    assert any("abandoned" in note for note in decision.receipt.warnings)


def test_a_server_that_is_loading_is_waited_for_and_the_wait_has_its_own_budget(decider: Make, stub: Any) -> None:
    looks = []

    def fault(handler: Any) -> bool:
        if handler.path != "/health" or len(looks) >= 8:
            return False
        looks.append(1)
        handler.send(503, {"error": {"message": "Loading model", "code": 503}})
        return True

    stub.fault = fault
    assert decider(timeout=5.0).choose("x", OPTIONS).value in OPTIONS
    assert len(looks) == 8
    assert [path for path, _, _ in stub.seen].count("/answer") == 1, "the question is asked once, when it is ready"


def test_503_after_ready_is_an_overload_and_says_when_to_come_back(decider: Make, stub: Any) -> None:
    made = decider().start()
    stub.fault = lambda handler: handler.send(503, {"error": {"message": "busy"}}, retry_after="7") is None
    with pytest.raises(EngineOverloaded, match="HTTP 503: busy") as caught:
        made.choose("x", OPTIONS)
    assert caught.value.retry_after == 7


def test_nobody_at_the_url_is_said_at_once(decider: Make) -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{held.getsockname()[1]}"
        with pytest.raises(EngineStartError, match="Nothing answers"):
            decider(url=url).choose("x", OPTIONS)


def test_a_stranger_at_the_url_is_not_talked_to(decider: Make, stub: Any) -> None:
    stub.fault = lambda handler: handler.send(404, {"detail": "Not Found"}) is None
    with pytest.raises(EngineStartError, match="is not stub"):
        decider().choose("x", OPTIONS)


@pytest.mark.parametrize("body", [b"", b"<html>", b"{", b'{"rows": NaN}', b"\xff\xfe"])
def test_a_body_that_is_not_json_is_a_bad_reply(body: bytes, decider: Make, stub: Any) -> None:
    made = decider().start()
    stub.fault = lambda handler: handler.send(200, body) is None
    with pytest.raises(BadReply, match="not JSON"):
        made.choose("x", OPTIONS)


@pytest.mark.parametrize("form", ["seconds", "date", "ms", "garbage"])
def test_retries_wait_as_long_as_asked_with_jitter_and_stop(form: str, decider: Make, stub: Any) -> None:
    asked = {"seconds": 1.0, "date": 1.0, "ms": 0.3, "garbage": 0.0}[form]
    first: dict[Any, float] = {}
    early, lock = [], threading.Lock()

    def fault(handler: Any) -> bool:
        if handler.path != "/answer":
            return False
        with lock:
            if handler.body not in first:
                first[handler.body] = time.time()
            elif time.time() < first[handler.body] + asked - 0.001:
                early.append(handler.body)
            else:
                return False
        at = {
            "seconds": {"retry_after": "1"},
            "date": {"retry_after": email.utils.formatdate(time.time() + 2, usegmt=True)},
            "ms": {"retry_after_ms": "300"},
            "garbage": {"retry_after": "soon, I promise"},
        }[form]
        handler.send(429, {"error": {"message": "slow down"}}, **at)
        return True

    stub.fault = fault
    made = decider(places=50, retries=3)

    async def gather() -> list[Any]:
        return await asyncio.gather(*(made.achoose(f"{i}", OPTIONS) for i in range(50)))

    assert len(asyncio.run(gather())) == 50
    assert early == []
    again = sorted(moment for path, moment, _ in stub.seen if path == "/answer")[50:]
    assert len(again) == 50
    assert again[-1] - again[0] > 0.01, "clients refused together do not come back together"


def test_retries_are_bounded_by_attempts_and_by_the_deadline(decider: Make, stub: Any) -> None:
    made = decider(retries=2).start()
    stub.fault = lambda handler: handler.send(529, {"error": {"message": "overloaded"}}, retry_after_ms="1") is None
    before = len(stub.seen)
    with pytest.raises(EngineOverloaded, match="HTTP 529"):
        made.choose("x", OPTIONS)
    assert len(stub.seen) - before == 3
    stub.fault = lambda handler: handler.send(429, {"error": {"message": "later"}}, retry_after="3600") is None
    before = len(stub.seen)
    with pytest.raises(EngineOverloaded, match="later"):
        made.choose("x", OPTIONS)
    assert len(stub.seen) - before == 1, "a wait that outlasts the deadline is not begun"


def test_loopback_ignores_proxies(stub: Any, http_stub: ModuleType) -> None:
    program = textwrap.dedent(
        f"""
        import importlib.util, sys
        spec = importlib.util.spec_from_file_location("http_stub", {http_stub.__file__!r})
        module = importlib.util.module_from_spec(spec); sys.modules["http_stub"] = module
        spec.loader.exec_module(module)
        import asyncio, tiebreak
        d = tiebreak.Decider("stub", url={stub.url!r}, registry=module.registry())
        print(d.choose("x", ["a", "b"]).value, asyncio.run(d.achoose("x", ["a", "b"])).value)
        tiebreak.shutdown()
        """
    )
    dead = "http://127.0.0.1:9"
    env = {**os.environ, **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "all_proxy"), dead)}
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.split()) == 2


def test_a_forked_child_has_connections_of_its_own(http_stub: ModuleType, decider: Make) -> None:
    made = decider()
    made.choose("before", OPTIONS)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            values = [list(made.choose(f"child {i}", OPTIONS).probabilities.values()) for i in range(20)]
            good = all(v == pytest.approx(right(http_stub, f"child {i}")) for i, v in enumerate(values))
            os.write(write, b"1" if good else b"0")
        finally:
            os._exit(0)
    for i in range(20):
        assert list(made.choose(f"p {i}", OPTIONS).probabilities.values()) == pytest.approx(right(http_stub, f"p {i}"))
    os.waitpid(child, 0)
    assert os.read(read, 1) == b"1"
    os.close(read)
    os.close(write)


@pytest.mark.parametrize(
    "url", ["", "127.0.0.1:80", "ftp://x", "http://", "http://u:p@x", "http://x/?key=1", "http://x/#k", "file:///x"]
)
def test_urls_that_are_none_or_carry_secrets_are_refused(url: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        check_url(url)
    assert "1" not in str(caught.value).replace("127.0.0.1", "")


def test_loopback_is_recognised() -> None:
    assert all(map(is_loopback, ("http://127.0.0.1:1", "http://localhost", "http://[::1]:8", "http://127.8.9.1")))
    assert not any(map(is_loopback, ("http://10.0.0.1", "https://localhost.example", "http://0.0.0.0")))


@pytest.mark.parametrize(
    "headers, seconds",
    [
        ({}, None),
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "Mon, 01 Jan 2001 00:00:00 GMT"}, 0.0),
        ({"retry-after-ms": "x"}, None),
    ],
)
def test_retry_after_in_all_its_forms(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds


def test_a_server_that_is_ready_is_not_asked_again_while_it_works(decider: Make, stub: Any) -> None:
    made = decider(places=2)
    made.choose("first", OPTIONS)
    ready = [path for path, _, _ in stub.seen if path == "/health"]
    assert ready

    def slow(handler: Any) -> bool:
        if handler.path == "/health":  # as a server that works on a long prompt: it would not answer in time
            threading.Event().wait(30)
        threading.Event().wait(0.2)
        return False

    stub.fault = slow
    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        answers = list(threads.map(lambda turn: made.choose(f"long prompt {turn}", OPTIONS), range(8)))
    assert len(answers) == 8
    assert [path for path, _, _ in stub.seen if path == "/health"] == ready
