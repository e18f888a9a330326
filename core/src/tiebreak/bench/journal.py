"""`Journal`: every record the moment it is there, one JSON object a line, so that nothing that was measured is lost."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import attrs
from pydantic import ValidationError

from tiebreak.bench.records import Asked, Load, Machine, Method, Skipped
from tiebreak.bench.results import SCHEMA, RunSettings
from tiebreak.errors import InvalidRequest

__all__ = ["Head", "Journal"]

FILE = "journal.jsonl"


@attrs.frozen(kw_only=True)
class Head:
    """The first line: what was asked for, where and when."""

    settings: RunSettings
    machine: Machine
    command: str
    started: str
    notes: tuple[str, ...] = ()


class Journal:
    """What a run has found so far, in memory and in a file that is only appended to.

    Attributes:
        head: the first line.
        methods, loads, asked, skipped: the records, in the order in which they were made.
        done: (round, method as it was wished for) of the blocks that are complete.
        seconds: spent measuring, all attempts together.
    """

    def __init__(self, path: Path, head: Head) -> None:
        self.head = head
        self.methods: dict[str, Method] = {}
        self.loads: list[Load] = []
        self.asked: list[Asked] = []
        self.skipped: list[Skipped] = []
        self.done: set[tuple[int, str]] = set()
        self.seconds = 0.0
        self._path = path

    @classmethod
    def begin(cls, directory: Path, head: Head) -> Journal:
        """A new journal in a directory.

        Raises:
            InvalidRequest: there is one already, or the directory cannot be written.
        """
        journal = cls(directory / FILE, head)
        line = {
            "schema_version": SCHEMA,
            "settings": head.settings.model_dump(mode="json"),
            "machine": head.machine.model_dump(mode="json"),
            "command": head.command,
            "started": head.started,
            "notes": head.notes,
        }
        try:
            directory.mkdir(parents=True, exist_ok=True)
            with journal._path.open("x", encoding="utf-8") as file:
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
        except FileExistsError:
            raise InvalidRequest(
                f"{directory} already holds a run.", remedy="Go on with it with --resume, or name another --out."
            ) from None
        except OSError as error:
            raise InvalidRequest(f"{directory} cannot be written: {error.strerror or error}.") from error
        return journal

    @classmethod
    def resume(cls, directory: Path, settings: RunSettings) -> Journal:
        """The journal of an earlier run, which asked for the same.

        Raises:
            InvalidRequest: there is none, it cannot be read, or it was made with other settings (which are named).
        """
        path = directory / FILE
        try:
            data = path.read_bytes()
        except OSError as error:
            raise InvalidRequest(
                f"{directory} holds no run that could be resumed.", remedy="Leave --resume, or name its --out."
            ) from error
        whole, _, torn = data.rpartition(b"\n")
        if torn:  # it was being written when the machine stopped; it will be measured again
            os.truncate(path, len(whole) + 1)
        first, *lines = whole.decode("utf-8").split("\n")
        try:
            head = json.loads(first)
            if head["schema_version"] != SCHEMA:
                raise InvalidRequest(f"{path} was written by another version of tiebreak.", remedy="Start a new run.")
            before = RunSettings.model_validate(head["settings"])
            journal = cls(
                path,
                Head(
                    settings=before,
                    machine=Machine.model_validate(head["machine"]),
                    command=head["command"],
                    started=head["started"],
                    notes=tuple(head["notes"]),
                ),
            )
            for line in lines:
                journal._enter(json.loads(line))
        except (ValueError, KeyError, TypeError, ValidationError) as error:
            if isinstance(error, InvalidRequest):
                raise
            raise InvalidRequest(f"{path} is damaged: {error}.", remedy="Start a new run.") from error
        _same(before, settings, head["command"])
        return journal

    def add(self, record: Method | Load | Asked | Skipped) -> None:
        """Take a record in, and write it down before anything else happens."""
        kind = type(record).__name__
        line = {kind: record.model_dump(mode="json", exclude_defaults=True)}
        self._write(line)
        self._enter(line)

    def finish(self, round_: int, name: str) -> None:
        """Note that a method was asked everything that a round asks."""
        self._write({"done": [round_, name]})
        self.done.add((round_, name))

    def spent(self, seconds: float) -> None:
        """Note that a stretch of measuring took so long."""
        self._write({"seconds": seconds})
        self.seconds += seconds

    def _write(self, line: dict[str, Any]) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n")

    def _enter(self, line: dict[str, Any]) -> None:
        ((kind, found),) = line.items()
        if kind == "Method":
            method = Method.model_validate(found)
            before = self.methods.setdefault(method.id, method)
            if before != method:
                raise InvalidRequest(
                    f"{method.id} is not what it was when the run began: "
                    f"{', '.join(_differences(before.model_dump(), method.model_dump()))}.",
                    remedy="Start a new run.",
                )
        elif kind == "Load":
            self.loads.append(Load.model_validate(found))
        elif kind == "Asked":
            self.asked.append(Asked.model_validate(found))
        elif kind == "Skipped":
            self.skipped.append(Skipped.model_validate(found))
        elif kind == "done":
            self.done.add((int(found[0]), str(found[1])))
        elif kind == "seconds":
            self.seconds += float(found)
        else:
            raise ValueError(f"nobody knows what {kind!r} is")


def _same(before: RunSettings, now: RunSettings, command: str) -> None:
    differences = _differences(before.model_dump(mode="json"), now.model_dump(mode="json"))
    if differences:
        raise InvalidRequest(
            f"The run was begun with other settings: {', '.join(differences)}.",
            remedy=f"It was begun with: {command}. Resume it with the same flags, or start another in a new --out.",
        )


def _differences(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    return [f"{name} was {before[name]!r} and is {now[name]!r}" for name in before if before[name] != now[name]]
