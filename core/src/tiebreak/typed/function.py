"""`decision`: a typed function that is answered, not run."""

from __future__ import annotations

import dis
import functools
import inspect
import sys
from collections.abc import Callable, Coroutine, Iterator, Mapping
from types import FrameType, FunctionType
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, Protocol, TypeVar, get_type_hints, overload

from tiebreak.errors import InvalidRequest
from tiebreak.questions import JSON
from tiebreak.typed.annotation import is_class
from tiebreak.typed.form import Form
from tiebreak.typed.judged import Judged

if TYPE_CHECKING:
    from tiebreak.asking import Asking

__all__ = ["Answering", "Judging", "decision"]

P = ParamSpec("P")
R = TypeVar("R")


class Answering(Protocol):
    """A decorator whose functions return what they say that they return."""

    def __call__(self, function: Callable[P, R], /) -> Callable[P, R]: ...


class Judging(Protocol):
    """A decorator whose functions return a `Judged` of what they say that they return."""

    @overload
    def __call__(  # type: ignore[overload-overlap]  # a coroutine is an object, too
        self, function: Callable[P, Coroutine[Any, Any, R]], /
    ) -> Callable[P, Coroutine[Any, Any, Judged[R]]]: ...
    @overload
    def __call__(self, function: Callable[P, R], /) -> Callable[P, Judged[R]]: ...


@overload
def decision(function: Callable[P, R], /) -> Callable[P, R]: ...
@overload
def decision(*, decider: Asking | None = ..., probabilities: Literal[False] = ...) -> Answering: ...
@overload
def decision(*, decider: Asking | None = ..., probabilities: Literal[True]) -> Judging: ...
def decision(
    function: Callable[..., Any] | None = None, /, *, decider: Asking | None = None, probabilities: bool = False
) -> Any:
    """Make a function that decides: its docstring is the question, its return type says what the answers are.

    A call is one request. Its state is the argument where there is one, and an object of name to argument where there
    are more; models, dataclasses, dates and the like are turned into JSON as pydantic does it. An `async def` becomes a
    function that is awaited. The body is never run, so it must hold nothing: the docstring alone, `...`, or
    `raise NotImplementedError` for type checkers that ask for a return.

    Args:
        function: the function.
        decider: who answers; None asks the default Decider.
        probabilities: calls return a `Judged`, the value with its evidence, instead of the value.

    Returns:
        a function with the same parameters.

    Raises:
        InvalidRequest: the function says no return type, its type cannot be asked about, nothing says what is asked, or
            its body does something; all of that when it is defined.
    """
    if function is None:
        return lambda given: _decision(given, decider, probabilities)
    return _decision(function, decider, probabilities)


def _decision(function: Callable[..., Any], decider: Asking | None, probabilities: bool) -> Callable[..., Any]:
    if not isinstance(function, FunctionType):
        raise InvalidRequest(f"{function!r} is no function.", remedy="Decorate a def or an async def.")
    form = _form(function)
    signature = inspect.signature(function)

    def asked(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Asking, JSON]:
        from tiebreak.shared import default

        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return decider or default(), _state(function.__name__, bound.arguments)

    def handed(judged: Judged[Any]) -> Any:
        return judged if probabilities else judged.value

    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def adecided(*args: Any, **kwargs: Any) -> Any:
            who, state = asked(args, kwargs)
            return handed(form.read(await who.adecide(state, form.questions)))

        return adecided

    @functools.wraps(function)
    def decided(*args: Any, **kwargs: Any) -> Any:
        who, state = asked(args, kwargs)
        return handed(form.read(who.decide(state, form.questions)))

    return decided


def _form(function: FunctionType) -> Form[Any]:
    """What a function asks, checked."""
    name = function.__name__
    if not _is_empty(function):
        raise InvalidRequest(
            f"The body of {name} is never run, but it holds code.", remedy="Leave the docstring alone in it."
        )
    if not inspect.signature(function).parameters:
        raise InvalidRequest(f"{name} takes no argument: there would be no state to decide about.")
    # The names of whoever decorates, for types that are defined beside the function.
    beside: Mapping[str, Any] = next(f.f_locals for f in _callers() if f.f_globals.get("__name__") != __name__)
    try:
        hints = get_type_hints(function, localns=dict(beside), include_extras=True)
    except NameError as error:
        raise InvalidRequest(
            f"An annotation of {name} cannot be resolved: {error}.", remedy="Define that type before the function."
        ) from None
    if hints.get("return") in (None, Any):
        raise InvalidRequest(f"{name} does not say what it returns.", remedy="Write -> bool, -> Literal[...], ...")
    question = inspect.getdoc(function)
    if question is None and not is_class(hints["return"]):
        question = ""
    return Form.of(hints["return"], question)


def _callers() -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        yield frame
        frame = frame.f_back


def _is_empty(function: FunctionType) -> bool:
    """Whether a body holds a docstring, `...`, `pass` or `raise NotImplementedError` and nothing else."""
    code = function.__code__
    reads = any(step.opname.startswith(("LOAD_FAST", "LOAD_DEREF", "STORE_")) for step in dis.get_instructions(code))
    return (
        not reads
        and set(code.co_names) <= {"NotImplementedError"}
        and all(value in (None, function.__doc__, ...) for value in code.co_consts)
    )


def _state(name: str, arguments: Mapping[str, Any]) -> JSON:
    """The state that a call means."""
    from pydantic_core import PydanticSerializationError, to_jsonable_python

    values: dict[str, Any] = {}
    for parameter, value in arguments.items():
        try:
            values[parameter] = to_jsonable_python(value)
        except PydanticSerializationError as error:
            raise InvalidRequest(
                f"{name}: {parameter} is {type(value).__name__}, which is not JSON: {error}.",
                remedy="Pass text, JSON, a model or a dataclass.",
            ) from None
    if len(values) == 1:
        (value,) = values.values()
        if isinstance(value, (str, dict, list)):
            return value
    return values
