"""Tables of numbers and times: the largest row, what went up, who came first."""

from __future__ import annotations

import random

from tiebreak.questions import JSON

from ..examples import Example
from .drawing import capital, clock, coin, other, shuffled
from .generator import Generator, generator
from .shapes import answer, pick
from .words import CITIES, COMPANIES, NAMES, PRODUCTS

TABLES = (
    ("price", "$", 5, 900, "cheapest", "most expensive"),
    ("distance", " km", 1, 900, "nearest", "farthest away"),
    ("weight", " kg", 1, 90, "lightest", "heaviest"),
    ("rating", " points", 1, 100, "worst rated", "best rated"),
    ("delay", " min", 1, 120, "least delayed", "most delayed"),
    ("age", " years", 1, 95, "youngest", "oldest"),
    ("visitors", "", 10, 9000, "least visited", "most visited"),
    ("duration", " min", 5, 300, "shortest", "longest"),
    ("load", "%", 1, 99, "least loaded", "most heavily loaded"),
    ("stock", "", 1, 500, "scarcest", "most plentiful"),
)


ROWS = (
    CITIES,
    NAMES,
    PRODUCTS,
    COMPANIES,
    tuple(f"server-{n}" for n in range(1, 30)),
    tuple("ABCDEFGHJKLMN"),
    tuple(f"line {n}" for n in range(1, 30)),
)


@generator(3)
def extremes(r: random.Random) -> Example:
    """The largest, smallest or second largest row of a table."""
    key, unit, low, high, least, most = r.choice(TABLES)
    size = r.choice((2, 3, 3, 4, 4, 5, 6, 8, 12))
    names, values = r.sample(r.choice(ROWS), size), r.sample(range(low, high), size)
    rows = list(zip(names, values, strict=True))
    ranked = sorted(rows, key=lambda row: row[1])
    shown = [f"${value}" if unit == "$" else f"{value}{unit}" for value in values]
    states: tuple[JSON, ...] = (
        dict(rows),
        {"unit": unit.strip() or "count", key: dict(rows)},
        f"{key}\n" + "\n".join(f"{name}: {text}" for name, text in zip(names, shown, strict=True)),
        "| name | "
        + key
        + " |\n| --- | --- |\n"
        + "\n".join(f"| {name} | {text} |" for name, text in zip(names, shown, strict=True)),
        "; ".join(f"{name} {text}" for name, text in zip(names, shown, strict=True)),
        "\n".join(f"{name},{value}" for name, value in [("name", key), *rows]),
        f"The {key} of " + ", of ".join(f"{name} is {text}" for name, text in zip(names, shown, strict=True)) + ".",
        {"rows": [{"name": name, key: value} for name, value in rows]},
    )
    state = r.choice(states)
    kind = r.random()
    if kind < 0.6:
        place, word = r.choice(((0, least), (-1, most)))
        right = ranked[place][0]
        ask = r.choice(
            (
                "Which is the {w}?",
                "Find the {w} one.",
                "Which one is the {w} ({k})?",
                "Name the {w} of all.",
                "By {k}, which is {w}?",
                "{w}?",
            )
        ).format(w=word, k=key)
    elif kind < 0.7 and size > 2:
        right, ask = (
            ranked[-2][0],
            r.choice((f"Which has the second highest {key}?", f"Second place by {key}, highest first?")),
        )
    else:
        truth = coin(r)
        place, word = r.choice(((0, least), (-1, most)))
        name = ranked[place][0] if truth else other(r, names, ranked[place][0])
        return answer(
            r,
            state,
            r.choice(
                (
                    f"Is {name} the {word}?",
                    f"Judging by {key}, is {name} the {word} one?",
                    f"Of all, {name} is {word}. Right?",
                )
            ),
            truth,
        )
    return pick(r, state, ask, right, [name for name in names if name != right])


