"""`Result`: what became of one check."""

from __future__ import annotations

from typing import Literal

import attrs

__all__ = ["Outcome", "Result"]

Outcome = Literal["passed", "failed", "known", "silent"]


@attrs.frozen(kw_only=True)
class Result:
    """What became of one check.

    Attributes:
        id: of the check.
        outcome: `passed`; `failed`; `known`, it failed as the target says; `silent`, its claim says nothing about
            this engine.
        text: why, where it did not pass.
    """

    id: str
    outcome: Outcome
    text: str = ""
