"""`Asked`: one System One request, turned into questions for a Decider and its decision turned back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs
from pydantic import ValidationError

from tiebreak.answers import Answer
from tiebreak.errors import InvalidRequest
from tiebreak.questions import JSON, Question, choice, dumps, score, yes_no
from tiebreak.serve._wire import Body, Choice, Noul, Score
from tiebreak.serve.confidence import choice_confidence, score_confidence
from tiebreak.serve.problem import Problem, invalid, wrong

__all__ = ["Asked"]

WHICH = "Which of these is the case?"
"""Asked where a noul has descriptions only."""


@attrs.frozen(kw_only=True)
class Asked:
    """What a client asked.

    Attributes:
        model: the model that it named.
        state: what the questions are about.
        wire: the questions as they came, by the client's ids.
        questions: those that need an engine, under names of our own: what a client calls a question must not
            change its answer, on no engine.
    """

    model: str
    state: JSON
    wire: Mapping[str, Noul | Choice | Score]
    questions: Mapping[str, Question]

    @classmethod
    def of(cls, value: Any) -> Asked:
        """Check a request body.

        Raises:
            Problem: 422 with the path of everything that is wrong, or 400 for images.
        """
        try:
            body = Body.model_validate(value)
        except ValidationError as error:
            found = error.errors(include_url=False, include_context=False, include_input=False)
            raise invalid(*(wrong(item["loc"], item["msg"], item["type"]) for item in found)) from None
        if body.assets:
            raise Problem.of(400, "api_usage_error", "Images are not supported: assets cannot be shown to this model.")
        questions: dict[str, Question] = {}
        errors = []
        for number, (name, asked) in enumerate(body.questions.items(), 1):
            if not name:
                errors.append(wrong(["questions", name], "A question id is empty"))
            elif not _settled(asked):
                try:
                    questions[f"q{number}"] = _question(asked)
                except InvalidRequest as error:
                    errors.append(wrong(["questions", name, asked.type], str(error)))
        if errors:
            raise invalid(*errors)
        return cls(model=body.model, state=body.state, wire=body.questions, questions=questions)

    def answers(self, found: Mapping[str, Answer], decimals: int | None) -> dict[str, Any]:
        """The protocol's answers, under the client's ids and in its order.

        Args:
            found: what the Decider answered to `questions`.
            decimals: probabilities are rounded to so many, None for full floats.
        """
        out = {}
        for number, (name, asked) in enumerate(self.wire.items(), 1):
            answer = found.get(f"q{number}")
            probabilities = [1.0] if answer is None else list(answer.probabilities.values())
            out[name] = _answer(asked, probabilities, decimals)
        return out

    def beside(self, found: Mapping[str, Answer]) -> dict[str, Any]:
        """What the protocol has no place for, by the client's ids: coverage, margin, and why a number is not exact."""
        out = {}
        for number, name in enumerate(self.wire, 1):
            answer = found.get(f"q{number}")
            if answer is not None:
                out[name] = {
                    "coverage": answer.coverage,
                    "margin": answer.margin,
                    "near_tie": answer.near_tie,
                    "approximate": answer.approximate,
                    "calibrated": answer.calibrated,
                }
        return out


def _settled(asked: Noul | Choice | Score) -> bool:
    """Whether there is only one possible answer, which no model need be asked for."""
    return not isinstance(asked, Noul) and len(asked.criteria) == 1


def _question(asked: Noul | Choice | Score) -> Question:
    text = _text(asked.instructions)
    if isinstance(asked, Choice):
        return choice(text, {name: _text(description) for name, description in asked.criteria.items()})
    if isinstance(asked, Score):
        return score(text, [dumps(level) for level in asked.criteria])
    yes = _text(asked.criteria.true) if asked.criteria else None
    no = _text(asked.criteria.false) if asked.criteria else None
    if text is None and yes is None and no is None:
        raise InvalidRequest("Nothing is asked.", remedy="Give instructions, or describe a side in criteria.")
    return yes_no(text or WHICH, yes=yes, no=no)


def _text(value: Any) -> str | None:
    """Text as the model reads it: structured text as one line of JSON, blank text as none."""
    if value is None:
        return None
    text = dumps(value)
    return text if text.strip() else None


def _answer(asked: Noul | Choice | Score, probabilities: Sequence[float], decimals: int | None) -> dict[str, Any]:
    def shown(value: float) -> float:
        return value if decimals is None else round(value, decimals)

    if isinstance(asked, Noul):
        return {"type": "noul", "noul": shown(probabilities[1])}
    best = max(range(len(probabilities)), key=probabilities.__getitem__)
    if isinstance(asked, Choice):
        names = list(asked.criteria)
        return {
            "type": "choice",
            "choice": names[best],
            "probabilities": {name: shown(p) for name, p in zip(names, probabilities, strict=True)},
            "confidence": shown(choice_confidence(probabilities)),
        }
    return {
        "type": "score",
        "score": shown(sum(level * p for level, p in enumerate(probabilities))),
        "legend": {str(level): text for level, text in enumerate(asked.criteria)},
        "probabilities": {str(level): shown(p) for level, p in enumerate(probabilities)},
        "confidence": shown(score_confidence(probabilities)),
    }
