"""Several servers behind one Decider: who is asked, and what happens when one dies, hangs, is busy or is another."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Generator, Iterator
from types import ModuleType
from typing import Any

import pytest

from tiebreak import Decider, Decision, DecisionWarning, EngineStartError, InvalidRequest, choice
from tiebreak.engine import Call, Reply
from tiebreak.fleet import Fleet, Health
from tiebreak.pool import Pool

Make = Callable[..., Decider]
QUESTIONS = [{"q": choice(f"Which {number}?", ["a", "b", "c"])} for number in range(3)]
PATIENCE = 30.0


@pytest.fixture
def servers(http_stub: ModuleType) -> Iterator[list[Any]]:
    """Three stub servers."""
    made = [http_stub.Server() for _ in range(3)]
    yield made
    for server in made:
        server.stop()


@pytest.fixture
def fleet(http_stub: ModuleType, servers: list[Any]) -> Iterator[Make]:
    """Makes Deciders on all of them."""
    pool = Pool()

    def make(**options: Any) -> Decider:
        options.setdefault("urls", [server.url for server in servers])
        return Decider("stub", registry=http_stub.registry(), pool=pool, **options)

    yield make
    pool.close()


def asked(server: Any) -> int:
    return sum(path == "/answer" for path, *_ in server.seen)


def health(decider: Decider) -> dict[str, Health]:
    running = decider.session.opened.server
    assert isinstance(running, Fleet)
    return {each.url: each for each in running.health()}


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def die(server: Any) -> None:
    """As a process dies: no new connections, and the old ones end."""

    def drop(handler: Any) -> bool:
        handler.close_connection = True
        handler.connection.shutdown(socket.SHUT_RDWR)
        return True

    server.fault = drop
    server.shutdown()
    server.socket.close()


def rows(count: int) -> Iterator[tuple[str, Any]]:
    for number in range(count):
        yield f"state {number}", QUESTIONS[number % 3]


@pytest.mark.parametrize("layout, repeated", [("decider", "state"), ("schema-first", "questions")])
def test_a_prefix_always_goes_to_the_same_server(layout: str, repeated: str, fleet: Make, servers: list[Any]) -> None:
    made = fleet(layout=layout)
    where: dict[int, set[int]] = {}
    for round_ in range(2):
        for number in range(24):
            before = [asked(server) for server in servers]
            if repeated == "state":
                made.decide(f"state {number}", QUESTIONS[round_])
            else:
                made.decide(f"state {round_}", {"q": choice(f"Which {number}?", ["a", "b"])})
            (index,) = [i for i, server in enumerate(servers) if asked(server) > before[i]]
            where.setdefault(number, set()).add(index)
    assert all(len(indices) == 1 for indices in where.values())
    assert set.union(*where.values()) == {0, 1, 2}


def test_a_server_that_leaves_moves_only_its_own_prefixes(fleet: Make, servers: list[Any]) -> None:
    made = fleet()

    made.start()

    def homes() -> list[int]:
        found = []
        for number in range(30):
            before = [each.answered for each in health(made).values()]
            made.decide(f"state {number}", QUESTIONS[0])
            answered = [each.answered for each in health(made).values()]
            found.append(next(index for index, count in enumerate(answered) if count > before[index]))
        return found

    before = homes()
    die(servers[1])
    after = homes()
    assert [b for a, b in zip(before, after, strict=True) if a != 1] == [a for a in before if a != 1]
    assert 1 not in after


def test_a_prefix_that_everybody_asks_about_keeps_all_busy(fleet: Make, servers: list[Any]) -> None:
    together = threading.Barrier(6)

    def fault(handler: Any) -> bool:
        if handler.path == "/answer":
            together.wait(PATIENCE)  # broken where fewer than six are ever at work
        return False

    for server in servers:
        server.fault = fault
    many = fleet(layout="schema-first", places=2).decide_many((str(number), QUESTIONS[0]) for number in range(12))
    assert all(isinstance(decision, Decision) for decision in many)
    assert [server.busiest for server in servers] == [2, 2, 2]


@pytest.mark.parametrize("how", ["sync", "async"])
def test_one_that_dies_loses_nothing_and_is_asked_again_when_it_is_back(
    how: str, fleet: Make, servers: list[Any], http_stub: ModuleType
) -> None:
    made = fleet()
    right = [made.decide(*row)["q"].probabilities for row in rows(60)]
    count = 0

    def fault(handler: Any) -> bool:
        nonlocal count
        count += handler.path == "/answer"
        if count == 5:
            threading.Thread(target=die, args=(servers[0],)).start()
        return False

    servers[0].fault = fault

    async def gather() -> list[Any]:
        return [decision async for decision in made.adecide_many(rows(60))]

    found: list[Any] = list(made.decide_many(rows(60))) if how == "sync" else asyncio.run(gather())
    assert [decision["q"].probabilities for decision in found] == right
    dead = servers[0].url
    while health(made)[dead].up:  # it may have died behind the last request
        list(made.decide_many(rows(60)))
    assert health(made)[dead].reason
    reborn = http_stub.Server(servers[0].server_address[1])
    try:
        until(lambda: health(made)[dead].up)
        assert [made.decide(*row)["q"].probabilities for row in rows(60)] == right
        assert asked(reborn) > 0
    finally:
        reborn.stop()


@pytest.mark.parametrize("how", ["sync", "async"])
def test_one_that_hangs_costs_half_of_the_time_once(how: str, fleet: Make, servers: list[Any]) -> None:
    made = fleet(timeout=4.0)
    right = [made.decide(*row)["q"].probabilities for row in rows(12)]
    hung = threading.Event()
    servers[2].fault = lambda handler: hung.wait(PATIENCE) and False

    async def gather() -> list[Any]:
        return [await made.adecide(*row) for row in rows(12)]

    try:
        found = [made.decide(*row) for row in rows(12)] if how == "sync" else asyncio.run(gather())
        assert [decision["q"].probabilities for decision in found] == right
        assert not health(made)[servers[2].url].up
    finally:
        hung.set()
    until(lambda: health(made)[servers[2].url].up)


def test_one_that_is_overloaded_passes_the_request_on_and_stays(fleet: Make, servers: list[Any]) -> None:
    made = fleet()
    made.start()

    def fault(handler: Any) -> bool:
        if handler.path == "/answer":
            handler.send(503, {"error": "full"})
            return True
        return False

    servers[0].fault = servers[1].fault = fault
    assert len([made.decide(*row) for row in rows(12)]) == 12
    assert all(each.up for each in health(made).values())
    assert health(made)[servers[2].url].answered == 12


def test_when_none_is_left_the_last_failure_says_what_became_of_each(fleet: Make, servers: list[Any]) -> None:
    made = fleet()
    made.start()
    for server in servers:
        die(server)
    with pytest.raises(Exception, match="No server is left to ask") as caught:
        made.decide("s", QUESTIONS[0])
    assert all(server.url in str(caught.value) for server in servers)


def test_one_that_is_not_there_at_the_start_is_left_out_with_a_warning(fleet: Make, servers: list[Any]) -> None:
    die(servers[0])
    made = fleet()
    with pytest.warns(DecisionWarning, match="is left out: Nothing answers"):
        made.start()
    assert len([made.decide(*row) for row in rows(12)]) == 12
    assert asked(servers[0]) == 0
    die(servers[1])
    die(servers[2])
    with pytest.raises(EngineStartError, match="Nothing answers"):
        fleet(places=3).start()


def test_servers_that_would_answer_differently_are_refused(
    fleet: Make, servers: list[Any], http_stub: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    def greeting(self: Any) -> Generator[Call, Reply, None]:
        yield Call(method="GET", path="/health")
        self.version = "b2" if self.url == servers[1].url else "b1"

    monkeypatch.setattr(http_stub.StubEngine, "greeting", greeting)
    with pytest.raises(EngineStartError, match="differ in build"):
        fleet().start()


@pytest.mark.parametrize(
    "given, message",
    [
        ({"url": "http://127.0.0.1:1", "urls": ["http://127.0.0.1:2"]}, "Both url and urls"),
        ({"urls": []}, "at least one URL"),
        ({"urls": "http://127.0.0.1:1"}, "at least one URL"),
        ({"urls": ["http://127.0.0.1:1", "http://127.0.0.1:1/"]}, "twice"),
        ({"urls": ["http://127.0.0.1:1", "127.0.0.1:2"]}, "not an http"),
    ],
)
def test_urls_that_cannot_be_are_refused_before_anything_is_reached(
    given: dict[str, Any], message: str, fleet: Make
) -> None:
    with pytest.raises(InvalidRequest, match=message):
        fleet(**{"urls": None, **given})
