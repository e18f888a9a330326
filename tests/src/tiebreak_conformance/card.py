"""`ReportCard`: what a suite found about an engine, as JSON, Markdown and a short table."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from tiebreak.errors import InvalidRequest
from tiebreak_conformance.claims import TOPICS, claims_of
from tiebreak_conformance.manifest import FLOORS, MANIFEST
from tiebreak_conformance.result import Result
from tiebreak_conformance.subject import Subject

__all__ = ["Columns", "ReportCard", "columns", "table"]

MARKS = {"passed": "✓", "failed": "✗", "known": "!", "silent": "–"}
Columns = Sequence[str]


@attrs.frozen(kw_only=True)
class ReportCard:
    """The results of one run.

    Attributes:
        engine, engine_version, model, model_sha256, plugin: who was tested.
        wire: live, record or replay.
        date: of the run, or in replay of the recording.
        suite: version of the suite.
        results: by id, in the order of the ids.
        problems: what makes the run as a whole invalid: checks missing, too few of them run.
        undeclared: capabilities that the engine leaves open even when it is loaded.
    """

    engine: str
    engine_version: str = ""
    plugin: str = ""
    model: str = ""
    model_sha256: str | None = None
    wire: str = "live"
    date: str = ""
    suite: str = ""
    results: Mapping[str, Result]
    problems: tuple[str, ...] = ()
    undeclared: tuple[str, ...] = ()

    @classmethod
    def of(cls, subject: Subject, suite: type) -> ReportCard:
        """The card of a subject on which a suite was run."""
        from datetime import datetime, timezone

        from tiebreak_conformance import __version__

        order = list(claims_of(suite))
        results = {id: subject.results[id] for id in order if id in subject.results}
        loaded = "decider" in vars(subject)
        receipt = subject.decider.session.opened if loaded else None
        known = subject.header
        return cls(
            engine=subject.target.engine,
            engine_version=subject.engine.version if loaded else "",
            plugin=receipt.plugin if receipt else "",
            model=known.get("model") or (_public(receipt.model) if receipt else ""),
            model_sha256=known.get("model_sha256") or (subject.engine.model_sha256 if loaded else None),
            wire=subject.target.wire,
            date=known.get("date") or datetime.now(timezone.utc).date().isoformat(),
            suite=__version__,
            results=results,
            problems=tuple(problems(results, suite, subject)),
            undeclared=("prefix_cache",) if loaded and subject.capabilities.prefix_cache is None else (),
        )

    @property
    def ok(self) -> bool:
        """Whether nothing failed and nothing is missing."""
        return not self.problems and not self.count("failed")

    def count(self, outcome: str, topic: str | None = None) -> int:
        """How many checks had this outcome, in one topic or in all."""
        return sum(result.outcome == outcome and topic in (None, TOPICS[id[:4]]) for id, result in self.results.items())

    def as_dict(self) -> dict[str, Any]:
        """The card as JSON-able values."""
        return {
            "engine": self.engine,
            "engine_version": self.engine_version,
            "plugin": self.plugin,
            "model": self.model,
            "model_sha256": self.model_sha256,
            "wire": self.wire,
            "date": self.date,
            "suite": self.suite,
            "ok": self.ok,
            "problems": list(self.problems),
            "undeclared": list(self.undeclared),
            "results": {id: _row(result) for id, result in self.results.items()},
        }

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> ReportCard:
        """A card from `as_dict`."""
        results = {id: Result(id=id, **row) for id, row in value["results"].items()}
        plain = {name: item for name, item in value.items() if name not in ("ok", "results")}
        return cls(
            **{**plain, "problems": tuple(value["problems"]), "undeclared": tuple(value["undeclared"])},
            results=results,
        )

    def write(self, directory: Path) -> None:
        """Put the card into `report-card.json` and `report-card.md`, beside those of other models and wire modes."""
        cards = {(card.wire, card.model): card for card in (*read(directory), self)}
        ordered = [cards[which] for which in sorted(cards)]
        text = json.dumps([card.as_dict() for card in ordered], ensure_ascii=False, indent=1)
        (directory / "report-card.json").write_text(f"{text}\n", encoding="utf-8")
        markdown = "\n".join(card.markdown() for card in ordered)
        (directory / "report-card.md").write_text(markdown, encoding="utf-8")

    def markdown(self) -> str:
        """The card as a page."""
        lines = [
            f"# Report card of {self.engine} ({self.wire})",
            "",
            f"{self.plugin or self.engine}; engine {self.engine_version or 'of unknown version'}; "
            f"model {self.model or 'its own'}; suite {self.suite}; {self.date}.",
            "",
            self.summary(),
            "",
            *[f"- **Problem**: {problem}" for problem in self.problems],
            *[f"- Left open: capability `{name}`" for name in self.undeclared],
            *([""] if self.problems or self.undeclared else []),
            "| check | | why |",
            "|---|---|---|",
        ]
        for result in self.results.values():
            why = " ".join(result.text.split())[:200].replace("|", "\\|")
            lines.append(f"| {result.id} | {MARKS[result.outcome]} {result.outcome} | {why} |")
        return "\n".join(lines) + "\n"

    def summary(self) -> str:
        """One sentence."""
        counts = ", ".join(f"{self.count(outcome)} {outcome}" for outcome in MARKS)
        return f"{'Conforms' if self.ok else 'Does not conform'}: {counts} of {len(self.results)} checks."


def problems(results: Mapping[str, Result], suite: type, subject: Subject) -> list[str]:
    """What makes a run invalid whatever its results: checks removed, not run, or too few of a topic."""
    found = []
    present = claims_of(suite)
    prefixes = {id[:4] for id in present}
    gone = [id for id in MANIFEST if id[:4] in prefixes and id not in present]
    if gone:
        found.append(f"Checks were removed from the suite: {', '.join(gone)}.")
    unrun = [id for id in present if id not in results]
    if unrun:
        found.append(f"Checks were not run: {', '.join(unrun)}.")
    for id in subject.target.known_failures:
        if id not in MANIFEST:
            found.append(f"Known failure {id} is no check.")
    for prefix in sorted(prefixes):
        ran = sum(id.startswith(prefix) and result.outcome != "silent" for id, result in results.items())
        floor = FLOORS[prefix][0 if subject.target.wire == "live" else 1]
        if prefix == "TYPE" and not subject.is_wire:
            floor = 1
        if ran < floor:
            found.append(f"Only {ran} checks of {TOPICS[prefix]} said anything; at least {floor} have to.")
    return found


def read(directory: Path) -> list[ReportCard]:
    """The cards in a directory, none where there is no file.

    Raises:
        InvalidRequest: the file is not one of cards.
    """
    path = directory / "report-card.json"
    if not path.is_file():
        return []
    try:
        return [ReportCard.from_dict(value) for value in json.loads(path.read_text(encoding="utf-8"))]
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidRequest(f"{path} is not a report card: {error!r}.", remedy="Run the suite again.") from None


def columns() -> Columns:
    """The head of the table of cards."""
    return ("engine", "wire", "model", *TOPICS.values(), "passed", "failed", "known", "silent")


def table(cards: Sequence[ReportCard]) -> str:
    """Cards side by side, as a Markdown table: in each topic the checks passed of those that said anything."""
    lines = ["| " + " | ".join(columns()) + " |", "|" + "---|" * len(columns())]
    lines += ["| " + " | ".join(cells(card)) + " |" for card in sorted(cards, key=lambda c: (c.engine, c.wire))]
    return "\n".join(lines) + "\n"


def cells(card: ReportCard) -> list[str]:
    """One row of the table."""
    topics = []
    for topic in TOPICS.values():
        said = sum(card.count(outcome, topic) for outcome in ("passed", "failed", "known"))
        topics.append(f"{card.count('passed', topic)}/{said}" if said else "–")
    totals = [str(card.count(outcome)) for outcome in ("passed", "failed", "known", "silent")]
    return [card.engine, card.wire, card.model or "its own", *topics, *totals]


def _row(result: Result) -> dict[str, str]:
    return {"outcome": result.outcome, "text": " ".join(result.text.split())[:300]}


def _public(model: str) -> str:
    """A model reference without the folders of the machine that it was tested on."""
    path = Path(model)
    return path.name if path.is_absolute() else model
