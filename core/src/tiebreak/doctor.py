"""`Finding`: one thing that `tiebreak doctor` looked at."""

from __future__ import annotations

from typing import Literal

import attrs

__all__ = ["Finding"]


@attrs.frozen(kw_only=True)
class Finding:
    """What was looked at, what was found and what to do.

    Attributes:
        subject: `binary`, `version`, `device`, ...
        state: `ok`, `warn` (works, but) or `fail` (does not work).
        detail: what was found, with path or number.
        remedy: what to do next; "" where nothing needs doing.
    """

    subject: str
    state: Literal["ok", "warn", "fail"]
    detail: str
    remedy: str = ""
