"""`Layout`: how a request becomes a prompt, and so what can be cached and where the answer is read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from itertools import islice

from tiebreak.engine import EvidenceKind, Vocabulary
from tiebreak.errors import InvalidRequest
from tiebreak.plan import Direction, Plan
from tiebreak.questions import Question, Request

__all__ = ["Layout", "letters"]

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Layout(ABC):
    """Lays out a request as rows of segments.

    Attributes:
        name: as the user asks for it and as the receipt shows it.
        direction: what comes first in the prompt.
        evidence: what an engine must return for this layout to be read: `tokens` or `distribution`.
    """

    name: str
    direction: Direction
    evidence: EvidenceKind = "tokens"

    @abstractmethod
    def plan(self, request: Request, vocabulary: Vocabulary) -> Plan:
        """Lay out a request: pure, no I/O, the same plan for the same request.

        Args:
            request: state and questions, checked.
            vocabulary: what is known about the model's tokens.

        Returns:
            rows in the order of the questions.

        Raises:
            InvalidRequest: the request does not fit this layout, for example more options than labels.
        """


def letters(question: Question, name: str, vocabulary: Vocabulary) -> tuple[str, ...]:
    """One letter label per option: A to Z, then those two-letter ones that are single tokens.

    Raises:
        InvalidRequest: the model's vocabulary has fewer such labels than the question has options.
    """
    known: Collection[str] = vocabulary.labels or LETTERS
    count = len(question.options)
    if count > len(known):
        raise InvalidRequest(
            f"Question {name!r} has {count} options; this model has {len(known)} single-token letter labels.",
            remedy="Ask in two steps, or use an engine without letters.",
        )
    return tuple(islice(known, count))
