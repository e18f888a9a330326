"""The suite's own rules: complete, strict, not to be softened; and its documentation is that of its checks."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import attrs
import pytest

from tiebreak.errors import InvalidRequest
from tiebreak.stages.cache import PrefixCache
from tiebreak.stages.decider import DeciderLayout, SchemaFirstLayout
from tiebreak.stages.readout import DistributionReadout, LettersReadout
from tiebreak_conformance import (
    CacheChecks,
    ConformanceSuite,
    LayoutChecks,
    ReadoutChecks,
    ReportCard,
    SpecChecks,
    Target,
    Topic,
    check,
    run,
    stage_target,
)
from tiebreak_conformance.card import cells, read, table
from tiebreak_conformance.claims import TOPICS, claims_of
from tiebreak_conformance.manifest import FLOORS, MANIFEST
from tiebreak_conformance.manual import manual
from tiebreak_conformance.reference import INFO, ReferenceEngine, ReferencePlugin, evidence_of
from tiebreak_conformance.reference_wire import WIRE_INFO, ReferenceService, ReferenceWire

HERE = Path(__file__).parent
REFERENCE = Target(engine=INFO.name, plugin=ReferencePlugin(), oracle=evidence_of, rounds=1)
WIRE = Target(
    engine=WIRE_INFO.name, plugin=ReferencePlugin(ReferenceWire, WIRE_INFO), mount=ReferenceService, oracle=evidence_of
)
NEEDS_A_PROCESS = {"SPEC-02", "LIFE-02", "LIFE-07", "LIFE-08", "READ-19", "LAYO-07", "SPEC-05", "SPEC-08"}
"""What no mutant of an engine in memory can break: these are about processes, or about the core itself."""
ALSO_BY_HAND = {"TYPE-03", "TYPE-04"}
"""The core's transport alone decides these."""


class TestReference(ConformanceSuite):
    """The reference engine itself, through pytest as plugins do it."""

    target = REFERENCE


class TestReferenceWire(ConformanceSuite):
    """Its twin behind HTTP."""

    target = WIRE


class TestLayoutAlone(LayoutChecks):
    """A stage alone."""

    target = stage_target(layout=SchemaFirstLayout())


class TestSchemaFirstCache(CacheChecks, ReadoutChecks):
    """The other direction, cached, and what is read there."""

    target = stage_target(layout=SchemaFirstLayout(), cache=PrefixCache())


class TestReadoutAlone(ReadoutChecks):
    """A readout of finished distributions."""

    target = stage_target(readout=DistributionReadout())


def test_every_claim_is_complete_and_in_the_manifest() -> None:
    found = claims_of(ConformanceSuite)
    assert tuple(found) == MANIFEST
    for id, (claim, method) in found.items():
        assert method.startswith(f"test_{id.lower().replace('-', '_')}_")
        assert claim.claim.endswith(".") and claim.note.endswith(".") and claim.since == "0.1"
        assert "\n" not in claim.claim
    assert set(FLOORS) == set(TOPICS)


def test_every_check_is_tripped_by_a_mutant() -> None:
    tripped: set[str] = {"SPEC-07"}
    for name, tables in (
        ("test_engine_mutants", ("ENGINES",)),
        ("test_stage_mutants", ("STAGES",)),
        ("test_wire_mutants", ("WIRES",)),
    ):
        module = _load(name)
        for table_ in tables:
            for ids in getattr(module, table_).values():
                tripped |= ids
    for _, ids in _load("test_engine_mutants").INFOS.values():
        tripped |= ids
    assert set(MANIFEST) - tripped <= NEEDS_A_PROCESS | ALSO_BY_HAND


def test_a_check_cannot_be_overridden() -> None:
    with pytest.raises(TypeError, match="replaces a check of SpecChecks"):
        type("Softer", (SpecChecks,), {"test_spec_01_describes_itself": lambda self, subject: None})
    with pytest.raises(TypeError, match="replaces a check"):
        type("Silenced", (SpecChecks,), {"test_spec_01_describes_itself": None})


