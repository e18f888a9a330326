"""`options_of`: options from a command line, which come as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tiebreak.errors import InvalidRequest
from tiebreak_conformance.target import Target

__all__ = ["options_of"]


def options_of(target: Target, texts: Sequence[str]) -> Mapping[str, Any]:
    """A target's options and those that were typed.

    Args:
        target: whose engine says what its options are.
        texts: each `NAME=VALUE`.

    Raises:
        InvalidRequest: another form, an unknown name, or a value that is not of the option's type.
    """
    if not texts:
        return target.options
    from tiebreak.settings import CORE_OPTIONS
    from tiebreak_conformance.subject import Subject

    specs = {spec.name: spec for spec in (*Subject(target).info.options, *CORE_OPTIONS)}
    found = dict(target.options)
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or name not in specs:
            raise InvalidRequest(
                f"Option {name!r} is not of the form NAME=VALUE, or unknown.",
                remedy=f"Known: {', '.join(sorted(specs))}.",
                engine=target.engine,
            )
        kind = specs[name].type
        try:
            found[name] = value.lower() in ("true", "yes", "on", "1") if kind is bool else kind(value)
        except ValueError:
            raise InvalidRequest(f"Option {name} is {value!r}, not {kind.__name__}.", engine=target.engine) from None
    return found
