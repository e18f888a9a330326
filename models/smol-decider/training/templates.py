"""The sentence templates of voice-intent files: `(a|b)`, `[optional]`, `(a;b)` in any order, `<rule>`, `{slot}`."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

__all__ = ["Grammar"]

DEEPEST = 24


class Grammar:
    """Draws sentences from templates, one at a time.

    Args:
        rules: rule name -> template.
        slots: slot name -> values, each a template.
    """

    def __init__(self, rules: Mapping[str, str], slots: Mapping[str, Sequence[str]]) -> None:
        self._rules = rules
        self._slots = slots

    def sentence(self, template: str, rng: random.Random) -> str:
        """One sentence of the template, with single spaces.

        Raises:
            ValueError: the template is not closed, names an unknown rule or slot, or nests without end.
        """
        return " ".join(self._drawn(f"({template})", rng, 0).split())

    def _drawn(self, template: str, rng: random.Random, depth: int) -> str:
        if depth > DEEPEST:
            raise ValueError(f"rules nest more than {DEEPEST} deep at {template[:40]!r}")
        out, at = [], 0
        while at < len(template):
            mark = template[at]
            if mark not in "([<{":
                out.append(mark)
                at += 1
                continue
            end = _closing(template, at)
            inner = template[at + 1 : end]
            if mark in "([" and not (mark == "[" and rng.random() < 0.6):
                parts = _parts(rng.choice(_parts(inner, "|")), ";")
                rng.shuffle(parts)
                out.append(" ".join(self._drawn(part, rng, depth + 1) for part in parts))
            elif mark == "<":
                out.append(self._drawn(self._rule(inner), rng, depth + 1))
            elif mark == "{":
                out.append(self._drawn(rng.choice(self._slot(inner)), rng, depth + 1))
            at = end + 1
        return "".join(out)

    def _rule(self, name: str) -> str:
        if name not in self._rules:
            raise ValueError(f"no rule is named {name!r}")
        return self._rules[name]

    def _slot(self, name: str) -> Sequence[str]:
        values = self._slots.get(name.split(":")[0])
        if not values:
            raise ValueError(f"no values for the slot {name!r}")
        return values


CLOSING = {"(": ")", "[": "]", "<": ">", "{": "}"}


def _closing(template: str, start: int) -> int:
    """The place of the bracket that closes the one at `start`."""
    depth = 0
    mark, end = template[start], CLOSING[template[start]]
    for at in range(start, len(template)):
        depth += (template[at] == mark) - (template[at] == end)
        if not depth:
            return at
    raise ValueError(f"{template!r} lacks a {end}")


def _parts(inner: str, between: str) -> list[str]:
    """The parts between the outermost `|` or `;`."""
    parts, depth, start = [], 0, 0
    for at, mark in enumerate(inner):
        if mark in CLOSING:
            depth += 1
        elif mark in CLOSING.values():
            depth -= 1
        elif mark == between and depth == 0:
            parts.append(inner[start:at])
            start = at + 1
    return [*parts, inner[start:]]
