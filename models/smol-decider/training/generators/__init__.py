"""Generated families of decisions: every generator draws one from a seeded random generator."""

from __future__ import annotations

from ..sources import Sources
from . import (
    coded,
    comparisons,
    conditional,
    counting,
    deadlines,
    entailment,
    everyday,
    grading,
    happened,
    incidents,
    injection,
    ledgers,
    lexicon,
    mailbox,
    multilingual,
    opinions,
    permissions,
    priorities,
    review,
    sameness,
    tables,
    timetables,
    toolchoice,
    tracking,
)
from .generator import Generator

__all__ = ["GENERATORS", "Generator", "sourced"]

GENERATORS: tuple[Generator, ...] = (
    *conditional.GENERATORS,
    *entailment.GENERATORS,
    *everyday.GENERATORS,
    *comparisons.GENERATORS,
    *tables.GENERATORS,
    *deadlines.GENERATORS,
    *timetables.GENERATORS,
    *tracking.GENERATORS,
    *ledgers.GENERATORS,
    *happened.GENERATORS,
    *counting.GENERATORS,
    *priorities.GENERATORS,
    *permissions.GENERATORS,
    *toolchoice.GENERATORS,
    *injection.GENERATORS,
    *sameness.GENERATORS,
    *review.GENERATORS,
    *opinions.GENERATORS,
    *mailbox.GENERATORS,
    *coded.GENERATORS,
    *grading.GENERATORS,
    *incidents.GENERATORS,
)
"""All that need no data."""


def sourced(sources: Sources) -> tuple[Generator, ...]:
    """The generators that draw from published word lists; `training.sources` makes the file they are read from."""
    return lexicon.generators(sources.words) + multilingual.generators(sources)
