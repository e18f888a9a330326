"""`Clock`: where the time from the start of a command to its answer went, for `--verbose`."""

from __future__ import annotations

import time

__all__ = ["Clock"]


class Clock:
    """Times the parts of a command; made when its program begins.

    Attributes:
        parts: milliseconds by part, in order. `python` is the interpreter's processor time until the command line
            took over, which nobody timed; all others are wall clock.
    """

    def __init__(self) -> None:
        self.parts = {"python": time.process_time() * 1e3}
        self._last = time.perf_counter()

    def lap(self, part: str) -> None:
        """Note what has passed since the last part under this name."""
        now = time.perf_counter()
        self.parts[part] = (now - self._last) * 1e3
        self._last = now
