"""How the threads of an OpenMP build wait for each other: what GNU's libgomp reads when it is loaded."""

from __future__ import annotations

import os
from collections.abc import Mapping

__all__ = ["WAITS", "is_set"]

WAITS: Mapping[str, Mapping[str, str]] = {
    # A bounded spin (about 0.1 ms) is nearly as quick as endless spinning on an idle machine, as quick as sleeping on a
    # loaded one, and leaves the processor alone between two requests. Milliseconds for 20 new tokens of a 135M model
    # with two threads on two cores, idle / with two other busy processes:
    # libgomp's default 121 / 422, GOMP_SPINCOUNT=10000 124 / 197, passive 127 / 191
    # (2 new tokens, idle: 23, 25, 33).
    "auto": {"GOMP_SPINCOUNT": "10000"},
    "spin": {"OMP_WAIT_POLICY": "active"},
    "passive": {"OMP_WAIT_POLICY": "passive"},
}
"""A policy -> the environment for it."""


def is_set() -> bool:
    """Whether somebody has set one of these variables, and so knows better."""
    return any(name in os.environ for name in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT"))
