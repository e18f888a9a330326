"""Everyday claims: places, numbers, families, what verbs imply, kinds."""

from __future__ import annotations

import random

from ..examples import Example
from .claims import CONTRADICTED, FOLLOWS, OPEN, Pair, asked
from .drawing import coin, other, shuffled
from .generator import Generator, generator
from .words import CITIES, COLOURS, DAYS, NAMES


@generator(2.5)
def whereabouts(r: random.Random) -> Example:
    """Who was where on which day; each person is in one place a day."""
    who, days, cities = r.sample(NAMES, 2), r.sample(DAYS, 4), r.sample(CITIES, 4)
    rows = [(name, day, r.choice(cities[:3])) for name in who for day in days[:2]]
    kept = r.sample(rows, r.randint(2, 4))
    said = " ".join(
        r.choice(
            (
                "{n} spent all of {d} in {c}.",
                "On {d}, {n} was in {c} the whole day.",
                "{d}: {n} in {c}, all day.",
                "{n} was in {c} from morning to night on {d}.",
            )
        ).format(n=n, d=d, c=c)
        for n, d, c in kept
    )

    def make(wanted: int) -> Pair:
        name, day, city = r.choice(kept)
        if wanted == OPEN:
            return said, r.choice(
                (
                    f"{name} was in {city} on {days[3]}.",
                    f"{name} likes {city}.",
                    f"{name} was in {cities[3]} on {days[2]}.",
                    f"{name} travels for work.",
                )
            )
        if wanted == FOLLOWS:
            return said, r.choice(
                (
                    f"{name} was in {city} on {day}.",
                    f"On {day}, {name} was not in {other(r, cities, city)}.",
                    f"Somebody was in {city} on {day}.",
                )
            )
        return said, r.choice(
            (
                f"{name} was in {other(r, cities, city)} on {day}.",
                f"On {day}, {name} was not in {city}.",
                f"Nobody was in {city} on {day}.",
            )
        )

    return asked(r, make)


@generator(2.5)
def quantities(r: random.Random) -> Example:
    """How many of each: totals, differences, bounds."""
    thing = r.choice(("boxes", "chairs", "tickets", "bottles", "books", "pens", "plants", "tiles"))
    one, two = r.sample(COLOURS, 2)
    a, b = r.sample(range(2, 40), 2)
    who, total = r.choice(NAMES), a + b
    text = r.choice(
        (
            "{w} counted {a} {one} {t} and {b} {two} {t}; there are no others.",
            "The store has exactly {a} {one} {t} and {b} {two} ones, nothing else.",
            "Stock of {t}: {one} {a}, {two} {b}. That is all.",
            "In the room are {a} {one} and {b} {two} {t} and no more.",
        )
    ).format(w=who, a=a, b=b, one=one, two=two, t=thing)
    big, small = (one, two) if a > b else (two, one)

    def make(wanted: int) -> Pair:
        off = total + r.choice((-4, -2, -1, 1, 2, 5))
        true = (
            f"There are {total} {thing} in all.",
            f"There are more {big} than {small} {thing}.",
            f"There are fewer {small} {thing} than {big} ones.",
            f"There are at least {r.randint(2, a)} {one} {thing}.",
            f"There are fewer than {b + r.randint(1, 9)} {two} {thing}.",
            f"The difference between the two colours is {abs(a - b)}.",
            f"There are more than {total - r.randint(1, 3)} {thing} in total.",
        )
        false = (
            f"There are {off} {thing} in all.",
            f"There are more {small} than {big} {thing}.",
            f"There are as many {one} as {two} {thing}.",
            f"There are at least {a + r.randint(1, 9)} {one} {thing}.",
            f"There are fewer than {r.randint(1, b)} {two} {thing}.",
            f"Some of the {thing} are neither {one} nor {two}.",
            f"There are more than {total + r.randint(0, 3)} {thing} in total.",
        )
        if wanted == OPEN:
            return text, r.choice(
                (
                    f"The {one} {thing} are heavier than the {two} ones.",
                    f"All the {thing} are new.",
                    f"{who} bought the {one} {thing} first.",
                    f"Tomorrow there will be {total + 1} {thing}.",
                    f"The {two} {thing} were cheap.",
                    f"The {one} {thing} belong to {other(r, NAMES, who)}.",
                )
            )
        return text, r.choice(true if wanted == FOLLOWS else false)

    return asked(r, make)