@generator(2)
def changes(r: random.Random) -> Example:
    """Two readings of several things: which went up, down, or by how much per cent."""
    size = r.randint(2, 4)
    names = r.sample(
        ("revenue", "costs", "visitors", "complaints", "errors", "orders", "staff", "stock", "calls"), size
    )
    odd, up = r.randrange(size), coin(r)
    before = [r.randint(20, 400) for _ in names]
    after = [
        max(1, value + r.randint(1, 60) * (1 if (place == odd) == up else -1)) for place, value in enumerate(before)
    ]
    if any(x == y for x, y in zip(before, after, strict=True)):
        after = [value + (1 if (place == odd) == up else -1) for place, value in enumerate(before)]
    quarter = r.choice(
        (("Q1", "Q2"), ("March", "April"), ("2024", "2025"), ("before", "after"), ("last week", "this week"))
    )
    lines = [f"{name}: {x} -> {y}" for name, x, y in zip(names, before, after, strict=True)]
    states: tuple[JSON, ...] = (
        {quarter[0]: dict(zip(names, before, strict=True)), quarter[1]: dict(zip(names, after, strict=True))},
        f"{quarter[0]} -> {quarter[1]}\n" + "\n".join(lines),
        " ".join(
            capital(f"{name} went from {x} in {quarter[0]} to {y} in {quarter[1]}.")
            for name, x, y in zip(names, before, after, strict=True)
        ),
        f"metric | {quarter[0]} | {quarter[1]}\n"
        + "\n".join(f"{name} | {x} | {y}" for name, x, y in zip(names, before, after, strict=True)),
    )
    state = r.choice(states)
    if coin(r):
        word = r.choice(
            ("rose", "went up", "grew", "increased") if up else ("fell", "went down", "shrank", "decreased")
        )
        return pick(r, state, f"Which of these {word}?", names[odd], names[:odd] + names[odd + 1 :])
    truth, place = coin(r), r.randrange(size)
    rising = (after[place] > before[place]) == truth
    ask = r.choice(
        ("Did {n} go up?", "Was there growth in {n}?", "Is the second figure for {n} the higher one?")
        if rising
        else ("Did {n} go down?", "Was there a drop in {n}?", "Is the second figure for {n} the lower one?")
    )
    return answer(r, state, ask.format(n=names[place]), truth)


@generator(1.5)
def earlier_later(r: random.Random) -> Example:
    """Two times of day: which is earlier, and by how much."""
    a, b = sorted(r.sample(range(5, 1435, 5), 2))
    first, second = r.sample(NAMES, 2)
    verb = r.choice(("arrived", "left", "called", "logged in", "finished", "started work"))
    rows = [(first, a), (second, b)]
    states: tuple[JSON, ...] = (
        " ".join(f"{name} {verb} at {clock(time)}." for name, time in shuffled(r, rows)),
        {name: f"{verb} {clock(time)}" for name, time in shuffled(r, rows)},
        "\n".join(f"{clock(time)} {name} {verb}" for name, time in shuffled(r, rows)),
        ", ".join(f"{name}: {verb} {clock(time)}" for name, time in shuffled(r, rows)),
    )
    state = r.choice(states)
    kind, truth = r.random(), coin(r)
    if kind < 0.45:
        one, two = (first, second) if truth else (second, first)
        early = coin(r)
        ask = f"Was {one} earlier than {two}?" if early else f"Was {two} later than {one}?"
        return answer(r, state, ask, truth)
    if kind < 0.7:
        return pick(
            r,
            state,
            r.choice((f"Who {verb} first?", "Who was earlier?"))
            if truth
            else r.choice((f"Who {verb} last?", "Who was later?")),
            first if truth else second,
            [second if truth else first],
        )
    gap = b - a
    more, step = coin(r), r.randint(1, gap - 1) if gap < 30 else r.choice((5, 10, 15, 29))
    limit = gap - step if more == truth else gap + step
    return answer(r, state, f"Are there {'more' if more else 'less'} than {limit} minutes between the two?", truth)


GENERATORS: tuple[Generator, ...] = (
    extremes,
    changes,
    earlier_later,
)
