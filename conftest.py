"""What every test of the workspace may rely on."""

from __future__ import annotations

import signal

import pytest


@pytest.fixture(scope="session", autouse=True)
def interruptible() -> None:
    """SIGINT as a terminal leaves it: jobs that a shell starts in the background inherit that it is ignored."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
