"""Counting entries, filtering them, and what the count means for capacity and thresholds."""

from __future__ import annotations

import random

from tiebreak.questions import JSON

from ..examples import Example
from .drawing import capital, coin, listed, other, shuffled
from .generator import Generator, generator
from .shapes import answer, ordered, pick
from .words import ANIMALS, CITIES, COLOURS, FOODS, NAMES, OBJECTS

SORTS = (
    ("guests", "reply", ("coming", "not coming", "no reply")),
    ("tasks", "state", ("done", "open", "blocked")),
    ("rooms", "state", ("free", "taken", "in repair")),
    ("orders", "state", ("sent", "packed", "returned")),
    ("tests", "result", ("passed", "failed", "skipped")),
    ("parcels", "place", ("depot", "van", "delivered")),
    ("lamps", "state", ("on", "off", "broken")),
    ("votes", "vote", ("yes", "no", "abstained")),
    ("servers", "health", ("healthy", "slow", "down")),
)


def table(r: random.Random, key: str, rows: list[tuple[str, str]]) -> JSON:
    """Named things with one property each."""
    return r.choice(
        (
            "\n".join(f"{name}: {value}" for name, value in rows),
            ", ".join(f"{name} ({value})" for name, value in rows),
            f"| name | {key} |\n| --- | --- |\n" + "\n".join(f"| {name} | {value} |" for name, value in rows),
            dict(rows),
            {"items": [{"name": name, key: value} for name, value in rows]},
            f"name,{key}\n" + "\n".join(f"{name},{value}" for name, value in rows),
            "; ".join(f"{name} - {value}" for name, value in rows),
            "\n".join(f"- {name} is listed as {value}" for name, value in rows),
        )
    )


@generator(2.5)
def how_many(r: random.Random) -> Example:
    """How many entries have a property; is it more than, fewer than, none, all?"""
    noun, key, values = r.choice(SORTS)
    size = r.randint(2, 8)
    names = r.sample(
        NAMES if noun in ("guests", "votes") else [f"{noun[:-1]} {number}" for number in range(1, 30)], size
    )
    rows = [(name, r.choice(values)) for name in names]
    value = r.choice(values)
    count = sum(held == value for _, held in rows)
    state = table(r, key, rows)
    kind, truth = r.random(), coin(r)
    if kind < 0.3:
        return ordered(
            state,
            r.choice(
                (
                    f"How many {noun} are listed as '{value}'?",
                    f"Count the {noun} with {key} '{value}'.",
                    f"Number of '{value}' entries?",
                )
            ),
            [str(n) for n in range(size + 1)],
            count,
        )
    if kind < 0.55:
        number = count - r.randint(0, min(2, count)) if truth else count + r.randint(1, 2)
        if number == 0:
            return answer(r, state, f"Are there no more than {count} {noun} with '{value}'?", True)
        return answer(
            r,
            state,
            r.choice(
                (
                    "Are at least {k} {n} listed as '{v}'?",
                    "Do {k} or more {n} have '{v}'?",
                    "Is the number of '{v}' among the {n} {k} or higher?",
                )
            ).format(k=number, n=noun, v=value),
            truth,
        )
    if kind < 0.75:
        number = count + r.randint(1, 2) if truth else count - r.randint(0, min(2, count))
        return answer(
            r,
            state,
            r.choice(
                ("Are fewer than {k} {n} listed as '{v}'?", "Is the number of '{v}' among the {n} below {k}?")
            ).format(k=number, n=noun, v=value),
            truth,
        )
    name, held = r.choice(rows)
    shown = held if truth else other(r, values, held)
    return answer(
        r,
        state,
        r.choice(
            (
                f"Is {name} listed as '{shown}'?",
                f"Does it say '{shown}' for {name}?",
                f"{capital(key)} of {name}: {shown}. Right?",
            )
        ),
        truth,
    )


