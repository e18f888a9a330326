"""`ItemSet`: what is asked in a benchmark: the router set that ships with tiebreak, or a file of the user's."""

from __future__ import annotations

import hashlib
import importlib.resources
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from tiebreak.bench.records import Mode
from tiebreak.errors import InvalidRequest
from tiebreak.names import unknown
from tiebreak.questions import JSON, Question, Request, choice

__all__ = ["Item", "ItemSet", "read_set"]

OWN = "own"
"""The one wording of a file: its own."""

_KEYS = {"state", "question", "options", "answer"}
_MORE = {"id", "language", "translated"}


@attrs.frozen(kw_only=True)
class Item:
    """One thing to ask.

    Attributes:
        id: unique in its set.
        state: what is judged; `translated` the same in English, None where there is no translation.
        questions: wording -> a choice.
        answer: the right option, None where nobody knows.
        language: ISO 639-1 code of the state, None where nobody says.
    """

    id: str
    state: JSON
    questions: Mapping[str, Question]
    answer: str | None = None
    language: str | None = None
    translated: JSON = None

    def text(self, mode: Mode) -> JSON:
        """The state that is asked about in a mode; without a translation both are the same."""
        return self.translated if mode == "translated" and self.translated is not None else self.state


@attrs.frozen(kw_only=True)
class ItemSet:
    """Items in order, with a name and the hash of the file that they came from."""

    name: str
    sha256: str
    items: Sequence[Item]

    @property
    def wordings(self) -> Sequence[str]:
        """The wordings that every item has, the default first."""
        return tuple(self.items[0].questions)

    @property
    def modes(self) -> Sequence[Mode]:
        """`translated`, the default, only where an item has a translation; `direct` always."""
        return ("translated", "direct") if any(item.translated is not None for item in self.items) else ("direct",)


def read_set(name: str) -> ItemSet:
    """The set called `router`, or the lines of a JSON Lines file.

    Each line of a file is an object: `state` (text or JSON), `question` (text or null), `options` (a list, or an object
    of name to description), `answer` (one of the options, or null where it is not known), and if wanted `id`,
    `language` and `translated` (the state in English).

    Raises:
        InvalidRequest: naming the file, the line and what is wrong there; nothing was asked.
    """
    if name == "router":
        return _router()
    path = Path(name)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InvalidRequest(
            f"The set {name!r} cannot be read: {error.strerror or error}.",
            remedy="Name a file of JSON lines, or the set that comes along: router.",
        ) from error
    items: dict[str, Item] = {}
    for number, line in _lines(data, name):
        item = _item(line, number, f"{name}, line {number}")
        if item.id in items:
            raise InvalidRequest(f"{name}, line {number}: the id {item.id!r} was used before.")
        items[item.id] = item
    if not items:
        raise InvalidRequest(
            f"{name} holds no line.", remedy='Write {"state", "question", "options", "answer"} in each.'
        )
    return ItemSet(name=path.name, sha256=hashlib.sha256(data).hexdigest(), items=tuple(items.values()))


def _router() -> ItemSet:
    """The set that comes along; `data/NOTICE.md` says where it is from, the option descriptions are our own."""
    folder = importlib.resources.files("tiebreak.bench").joinpath("data")
    data = folder.joinpath("router-67.jsonl").read_bytes()
    wordings = json.loads(folder.joinpath("router-wordings.json").read_bytes())
    asked = {wording: choice(each["question"], each["options"]) for wording, each in wordings.items()}
    rows = [json.loads(line) for line in data.decode().splitlines()]
    items = [
        Item(
            id=row["id"],
            state=row["query"],
            questions=asked,
            answer=row["task"],
            language=row["lang"],
            translated=row["english"],
        )
        for row in rows
    ]
    return ItemSet(name="router-67", sha256=hashlib.sha256(data).hexdigest(), items=tuple(items))


def _lines(data: bytes, name: str) -> list[tuple[int, str]]:
    """The lines that are not blank, with their numbers from 1."""
    found = []
    for number, line in enumerate(data.split(b"\n"), 1):
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8").strip()
        except UnicodeDecodeError as error:
            raise InvalidRequest(f"{name}, line {number}: not UTF-8: {error.reason} at byte {error.start}.") from error
        if text:
            found.append((number, text))
    return found


def _item(line: str, number: int, where: str) -> Item:
    try:
        row = json.loads(line, object_pairs_hook=_pairs)
    except ValueError as error:
        raise InvalidRequest(f"{where}: {error}.") from error
    if not isinstance(row, dict):
        raise InvalidRequest(f"{where}: not a JSON object.", remedy='Begin it with {"state": ...')
    for key in row:
        if key not in _KEYS | _MORE:
            raise InvalidRequest(f"{where}: {unknown('key', key, _KEYS | _MORE)}")
    for key in ("state", "question", "options", "answer"):
        if key not in row:
            raise InvalidRequest(
                f"{where}: {key!r} is missing.",
                remedy="Write null where an answer is not known, or no question needed.",
            )
    try:
        asked = choice(row["question"], row["options"])
        Request.of(row["state"], {"answer": asked})
        if row.get("translated") is not None:
            Request.of(row["translated"], {"answer": asked})
    except InvalidRequest as error:
        raise InvalidRequest(f"{where}: {error.message}", remedy=error.remedy) from error
    _answer(row, asked, where)
    return Item(
        id=_word(row, "id", where) or f"line {number}",
        state=row["state"],
        questions={OWN: asked},
        answer=row["answer"],
        language=_word(row, "language", where),
        translated=row.get("translated"),
    )


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object without repeated keys: of two options of one name, one would be lost without a word."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} is there twice")
    return found


def _answer(row: Mapping[str, Any], asked: Question, where: str) -> None:
    if row["answer"] is not None and row["answer"] not in asked.names:
        raise InvalidRequest(
            f"{where}: the answer is {row['answer']!r}, which is none of the options.",
            remedy=f"It is one of {', '.join(map(repr, asked.names))}, or null where it is not known.",
        )


def _word(row: Mapping[str, Any], key: str, where: str) -> str | None:
    value = row.get(key)
    if value is not None and (not isinstance(value, str) or not value.strip()):
        raise InvalidRequest(f"{where}: {key} is {value!r}, not a text.")
    return value
