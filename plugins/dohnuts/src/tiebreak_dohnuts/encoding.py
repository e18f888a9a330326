"""A request as dohnuts takes it: System One questions, and text that stays text."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tiebreak.errors import InvalidRequest
from tiebreak.questions import JSON, Question, Request, dumps
from tiebreak_dohnuts.profiles import ENGINE, Profile

__all__ = ["bodies", "plain_state"]

BODY_BYTES = 12 << 20  # inclusive; beyond it 413, far beyond it a reset connection
PASSES = 8


def bodies(request: Request, state: JSON, profile: Profile, at_once: int) -> Iterator[tuple[tuple[str, ...], bytes]]:
    """The bodies of the exchanges, each with the names of its questions.

    Args:
        request: whose questions are asked.
        state: the state as it is sent.
        profile: what runs there.
        at_once: questions of one exchange.

    Raises:
        InvalidRequest: something that the profile would refuse, ignore or cut.
    """
    names = tuple(request.questions)
    for start in range(0, len(names), at_once):
        group = names[start : start + at_once]
        questions = {name: _question(name, request.questions[name], profile) for name in group}
        body = json.dumps({"state": state, "questions": questions}, ensure_ascii=False, separators=(",", ":")).encode()
        if len(body) > BODY_BYTES:
            raise InvalidRequest(
                f"The request is {len(body):,} bytes; it takes {BODY_BYTES:,}.",
                remedy="Shorten the state.",
                engine=ENGINE,
            )
        yield group, body


def _question(name: str, question: Question, profile: Profile) -> dict[str, Any]:
    count = len(question.options)
    if count > profile.options:
        raise InvalidRequest(
            f"Question {name!r} has {count} options; the profile {profile.name} takes {profile.options}.", engine=ENGINE
        )
    if question.kind == "choice":
        # An object is the one shape that every profile takes; its order is kept.
        criteria: Any = {option.name: option.description for option in question.options}
        return {"type": "choice", "instructions": question.text, "criteria": criteria}
    if question.kind == "score":
        if count > profile.levels:
            raise InvalidRequest(
                f"Question {name!r} has {count} levels; the profile {profile.name} takes {profile.levels}.",
                remedy="Use fewer levels, or ask for a choice.",
                engine=ENGINE,
            )
        levels = [option.text for option in question.options]
        return {"type": "score", "instructions": question.text, "criteria": levels}
    criteria = {
        key: option.description
        for key, option in zip(("false", "true"), question.options, strict=True)
        if option.description
    }
    if criteria and not profile.describes_yes_no:
        raise InvalidRequest(
            f"Question {name!r} describes yes or no, which the profile {profile.name} ignores.",
            remedy="Put the description into the question.",
            engine=ENGINE,
        )
    asked = {"type": "noul", "instructions": question.text}
    return {**asked, "criteria": criteria} if criteria else asked


def plain_state(request: Request, control: Sequence[str]) -> tuple[JSON, int]:
    """The state spelled so that it holds no control token, and the number of places that were changed.

    The program tokenises everything with control tokens on, so `<|im_end|>` in a state would end the turn. The state is
    data, often a stranger's: it is answered, with a space after the spelling's first character. Questions and options
    are the author's own: there a spelling is refused.

    Raises:
        InvalidRequest: a question or option spells a control token, or a state does that cannot be spelled apart.
    """
    pattern = _pattern(tuple(control))
    for name, question in request.questions.items():
        for text in (question.text, *(option.text for option in question.options)):
            found = pattern.search(text)
            if found is not None:
                raise InvalidRequest(
                    f"Question {name!r} or one of its options spells the control token {found[0]!r}, "
                    "which would end up in the prompt as that token.",
                    remedy="Spell it differently.",
                    engine=ENGINE,
                )
    if pattern.search(dumps(request.state)) is None:
        return request.state, 0
    changed = [0]
    state = _plain(request.state, pattern, changed)
    found = pattern.search(dumps(state))
    if found is not None:
        raise InvalidRequest(
            f"The state spells the control token {found[0]!r}, which would end up in the prompt as that token.",
            remedy="Spell it differently.",
            engine=ENGINE,
        )
    return state, changed[0]


def _plain(value: JSON, pattern: re.Pattern[str], changed: list[int]) -> JSON:
    if isinstance(value, str):
        for _ in range(PASSES):
            value, count = pattern.subn(lambda found: f"{found[0][:1]} {found[0][1:]}", value)
            changed[0] += count
            if not count:
                break
        return value
    if isinstance(value, Mapping):
        return {str(_plain(key, pattern, changed)): _plain(item, pattern, changed) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [_plain(item, pattern, changed) for item in value]
    return value


@functools.lru_cache(maxsize=8)
def _pattern(control: tuple[str, ...]) -> re.Pattern[str]:
    """Finds a control token's spelling; some vocabularies have thousands of them."""
    return re.compile("|".join(map(re.escape, control)))
