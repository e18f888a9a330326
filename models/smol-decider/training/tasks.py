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
        labels: the answers, for yes/no `no` first; empty where states have their own questions.
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


@attrs.define
class _Label:
    """A label while its lines are read."""

    line: int
    names: list[str]
    texts: list[str]
    states: list[str] = attrs.field(factory=list)


@attrs.define
class _Asked:
    """A state with questions of its own while its lines are read."""

    line: int
    state: str
    yes: list[str] = attrs.field(factory=list)
    no: list[str] = attrs.field(factory=list)


class _Block:
    """The lines of one task on their way to a `Task`."""

    def __init__(self, source: str, lines: Sequence[tuple[int, str]]) -> None:
        self._source = source
        self._head, self._lines = lines[0], lines[1:]
        self._questions: list[str] = []
        self._labels: list[_Label] = []
        self._label: _Label | None = None
        self._asked: list[_Asked] = []

    def task(self) -> Task:
        number, line = self._head
        head = _HEAD.fullmatch(line.strip())
        kind = next((known for known in KINDS if head is not None and known == head[2]), None)
        if head is None or kind is None:
            raise self._error(number, f"{line!r} is not '## name kind' with a kind of {', '.join(KINDS)}")
        for at, text in self._lines:
            self._take(at, text, kind)
        if self._asked:
            return Task(name=head[1], kind=kind, asked=self._own_questions(number))
        if kind == "yes_no":
            self._labels.sort(key=lambda label: label.names != ["no"])
        self._check(number, head[1], kind)
        labels = tuple(
            Label(names=tuple(label.names), descriptions=tuple(label.texts), states=tuple(label.states))
            for label in self._labels
        )
        return Task(name=head[1], kind=kind, questions=tuple(self._questions), labels=labels)

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
            self._asked.append(_Asked(number, rest))
        elif mark in ("yes?", "no?"):
            if not self._asked:
                raise self._error(number, f"{mark} stands under no 'S: '")
            (self._asked[-1].yes if mark == "yes?" else self._asked[-1].no).append(rest)
        elif mark == "-":
            if self._label is None:
                raise self._error(number, "a state before the first label")
            self._label.states.append(rest)
        else:
            self._label = self._named(number, line, kind)

    def _named(self, number: int, line: str, kind: Kind) -> _Label:
        """The label of a line: a new one, or one that was there and is named again, alone."""
        head, _, text = line.partition(" | ")
        names = [part.strip() for part in head.split(" / ")] if kind == "choice" else [head.strip()]
        texts = [part.strip() for part in text.split("||") if part.strip()]
        for label in self._labels:
            if names[0] in label.names and not texts:
                return label
        self._labels.append(_Label(number, names, texts))
        return self._labels[-1]

    def _own_questions(self, number: int) -> tuple[Asked, ...]:
        if self._labels or self._questions:
            raise self._error(number, "labels or 'Q: ' beside states with questions of their own")
        for one in self._asked:
            if not one.yes and not one.no:
                raise self._error(one.line, f"no question about {one.state[:40]!r}")
        asked = tuple(Asked(state=one.state, yes=tuple(one.yes), no=tuple(one.no)) for one in self._asked)
        if not any(one.yes for one in asked) or not any(one.no for one in asked):
            raise self._error(number, "questions of one answer only")
        return asked

    def _check(self, number: int, name: str, kind: Kind) -> None:
        if not self._questions:
            raise self._error(number, f"{name} has no 'Q: '")
        names = [label.names[0] for label in self._labels]
        if kind == "yes_no" and names != ["no", "yes"]:
            raise self._error(number, f"{name} has the labels {names}, not yes and no")
        if kind == "score" and names != [str(level) for level in range(len(names))]:
            raise self._error(number, f"{name} has the levels {names}, not 0, 1, ...")
        if not 2 <= len(names) <= _MOST_OPTIONS:
            raise self._error(number, f"{name} has {len(names)} labels, not 2 to {_MOST_OPTIONS}")
        known: set[str] = set()
        states: set[str] = set()
        for label in self._labels:
            if kind == "score" and not label.texts:
                raise self._error(label.line, f"level {label.names[0]} has no name")
            if not label.states:
                raise self._error(label.line, f"{label.names[0]!r} has no state")
            for spelling in label.names:
                if not spelling or spelling in known:
                    raise self._error(label.line, f"the label {spelling!r} is empty or there already")
                known.add(spelling)
            for line in label.states:
                if line in states:
                    raise self._error(label.line, f"{label.names[0]!r}: the state {line[:40]!r} is there twice")
                states.add(line)

    def _error(self, number: int, what: str) -> TaskError:
        return TaskError(f"{self._source}:{number}: {what}")
