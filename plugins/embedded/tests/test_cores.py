from __future__ import annotations

import os
import sys
import threading

import pytest

from tiebreak.openmp import WAITS
from tiebreak_embedded import cores
from tiebreak_embedded.cores import Cores, count, waiting


@pytest.mark.parametrize(
    "physical,allowed,busy,threads",
    [
        (8, 16, 0.0, 8),  # hyper-threads are not computed on
        (8, 4, 0.0, 4),  # affinity or a container's quota
        (8, 16, 12.0, 4),  # others are working
        (2, 2, 1.4, 1),
        (2, 2, 0.4, 2),
        (2, 2, 9.0, 1),  # never none
    ],
)
def test_threads_are_the_free_physical_cores(physical: int, allowed: int, busy: float, threads: int) -> None:
    assert Cores(physical=physical, allowed=allowed, busy=busy).threads() == threads


def test_what_was_asked_for_is_taken() -> None:
    assert Cores(physical=2, allowed=2, busy=2.0).threads(3) == 3


def test_this_machine_has_cores() -> None:
    found = count()
    assert found.physical >= 1
    assert found.allowed >= 1
    assert found.busy >= 0


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_threads_of_this_process_are_not_somebody_elses(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that counts and one that spins beside it are both ours, and so not among the others."""
    stop = threading.Event()
    sizes = []

    def spin() -> None:
        while not stop.is_set():
            pass

    spinner = threading.Thread(target=spin)
    spinner.start()
    try:
        sizes = [cores._own() for _ in range(200)]
    finally:
        stop.set()
        spinner.join()
    assert max(sizes) >= 2
    assert cores._own() >= 1
    monkeypatch.setattr(os, "getloadavg", lambda: (5.0, 5.0, 5.0))
    monkeypatch.setattr(cores, "_own", lambda: 10**6)
    assert cores._busy() == 0.0


@pytest.fixture
def no_libgomp(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cores, "_text", lambda _: "")
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    monkeypatch.delenv("GOMP_SPINCOUNT", raising=False)


@pytest.mark.usefixtures("no_libgomp")
@pytest.mark.parametrize("policy", ["auto", "spin", "passive"])
def test_a_wait_policy_is_in_the_environment_only_while_the_library_loads(policy: str) -> None:
    before = dict(os.environ)
    with waiting(policy) as held:
        assert held == policy
        assert os.environ == {**before, **WAITS[policy]}
    assert os.environ == before


@pytest.mark.usefixtures("no_libgomp")
def test_a_users_own_setting_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_WAIT_POLICY", "passive")
    with waiting("spin") as held:
        assert held == "environment"
        assert os.environ["OMP_WAIT_POLICY"] == "passive"
    assert os.environ["OMP_WAIT_POLICY"] == "passive"


def test_a_loaded_libgomp_is_not_pretended_to_change(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    monkeypatch.delenv("GOMP_SPINCOUNT", raising=False)
    monkeypatch.setattr(cores, "_text", lambda _: "7f00 r-xp /x/libgomp.so.1")
    with waiting("passive") as held:
        assert held == "as loaded"
        assert "OMP_WAIT_POLICY" not in os.environ
