"""`Finding`: one thing that `tiebreak doctor` looked at; `program` looks at an engine's program."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import attrs

from tiebreak.binaries import Binary
from tiebreak.errors import EngineUnavailable

__all__ = ["Finding", "program"]


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


def program(
    find: Callable[[], Binary], version: Callable[[Binary], str], more: Callable[[Binary], Iterable[Finding]]
) -> Sequence[Finding]:
    """What there is to say about an engine's program: where it is, which build, and what the plugin adds.

    Args:
        find: finds it, or raises EngineUnavailable with what to do, which is then all there is to say.
        version: says which build it is.
        more: what else the plugin looks at once there is a program.
    """
    try:
        found = find()
    except EngineUnavailable as error:
        return [Finding(subject="binary", state="fail", detail=error.message, remedy=error.remedy)]
    return [
        Finding(subject="binary", state="ok", detail=f"{found.path} ({found.source})"),
        Finding(subject="version", state="ok", detail=version(found)),
        *more(found),
    ]
