"""What a reply says: a distribution over each row's labels, rounded by the program to four decimals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tiebreak.errors import BadReply
from tiebreak.evidence import Distribution
from tiebreak.plan import Row
from tiebreak.questions import Question
from tiebreak_dohnuts._wire import Read

__all__ = ["evidence"]

ROUNDING = 0.00005


def evidence(answers: Mapping[str, Read], row: Row, question: Question) -> Distribution:
    """The distribution of one row: of a question, or of one level of a score.

    Args:
        answers: question name -> what the program said.
        row: whose labels want probabilities.
        question: the question behind it.

    Raises:
        BadReply: the answer is missing, of another kind, or over other options.
    """
    read = answers.get(row.question)
    kind = {"choice": "choice", "yes_no": "noul", "score": "score"}[question.kind]
    if read is None or read.type != kind:
        found = "no answer" if read is None else f"a {read.type}"
        raise BadReply(f"Question {row.question!r}: {found} in the reply, asked was a {kind}.")
    if row.level is not None:
        probabilities: tuple[float, ...] = _yes(row, _fits(read).get(str(row.level)))
    elif question.kind == "yes_no":
        probabilities = _yes(row, read.noul)
    else:
        keys = question.names if question.kind == "choice" else tuple(map(str, range(len(question.options))))
        if set(read.probabilities) != set(keys):
            raise BadReply(
                f"Question {row.question!r}: probabilities for {sorted(read.probabilities)}, asked were {sorted(keys)}."
            )
        probabilities = tuple(read.probabilities[key] for key in keys)
    return Distribution(
        probabilities=probabilities,
        approximate=_approximate(probabilities),
        rounding=ROUNDING,
        native=_native(read),
    )


def _yes(row: Row, value: Any) -> tuple[float, float]:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise BadReply(f"Question {row.question!r}: the probability of yes is {value!r}.")
    return 1.0 - value, float(value)


def _fits(read: Read) -> Mapping[str, Any]:
    """Level index -> how well the level fits, where the profile judged each on its own."""
    fits = read.native.get("level_fit")
    return fits if isinstance(fits, dict) else {}


def _native(read: Read) -> dict[str, Any]:
    """The program's own numbers. Its `native.confidence` differs from the outer one: it is the largest probability."""
    native = {key: value for key, value in read.native.items() if key != "legend"}
    if "confidence" in native:
        native["native_confidence"] = native.pop("confidence")
    native["confidence"] = read.confidence
    if read.score is not None:
        native["score"] = read.score
    return native


def _approximate(probabilities: tuple[float, ...]) -> str | None:
    """Whether four decimals lose something that one reads off an answer.

    An error of 0.00005 is far below the engine's own tolerance, so it is said only where it decides: the two best are
    so close that either may be first, or a probability is down to 0, which has no logarithm (a temperature other than
    1 cannot bring it back).
    """
    first, second = sorted(probabilities, reverse=True)[:2]
    # A hair more than two roundings, because 0.4501 - 0.45 is not 0.0001 in binary.
    if first - second <= 2 * ROUNDING + 1e-9 or 0.0 in probabilities:
        return "rounded to 4 decimals by the engine"
    return None
