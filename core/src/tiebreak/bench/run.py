"""`run`: every method asked the same set, in rounds, one in memory at a time."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import attrs

from tiebreak.bench import figures
from tiebreak.bench.asking import WARM_UP, WARM_UPS, Task, answers, tasks
from tiebreak.bench.file_cache import cool, warm
from tiebreak.bench.journal import Head, Journal
from tiebreak.bench.machine import describe, now, strangers
from tiebreak.bench.methods import Field, Loaded, Wish, load, model_of, quietly
from tiebreak.bench.progress import Progress
from tiebreak.bench.records import FileCache, Load, Mode, Skipped
from tiebreak.bench.results import RunSection, RunSettings, enter
from tiebreak.bench.sets import ItemSet
from tiebreak.errors import InvalidRequest, TiebreakError, Unsupported
from tiebreak.names import unknown

__all__ = ["RunPlan", "run"]


@attrs.frozen(kw_only=True)
class RunPlan:
    """What a run is to measure.

    Attributes:
        field: the methods.
        set: what they are asked.
        modes, wordings: which of the set's; the first ones where not given.
        rounds: how often every method is loaded and asked the whole set.
        again: items that are asked a second time.
        order_items: items that are asked with their options in all rotations, None for all of them.
        out: directory of the journal and the results.
        command: what the user typed.
    """

    field: Field
    set: ItemSet
    modes: Sequence[Mode] = ()
    wordings: Sequence[str] = ()
    rounds: int = 3
    again: int = 10
    order_items: int | None = 10
    out: Path
    command: str = ""

    def settings(self) -> RunSettings:
        """The plan as it is written down; checked.

        Raises:
            InvalidRequest: a mode or a wording that the set does not have, or a number that cannot be right.
        """
        for noun, given, there in (
            ("mode", self.modes, self.set.modes),
            ("wording", self.wordings, self.set.wordings),
        ):
            for name in given:
                if name not in there:
                    raise InvalidRequest(unknown(noun, name, there))
        count = len(self.set.items)
        order = count if self.order_items is None else self.order_items
        for name, value, least in (("--repeat", self.rounds, 1), ("--again", self.again, 0), ("--order", order, 0)):
            if value < least:
                raise InvalidRequest(f"{name} is {value}; it is at least {least}.")
        return RunSettings(
            engines=[info.name for info in self.field.infos()],
            models=list(self.field.models),
            layouts=list(self.field.layouts),
            set_name=self.set.name,
            set_sha256=self.set.sha256,
            items=count,
            modes=list(dict.fromkeys(self.modes)) or [self.set.modes[0]],
            wordings=list(dict.fromkeys(self.wordings)) or [self.set.wordings[0]],
            rounds=self.rounds,
            again=min(self.again, count),
            order_items=min(order, count),
            threads=self.field.threads,
            url=self.field.url,
            options=dict(self.field.options),
        )


def run(plan: RunPlan, progress: Progress, *, resume: bool = False) -> RunSection:
    """Measure, and write journal and results into the plan's directory.

    Args:
        plan: what to measure.
        progress: told about every step.
        resume: go on with the run that the directory holds.

    Returns:
        the section that was written; also after an interruption, which is raised again once that is done.

    Raises:
        InvalidRequest, EngineUnavailable: the plan is wrong; nothing was started.
        TiebreakError: no method could be measured at all; the last one's reason.
    """
    settings = plan.settings()
    wishes, refused = plan.field.wishes()
    if resume:
        journal = Journal.resume(plan.out, settings)
    else:
        head = Head(
            settings=settings, machine=describe(), command=plan.command, started=now(), notes=tuple(_notes(settings))
        )
        journal = Journal.begin(plan.out, head)
        for skip in refused:
            journal.add(skip)
    runner = _Runner(plan, journal, progress, wishes)
    began = time.monotonic()
    finished = False
    try:
        runner.rounds()
        finished = True
    finally:
        journal.spent(time.monotonic() - began)
        section = _section(journal, finished, runner.heard)
        enter(plan.out, run=section)
    if not section.summaries and runner.failure is not None:
        raise runner.failure
    return section


class _Runner:
    """The rounds of one run."""

    def __init__(self, plan: RunPlan, journal: Journal, progress: Progress, wishes: Sequence[Wish]) -> None:
        self.plan = plan
        self.journal = journal
        self.progress = progress
        self.heard: dict[str, None] = {}
        self.failure: TiebreakError | None = None
        self.wordings: dict[str, list[str]] = {}
        gone = {skip.method for skip in journal.skipped}
        self.wishes = [wish for wish in wishes if wish.name not in gone]

    def rounds(self) -> None:
        settings = self.journal.head.settings
        asked = [tasks(settings, self.plan.set, number) for number in range(settings.rounds)]
        blocks = [
            (number, wish)
            for number in range(settings.rounds)
            for wish in _turned(self.wishes, number)
            if (number, wish.name) not in self.journal.done
        ]
        steps: dict[str, int] = {}
        loads: dict[str, int] = {}
        for number, wish in blocks:
            steps[wish.name] = steps.get(wish.name, 0) + len(asked[number])
            loads[wish.name] = loads.get(wish.name, 0) + 1 + (number == 0)
        self.progress.plan(steps, loads)
        for number, wish in blocks:
            if wish in self.wishes:
                self._block(number, wish, asked[number])

    def _block(self, number: int, wish: Wish, tasks: Sequence[Task]) -> None:
        registry = self.plan.field.registry
        try:
            with quietly(self.heard):
                model = model_of(wish, registry)
                path = model.path if model is not None else None
                if number == 0:
                    self._cold(wish, path)
                if path is not None:
                    warm(path)
                with load(wish, registry) as loaded:
                    first = self._first(wish, loaded)
                    fitting = [task for task in tasks if task.wording in self.wordings[wish.name]]
                    try:
                        self._ask_all(number, wish, loaded, fitting)
                    finally:
                        self._enter_load(loaded, number, "warm" if path else "unknown", first)
            self.journal.finish(number, wish.name)
        except TiebreakError as error:
            self.failure = error
            self.wishes.remove(wish)
            self.journal.add(Skipped(method=wish.name, reason=f"in round {number + 1}: {error}"))
            self.progress.dropped(wish.name)
            self.progress.say(f"{wish.name} is left out: {error}")

    def _cold(self, wish: Wish, path: Path | None) -> None:
        """One load with the file out of memory, where that can be brought about; it answers once and goes."""
        if path is None or not cool(path):
            self.heard[f"{wish.name}: no cold load, because its file could not be dropped from memory."] = None
            self.progress.loaded(wish.name, 0.0)
            return
        with load(wish, self.plan.field.registry) as loaded:
            self._enter_load(loaded, 0, "cold", self._first(wish, loaded))

    def _first(self, wish: Wish, loaded: Loaded) -> float:
        """Milliseconds of the first answer after a load."""
        self.journal.add(loaded.method)
        if wish.name not in self.wordings:
            self.wordings[wish.name] = self._fitting(loaded)
        asked = self.plan.set.items[0].questions[self.wordings[wish.name][0]]
        _, first = loaded.ask(WARM_UP, {"answer": asked})
        self.progress.loaded(wish.name, (loaded.ready_ms + first) / 1e3)
        return first

    def _fitting(self, loaded: Loaded) -> list[str]:
        """The wordings that the method takes: one that is too long for it does not cost it the others."""
        fitting = []
        refused: TiebreakError | None = None
        for wording in self.journal.head.settings.wordings:
            try:
                loaded.decider.explain(WARM_UP, {"answer": self.plan.set.items[0].questions[wording]})
            except (InvalidRequest, Unsupported) as error:
                refused = error
                skip = Skipped(method=f"{loaded.method.id}, {wording} wording", reason=str(error))
                if len(self.journal.head.settings.wordings) > 1 and skip not in self.journal.skipped:
                    self.journal.add(skip)
            else:
                fitting.append(wording)
        if refused is not None and not fitting:
            raise refused
        return fitting

    def _enter_load(self, loaded: Loaded, number: int, state: FileCache, first: float) -> None:
        self.journal.add(
            Load(
                method=loaded.method.id,
                round=number,
                file_cache=state,
                ready_ms=loaded.ready_ms,
                first_answer_ms=first,
                peak_bytes=loaded.peak.bytes if loaded.peak is not None else None,
            )
        )

    def _ask_all(self, number: int, wish: Wish, loaded: Loaded, tasks: Sequence[Task]) -> None:
        method = loaded.method.id
        done = {
            (row.role, row.mode, row.wording, row.item, row.repeat, row.rotation)
            for row in self.journal.asked
            if row.method == method and row.round == number and not row.copied
        }
        for task in tasks:
            if task.role != "warm-up" and task.key in done:
                continue
            decision, total = loaded.ask(task.state, {"answer": task.question})
            for row in answers(task, method, number, decision, total):
                self.journal.add(row)
            if loaded.peak is not None:
                loaded.peak.look()
            self.progress.asked(wish.name, total / 1e3)


def _turned(wishes: Sequence[Wish], number: int) -> list[Wish]:
    """The methods in the order of a round: each round begins with another one."""
    start = number % len(wishes) if wishes else 0
    return [*wishes[start:], *wishes[:start]]


def _notes(settings: RunSettings) -> Iterator[str]:
    yield (
        f"{settings.rounds} rounds; in each, every method is loaded alone, warmed up with {WARM_UPS} answers that do "
        "not count, asked the whole set, and stopped; each round begins with another method."
    )
    if 0 < settings.order_items < settings.items:
        yield f"The order of options was turned for {settings.order_items} of {settings.items} items."
    others = strangers()
    if others:
        yield f"Other engines ran on this machine meanwhile: {', '.join(others)}."


def _section(journal: Journal, finished: bool, heard: dict[str, None]) -> RunSection:
    head = journal.head
    return RunSection(
        machine=head.machine,
        command=head.command,
        started=head.started,
        seconds=journal.seconds,
        notes=[*head.notes, *heard],
        methods=list(journal.methods.values()),
        skipped=journal.skipped,
        settings=head.settings,
        finished=finished,
        loads=journal.loads,
        asked=journal.asked,
        summaries=figures.summaries(journal.asked),
        agreements=figures.agreements(journal.asked),
    )