def test_a_removed_check_fails_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(LayoutChecks, "test_layo_03_nothing_is_left_out")
    card = run(REFERENCE, LayoutChecks)
    assert not card.ok
    assert any("LAYO-03" in problem for problem in card.problems)


def test_too_few_checks_that_say_anything_fail_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    for claim, method in claims_of(LayoutChecks).values():
        quiet = check(claim.id, since="0.1", claim=claim.claim, note=claim.note)(lambda self, subject: "no reason")
        monkeypatch.setattr(LayoutChecks, method, quiet)
    card = run(REFERENCE, LayoutChecks)
    assert any("said anything" in problem for problem in card.problems)


def test_a_known_failure_is_accepted_and_strict() -> None:
    class Late(ReferenceEngine):
        def close(self) -> None:
            """Nothing is let go."""

    known = {"LIFE-04": "upstream bug 17"}
    target = Target(engine=INFO.name, plugin=ReferencePlugin(Late), known_failures=known, rounds=1)
    card = run(target)
    assert card.ok, card.markdown()
    assert card.results["LIFE-04"].outcome == "known"
    cured = run(attrs.evolve(REFERENCE, known_failures=known))
    assert not cured.ok
    assert "passes" in cured.results["LIFE-04"].text
    unknown = run(attrs.evolve(REFERENCE, known_failures={"LIFE-99": "no such check"}), SpecChecks)
    assert any("LIFE-99" in problem for problem in unknown.problems)
    with pytest.raises(InvalidRequest, match="no reason"):
        attrs.evolve(REFERENCE, known_failures={"LIFE-04": " "})


def test_an_id_must_be_of_a_topic() -> None:
    with pytest.raises(ValueError, match="READ-07"):
        check("FOO-01", since="0.1", claim="Nothing.", note="Nowhere.")


def test_a_capability_that_is_left_open_is_reported() -> None:
    open_ = attrs.evolve(INFO, capabilities=attrs.evolve(INFO.capabilities, prefix_cache=None))

    def make(options: Any) -> ReferenceEngine:
        return ReferenceEngine(options, open_)

    card = run(Target(engine=INFO.name, plugin=ReferencePlugin(make, open_), rounds=1))
    assert card.ok
    assert card.undeclared == ("prefix_cache",)


def test_a_card_survives_its_file_and_stands_in_the_table(tmp_path: Path) -> None:
    card = run(REFERENCE, SpecChecks)
    card.write(tmp_path)
    attrs.evolve(card, wire="replay").write(tmp_path)
    first, second = read(tmp_path)
    assert first == ReportCard.from_dict(card.as_dict())
    assert (first.wire, second.wire) == ("live", "replay")
    assert "SPEC-01" in (tmp_path / "report-card.md").read_text(encoding="utf-8")
    assert table([first, second]).count("| reference |") == 2
    assert cells(first)[3] == "13/13"
    (tmp_path / "report-card.json").write_text(json.dumps([{"engine": "x"}]), encoding="utf-8")
    with pytest.raises(InvalidRequest, match="not a report card"):
        read(tmp_path)


def test_a_failing_check_says_claim_and_where_to_look() -> None:
    class Late(ReferenceEngine):
        def close(self) -> None:
            """Nothing is let go."""

    from tiebreak_conformance.subject import Subject

    said = r"(?s)LIFE-04: After close.*still calls itself ready.*Where to look"
    with (
        Subject(Target(engine=INFO.name, plugin=ReferencePlugin(Late))) as subject,
        pytest.raises(AssertionError, match=said),
    ):
        ConformanceSuite().test_life_04_close_closes(subject)


def test_the_manual_lists_these_checks() -> None:
    page = HERE.parents[1] / "docs" / "conformance.md"
    assert page.read_text(encoding="utf-8") == manual(), (
        "run: python -m tiebreak_conformance.manual docs/conformance.md"
    )


def test_topics_are_topics() -> None:
    assert all(issubclass(base, Topic) for base in ConformanceSuite.__bases__)
    assert LettersReadout.evidence == DeciderLayout.evidence == "tokens"


def _load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"meta_{name}", HERE / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
