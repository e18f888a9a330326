"""Findings: what `tiebreak doctor` says about the embedded llama.cpp."""

from __future__ import annotations

from collections.abc import Sequence

from tiebreak.doctor import Finding
from tiebreak.errors import EngineUnavailable
from tiebreak_embedded import cores
from tiebreak_embedded.library import open_library

__all__ = ["findings"]


def findings() -> Sequence[Finding]:
    """The library, as it loads here, and the cores that it would compute on."""
    try:
        said = open_library().describe()
    except EngineUnavailable as error:
        return (Finding(subject="binary", state="fail", detail=error.message, remedy=error.remedy),)
    found = cores.count()
    return (
        Finding(subject="binary", state="ok", detail=said["file"]),
        Finding(subject="version", state="ok", detail=f"{said['library']}, backends {said['backends']}"),
        Finding(
            subject="device",
            state="ok",
            detail=f"{found.threads()} of {found.physical} physical cores are free; threads wait: {said['wait']}",
        ),
    )
