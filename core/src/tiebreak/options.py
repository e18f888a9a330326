"""`OptionSpec`: one keyword option of an engine, checked before anything starts."""

from __future__ import annotations

import math
from typing import Any

import attrs

from tiebreak.errors import InvalidRequest

__all__ = ["OptionSpec"]


@attrs.frozen(kw_only=True)
class OptionSpec:
    """One keyword option of an engine: how it is checked before anything starts, and how it is explained.

    Attributes:
        name: the keyword.
        help: one line: what it does, with its unit.
        type: the Python type of a value; an int passes for a float.
        default: the value when it is not given; None means that the engine chooses.
        choices: the allowed values, where they are few.
        minimum, maximum: bounds of a number, inclusive.
        affects_answers: it can change a probability and so belongs in the fingerprint.
    """

    name: str
    help: str
    type: type = str
    default: Any = None
    choices: tuple[Any, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    affects_answers: bool = False

    def check(self, value: Any, engine: str) -> Any:
        """The value, converted to `type`.

        Raises:
            InvalidRequest: naming option, value and what is allowed.
        """
        if value is None:
            return None
        if self.type is float and type(value) is int:
            value = float(value)
        if not isinstance(value, self.type) or (self.type is not bool and isinstance(value, bool)):
            raise InvalidRequest(
                f"Option {self.name} is {value!r}, not {self.type.__name__}.", remedy=self.help, engine=engine
            )
        if self.choices and value not in self.choices:
            allowed = ", ".join(map(repr, self.choices))
            raise InvalidRequest(f"Option {self.name} is {value!r}; it is one of {allowed}.", engine=engine)
        if isinstance(value, (int, float)) and not self._low <= value <= self._high:
            span = f"at least {self._low:g}" if self._high == math.inf else f"from {self._low:g} to {self._high:g}"
            raise InvalidRequest(f"Option {self.name} is {value!r}; it is {span}.", engine=engine)
        return value

    @property
    def _low(self) -> float:
        return -math.inf if self.minimum is None else self.minimum

    @property
    def _high(self) -> float:
        return math.inf if self.maximum is None else self.maximum
