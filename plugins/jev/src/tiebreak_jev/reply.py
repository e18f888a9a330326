"""`evidence`: from a System One reply to the probabilities of each question's options, or why it is not believed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tiebreak.errors import BadReply
from tiebreak.evidence import Distribution
from tiebreak.questions import Question
from tiebreak_jev._wire import Choice, Noul, Score

__all__ = ["evidence", "rounding"]

ENGINE = "jev"
COARSEST, FINEST = 2, 6  # decimals to which servers are known to round
SCORE_SLACK = 0.02

Answer = Noul | Choice | Score

_TYPES: Mapping[str, type[Answer]] = {"yes_no": Noul, "choice": Choice, "score": Score}


def evidence(questions: Mapping[str, Question], answers: Mapping[str, Answer]) -> tuple[Distribution, ...]:
    """One distribution per question, over exactly its options and in their order.

    Raises:
        BadReply: answers are missing or nobody asked for them, options are missing or unknown, the pick is not
            the most probable option, or a score contradicts its probabilities.
    """
    missing = [name for name in questions if name not in answers]
    added = [name for name in answers if name not in questions]
    if missing or added:
        raise _bad(_difference("answer", missing, added))
    return tuple(_distribution(name, question, answers[name]) for name, question in questions.items())


def rounding(values: Sequence[float]) -> float:
    """The largest rounding error that the values show: 0.005 where all have at most two decimals, 0 for full floats."""
    for decimals in range(COARSEST, FINEST + 1):
        if all(abs(value - round(value, decimals)) < 1e-7 for value in values):
            return float(0.5 * 10**-decimals)
    return 0.0


def _distribution(name: str, question: Question, answer: Answer) -> Distribution:
    wanted = _TYPES[question.kind]
    if not isinstance(answer, wanted):
        raise _bad(f"Question {name!r} was answered as a {answer.type}.")
    native: dict[str, Any] = {} if answer.confidence is None else {"confidence": answer.confidence}
    if isinstance(answer, Noul):
        return _made((1 - answer.noul, answer.noul), rounding([answer.noul]), native)
    if isinstance(answer, Choice):
        values = _by_key(name, question.names, answer.probabilities)
        _check_pick(name, answer, rounding(values))
    else:
        values = _by_key(name, [str(level) for level in range(len(question.options))], answer.probabilities)
        _check_score(name, question, answer, values)
        native["score"] = answer.score
    return _made(values, rounding(values), native)


def _made(values: Sequence[float], error: float, native: Mapping[str, Any]) -> Distribution:
    decided = all(value in (0, 1) for value in values)
    reason = f"rounded by the server to {_decimals(error)} decimals" if error and not decided else None
    return Distribution(probabilities=tuple(values), rounding=error, approximate=reason, native=native)


def _by_key(name: str, keys: Sequence[str], given: Mapping[str, float]) -> list[float]:
    missing = [key for key in keys if key not in given]
    added = [key for key in given if key not in keys]
    if missing or added:
        raise _bad(f"Question {name!r}: {_difference('option', missing, added)}")
    return [given[key] for key in keys]


def _check_pick(name: str, answer: Choice, error: float) -> None:
    """The pick may be behind the best option only by what rounding both of them explains."""
    best = max(answer.probabilities, key=answer.probabilities.__getitem__)
    picked = answer.probabilities.get(answer.choice)
    if picked is None:
        raise _bad(f"Question {name!r}: the pick {answer.choice!r} is not one of the options.")
    if answer.probabilities[best] - picked > 2 * error + 1e-6:
        raise _bad(
            f"Question {name!r}: the pick {answer.choice!r} has probability {picked:g},"
            f" but {best!r} has {answer.probabilities[best]:g}."
        )


def _check_score(name: str, question: Question, answer: Score, values: Sequence[float]) -> None:
    count = len(values)
    expected = sum(level * value for level, value in enumerate(values))
    slack = SCORE_SLACK + rounding(values) * (1 + count * (count - 1) / 2)
    if abs(answer.score - expected) > slack:
        raise _bad(f"Question {name!r}: the score {answer.score:g} is not the mean of its levels, {expected:.2f}.")
    if answer.legend is None:
        return
    texts = [option.text for option in question.options]
    for key, text in answer.legend.items():
        if not key.isdecimal() or int(key) >= count:
            raise _bad(f"Question {name!r}: the legend has a level {key!r}; there are 0 to {count - 1}.")
        if text in texts and texts[int(key)] != text:
            raise _bad(
                f"Question {name!r}: the legend says that level {key} is {text!r}; it was level {texts.index(text)}."
            )


def _difference(noun: str, missing: Sequence[str], added: Sequence[str]) -> str:
    parts = []
    if missing:
        parts.append(f"no {noun} {_some(missing)} in the reply")
    if added:
        parts.append(f"an {noun} {_some(added)} that was not asked for")
    return f"{' and '.join(parts)}."


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name[:60]) for name in names[:3])
    return shown if len(names) <= 3 else f"{shown} (and {len(names) - 3} more)"


def _decimals(error: float) -> int:
    return next(decimals for decimals in range(COARSEST, FINEST + 1) if error >= 0.4 * 10**-decimals)


def _bad(text: str) -> BadReply:
    return BadReply(
        text[0].upper() + text[1:], remedy="Nothing was guessed from it; ask again or another server.", engine=ENGINE
    )
