"""`Interrupts`: SIGINT and SIGTERM end a command in the same orderly way, and a second one ends it at once."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any

__all__ = ["Interrupts"]


class Interrupts:
    """While it is entered, SIGTERM raises KeyboardInterrupt like SIGINT does, so that engines are stopped."""

    def __init__(self) -> None:
        self.exit_code = 128 + signal.SIGINT
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is not threading.main_thread():
            return self  # only the main thread may set handlers, and only it is interrupted
        for number in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(number) is not signal.SIG_IGN:  # ignored by the parent (nohup): it stays so
                self._before[number] = signal.signal(number, self._raise)
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _raise(self, number: int, frame: FrameType | None) -> None:
        # Stopping an engine may take its grace time. Who signals again does not want to wait for that; the engine's
        # keeper then stops it, because this process is gone.
        for each in self._before:
            signal.signal(each, signal.SIG_DFL)
        self.exit_code = 128 + number
        raise KeyboardInterrupt