WOMEN = ("Anna", "Elena", "Grace", "Lena", "Nadia", "Paula", "Rosa", "Selma", "Hana", "Priya")


MEN = ("Ben", "David", "Farid", "Hugo", "Marco", "Omar", "Tomas", "Victor", "Yusuf", "Bruno")


@generator(2)
def families(r: random.Random) -> Example:
    """Parents, grandparents, siblings, aunts and uncles."""
    people = [(name, True) for name in r.sample(WOMEN, 3)] + [(name, False) for name in r.sample(MEN, 3)]
    top, child, aunt, grandchild, spare, _ = shuffled(r, people)

    def named(person: tuple[str, bool], woman: str, man: str) -> str:
        return woman if person[1] else man

    def is_(a: tuple[str, bool], woman: str, man: str, b: tuple[str, bool]) -> str:
        return f"{a[0]} is the {named(a, woman, man)} of {b[0]}."

    parents = [(top, child), (top, aunt), (child, grandchild)]
    said = " ".join(
        shuffled(r, [is_(a, "mother", "father", b) if coin(r) else is_(b, "daughter", "son", a) for a, b in parents])
    )
    unlike = f" {spare[0]} is a friend of {top[0]}." if coin(r, 0.4) else ""

    def make(wanted: int) -> Pair:
        true = (
            is_(top, "grandmother", "grandfather", grandchild),
            is_(grandchild, "granddaughter", "grandson", top),
            is_(aunt, "aunt", "uncle", grandchild),
            is_(aunt, "sister", "brother", child),
            is_(child, "sister", "brother", aunt),
            is_(grandchild, "niece", "nephew", aunt),
            f"{top[0]} has at least two children.",
            f"{child[0]} and {aunt[0]} have a parent in common.",
        )
        false = (
            is_(grandchild, "grandmother", "grandfather", top),
            is_(top, "granddaughter", "grandson", grandchild),
            is_(grandchild, "aunt", "uncle", aunt),
            is_(child, "mother", "father", top),
            f"{top[0]} has no children.",
            f"{child[0]} has no brothers or sisters.",
            is_(grandchild, "mother", "father", child),
            f"{aunt[0]} is an only child.",
        )
        left = (
            f"{aunt[0]} has children.",
            f"{top[0]} is older than 70.",
            f"{grandchild[0]} has a brother.",
            f"{child[0]} is older than {aunt[0]}.",
            f"{grandchild[0]} lives with {child[0]}.",
            f"{aunt[0]} is married.",
            f"{top[0]} has exactly two children.",
            f"{child[0]} is fond of {aunt[0]}.",
        )
        return said + unlike, r.choice({FOLLOWS: true, CONTRADICTED: false, OPEN: left}[wanted])

    return asked(r, make)


# (verb phrase, its negation, whether the first implies that it was done, whether the second does; None: open)
IMPLICATIVES = (
    ("managed to {v}", "did not manage to {v}", True, False),
    ("forgot to {v}", "did not forget to {v}", False, True),
    ("remembered to {v}", "did not remember to {v}", True, False),
    ("failed to {v}", "did not fail to {v}", False, True),
    ("neglected to {v}", "did not neglect to {v}", False, True),
    ("succeeded: {n} was able to {v} and did so", "was not able to {v}", True, False),
    ("refused to {v}", "had no chance to {v}", False, False),
    ("was about to {v} but was stopped", "never got round to it, although asked to {v}", False, False),
    ("wanted to {v}", "thought about whether to {v}", None, None),
    ("promised to {v}", "did not promise to {v}", None, None),
    ("was asked to {v}", "was not asked to {v}", None, None),
    ("planned to {v}", "had not planned to {v}", None, None),
)


