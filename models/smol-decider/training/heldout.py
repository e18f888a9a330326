"""`Case`: one held-out question, as it is asked in an evaluation."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

import attrs

from tiebreak.questions import JSON, Option, Question
from training import examples
from training.examples import Example
from training.slots import expand
from training.tasks import Task, read

__all__ = ["FOLDER", "Case", "cases", "router"]

FOLDER = Path(__file__).with_name("heldout")
MOST_ROTATIONS = 4


@attrs.frozen(kw_only=True)
class Case:
    """A held-out example.

    Attributes:
        set: `h` (looked at while training was developed; choices are made on it), `g` and `u` (not), or `router`.
        key: equal for the rotations of one question about one state.
        rotation: by how many places the options were moved; 0 as written.
        example: what is asked.
    """

    set: str
    key: str
    rotation: int
    example: Example


def cases(path: Path, *, rotations: int = MOST_ROTATIONS) -> list[Case]:
    """The cases of one file: every state under the first wording of its question, with first names and descriptions.

    Args:
        path: a task file; the first letter of its name is the name of the set.
        rotations: the most orders of a choice's options.

    Raises:
        TaskError: the file breaks the format.
    """
    found: list[Case] = []
    for task in read([path]):
        found += _of(task, path.stem[0], rotations)
    return found


def router(wordings: Sequence[str] = ("middle", "short", "long")) -> list[Case]:
    """The router set of `tiebreak bench`: each wording translated and direct; families are `WORDING translated`, ..."""
    from tiebreak.bench.sets import read_set

    found = []
    for item in read_set("router").items:
        for wording in wordings:
            question = item.questions[wording]
            for mode, state in (("translated", item.text("translated")), ("direct", item.state)):
                gold = question.names.index(item.answer or "")
                example = Example(family=f"{wording} {mode}", state=state, question=question, gold=gold)
                found.append(Case(set="router", key=f"{item.id} {wording} {mode}", rotation=0, example=example))
    return found


def _of(task: Task, name: str, rotations: int) -> Iterator[Case]:
    for index, asked in enumerate(task.asked):
        state = _state(asked.state, f"{task.name} {index}")
        for answer, questions in ((True, asked.yes), (False, asked.no)):
            for number, question in enumerate(questions):
                example = examples.yes_no(task.name, state, question, answer)
                yield Case(set=name, key=f"{task.name} {index} {answer} {number}", rotation=0, example=example)
    for gold, label in enumerate(task.labels):
        for index, text in enumerate(label.states):
            key = f"{task.name} {gold} {index}"
            yield from _asked(task, gold, _state(text, key), (name, key), rotations)


def _asked(task: Task, gold: int, state: JSON, where: tuple[str, str], rotations: int) -> Iterator[Case]:
    name, key = where
    question = task.questions[0]
    if task.kind == "yes_no":
        # Descriptions of yes and no are not shown: that is the harder and the more frequent form.
        yield Case(set=name, key=key, rotation=0, example=examples.yes_no(task.name, state, question, gold == 1))
    elif task.kind == "score":
        levels = [label.descriptions[0] for label in task.labels]
        yield Case(set=name, key=key, rotation=0, example=examples.score(task.name, state, question, levels, gold))
    else:
        options = tuple(
            Option(name=label.names[0], description=label.descriptions[0] if label.descriptions else None)
            for label in task.labels
        )
        count = len(options)
        orders = min(rotations, count)
        for shift in sorted({place * count // orders for place in range(orders)}):
            turned = options[shift:] + options[:shift]
            example = Example(
                family=task.name,
                state=state,
                question=Question(kind="choice", text=question, options=turned),
                gold=(gold - shift) % count,
            )
            yield Case(set=name, key=key, rotation=shift, example=example)


def _state(text: str, key: str) -> JSON:
    """The state of a line, slots filled the same way every time; an object where it is written as one."""
    filled = expand(text, Random(key))
    if not filled.startswith("{"):
        return filled
    try:
        value: JSON = json.loads(filled)
    except ValueError:
        return filled
    return value
