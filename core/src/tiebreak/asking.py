"""`Asking`: every way to ask, for whoever can decide."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeVar, overload

from tiebreak.answers import Answer, Decision
from tiebreak.questions import JSON, Question, choice, score, yes_no

if TYPE_CHECKING:
    from tiebreak.typed.function import Answering, Judging
    from tiebreak.typed.judged import Judged

__all__ = ["Asking", "Labels"]

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

Labels = type[T] | Sequence[T] | Mapping[T, str | None]
"""What `classify` chooses from: an Enum, labels, or a mapping of label to description."""


class Asking(ABC):
    """Whoever decides several questions about a state can be asked in all these ways."""

    @abstractmethod
    def decide(self, state: JSON, questions: Mapping[str, Question]) -> Decision:
        """Answer several questions about one state."""

    @abstractmethod
    async def adecide(self, state: JSON, questions: Mapping[str, Question]) -> Decision:
        """The same from a task."""

    def choose(
        self,
        state: JSON,
        options: Iterable[str] | Mapping[str, str | None],
        question: str | None = None,
    ) -> Answer:
        """Pick one of several options.

        Args:
            state: text, or a JSON object or array.
            options: names, or a mapping of name to description, in order.
            question: what is asked; None asks "Which option fits best?".

        Returns:
            an answer whose value is one of the names. Errors as in `decide`.
        """
        return self.decide(state, {"answer": choice(question, options)})["answer"]

    async def achoose(
        self,
        state: JSON,
        options: Iterable[str] | Mapping[str, str | None],
        question: str | None = None,
    ) -> Answer:
        """The same from a task. See `choose`."""
        return (await self.adecide(state, {"answer": choice(question, options)}))["answer"]

    def check(self, state: JSON, question: str, *, yes: str | None = None, no: str | None = None) -> Answer:
        """Say whether something holds.

        Args:
            state: text, or a JSON object or array.
            question: a question that yes or no answers.
            yes: what yes means here, read by the model beside it.
            no: what no means here.

        Returns:
            an answer whose value is True or False. Errors as in `decide`.
        """
        return self.decide(state, {"answer": yes_no(question, yes=yes, no=no)})["answer"]

    async def acheck(self, state: JSON, question: str, *, yes: str | None = None, no: str | None = None) -> Answer:
        """The same from a task. See `check`."""
        return (await self.adecide(state, {"answer": yes_no(question, yes=yes, no=no)}))["answer"]

    def rate(self, state: JSON, question: str | None, levels: Iterable[str] | Mapping[str, str | None]) -> Answer:
        """Place something on an ordered rubric.

        Args:
            state: text, or a JSON object or array.
            question: what is rated.
            levels: lowest first; a mapping adds a description to each.

        Returns:
            an answer whose value is one of the levels and whose `expected` is the mean level index.
            Errors as in `decide`.
        """
        return self.decide(state, {"answer": score(question, levels)})["answer"]

    async def arate(
        self, state: JSON, question: str | None, levels: Iterable[str] | Mapping[str, str | None]
    ) -> Answer:
        """The same from a task. See `rate`."""
        return (await self.adecide(state, {"answer": score(question, levels)}))["answer"]

    @overload
    def extract(self, model: type[T], state: JSON, *, probabilities: Literal[False] = ...) -> T: ...
    @overload
    def extract(self, model: type[T], state: JSON, *, probabilities: Literal[True]) -> Judged[T]: ...
    def extract(self, model: type[T], state: JSON, *, probabilities: bool = False) -> T | Judged[T]:
        """Fill a typed model: each field is a question, all asked in one request.

        Args:
            model: a pydantic model, a dataclass or an attrs class of fields that can be asked about; an Enum, too.
            state: text, or a JSON object or array.
            probabilities: return a `Judged`: the instance with its evidence beside it.

        Returns:
            an instance whose values are the caller's own objects.

        Raises:
            InvalidRequest: a field's type cannot be asked about; the message names field and type. Nothing was sent.
            BadReply: the model's own validators refuse what was decided.
            TiebreakError: as in `decide`.
        """
        from tiebreak.typed.form import Form

        form = Form.of(model)
        judged = form.read(self.decide(state, form.questions))
        return judged if probabilities else judged.value

    @overload
    async def aextract(self, model: type[T], state: JSON, *, probabilities: Literal[False] = ...) -> T: ...
    @overload
    async def aextract(self, model: type[T], state: JSON, *, probabilities: Literal[True]) -> Judged[T]: ...
    async def aextract(self, model: type[T], state: JSON, *, probabilities: bool = False) -> T | Judged[T]:
        """The same from a task. See `extract`."""
        from tiebreak.typed.form import Form

        form = Form.of(model)
        judged = form.read(await self.adecide(state, form.questions))
        return judged if probabilities else judged.value

    @overload
    def classify(
        self, state: JSON, labels: Labels[T], question: str | None = ..., *, probabilities: Literal[False] = ...
    ) -> T: ...
    @overload
    def classify(
        self, state: JSON, labels: Labels[T], question: str | None = ..., *, probabilities: Literal[True]
    ) -> Judged[T]: ...
    def classify(
        self, state: JSON, labels: Labels[T], question: str | None = None, *, probabilities: bool = False
    ) -> T | Judged[T]:
        """Put something into one of several classes, and hand back the class itself.

        Args:
            state: text, or a JSON object or array.
            labels: an Enum, a list of strings, whole numbers, bools, None or members, or a mapping of these to
                descriptions, in order.
            question: what is asked; None asks what the Enum's docstring says, else "Which option fits best?".
            probabilities: return a `Judged`: the label with its evidence beside it.

        Returns:
            one of the labels: the caller's own object. Errors as in `extract`.
        """
        from tiebreak.typed.labels import labelled

        form = labelled(labels, question)
        judged = form.read(self.decide(state, form.questions))
        return judged if probabilities else judged.value

    @overload
    async def aclassify(
        self, state: JSON, labels: Labels[T], question: str | None = ..., *, probabilities: Literal[False] = ...
    ) -> T: ...
    @overload
    async def aclassify(
        self, state: JSON, labels: Labels[T], question: str | None = ..., *, probabilities: Literal[True]
    ) -> Judged[T]: ...
    async def aclassify(
        self, state: JSON, labels: Labels[T], question: str | None = None, *, probabilities: bool = False
    ) -> T | Judged[T]:
        """The same from a task. See `classify`."""
        from tiebreak.typed.labels import labelled

        form = labelled(labels, question)
        judged = form.read(await self.adecide(state, form.questions))
        return judged if probabilities else judged.value

    @overload
    def decision(self, function: Callable[P, R], /) -> Callable[P, R]: ...
    @overload
    def decision(self, /, *, probabilities: Literal[False] = ...) -> Answering: ...
    @overload
    def decision(self, /, *, probabilities: Literal[True]) -> Judging: ...
    def decision(self, function: Callable[..., Any] | None = None, /, *, probabilities: bool = False) -> Any:
        """Decorate a typed function so that this one answers it. See `tiebreak.decision`."""
        from tiebreak.typed.function import decision

        decorate: Any = decision(decider=self, probabilities=True) if probabilities else decision(decider=self)
        return decorate if function is None else decorate(function)
