"""`Claim`: what one check promises about an engine; `check` turns a method into one.

A check is a method of a topic class that takes a `Subject`. It returns nothing where the claim holds, a text where the
claim says nothing about this engine (why, for the report card), and raises where the claim is broken.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import attrs

if TYPE_CHECKING:
    from tiebreak_conformance.subject import Subject
    from tiebreak_conformance.target import Target

__all__ = ["TOPICS", "Claim", "Topic", "check", "claims_of"]

TOPICS: Mapping[str, str] = {
    "SPEC": "spec",
    "LIFE": "lifecycle",
    "LAYO": "layout",
    "READ": "readout",
    "CACH": "cache",
    "ERRO": "errors",
    "CONC": "concurrency",
    "TYPE": "typed failures",
}
"""Prefix of an id -> topic, in the order of the report card."""

Method = Callable[[Any, "Subject"], "str | None"]


@attrs.frozen(kw_only=True)
class Claim:
    """One check as the manual and the report card show it.

    Attributes:
        id: stable for ever: `READ-07`.
        claim: what holds for a conforming engine, one line.
        note: where to look when it does not.
        since: the version of the plugin API that introduced it.
    """

    id: str
    claim: str
    note: str
    since: str

    @property
    def topic(self) -> str:
        """The topic that the id names."""
        return TOPICS[self.id.partition("-")[0]]


def check(id: str, *, since: str, claim: str, note: str) -> Callable[[Method], Callable[[Any, Subject], None]]:
    """Make a method of a topic a check.

    Args:
        id: `TOPIC-NN`, never used before.
        since: version of the plugin API that introduces it.
        claim: what holds, one line.
        note: where to look when it does not.

    Returns:
        a decorator; the method then reports to its subject and returns nothing, as pytest wants it.

    Raises:
        ValueError: the id is not of a known topic.
    """
    prefix, _, number = id.partition("-")
    if prefix not in TOPICS or not re.fullmatch(r"\d\d", number):
        raise ValueError(f"{id!r} is not an id like READ-07 of a topic in {', '.join(TOPICS)}.")
    described = Claim(id=id, claim=claim, note=note, since=since)

    def decorate(method: Method) -> Callable[[Any, Subject], None]:
        @functools.wraps(method)
        def judged(self: Any, subject: Subject) -> None:
            subject.judge(described, functools.partial(method, self, subject))

        judged.__dict__["claim"] = described
        return judged

    return decorate


class Topic:
    """A class of checks; a plugin's test class inherits one or several and says whom they are about.

    Attributes:
        target: the engine under test; None takes it from pytest's command line.
    """

    target: ClassVar[Target | None] = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name in vars(cls):
            inherited = [base for base in cls.__mro__[1:] if _claim(vars(base).get(name))]
            if inherited:
                raise TypeError(
                    f"{cls.__name__}.{name} replaces a check of {inherited[0].__name__}. Checks are not overridden: "
                    "declare Target(known_failures={id: reason}) where one fails for a known reason."
                )


def claims_of(suite: type) -> dict[str, tuple[Claim, str]]:
    """The checks of a class, inherited ones included: id -> claim and method name, in the order of the ids."""
    found = {}
    for name in dir(suite):
        described = _claim(getattr(suite, name))
        if described is not None:
            found[described.id] = (described, name)
    order = list(TOPICS)
    return dict(sorted(found.items(), key=lambda item: (order.index(item[0][:4]), item[0])))


def _claim(method: object) -> Claim | None:
    found = getattr(method, "__dict__", {}).get("claim")
    return found if isinstance(found, Claim) else None
