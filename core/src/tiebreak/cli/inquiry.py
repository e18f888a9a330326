"""`Inquiry`: what a deciding command was asked, before anything is done about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import attrs

from tiebreak.cli.settings import Settings
from tiebreak.errors import InvalidRequest
from tiebreak.questions import JSON, Question

__all__ = ["Act", "Inquiry", "described"]


@attrs.frozen(kw_only=True)
class Inquiry:
    """A state, the questions about it, and who is to answer.

    Attributes:
        state, questions: as for `Decider.decide`.
        single: one question was asked, so its value alone is the result.
        settings: the shared flags.
    """

    state: JSON
    questions: Mapping[str, Question]
    single: bool
    settings: Settings


Act = Callable[[Inquiry], None]
"""What is done with an inquiry: it is answered, or explained."""


def described(names: tuple[str, ...], given: tuple[str, ...]) -> tuple[str, ...] | dict[str, str | None]:
    """Names with the descriptions that `--describe NAME=TEXT` gives some of them.

    A name may hold an equals sign itself: the longest name that fits is meant.

    Raises:
        InvalidRequest: a description of no name, of the same name twice, or of names that are not all different.
    """
    if not given:
        return names
    if len(set(names)) != len(names):
        return names  # refused with the rest of the question, by its name
    found: dict[str, str | None] = dict.fromkeys(names)
    for text in given:
        name = max((name for name in names if text.startswith(f"{name}=")), key=len, default=None)
        if name is None:
            from tiebreak.names import unknown

            asked, equals, _ = text.partition("=")
            if not equals:
                raise InvalidRequest(f"--describe {text!r} is not of the form NAME=TEXT.")
            raise InvalidRequest(f"--describe: {unknown('option', asked, names)}")
        if found[name] is not None:
            raise InvalidRequest(f"--describe {name} is given twice.", remedy="Leave one.")
        found[name] = text[len(name) + 1 :]
    return found
