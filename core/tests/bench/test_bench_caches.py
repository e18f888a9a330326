"""`prefix`, `schemas` and `parity` on engines that answer at once: what they ask, see and say."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import pytest

from tiebreak import InvalidRequest, Unsupported
from tiebreak.bench.methods import Field
from tiebreak.bench.parity import ParityPlan, parity
from tiebreak.bench.prefix import SCENARIOS, PrefixPlan, prefix
from tiebreak.bench.progress import Silent
from tiebreak.bench.results import PrefixSection, SchemasSection
from tiebreak.bench.schemas import SchemasPlan, schemas
from tiebreak.bench.sets import ItemSet
from tiebreak.options import OptionSpec
from tiebreak.registry import Registry
from tiebreak_conformance.reference import INFO, ReferencePlugin

Reference = Callable[..., ReferencePlugin]


@pytest.fixture
def field(registry: Registry) -> Field:
    """One reference engine."""
    return Field(engines=("reference",), registry=registry)


def test_prefix_off_and_on_by_policy(field: Field) -> None:
    section = prefix(PrefixPlan(field=field, rounds=3), Silent(), [].append)
    assert [row.scenario for row in section.rows] == list(SCENARIOS)
    assert [row.rows for row in section.rows] == [1, 7, 2, 1]
    # within the three questions the state is met again at once, so that even a new one is a hit
    assert [row.status for row in section.rows] == [{"miss": 3}, {"hit": 3}, {"hit": 3}, {"miss": 3}]
    for row in section.rows:
        assert row.off.count == row.on.count == 3
        assert row.max_deviation == 0.0
        assert row.flips == 0
        assert row.state_tokens is not None
        assert row.state_tokens == pytest.approx(190, rel=0.25)
    assert any("by policy" in note for note in section.notes)


def test_a_layout_that_puts_the_questions_first_reuses_those(field: Field) -> None:
    section = prefix(PrefixPlan(field=attrs.evolve(field, layouts=("schema-first",)), rounds=2), Silent(), [].append)
    assert section.rows[2].status == {"miss": 2}
    assert section.rows[3].status == {"hit": 2}


def test_prefix_off_by_an_option(registry: Registry, reference: Reference) -> None:
    options = (*INFO.options, OptionSpec(name="cache_entries", type=int, default=4, minimum=0, help="Kept."))
    registry.add(reference("optional", caches=("prefix",), options=options), "optional")
    section = prefix(PrefixPlan(field=Field(engines=("optional",), registry=registry), rounds=2), Silent(), [].append)
    assert [row.scenario for row in section.rows] == list(SCENARIOS)
    assert any("loaded twice" in note for note in section.notes)


def test_prefix_that_cannot_be_switched_off(registry: Registry, reference: Reference) -> None:
    registry.add(reference("always", caches=("prefix",)), "always")
    section = prefix(PrefixPlan(field=Field(engines=("always",), registry=registry), rounds=2), Silent(), [].append)
    assert [row.scenario for row in section.rows] == [*SCENARIOS[2:]]
    assert [row.status for row in section.rows] == [{"hit": 2}, {"hit": 2}]
    assert all(row.max_deviation == 0.0 for row in section.rows)


def test_an_engine_that_cannot_be_asked_is_left_out(registry: Registry) -> None:
    section = prefix(
        PrefixPlan(field=Field(engines=("narrow", "reference"), registry=registry), rounds=1), Silent(), str
    )
    assert [skip.method for skip in section.skipped] == ["narrow"]
    assert [method.engine for method in section.methods] == ["reference"]
    with pytest.raises(InvalidRequest, match="options; it takes 2"):
        prefix(PrefixPlan(field=Field(engines=("narrow",), registry=registry), rounds=1), Silent(), [].append)


def test_the_cliff_is_where_the_schemas_stop_fitting(field: Field) -> None:
    limited = attrs.evolve(field, options={"entries": 6})  # two question sets take two prompts, and so entries, each
    (section,) = schemas(SchemasPlan(field=limited, most=5, rounds=2), Silent(), [].append)
    assert section.methods[0].layout == "schema-first"
    found = {(point.schemas, point.order): point for point in section.points}
    for count in range(1, 6):
        turns, grouped = found[count, "rotation"], found[count, "grouped"]
        assert turns.total.count == grouped.total.count == turns.hits + turns.misses == 2 * count
        assert turns.misses == (0 if count <= 3 else 2 * count)
        assert grouped.misses == count
    assert section.skipped == []


def test_a_layout_that_puts_the_state_first_has_no_cliff(field: Field) -> None:
    with pytest.raises(Unsupported, match="does not put the questions first"):
        schemas(SchemasPlan(field=attrs.evolve(field, layouts=("decider",)), most=2), Silent(), [].append)


def test_parity_of_engines_that_are_the_same(registry: Registry, items: ItemSet) -> None:
    field = Field(engines=("other", "narrow"), registry=registry)
    (section,) = parity(ParityPlan(reference="reference", field=field, set=items), Silent(), [].append)
    (row,) = section.rows
    assert section.reference == "reference decider"
    assert row.method == "other decider"
    assert (row.same.hits, row.same.of, row.flips) == (3, 3, [])
    assert row.max_deviation == row.mean_deviation == 0.0
    assert [skip.method for skip in section.skipped] == ["narrow"]


def test_parity_tells_engines_apart(registry: Registry, items: ItemSet, reference: Reference) -> None:
    salted = tuple(attrs.evolve(spec, default="x") if spec.name == "salt" else spec for spec in INFO.options)
    registry.add(reference("salted", options=salted), "salted")
    field = Field(engines=("salted",), registry=registry)
    (section,) = parity(ParityPlan(reference="reference", field=field, set=items), Silent(), [].append)
    (row,) = section.rows
    assert row.max_deviation >= row.mean_deviation > 0
    assert row.same.hits == 3 - len(row.flips)
    assert row.worst in {item.id for item in items.items}


def test_a_reference_alone(registry: Registry, items: ItemSet) -> None:
    with pytest.raises(InvalidRequest, match="no engine but the reference"):
        parity(
            ParityPlan(reference="other", field=Field(engines=("other",), registry=registry), set=items), Silent(), str
        )


class Impatient(Silent):
    """Interrupts after some answers."""

    def __init__(self, count: int) -> None:
        self.left = count

    def asked(self, name: str, seconds: float) -> None:
        self.left -= 1
        if not self.left:
            raise KeyboardInterrupt


def test_what_was_measured_before_an_interruption_is_kept(registry: Registry) -> None:
    both = Field(engines=("reference", "other"), registry=registry)
    kept: list[PrefixSection] = []
    with pytest.raises(KeyboardInterrupt):
        prefix(PrefixPlan(field=both, rounds=1), Impatient(32), kept.append)
    (section,) = kept
    assert [method.engine for method in section.methods] == ["reference"]
    with pytest.raises(KeyboardInterrupt):
        prefix(PrefixPlan(field=both, rounds=1), Impatient(26), kept.append)
    assert [row.scenario for row in kept[1].rows] == [*SCENARIOS[:2]]
    cliffs: list[SchemasSection] = []
    with pytest.raises(KeyboardInterrupt):
        schemas(SchemasPlan(field=both, most=3, rounds=1), Impatient(12), cliffs.append)
    assert [(point.schemas, point.order) for point in cliffs[0].points] == [
        (1, "rotation"),
        (1, "grouped"),
        (2, "rotation"),
    ]
