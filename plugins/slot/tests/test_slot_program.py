"""The command line of the server that is started, and the environment that it gets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tiebreak.binaries import Binary
from tiebreak_slot.info import INFO
from tiebreak_slot.program import command


@pytest.fixture
def free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    monkeypatch.delenv("GOMP_SPINCOUNT", raising=False)


def environment(**options: Any) -> dict[str, str]:
    program = Binary(path=Path("llama-server"), source="a test")
    return dict(command(program, Path("m.gguf"), INFO.check_options(options)).env)


@pytest.mark.usefixtures("free")
@pytest.mark.parametrize(
    "wait, variables",
    [
        ("auto", {"GOMP_SPINCOUNT": "10000"}),
        ("spin", {"OMP_WAIT_POLICY": "active"}),
        ("passive", {"OMP_WAIT_POLICY": "passive"}),
    ],
)
def test_how_threads_wait_is_in_the_environment(wait: str, variables: dict[str, str]) -> None:
    assert environment(wait=wait) == variables


@pytest.mark.usefixtures("free")
def test_a_users_own_setting_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_WAIT_POLICY", "passive")
    assert environment(wait="spin") == {}
