"""`alternate`, `killed_at_work`: trials of a running engine that are too long, or too much its own, for a check."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tiebreak.answers import Decision
from tiebreak.decider import Decider
from tiebreak.errors import EngineError
from tiebreak.questions import Question

__all__ = ["alternate", "killed_at_work"]

PATIENCE = 60.0


def alternate(
    decider: Decider, states: Sequence[str], schemas: Sequence[Mapping[str, Question]], times: int
) -> Sequence[Decision]:
    """Ask about states and schemas in a random order, the same one every time.

    Returns:
        the decisions of all but the first look at each pair.

    Raises:
        AssertionError: an answer is another than at the first look.
    """
    pairs = [(state, questions) for state in states for questions in schemas]
    first = [decider.decide(*pair).answers for pair in pairs]
    draw = random.Random(7)
    decisions = []
    for turn in range(times):
        number = draw.randrange(len(pairs))
        decisions.append(decider.decide(*pairs[number]))
        assert decisions[-1].answers == first[number], f"turn {turn}: {pairs[number]} has another answer than at first"
    return decisions


def killed_at_work(decider: Decider, ask: Callable[[Decider], Any]) -> Sequence[EngineError]:
    """Kill the engine's process, SIGKILL, while it works on a request.

    Args:
        decider: of an engine whose process tiebreak starts.
        ask: asks something that takes it longer than 0.2 s of CPU time.

    Returns:
        the errors that the request ended with; another process runs from the next request on.
    """
    import psutil

    errors: list[EngineError] = []

    def work() -> None:
        try:
            ask(decider)
        except EngineError as error:
            errors.append(error)

    server = decider.start().session.opened.server
    assert server is not None and server.process is not None and server.process.pid is not None
    process = psutil.Process(server.process.pid)
    before = process.cpu_times().user
    thread = threading.Thread(target=work)
    thread.start()
    deadline = time.monotonic() + PATIENCE
    while process.cpu_times().user < before + 0.2 and time.monotonic() < deadline:
        time.sleep(0.01)
    process.kill()
    thread.join(PATIENCE)
    assert not thread.is_alive(), "the request hangs though its engine is dead"
    return errors