DEEDS = (
    ("lock the door", "locked the door"),
    ("send the invoice", "sent the invoice"),
    ("call the plumber", "called the plumber"),
    ("water the plants", "watered the plants"),
    ("book the room", "booked the room"),
    ("fix the bug", "fixed the bug"),
    ("pay the bill", "paid the bill"),
    ("feed the cat", "fed the cat"),
    ("sign the contract", "signed the contract"),
    ("back up the disk", "backed up the disk"),
    ("switch off the oven", "switched off the oven"),
    ("return the key", "returned the key"),
)


@generator(2.5)
def implied_deeds(r: random.Random) -> Example:
    """Managed to, forgot to, wanted to: was it done?"""
    name, (verb, past) = r.choice(NAMES), r.choice(DEEDS)

    def make(wanted: int) -> Pair:
        target = {FOLLOWS: True, CONTRADICTED: False, OPEN: None}[wanted]
        claim_done = True if target is None else coin(r)
        done = None if target is None else target == claim_done
        words = [phrase for yes, no, a, b in IMPLICATIVES for phrase, truth in ((yes, a), (no, b)) if truth is done]
        when = r.choice(("", " yesterday", " this morning", " on " + r.choice(DAYS), " before lunch"))
        text = f"{name} {r.choice(words).format(v=verb, n=name)}{when}."
        return text, f"{name} {past}." if claim_done else f"{name} did not {verb}."

    return asked(r, make)


@generator(2)
def kinds(r: random.Random) -> Example:
    """Every A is a B, no A is a B, some As are Bs, and one named thing."""
    kind, group = r.choice(
        (
            ("house", "street"),
            ("teacher", "school"),
            ("shop", "mall"),
            ("tram", "fleet"),
            ("boat", "harbour"),
            ("painting", "gallery"),
            ("flat", "building"),
        )
    )
    good, bad = r.choice(
        (
            ("insured", "uninsured"),
            ("for sale", "not for sale"),
            ("older than ten years", "at most ten years old"),
            ("well known", "not well known"),
            ("on the list", "missing from the list"),
            ("green", "not green"),
        )
    )
    name = f"{r.choice('ABCDEFG')}{r.randint(1, 99)}" if kind != "teacher" else r.choice(NAMES)
    member = r.choice((f"{name} is a {kind} of this {group}.", f"{name} belongs to the {kind}s of the {group}."))
    stranger = f"{name} is a {kind}, but not of this {group}."
    every = r.choice(
        (
            f"Every {kind} of the {group} is {good}.",
            f"All {kind}s of the {group} are {good}.",
            f"There is no {kind} of the {group} that is {bad}.",
        )
    )
    none = r.choice((f"No {kind} of the {group} is {good}.", f"All {kind}s of the {group} are {bad}."))
    part = r.choice(
        (
            f"Some {kind}s of the {group} are {good}.",
            f"Most {kind}s of the {group} are {good}.",
            f"Not all {kind}s of the {group} are {good}.",
        )
    )

    def make(wanted: int) -> Pair:
        positive = coin(r)
        claim = f"{name} is {good if positive else bad}."
        if wanted == OPEN:
            rule, who = r.choice(((part, member), (every, stranger), (none, stranger)))
        else:
            rule, who = (every if (wanted == FOLLOWS) == positive else none), member
        return " ".join(shuffled(r, [rule, who])), claim

    return asked(r, make)


GENERATORS: tuple[Generator, ...] = (
    whereabouts,
    quantities,
    families,
    implied_deeds,
    kinds,
)
