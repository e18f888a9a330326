"""`parity`: how far engines are from a reference that runs the same weights."""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable, Mapping

import attrs

from tiebreak.bench.figures import apart
from tiebreak.bench.machine import describe, now
from tiebreak.bench.methods import Field, Wish, load, model_of, quietly
from tiebreak.bench.omissions import Omissions
from tiebreak.bench.progress import Progress
from tiebreak.bench.records import Method, Mode
from tiebreak.bench.results import ParityRow, ParitySection
from tiebreak.bench.sets import ItemSet
from tiebreak.bench.statistics import wilson
from tiebreak.errors import InvalidRequest
from tiebreak.names import unknown

__all__ = ["ParityPlan", "parity"]

Answers = Mapping[str, tuple[str, Mapping[str, float]]]
"""Item -> value and probabilities."""


@attrs.frozen(kw_only=True)
class ParityPlan:
    """What to compare.

    Attributes:
        reference: the engine that the others are held against; it reads the same model file.
        field: the others, with models and options.
        set, mode, wording: what is asked; mode and wording as in `RunPlan`.
    """

    reference: str
    field: Field
    set: ItemSet
    mode: Mode | None = None
    wording: str | None = None
    command: str = ""


def parity(plan: ParityPlan, progress: Progress, keep: Callable[[ParitySection], object]) -> list[ParitySection]:
    """Compare, one section for each model.

    Args:
        plan: what to compare.
        progress: told about every step.
        keep: called with each section once it is there.

    Raises:
        InvalidRequest, EngineUnavailable: the plan is wrong; nothing was started.
        TiebreakError: the reference could not answer, or no other engine could.
    """
    mode, wording = plan.mode or plan.set.modes[0], plan.wording or plan.set.wordings[0]
    if mode not in plan.set.modes:
        raise InvalidRequest(unknown("mode", mode, plan.set.modes))
    if wording not in plan.set.wordings:
        raise InvalidRequest(unknown("wording", wording, plan.set.wordings))
    alone = attrs.evolve(plan.field, engines=(plan.reference,))
    references, _ = alone.wishes()
    engines = [info.name for info in plan.field.infos() if info.name != plan.reference]
    if not engines:
        raise InvalidRequest("There is no engine but the reference.", remedy="Name others with --engines.")
    wishes, skipped = attrs.evolve(plan.field, engines=engines).wishes()
    count = len(plan.set.items)
    progress.plan(
        {wish.name: count for wish in (*references, *wishes)}, {wish.name: 1 for wish in (*references, *wishes)}
    )
    sections: list[ParitySection] = []
    for model in plan.field.models or (None,):
        reference = next(wish for wish in references if wish.model == model)
        others = [wish for wish in wishes if wish.model == model]
        section = _section(plan, (mode, wording), reference, others, progress)
        if not sections:
            section = section.model_copy(update={"skipped": [*skipped, *section.skipped]})
        keep(section)
        sections.append(section)
    return sections


def _section(
    plan: ParityPlan, how: tuple[Mode, str], reference: Wish, others: list[Wish], progress: Progress
) -> ParitySection:
    machine, started, began = describe(), now(), time.monotonic()
    heard: dict[str, None] = {}
    truth, right = _ask(plan, how, reference, progress, heard)
    methods, rows = [truth], []
    omissions = Omissions([], progress)
    for wish in others:
        with omissions.around(wish):
            method, found = _ask(plan, how, wish, progress, heard)
            methods.append(method)
            rows.append(_row(method, right, found))
            if method.layout != truth.layout:
                said = f"{method.id} reads another prompt than the reference: what differs is not arithmetic alone."
                heard[said] = None
    omissions.refuse_nothing(rows)
    return ParitySection(
        machine=machine,
        command=plan.command,
        started=started,
        seconds=time.monotonic() - began,
        notes=list(heard),
        methods=methods,
        skipped=omissions.skipped,
        reference=truth.id,
        set_name=f"{plan.set.name}, {how[0]}, {how[1]}",
        items=len(plan.set.items),
        rows=rows,
    )


def _ask(
    plan: ParityPlan, how: tuple[Mode, str], wish: Wish, progress: Progress, heard: dict[str, None]
) -> tuple[Method, Answers]:
    mode, wording = how
    found = {}
    with quietly(heard):
        model_of(wish, plan.field.registry)
        with load(wish, plan.field.registry) as loaded:
            progress.loaded(wish.name, loaded.ready_ms / 1e3)
            for item in plan.set.items:
                decision, ms = loaded.ask(item.text(mode), {"answer": item.questions[wording]})
                answer = decision["answer"]
                found[item.id] = (str(answer.value), dict(answer.probabilities))
                progress.asked(wish.name, ms / 1e3)
    return loaded.method, found


def _row(method: Method, right: Answers, found: Answers) -> ParityRow:
    far = {item: apart(right[item][1], found[item][1]) for item in right}
    flips = [item for item in right if right[item][0] != found[item][0]]
    return ParityRow(
        method=method.id,
        same=wilson(len(right) - len(flips), len(right)),
        max_deviation=max(map(max, far.values())),
        mean_deviation=statistics.fmean(itertools.chain.from_iterable(far.values())),
        flips=flips,
        worst=max(far, key=lambda item: max(far[item])),
    )
