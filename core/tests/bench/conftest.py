"""Engines that answer at once, and a place to measure them in."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

from tiebreak.bench.methods import Field
from tiebreak.bench.run import RunPlan
from tiebreak.bench.sets import ItemSet, read_set
from tiebreak.engine import Limits
from tiebreak.registry import Registry
from tiebreak_conformance.reference import INFO, ReferenceEngine, ReferencePlugin

LINES: list[dict[str, Any]] = [
    {
        "id": "one",
        "state": "Der Mülleimer ist voll",
        "translated": "The bin is full",
        "language": "de",
        "question": "Which team?",
        "options": {"roads": None, "waste": "bins", "noise": None},
        "answer": "waste",
    },
    {
        "id": "two",
        "state": "A hole in the road",
        "language": "en",
        "question": "Which team?",
        "options": ["roads", "waste", "noise"],
        "answer": "roads",
    },
    {"state": {"kind": "call", "minutes": 3}, "question": None, "options": ["roads", "noise"], "answer": None},
]

Reference = Callable[..., ReferencePlugin]


@pytest.fixture
def reference() -> Reference:
    """Makes the plugin of a reference engine of another name, and with other things that it says about itself."""

    def make(name: str, **changes: Any) -> ReferencePlugin:
        info = attrs.evolve(INFO, name=name, **changes)
        return ReferencePlugin(lambda options: ReferenceEngine(options, info), info)

    return make


@pytest.fixture
def registry(reference: Reference) -> Registry:
    """Two reference engines, which answer alike, and `narrow`, which takes two options."""
    found = Registry()
    for name in ("reference", "other"):
        found.add(reference(name), name)
    found.add(reference("narrow", limits=Limits(options=2)), "narrow")
    return found


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    """A set of three lines: with a translation, in English, and without an answer."""
    path = tmp_path / "three.jsonl"
    path.write_text("\n".join(map(json.dumps, LINES)), encoding="utf-8")
    return path


@pytest.fixture
def items(lines: Path) -> ItemSet:
    """The same, read."""
    return read_set(str(lines))


@pytest.fixture
def plan(registry: Registry, items: ItemSet, tmp_path: Path) -> Callable[..., RunPlan]:
    """Makes a plan of two engines and the three lines; arguments replace parts of it."""

    def make(engines: tuple[str, ...] = ("reference", "other"), **changes: Any) -> RunPlan:
        field = Field(engines=engines, registry=registry, **changes.pop("field", {}))
        given = {"field": field, "set": items, "rounds": 2, "again": 1, "order_items": 2, "out": tmp_path / "out"}
        return RunPlan(**{**given, **changes})

    return make
