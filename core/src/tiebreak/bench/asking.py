"""`Task`: one question of a round, and what is written down of its answer."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import attrs

from tiebreak.answers import Decision
from tiebreak.bench.methods import computed
from tiebreak.bench.records import Asked, Mode, Role
from tiebreak.bench.results import RunSettings
from tiebreak.bench.sets import Item, ItemSet
from tiebreak.questions import JSON, Question

__all__ = ["WARM_UP", "WARM_UPS", "Task", "answers", "tasks"]

WARM_UPS = 2
"""Answers before each wording that are in no figure; the first answer after a load is kept apart."""

WARM_UP = "This text is in no set; it is there so that the first one that counts is not the first."


@attrs.frozen(kw_only=True)
class Task:
    """One question to ask; `modes` are all those that its answer stands for."""

    role: Role
    modes: tuple[Mode, ...]
    wording: str
    item: Item
    repeat: int = 0
    rotation: int = 0

    @property
    def state(self) -> JSON:
        """What is judged."""
        return self.item.text(self.modes[0])

    @property
    def question(self) -> Question:
        """What is asked, with its options in this task's order."""
        asked = self.item.questions[self.wording]
        return attrs.evolve(asked, options=asked.options[self.rotation :] + asked.options[: self.rotation])

    @property
    def key(self) -> tuple[object, ...]:
        """Tells it from every other task of its round."""
        return (self.role, self.modes[0], self.wording, self.item.id, self.repeat, self.rotation)


def tasks(settings: RunSettings, asked: ItemSet, number: int) -> list[Task]:
    """What a round asks, in order: warm-up, the set, some of it again, and in the first round other orders."""
    found = []
    for wording in settings.wordings:
        question = asked.items[0].questions[wording]
        for turn in range(WARM_UPS):
            item = Item(id=f"warm-up {turn + 1}", state=f"{turn + 1}. {WARM_UP}", questions={wording: question})
            found.append(Task(role="warm-up", modes=(settings.modes[0],), wording=wording, item=item))
        for mode, repeat in itertools.product(settings.modes, (0, 1)):
            items = asked.items if repeat == 0 else asked.items[: settings.again]
            for item in items:
                modes = _modes(settings.modes, mode, item)
                if modes:
                    found.append(Task(role="measured", modes=modes, wording=wording, item=item, repeat=repeat))
        if number == 0:
            # Spread over the set: its items may be sorted by label.
            some = [asked.items[i * len(asked.items) // settings.order_items] for i in range(settings.order_items)]
            found += [
                Task(role="order", modes=(settings.modes[0],), wording=wording, item=item, rotation=rotation)
                for item in some
                for rotation in range(1, len(item.questions[wording].options))
            ]
    return found


def _modes(modes: Sequence[Mode], mode: Mode, item: Item) -> tuple[Mode, ...]:
    """The modes that asking an item in one of them stands for: without a translation it is asked once, for all."""
    if item.translated is not None:
        return (mode,)
    return tuple(modes) if mode == modes[0] else ()


def answers(task: Task, method: str, number: int, decision: Decision, total: float) -> Iterator[Asked]:
    """The rows that an answer makes, one for each mode that it stands for; `total` is the wall clock of the call."""
    answer, spent, cache = decision["answer"], decision.timings, decision.cache
    ours = {"layout": spent.layout, "queue": spent.queue, "transport": spent.transport, "readout": spent.readout}
    known = {name: value for name, value in ours.items() if value is not None}
    engine = computed(decision)
    theirs = {"prefill": spent.prefill, "restore": spent.restore}
    phases = {
        **known,
        **{name: value for name, value in theirs.items() if value is not None},
        **{f"engine.{name}": value for name, value in spent.engine.items()},
    }
    for mode in task.modes:
        yield Asked(
            method=method,
            mode=mode,
            wording=task.wording,
            item=task.item.id,
            round=number,
            role=task.role,
            repeat=task.repeat,
            copied=mode != task.modes[0],
            rotation=task.rotation,
            language=task.item.language,
            expected=task.item.answer,
            value=str(answer.value),
            probabilities=dict(answer.probabilities),
            coverage=answer.coverage,
            approximate=answer.approximate,
            total_ms=total,
            engine_ms=engine,
            client_ms=None if engine is None else total - engine,
            phases=phases,
            cache=cache.status,
            reused_tokens=cache.reused_tokens,
            prompt_tokens=decision.receipt.prompt_tokens,
        )
