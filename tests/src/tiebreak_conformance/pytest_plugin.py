"""The pytest plugin: options of the suite, and the fixture `subject` that every check takes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tiebreak_conformance.subject import Subject
    from tiebreak_conformance.target import Target

__all__ = ["pytest_addoption", "pytest_collection_finish", "subject"]

COLLECTED: pytest.StashKey[dict[type, set[str]]] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of the suite."""
    group = parser.getgroup("tiebreak-conformance", "conformance of a tiebreak engine")
    group.addoption("--engine", metavar="NAME", help="engine for `--pyargs tiebreak_conformance`")
    group.addoption("--model", metavar="REF", help="model reference; default: the engine's own")
    group.addoption(
        "--wire", choices=("live", "record", "replay"), help="live, record into the cassette, or replay it (no engine)"
    )
    group.addoption("--cassette", metavar="FILE", type=Path, help="cassette to record into or replay")
    group.addoption("--option", metavar="NAME=VALUE", action="append", default=[], help="an option of the engine")
    group.addoption("--card", metavar="DIR", type=Path, help="write report-card.json and .md there")


def pytest_collection_finish(session: pytest.Session) -> None:
    """Remember which checks of which class are going to run."""
    collected: dict[type, set[str]] = {}
    for item in session.items:
        claim = getattr(getattr(item, "function", None), "__dict__", {}).get("claim")
        owner = getattr(item, "cls", None)
        if claim is not None and owner is not None:
            collected.setdefault(owner, set()).add(claim.id)
    session.stash[COLLECTED] = collected


@pytest.fixture(scope="class")
def subject(request: pytest.FixtureRequest) -> Iterator[Subject]:
    """The engine under test; when the class is through, the run as a whole is judged and the card written."""
    from tiebreak_conformance.card import ReportCard
    from tiebreak_conformance.claims import claims_of
    from tiebreak_conformance.subject import Subject

    suite = request.cls
    with Subject(target_of(suite, request.config)) as opened:
        yield opened
        chosen = request.session.stash[COLLECTED].get(suite, set())
        if chosen != set(claims_of(suite)):
            return  # somebody picked single checks: no card is made of that
        card = ReportCard.of(opened, suite)
    directory: Path | None = request.config.getoption("--card")
    if directory is not None:
        card.write(directory)
    if card.problems:
        pytest.fail("\n".join(card.problems), pytrace=False)


def target_of(suite: type, config: pytest.Config) -> Target:
    """The target of a suite class, with what the command line says about it."""
    import attrs

    from tiebreak.errors import TiebreakError
    from tiebreak_conformance.options import options_of
    from tiebreak_conformance.target import Target

    given: Target | None = getattr(suite, "target", None)
    name = config.getoption("--engine")
    if given is None:
        if not name:
            raise pytest.UsageError("Say which engine: --engine=NAME.")
        given = Target(engine=name)
    changes: dict[str, Any] = {}
    for option in ("model", "wire", "cassette"):
        value = config.getoption(f"--{option}")
        if value is not None:
            changes[option] = value
    try:
        return attrs.evolve(given, **changes, options=options_of(given, config.getoption("--option")))
    except TiebreakError as error:
        raise pytest.UsageError(str(error)) from None
