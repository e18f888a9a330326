"""`Labelled`: a request with its right answers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

import attrs

from tiebreak.errors import InvalidRequest
from tiebreak.names import unknown
from tiebreak.questions import JSON, Question, Request

__all__ = ["Labelled"]


@attrs.frozen(kw_only=True)
class Labelled:
    """A state, questions about it, and the right answers to them.

    Attributes:
        state, questions: as for `Decider.decide`.
        answers: question name -> the right answer: a name of an option or level, True or False.
    """

    state: JSON
    questions: Mapping[str, Question]
    answers: Mapping[str, str | bool]

    @classmethod
    def of(cls, state: JSON, questions: Mapping[str, Question], answers: Mapping[str, object]) -> Labelled:
        """Check a row.

        Raises:
            InvalidRequest: the request is wrong, an answer is missing, or it is not one that the question has.
        """
        request = Request.of(state, questions)
        for name in answers:
            if name not in questions:
                raise InvalidRequest(f"answers: {unknown('question', name, questions)}")
        right: dict[str, str | bool] = {}
        for name, question in request.questions.items():
            if name not in answers:
                raise InvalidRequest(f"answers.{name} is missing.", remedy="Say what is right, or drop the question.")
            answer = answers[name]
            if question.kind == "yes_no":
                if not isinstance(answer, bool):
                    raise InvalidRequest(f"answers.{name} is {answer!r}.", remedy="It is true or false.")
                right[name] = answer
            elif isinstance(answer, str) and answer in question.names:
                right[name] = answer
            else:
                raise InvalidRequest(f"answers.{name}: {unknown('option', str(answer), question.names)}")
        return cls(state=request.state, questions=request.questions, answers=right)

    @property
    def group(self) -> str:
        """Equal for rows about the same state, which must not be on both sides of a check; ordered as by chance."""
        return hashlib.sha256(json.dumps(self.state, sort_keys=True).encode()).hexdigest()

    def index(self, name: str) -> int:
        """The place of the right answer among the question's options."""
        answer = self.answers[name]
        return int(answer) if isinstance(answer, bool) else self.questions[name].names.index(answer)
