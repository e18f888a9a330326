"""`tiebreak bench` on real engines and a real model: one small run of each command, end to end."""

from __future__ import annotations

from pathlib import Path

import pytest

from tiebreak.bench.methods import Field
from tiebreak.bench.overhead import OverheadPlan, overhead
from tiebreak.bench.prefix import PrefixPlan, prefix
from tiebreak.bench.progress import Silent
from tiebreak.bench.results import read
from tiebreak.bench.run import RunPlan, run
from tiebreak.bench.schemas import SchemasPlan, schemas
from tiebreak.bench.sets import ItemSet, read_set
from tiebreak_conformance.hybrid import write_hybrid

pytestmark = pytest.mark.live

ENGINES = ("embedded", "slot", "pcdserver", "dohnuts")
MODEL = "smol-decider"


@pytest.fixture(scope="module")
def hybrid(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A tiny model with recurrent layers: its decisions cost next to nothing."""
    return str(write_hybrid(tmp_path_factory.mktemp("bench") / "hybrid.gguf"))


@pytest.mark.alone
def test_four_engines_on_one_file(tmp_path: Path) -> None:
    router = read_set("router")
    few = ItemSet(name="few", sha256=router.sha256, items=router.items[::30])
    field = Field(engines=ENGINES, models=(MODEL,), threads=1)
    section = run(
        RunPlan(field=field, set=few, wordings=("short",), rounds=1, again=1, order_items=0, out=tmp_path), Silent()
    )
    assert section.skipped == []
    assert tuple(method.engine for method in section.methods) == ENGINES
    assert len({method.model_sha256 for method in section.methods}) == 1
    for summary in section.summaries:
        assert summary.total.count == 3
        assert summary.accuracy is not None
        assert sum(summary.cache.values()) == 3
        assert summary.client is not None
    for load in section.loads:
        assert load.peak_bytes is not None
        assert load.peak_bytes > 50 << 20  # the weights alone are 145 MB, some of them mapped and not touched
    assert read(tmp_path).run == section


def test_prefix_caches_on_recurrent_layers(hybrid: str) -> None:
    field = Field(engines=("embedded", "slot"), models=(hybrid,), threads=1)
    section = prefix(PrefixPlan(field=field, rounds=1), Silent(), [].append)
    assert section.skipped == []
    embedded = [row for row in section.rows if row.method.startswith("embedded")]
    assert [row.rows for row in embedded] == [1, 7, 2, 1]
    assert embedded[2].status == {"hit": 1}
    assert all(row.max_deviation == 0.0 and row.flips == 0 for row in embedded)
    assert {row.state_tokens for row in section.rows} == {embedded[0].state_tokens}


@pytest.mark.alone
def test_the_cliff_of_a_cache_of_two(hybrid: str) -> None:
    field = Field(engines=("pcdserver",), models=(hybrid,), options={"cache_entries": 2})
    (section,) = schemas(SchemasPlan(field=field, most=3, rounds=1), Silent(), [].append)
    found = {(point.schemas, point.order): point for point in section.points}
    assert section.fits == 2
    assert (found[2, "rotation"].misses, found[3, "rotation"].hits) == (0, 0)
    assert found[3, "grouped"].misses == 3
    assert found[3, "rotation"].advice is not None
    assert "take turns" in found[3, "rotation"].advice


@pytest.mark.parametrize("engine", ["slot", pytest.param("pcdserver", marks=pytest.mark.alone), "dohnuts"])
def test_clients_of_one_server(engine: str, hybrid: str) -> None:
    field = Field(engines=(engine,), models=(hybrid,), threads=1)
    section = overhead(OverheadPlan(field=field, rounds=2), Silent(), [].append)
    found = {(row.server, row.client): row for row in section.clients}
    assert found["engine", "tiebreak"].over is not None
    assert found["engine", "bare socket"].over is not None
    assert found["instant", "tiebreak"].own is not None
    assert (("engine", "ornotto") in found) == (engine != "slot")