@generator(2)
def all_or_none(r: random.Random) -> Example:
    """All, none, any: about the rows of a list."""
    noun, key, values = r.choice(SORTS)
    size = r.randint(2, 6)
    names = [f"{noun[:-1]} {number}" for number in r.sample(range(1, 40), size)]
    value, truth = r.choice(values), coin(r)
    rest = [word for word in values if word != value]
    ask = r.choice(("all", "none", "any", "not all"))
    if ask in ("all", "not all"):
        full = truth == (ask == "all")
        held = [value] * size
        if not full:
            for place in r.sample(range(size), r.randint(1, max(1, size // 2))):
                held[place] = r.choice(rest)
    else:
        empty = truth == (ask == "none")
        held = [r.choice(rest) for _ in range(size)]
        if not empty:
            for place in r.sample(range(size), r.randint(1, max(1, size // 2))):
                held[place] = value
    words = {
        "all": ("Are all {n} '{v}'?", "Is every one of the {n} '{v}'?", "Does each entry say '{v}'?"),
        "none": ("Is none of the {n} '{v}'?", "Is there no '{v}' among the {n}?", "Does '{v}' not occur at all?"),
        "any": ("Is any of the {n} '{v}'?", "Is there at least one '{v}'?", "Does '{v}' occur among the {n}?"),
        "not all": (
            "Is at least one of the {n} something else than '{v}'?",
            "Are not all {n} '{v}'?",
            "Does some entry differ from '{v}'?",
        ),
    }[ask]
    return answer(r, table(r, key, list(zip(names, held, strict=True))), r.choice(words).format(n=noun, v=value), truth)


@generator(2)
def mentioned(r: random.Random) -> Example:
    """Is a thing in the list; which one is, which one is not?"""
    pool = r.choice((FOODS, ANIMALS, CITIES, COLOURS, OBJECTS, NAMES))
    have = r.sample(pool, r.randint(2, 7))
    out = [thing for thing in pool if thing not in have]
    states: tuple[JSON, ...] = (
        {"list": have},
        ", ".join(have),
        "\n".join(f"- {thing}" for thing in have),
        f"We need {listed(have)}, and that is it.",
        f"On the sheet: {listed(have)}.",
        f"{r.choice(NAMES)} wrote down {listed(have)}.",
        {"count": len(have), "entries": [{"id": number, "value": thing} for number, thing in enumerate(have, 1)]},
        " / ".join(have),
    )
    state = r.choice(states)
    kind, truth = r.random(), coin(r)
    if kind < 0.5:
        thing = r.choice(have if truth else out)
        if coin(r, 0.75):
            return answer(
                r,
                state,
                r.choice(
                    ("Is {t} in the list?", "Does {t} occur?", "Is {t} among them?", "Do you find {t} there?")
                ).format(t=thing),
                truth,
            )
        return answer(
            r,
            state,
            r.choice(("Is {t} missing?", "Does the list lack {t}?", "Is {t} not among them?")).format(t=thing),
            not truth,
        )
    if kind < 0.75:
        return pick(
            r,
            state,
            r.choice(("Which of these is in the list?", "Which one occurs?", "Which is named?")),
            r.choice(have),
            r.sample(out, r.randint(1, min(6, len(out)))),
        )
    return pick(
        r,
        state,
        r.choice(("Which of these is missing from the list?", "Which one does not occur?", "Which is not named?")),
        r.choice(out),
        have,
    )


@generator(2)
def capacity(r: random.Random) -> Example:
    """Several groups and one capacity: do all fit, does one more fit, which place is big enough?"""
    size = r.randint(2, 4)
    groups = [r.randint(2, 30) for _ in range(size)]
    total, truth = sum(groups), coin(r)
    room = total + r.randint(0, 12) if truth else total - r.randint(1, min(12, total - 1))
    names = r.sample(
        ("choir", "chess club", "class 4b", "office", "football team", "orchestra", "neighbours", "staff"), size
    )
    parts = [f"{name}: {number}" for name, number in zip(names, groups, strict=True)]
    thing = r.choice(("bus", "hall", "boat", "tent", "restaurant", "cabin"))
    states: tuple[JSON, ...] = (
        {"capacity": room, "groups": dict(zip(names, groups, strict=True)), "place": thing},
        f"The {thing} holds {room}. " + ", ".join(parts) + ".",
        "\n".join(shuffled(r, parts)) + f"\n{thing} capacity: {room}",
        "Coming: " + "; ".join(parts) + f". Seats in the {thing}: {room}.",
    )
    state = r.choice(states)
    if coin(r, 0.35):
        places = {
            f"{thing} {letter}": room_size
            for letter, room_size in zip("ABC", sorted(r.sample(range(5, 90), 3)), strict=True)
        }
        target = r.choice(list(places))
        below = max([0, *[v for v in places.values() if v < places[target]]])
        people = r.randint(below + 1, places[target])
        lines = shuffled(r, [f"{name}: {number} seats" for name, number in places.items()])
        return pick(
            r,
            "\n".join(lines) + f"\nGroup of {people}",
            r.choice(
                (
                    "What is the smallest one in which the group fits?",
                    "Where does the group fit with the fewest empty seats?",
                )
            ),
            target,
            [name for name in places if name != target],
        )
    if coin(r, 0.7):
        return answer(
            r,
            state,
            r.choice(
                (
                    f"Do all of them fit into the {thing} together?",
                    "Is there room for everybody?",
                    "Is the capacity sufficient for the sum?",
                    "Can they all come at once?",
                )
            ),
            truth,
        )
    return answer(
        r,
        state,
        r.choice(
            ("Are there too many people?", "Must somebody stay behind?", "Is the place too small for all of them?")
        ),
        not truth,
    )


GENERATORS: tuple[Generator, ...] = (how_many, all_or_none, mentioned, capacity)
