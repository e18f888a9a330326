"""A run on engines that answer at once: what is asked and written down, and how it goes on after an interruption."""

from __future__ import annotations

import json
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import attrs
import pytest

from tiebreak import EngineUnavailable, InvalidRequest, TiebreakError
from tiebreak.bench.journal import FILE
from tiebreak.bench.progress import Silent
from tiebreak.bench.results import read
from tiebreak.bench.run import RunPlan, run
from tiebreak.bench.sets import read_set
from tiebreak.engine import Limits
from tiebreak.questions import Request
from tiebreak.registry import Registry
from tiebreak_conformance.reference import ReferencePlugin

Plans = Callable[..., RunPlan]
Reference = Callable[..., ReferencePlugin]


class Watched(Silent):
    """Takes note, and stops the run after some answers."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.stop_after = stop_after
        self.count = 0
        self.steps: Mapping[str, int] = {}
        self.loads = 0

    def plan(self, steps: Mapping[str, int], loads: Mapping[str, int]) -> None:
        self.steps = steps

    def loaded(self, name: str, seconds: float) -> None:
        self.loads += 1

    def asked(self, name: str, seconds: float) -> None:
        self.count += 1
        if self.count == self.stop_after:
            raise KeyboardInterrupt


def test_a_run_asks_every_method_everything_in_every_round(plan: Plans) -> None:
    watched = Watched()
    section = run(plan(), watched)
    assert section.finished
    assert [method.engine for method in section.methods] == ["reference", "other"]
    for method in section.methods:
        rows = [row for row in section.asked if row.method == method.id]
        roles = Counter((row.round, row.role, row.repeat) for row in rows)
        # two of the three items are turned: one with three options, one with two or three
        assert roles[0, "measured", 0] == roles[1, "measured", 0] == 3
        assert roles[0, "measured", 1] == roles[1, "measured", 1] == 1
        assert roles[0, "warm-up", 0] == 2
        assert roles[0, "order", 0] == 4
        assert roles[1, "order", 0] == 0
    assert watched.count == sum(watched.steps.values()) == len(section.asked)
    assert {(load.method, load.round) for load in section.loads} == {
        (method.id, number) for method in section.methods for number in (0, 1)
    }


def test_rounds_begin_with_another_method(plan: Plans) -> None:
    section = run(plan(), Silent())
    blocks = list(dict.fromkeys((row.round, row.method.split()[0]) for row in section.asked))
    assert blocks == [(0, "reference"), (0, "other"), (1, "other"), (1, "reference")]


def test_what_is_written_is_what_was_found(plan: Plans, tmp_path: Path) -> None:
    section = run(plan(), Silent())
    assert read(tmp_path / "out").run == section


def test_an_item_without_translation_is_asked_once_for_both_modes(plan: Plans) -> None:
    section = run(
        plan(engines=("reference",), modes=("direct", "translated"), rounds=1, again=0, order_items=0), Silent()
    )
    found = {(row.item, row.mode): row for row in section.asked if row.role == "measured"}
    assert len(found) == 6
    assert not found["one", "translated"].copied
    assert found["one", "translated"].probabilities != found["one", "direct"].probabilities
    assert found["two", "translated"].copied
    assert found["two", "translated"].probabilities == found["two", "direct"].probabilities
    assert [summary.mode for summary in section.summaries] == ["direct", "translated"]
    assert {summary.total.count for summary in section.summaries} == {3}


def test_options_are_turned_and_named_in_the_order_asked(plan: Plans) -> None:
    section = run(plan(engines=("reference",)), Silent())
    turned = [row for row in section.asked if row.role == "order" and row.item == "one"]
    assert [list(row.probabilities) for row in turned] == [["waste", "noise", "roads"], ["noise", "roads", "waste"]]
    (summary,) = section.summaries
    assert summary.order is not None
    assert summary.order.flipped.of == 2
    assert sum(summary.order.picked) == 3 + 3


def test_figures_of_a_run(plan: Plans) -> None:
    section = run(plan(), Silent())
    for summary in section.summaries:
        assert summary.accuracy is not None
        assert summary.accuracy.of == 2  # one item has no answer
        assert set(summary.by_language) == {"de", "en"}
        assert set(summary.by_label) == {"roads", "waste"}
        assert summary.total.count == 6
        assert summary.repeats is not None
        assert summary.repeats.count == 2
        assert summary.client is not None
        assert summary.unstable == 0
        assert summary.tokens is not None
    (agreement,) = section.agreements
    assert agreement.same.of == 3
    assert agreement.max_deviation == 0.0  # the same engine under two names


def test_an_interrupted_run_keeps_what_it_has_and_goes_on_from_there(plan: Plans, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(plan(), Watched(stop_after=7))
    before = read(tmp_path / "out").run
    assert before is not None
    assert not before.finished
    assert len(before.asked) == 7
    watched = Watched()
    after = run(plan(), watched, resume=True)
    assert after.finished
    assert [row for row in after.asked if row.role != "warm-up"][:5] == [
        row for row in before.asked if row.role != "warm-up"
    ]
    measured = Counter((row.method, row.round, row.role, row.item, row.repeat, row.rotation) for row in after.asked)
    assert {count for key, count in measured.items() if key[2] != "warm-up"} == {1}
    whole = run(plan(out=tmp_path / "whole"), Silent())
    assert len([row for row in whole.asked if row.role != "warm-up"]) == len(
        [row for row in after.asked if row.role != "warm-up"]
    )


def test_a_line_that_was_torn_is_measured_again(plan: Plans, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(plan(), Watched(stop_after=7))
    journal = tmp_path / "out" / FILE
    journal.write_bytes(journal.read_bytes() + b'{"Asked": {"method": "refe')
    assert run(plan(), Silent(), resume=True).finished


def test_a_finished_run_is_not_measured_again(plan: Plans) -> None:
    first = run(plan(), Silent())
    watched = Watched()
    second = run(plan(), watched, resume=True)
    assert watched.count == watched.loads == 0
    assert second.asked == first.asked


@pytest.mark.parametrize("changes", [{"rounds": 3}, {"again": 0}, {"engines": ("reference",)}, {"modes": ("direct",)}])
def test_resuming_with_other_settings_names_them(plan: Plans, changes: dict[str, Any]) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(plan(), Watched(stop_after=3))
    with pytest.raises(InvalidRequest, match="was begun with other settings: "):
        run(plan(**changes), Silent(), resume=True)


def test_resuming_nothing(plan: Plans) -> None:
    with pytest.raises(InvalidRequest, match="holds no run that could be resumed"):
        run(plan(), Silent(), resume=True)


def test_a_directory_with_a_run_is_not_overwritten(plan: Plans) -> None:
    run(plan(), Silent())
    with pytest.raises(InvalidRequest, match="already holds a run"):
        run(plan(), Silent())


def test_a_damaged_journal_is_named(plan: Plans, tmp_path: Path) -> None:
    run(plan(), Silent())
    journal = tmp_path / "out" / FILE
    lines = journal.read_text(encoding="utf-8").splitlines(keepends=True)
    lines[3] = json.dumps({"Nothing": {}}) + "\n"
    journal.write_text("".join(lines), encoding="utf-8")
    with pytest.raises(InvalidRequest, match="is damaged"):
        run(plan(), Silent(), resume=True)


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"modes": ("sideways",)}, "no mode 'sideways'"),
        ({"wordings": ("short",)}, "no wording 'short'"),
        ({"rounds": 0}, "--repeat is 0"),
        ({"again": -1}, "--again is -1"),
        ({"order_items": -1}, "--order is -1"),
        ({"engines": ("reference", "reference")}, "given twice"),
        ({"field": {"options": {"colour": "red"}}}, "no option 'colour'"),
        ({"field": {"options": {"entries": 0}}}, "Option entries is 0"),
        ({"field": {"layouts": ("upside-down",)}}, "no layout 'upside-down'"),
    ],
)
def test_wrong_plans_are_refused_before_anything_is_written(
    plan: Plans, tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidRequest, match=message):
        run(plan(**changes), Silent())
    assert not (tmp_path / "out").exists()


def test_an_engine_that_is_not_installed(plan: Plans) -> None:
    with pytest.raises(EngineUnavailable, match="no engine 'refrence'"):
        run(plan(engines=("refrence",)), Silent())


def test_a_method_that_fails_is_left_out_and_the_others_go_on(plan: Plans) -> None:
    section = run(plan(engines=("narrow", "reference")), Silent())
    assert section.finished
    assert [summary.method for summary in section.summaries] == ["reference decider"]
    (skip,) = section.skipped
    assert skip.method == "narrow"
    assert "3 options; it takes 2" in skip.reason


def test_a_run_in_which_everything_failed_raises_why(plan: Plans, tmp_path: Path) -> None:
    with pytest.raises(TiebreakError, match="3 options; it takes 2"):
        run(plan(engines=("narrow",)), Silent())
    assert read(tmp_path / "out").run is not None


def test_layouts_that_an_engine_does_not_have_are_left_out(plan: Plans) -> None:
    section = run(plan(field={"layouts": ("decider", "chat")}), Silent())
    assert [method.layout for method in section.methods] == ["decider", "chat", "decider", "chat"]


def test_warnings_of_sessions_become_notes(plan: Plans) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        section = run(plan(field={"options": {"min_coverage": 1.0}}), Silent())
    assert any("low coverage" in note for note in section.notes)


class Brief(Limits):
    """Refuses long descriptions."""

    def check(self, request: Request, engine: str) -> None:
        for question in request.questions.values():
            if sum(len(option.text) for option in question.options) > 500:
                raise InvalidRequest("The descriptions are too long.", engine=engine)


def test_a_wording_that_an_engine_does_not_take_costs_it_that_wording_only(
    plan: Plans, reference: Reference, registry: Registry
) -> None:
    router = read_set("router")
    few = attrs.evolve(router, items=router.items[:2])
    registry.add(reference("brief", limits=Brief()), "brief")
    section = run(plan(engines=("brief", "reference"), set=few, wordings=("long", "short")), Silent())
    found = [(summary.method.split()[0], summary.wording) for summary in section.summaries]
    assert found == [("brief", "short"), ("reference", "long"), ("reference", "short")]
    (skip,) = section.skipped
    assert skip.method == "brief decider, long wording"
    assert "too long" in skip.reason


def test_without_names_every_engine_that_runs_here_is_measured(plan: Plans, registry: Registry) -> None:
    registry.names = lambda: ["other", "broken", "reference"]  # type: ignore[method-assign]
    section = run(plan(engines=()), Silent())
    assert [method.engine for method in section.methods] == ["other", "reference"]
    assert [skip.method for skip in section.skipped] == ["broken"]
