"""Incidents judged by house rules."""

from __future__ import annotations

import random

from tiebreak.questions import JSON

from ..examples import Example
from .drawing import coin
from .generator import Generator, generator
from .shapes import answer, pick
from .words import NAMES

HOUSE_RULES = (
    ("No music after {a} o'clock.", "hour", "{n} played the drums at {v} o'clock.", 20, 23, 9, 23, False),
    ("Visitors wear a badge at all times.", "flag", "{n}, a visitor, {b} a badge.", 0, 0, 0, 0, True),
    (
        "Gifts worth more than {a} dollars must be declared.",
        "declared",
        "{n} took a gift worth {v} dollars and {b} it.",
        20,
        100,
        5,
        200,
        True,
    ),
    ("Dogs must be on a lead.", "lead", "{n} walked the dog {b} a lead.", 0, 0, 0, 0, True),
    ("At most {a} bags per person.", "bags", "{n} carries {v} bags.", 1, 4, 1, 8, False),
    ("Nobody may drive faster than {a} km/h in the yard.", "speed", "{n} drove at {v} km/h.", 10, 30, 5, 60, False),
    (
        "Passwords have at least {a} characters.",
        "length",
        "The password of {n} has {v} characters.",
        8,
        16,
        3,
        24,
        False,
    ),
    ("Helmets are required on the site.", "helmet", "{n} {b} a helmet on the site.", 0, 0, 0, 0, True),
)


@generator(2)
def house_rules(r: random.Random) -> Example:
    """Several rules and one incident: was a rule broken, and which?"""
    rules = r.sample(HOUSE_RULES, r.randint(2, 4))
    which = coin(r, 0.2)
    place, broken = r.randrange(len(rules)), which or coin(r)
    texts, incident = [], ""
    for at, (rule, kind, case, low, high, least, most, _) in enumerate(rules):
        limit = r.randint(low, high) if high else 0
        texts.append(rule.format(a=limit))
        if at != place:
            continue
        words = {
            "flag": ("wore", "did not wear"),
            "lead": ("on", "without"),
            "helmet": ("wore", "did not wear"),
            "declared": ("declared", "did not declare"),
        }.get(kind, ("", ""))
        value = 0
        if kind in ("hour", "bags", "speed"):
            value = r.randint(limit + 1, max(limit + 1, most)) if broken else r.randint(least, max(least, limit - 1))
            value = min(value, 24) if kind == "hour" else value
        elif kind == "length":
            value = r.randint(least, limit - 1) if broken else r.randint(limit, most)
        elif kind == "declared":
            big = broken or coin(r)
            value = r.randint(limit + 1, most) if big else r.randint(least, limit - 1)
            words = words if big else (r.choice(words),) * 2
        incident = case.format(n=r.choice(NAMES), v=value, b=words[broken])
    numbered = [f"{number}. {text}" for number, text in enumerate(texts, 1)]
    state: JSON = {"rules": texts, "incident": incident} if coin(r, 0.35) else "\n".join(numbered) + f"\n\n{incident}"
    if which:
        return pick(
            r,
            state,
            r.choice(("Which rule was broken?", "Against which rule is the incident?")),
            texts[place],
            [text for text in texts if text != texts[place]],
        )
    if coin(r, 0.6):
        return answer(
            r,
            state,
            r.choice(
                (
                    "Was a rule broken?",
                    "Is there a breach of the rules?",
                    "Must the incident be reported as a violation?",
                    "Did somebody act against the rules?",
                )
            ),
            broken,
        )
    return answer(
        r,
        state,
        r.choice(("Is everything in line with the rules?", "Are the rules respected?", "Was it allowed?")),
        not broken,
    )


GENERATORS: tuple[Generator, ...] = (house_rules,)
