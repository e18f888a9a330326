"""Errors: what is too long is refused whole, errors help, and no key is in any of them."""

from __future__ import annotations

import io
import logging
import os
import traceback
from functools import partial
from typing import TYPE_CHECKING

from tiebreak.errors import ContextOverflow, InvalidRequest, TiebreakError
from tiebreak.questions import choice
from tiebreak_conformance.claims import Topic, check
from tiebreak_conformance.faults import Echo
from tiebreak_conformance.samples import DESK, state
from tiebreak_conformance.subject import CANARY, overshoot, refused

if TYPE_CHECKING:
    from collections.abc import Callable

    from tiebreak_conformance.subject import Subject

__all__ = ["ErrorChecks"]

NO_LIMIT = "it declares neither a window nor a longest state"


class ErrorChecks(Topic):
    """What is too long is refused whole, errors help, and no key is in any of them."""

    @check(
        "ERRO-01",
        since="0.1",
        claim="A state that is longer than the window is refused whole, never cut and answered.",
        note="Compare prompt tokens with the window before asking, or read the engine's own refusal.",
    )
    def test_erro_01_too_long_is_refused(self, subject: Subject) -> str | None:
        text = overshoot(subject)
        if not text:
            return NO_LIMIT
        refused(lambda: subject.ask(text), ContextOverflow, InvalidRequest)
        return None

    @check(
        "ERRO-02",
        since="0.1",
        claim="The refusal says how long it was, what fits, and which setting raises that.",
        note="ContextOverflow takes tokens, window and remedy.",
    )
    def test_erro_02_overflow_says_the_numbers(self, subject: Subject) -> str | None:
        text = overshoot(subject)
        if not text:
            return NO_LIMIT
        error = refused(lambda: subject.ask(text), ContextOverflow, InvalidRequest)
        assert any(char.isdigit() for char in error.message), f"it names no number: {error}"
        assert error.remedy, f"it does not say what to do: {error}"
        if isinstance(error, ContextOverflow) and error.tokens is not None and error.window is not None:
            assert error.tokens > error.window > 0, f"{error.tokens} tokens do fit into {error.window}"
        return None

    @check(
        "ERRO-03",
        since="0.1",
        claim="After an error the engine answers as before.",
        note="Release locks, slots and sequence state in finally.",
    )
    def test_erro_03_errors_leave_no_mark(self, subject: Subject) -> str | None:
        before = subject.ask(state("ERRO-03"))
        text = overshoot(subject)
        if not text:
            return NO_LIMIT
        refused(lambda: subject.ask(text), ContextOverflow, InvalidRequest)
        subject.same(before, subject.ask(state("ERRO-03")), "after an error")
        return None

    @check(
        "ERRO-04",
        since="0.1",
        claim="Every error that the engine raises is one of tiebreak's, with its name and a remedy.",
        note="Pass engine=INFO.name and remedy=... wherever an error is raised.",
    )
    def test_erro_04_errors_name_the_engine(self, subject: Subject) -> None:
        limit = subject.engine.limits.options + 1
        acts: list[Callable[[], object]] = [
            lambda: subject.open(no_such_option=True),
            lambda: subject.ask(state("ERRO-04"), choice("Which?", [f"n{n}" for n in range(limit)])),
        ]
        if overshoot(subject):
            acts.append(lambda: subject.ask(overshoot(subject)))
        for act in acts:
            error = refused(act, TiebreakError)
            assert error.engine == subject.target.engine, f"it does not name the engine: {error}"
            assert subject.target.engine in str(error), f"the engine's name is not in the text: {error}"

    @check(
        "ERRO-05",
        since="0.1",
        claim="A key is in no error, repr, traceback or log, whatever the engine answers.",
        note="Keys live in headers and the environment only; never quote a request or its headers.",
    )
    def test_erro_05_no_key_is_shown(self, subject: Subject) -> str | None:
        keys = [CANARY, *(os.environ.get(name, "") for name in subject.target.secrets)]
        with _debug_log() as log:
            said = [repr(subject.decider), repr(subject.decider.session), repr(subject.engine)]
            if not subject.is_wire:
                acts = [lambda: subject.ask(overshoot(subject) or "\0")]
                said += [_told(act) for act in acts]
            else:
                for status in (401, 404, 500):
                    # What the server was sent comes back in its body: header names and all, but not their values.
                    decider, echo = subject.through(partial(Echo, status=status))
                    decider.start()
                    echo.armed = True
                    said += [_told(partial(subject.ask, state("ERRO-05"), decider=decider))]
                    keys += echo.keys
            text = "\n".join([*said, log.getvalue()])
        found = [len(key) for key in keys if key and key in text]
        assert not found, f"a key of {found[0]} characters is shown"
        return None

    @check(
        "ERRO-06",
        since="0.1",
        claim="A receipt, a cache report and an explanation hold no key.",
        note="Options that name keys hold the name of an environment variable, not the key.",
    )
    def test_erro_06_no_key_in_a_decision(self, subject: Subject) -> None:
        decision = subject.decide(state("ERRO-06"), {"answer": DESK})
        explanation = subject.decider.explain(state("ERRO-06"), {"answer": DESK})
        text = f"{decision!r}{decision.as_dict()!r}{explanation!r}{decision.receipt!r}"
        for key in (CANARY, *(os.environ.get(name, "") for name in subject.target.secrets)):
            assert not key or key not in text, f"a key of {len(key)} characters is in it"


def _told(act: Callable[[], object]) -> str:
    """All that an error says: text, repr, attributes and traceback with the values of local variables."""
    try:
        act()
    except TiebreakError as error:
        shown = traceback.TracebackException.from_exception(error)
        return "".join([str(error), repr(error), repr(vars(error)), *shown.format()])
    return ""


class _debug_log:  # noqa: N801
    """Everything that is logged meanwhile, at the finest level, in memory."""

    def __enter__(self) -> io.StringIO:
        self._text = io.StringIO()
        self._handler = logging.StreamHandler(self._text)
        root = logging.getLogger()
        self._level = root.level
        root.addHandler(self._handler)
        root.setLevel(logging.DEBUG)
        return self._text

    def __exit__(self, *error: object) -> None:
        root = logging.getLogger()
        root.removeHandler(self._handler)
        root.setLevel(self._level)
