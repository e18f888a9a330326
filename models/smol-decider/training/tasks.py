"""`Task`: a hand-written family of decisions, read from a task file. FORMAT.md describes the format."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import attrs

from tiebreak.questions import KINDS, Kind

__all__ = ["Asked", "Label", "Task", "TaskError", "parse", "read"]

_HEAD = re.compile(r"## ([a-z0-9_]+) (\w+)")
_MOST_OPTIONS = 20


class TaskError(ValueError):
    """A task file breaks the format; the message names file and line."""


@attrs.frozen(kw_only=True)
class Label:
    """One answer of a family.

    Attributes:
        names: the label and its aliases; for yes/no `yes` or `no`, for a score the level's number.
        descriptions: ways to explain it; for a score the names of the level.
        states: what it is right for, slots not filled.
    """

    names: tuple[str, ...]
    descriptions: tuple[str, ...]
    states: tuple[str, ...]


@attrs.frozen(kw_only=True)
class Asked:
    """A state with its own yes/no questions (the second form of yes/no)."""

    state: str
    yes: tuple[str, ...]
    no: tuple[str, ...]


@attrs.frozen(kw_only=True)
class Task:
    """A family of decisions.

    Attributes:
        name: unique over all files.
        kind: `choice`, `yes_no` or `score`.
        questions: wordings; empty where each state has its own questions.
        labels: the answers in the order of the file, for yes/no `no` first; empty where states have their own questions.
        asked: states with their own questions; empty in all other tasks.
    """

    name: str
    kind: Kind
    questions: tuple[str, ...] = ()
    labels: tuple[Label, ...] = ()
    asked: tuple[Asked, ...] = ()


def read(paths: Iterable[Path]) -> list[Task]:
    """The tasks of several files.

    Raises:
        TaskError: a file breaks the format, or two tasks have one name.
        OSError: a file cannot be read.
    """
    tasks: list[Task] = []
    homes: dict[str, Path] = {}
    for path in paths:
        for task in parse(path.read_text(encoding="utf-8"), path.name):
            if task.name in homes:
                raise TaskError(f"{path.name}: {task.name} stands in {homes[task.name].name} already")
            homes[task.name] = path
            tasks.append(task)
    return tasks


def parse(text: str, source: str) -> list[Task]:
    """The tasks of one file.

    Args:
        text: the file.
        source: what errors call it.

    Raises:
        TaskError: naming `source` and the line.
    """
    blocks: list[list[tuple[int, str]]] = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("## "):
            blocks.append([])
        if not blocks:
            if line.strip():
                raise TaskError(f"{source}:{number}: before the first '## NAME KIND'")
            continue
        if line.strip():
            blocks[-1].append((number, line.rstrip("\r")))
    return [_Block(source, lines).task() for lines in blocks]


class _Block:
    """The lines of one task on their way to a `Task`."""

    def __init__(self, source: str, lines: Sequence[tuple[int, str]]) -> None:
        self._source = source
        self._head, self._lines = lines[0], lines[1:]
        self._questions: list[str] = []
        self._labels: list[tuple[int, list[str], list[str], list[str]]] = []
        self._asked: list[tuple[int, str, list[str], list[str]]] = []

    def task(self) -> Task:
        number, line = self._head
        head = _HEAD.fullmatch(line.strip())
        if head is None or head[2] not in KINDS:
            raise self._error(number, f"{line!r} is not '## name kind' with a kind of {', '.join(KINDS)}")
        name, kind = head[1], KINDS[KINDS.index(head[2])]  # type: ignore[arg-type]
        for at, text in self._lines:
            self._take(at, text, kind)
        if self._asked:
            return Task(name=name, kind=kind, asked=self._own_questions(number))
        return self._checked(
            number,
            Task(
                name=name,
                kind=kind,
                questions=tuple(self._questions),
                labels=tuple(
                    Label(names=tuple(names), descriptions=tuple(texts), states=tuple(states))
                    for _, names, texts, states in sorted(self._labels, key=lambda label: self._rank(label[1][0], kind))
                ),
            ),
        )

    def _take(self, number: int, line: str, kind: Kind) -> None:
        """One line below the head."""
        mark, _, rest = line.partition(" ")
        rest = rest.strip()
        if mark in ("Q:", "-", "S:", "yes?", "no?") and not rest:
            raise self._error(number, f"nothing after {mark!r}")
        if mark == "Q:":
            self._questions.append(rest)
        elif mark == "S:":
            if kind != "yes_no":
                raise self._error(number, f"states with questions of their own are yes_no, not {kind}")
            self._asked.append((number, rest, [], []))
        elif mark in ("yes?", "no?"):
            if not self._asked:
                raise self._error(number, f"{mark} stands under no 'S: '")
            self._asked[-1][2 if mark == "yes?" else 3].append(rest)
        elif mark == "-":
            if not self._labels:
                raise self._error(number, "a state before the first label")
            self._labels[-1][3].append(rest)
        else:
            head, _, text = line.partition(" | ")
            names = [part.strip() for part in head.split(" / ")] if kind == "choice" else [head.strip()]
            texts = [part.strip() for part in text.split("||") if part.strip()]
            self._labels.append((number, names, texts, []))

    def _own_questions(self, number: int) -> tuple[Asked, ...]:
        if self._labels or self._questions:
            raise self._error(number, "labels or 'Q: ' beside states with questions of their own")
        for at, state, yes, no in self._asked:
            if not yes and not no:
                raise self._error(at, f"no question about {state[:40]!r}")
        asked = tuple(Asked(state=state, yes=tuple(yes), no=tuple(no)) for _, state, yes, no in self._asked)
        if not any(one.yes for one in asked) or not any(one.no for one in asked):
            raise self._error(number, "questions of one answer only")
        return asked

    def _checked(self, number: int, task: Task) -> Task:
        if not task.questions:
            raise self._error(number, f"{task.name} has no 'Q: '")
        names = [label.names[0] for label in task.labels]
        if task.kind == "yes_no" and names != ["no", "yes"]:
            raise self._error(number, f"{task.name} has the labels {names}, not yes and no")
        if task.kind == "score" and names != [str(level) for level in range(len(names))]:
            raise self._error(number, f"{task.name} has the levels {names}, not 0, 1, ...")
        if not 2 <= len(names) <= _MOST_OPTIONS:
            raise self._error(number, f"{task.name} has {len(names)} labels, not 2 to {_MOST_OPTIONS}")
        known: set[str] = set()
        states: set[str] = set()
        for at, spellings, texts, lines in self._labels:
            if task.kind == "score" and not texts:
                raise self._error(at, f"level {spellings[0]} has no name")
            if not lines:
                raise self._error(at, f"{spellings[0]!r} has no state")
            for spelling in spellings:
                if not spelling or spelling in known:
                    raise self._error(at, f"the label {spelling!r} is empty or there already")
                known.add(spelling)
            for line in lines:
                if line in states:
                    raise self._error(at, f"under {spellings[0]!r}: the state {line[:40]!r} is there twice")
                states.add(line)
        return task

    @staticmethod
    def _rank(name: str, kind: Kind) -> int:
        return ("no", "yes").index(name) if kind == "yes_no" and name in ("no", "yes") else 0

    def _error(self, number: int, what: str) -> TaskError:
        return TaskError(f"{self._source}:{number}: {what}")
