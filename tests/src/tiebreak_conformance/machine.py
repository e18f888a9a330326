"""`explore`: random sequences of operations, found and shortened by hypothesis, compared with a cold engine."""

from __future__ import annotations

import contextlib
import os
import signal
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from tiebreak.errors import EngineError
from tiebreak.questions import Request, choice
from tiebreak_conformance.samples import DESK, TEAMS, long_state, state

if TYPE_CHECKING:
    from tiebreak.answers import Answer
    from tiebreak.decider import Decider
    from tiebreak_conformance.subject import Subject

__all__ = ["explore"]

STEPS = 14
STATES = (state("machine a"), state("machine b"), long_state("machine", 4), f"{long_state('machine', 4)} And more.")
SCHEMAS = (DESK, choice("Which team?", TEAMS[::-1]), choice("Which side?", ["left", "right"]))


def explore(subject: Subject) -> None:
    """Try `Target.rounds` sequences; the same ones every time.

    Raises:
        AssertionError: an answer is not the cold one; the shortest sequence found is in the notes.
    """
    cold: dict[tuple[int, int], Answer] = {}
    # An engine that cannot be told to reuse nothing is compared with one that was asked in another order.
    off = subject.cold if subject.switches_off else subject.open(apart=True)

    def expected(which: tuple[int, int]) -> Answer:
        if which not in cold:
            cold[which] = subject.ask(STATES[which[0]], SCHEMAS[which[1]], off)
        return cold[which]

    class Machine(_Machine):
        def __init__(self) -> None:
            super().__init__(subject, expected)

    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=subject.target.rounds,
            stateful_step_count=STEPS,
            deadline=None,
            derandomize=True,
            database=None,
            print_blob=False,
            suppress_health_check=list(HealthCheck),
        ),
    )


class _Machine(RuleBasedStateMachine):
    """One sequence: a Decider, the state and the schema that are current."""

    def __init__(self, subject: Subject, expected: Any) -> None:
        super().__init__()
        self.subject = subject
        self.expected = expected
        self.decider: Decider = subject.open()
        self.which = (0, 0)
        self.fillers = 0

    @rule()
    def ask(self) -> None:
        """Ask the current question and compare."""
        found = self.subject.ask(STATES[self.which[0]], SCHEMAS[self.which[1]], self.decider)
        self.subject.same(self.expected(self.which), found, f"of state {self.which[0]}, schema {self.which[1]}")
        oracle = self.subject.target.oracle
        if oracle is not None:
            request = Request.of(STATES[self.which[0]], {"answer": SCHEMAS[self.which[1]]})
            plan = self.subject.plan(self.decider, request)
            best = max(zip(oracle(plan)[0].logprobs, plan.rows[0].labels, strict=True))[1]  # type: ignore[union-attr]
            name = SCHEMAS[self.which[1]].names[plan.rows[0].labels.index(best)]
            assert found.value == name, f"the trusted function says {name!r}, the engine {found.value!r}"

    @rule(number=st.integers(0, len(STATES) - 1))
    def swap_state(self, number: int) -> None:
        """Make another state the current one."""
        self.which = (number, self.which[1])

    @rule(number=st.integers(0, len(SCHEMAS) - 1))
    def swap_schema(self, number: int) -> None:
        """Make another schema the current one."""
        self.which = (self.which[0], number)

    @rule()
    def evict(self) -> None:
        """Ask about some states that nobody asks about again."""
        for _ in range(5):
            self.fillers += 1
            self.subject.ask(state(f"filler {self.fillers}"), DESK, self.decider)

    @rule()
    def open(self) -> None:
        """Open another Decider beside the first and ask that from now on."""
        self.decider = self.subject.open()

    @rule()
    def close(self) -> None:
        """Close it and open another."""
        self.decider.close()
        self.decider = self.subject.open()

    @rule()
    def kill(self) -> None:
        """Kill the engine's process, where it is ours; the first question after that may fail, with a typed error."""
        server = self.decider.session.opened.server
        if server is None or server.process is None or server.process.pid is None:
            return
        os.kill(server.process.pid, signal.SIGKILL)
        with contextlib.suppress(EngineError):
            self.subject.ask(STATES[0], DESK, self.decider)

    def teardown(self) -> None:
        """Close what is still open."""
        self.decider.close()
