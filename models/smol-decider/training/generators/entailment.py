"""Claims about small worlds: quantifiers, orders, places, numbers, families, implications, what verbs imply."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from functools import lru_cache

from ..examples import Example
from .claims import CONTRADICTED, FOLLOWS, OPEN, Pair, asked, relation
from .drawing import capital, coin, listed, other, shuffled
from .generator import Generator, generator
from .words import CITIES, COLOURS, DAYS, FOODS, NAMES, SPORTS, SUBJECTS

Said = tuple[str, int]
"""A sentence and the bit set of the worlds in which it is true."""

# (of the group), (plural, does), (plural, does not), (singular, does), (singular, does not)
HABITS = (
    ("passed the exam", "did not pass the exam"), ("came to the meeting", "did not come to the meeting"),
    ("paid the fee", "did not pay the fee"), ("signed the letter", "did not sign the letter"),
    ("voted for the plan", "did not vote for the plan"), ("took the bus", "did not take the bus"),
    ("finished the race", "did not finish the race"), ("got a prize", "did not get a prize"),
    ("answered the survey", "did not answer the survey"), ("brought a cake", "did not bring a cake"),
    ("saw the film", "did not see the film"), ("slept in the tent", "did not sleep in the tent"),
)  # fmt: skip
GROUPS = ("students", "neighbours", "players", "colleagues", "children", "guests", "members", "drivers")


def of_worlds(test: Callable[[tuple[bool, ...]], bool], size: int) -> int:
    """The bit set of the worlds of `size` truth values that pass the test."""
    return sum(1 << place for place, world in enumerate(itertools.product((False, True), repeat=size)) if test(world))


def quantified(r: random.Random, who: Sequence[str], group: str, does: str, not_: str) -> Said:
    """A sentence about how many of the group, or who of it, did something."""
    size = len(who)
    place, number = r.randrange(size), r.randint(1, size - 1)
    name = who[place]
    second = other(r, range(size), place)
    words, test = r.choice(QUANTIFIERS)
    text = r.choice(words).format(g=group, does=does, not_=not_, a=name, b=who[second], k=NUMBERS[number], n=NUMBERS[size])
    return capital(text) + ".", mask(test, place, second, number, size)


NUMBERS = ("zero", "one", "two", "three", "four", "five")
QUANTIFIERS: tuple[tuple[tuple[str, ...], str], ...] = (
    (("all of the {g} {does}", "every one of the {n} {g} {does}", "all {n} {does}", "none of the {g} failed to do it: all {does}"), "all"),
    (("none of the {g} {does}", "not one of the {n} {g} {does}", "all of the {g} {not_}"), "none"),
    (("at least one of the {g} {does}", "some of the {g}, one or more, {does}"), "some"),
    (("not all of the {g} {does}", "at least one of the {g} {not_}"), "not all"),
    (("of the {g}, only {a} {does}", "{a} {does}, and nobody else among the {g}"), "only"),
    (("all of the {g} except {a} {does}", "everyone among the {g} but {a} {does}, and {a} {not_}"), "except"),
    (("{a} {does}",), "a"), (("{a} {not_}",), "not a"), (("both {a} and {b} {does}",), "both"),
    (("neither {a} nor {b} {does}",), "neither"), (("{a} {does}, but {b} {not_}",), "but"),
    (("at least one of {a} and {b} {does}",), "either"),
    (("exactly {k} of the {n} {g} {does}",), "exactly"), (("at least {k} of the {n} {g} {does}",), "least"),
    (("at most {k} of the {n} {g} {does}", "no more than {k} of the {n} {g} {does}"), "most"),
)  # fmt: skip
TESTS: dict[str, Callable[[tuple[bool, ...], int, int, int], bool]] = {
    "all": lambda w, a, b, k: all(w),
    "none": lambda w, a, b, k: not any(w),
    "some": lambda w, a, b, k: any(w),
    "not all": lambda w, a, b, k: not all(w),
    "only": lambda w, a, b, k: w[a] and sum(w) == 1,
    "except": lambda w, a, b, k: not w[a] and sum(w) == len(w) - 1,
    "a": lambda w, a, b, k: w[a],
    "not a": lambda w, a, b, k: not w[a],
    "both": lambda w, a, b, k: w[a] and w[b],
    "neither": lambda w, a, b, k: not w[a] and not w[b],
    "but": lambda w, a, b, k: w[a] and not w[b],
    "either": lambda w, a, b, k: w[a] or w[b],
    "exactly": lambda w, a, b, k: sum(w) == k,
    "least": lambda w, a, b, k: sum(w) >= k,
    "most": lambda w, a, b, k: sum(w) <= k,
}


@lru_cache(maxsize=None)
def mask(test: str, a: int, b: int, k: int, size: int) -> int:
    """The worlds in which a quantified sentence is true."""
    return of_worlds(lambda world: TESTS[test](world, a, b, k), size)


@generator(4)
def quantifiers(r: random.Random) -> Example:
    """All, none, some, only, except, exactly: what follows for the group and its members."""
    does, not_ = r.choice(HABITS)
    group, who = r.choice(GROUPS), r.sample(NAMES, r.randint(3, 4))

    def make(wanted: int) -> Pair:
        while True:
            premises = [quantified(r, who, group, does, not_) for _ in range(r.randint(1, 2))]
            claim, claimed = quantified(r, who, group, does, not_)
            worlds = premises[0][1] & premises[-1][1]
            texts = [text for text, _ in premises]
            if claim in texts or not worlds or (len(texts) == 2 and worlds in (premises[0][1], premises[1][1])):
                continue
            if relation(worlds, claimed) == wanted:
                opening = r.choice(("The {g} are {w}. ", "There are {n} {g}: {w}. ", "{w} are the {n} {g}. ")).format(
                    g=group, w=listed(who), n=NUMBERS[len(who)]
                )
                return opening + " ".join(texts), claim

    return asked(r, make)


ORDERS = (
    ("is taller than", "is shorter than", "is the tallest", "is the shortest"), ("is older than", "is younger than", "is the oldest", "is the youngest"),
    ("runs faster than", "runs more slowly than", "is the fastest", "is the slowest"), ("earns more than", "earns less than", "earns the most", "earns the least"),
    ("arrived after", "arrived before", "arrived last", "arrived first"), ("lives farther north than", "lives farther south than", "lives farthest north", "lives farthest south"),
    ("scored higher than", "scored lower than", "scored highest", "scored lowest"), ("has more books than", "has fewer books than", "has the most books", "has the fewest books"),
)  # fmt: skip


@lru_cache(maxsize=None)
def order_masks(size: int) -> tuple[dict[tuple[int, int], int], tuple[int, ...], tuple[int, ...]]:
    """Per ordered pair the permutations in which the first is above the second; per person those with it on top, at the bottom."""
    ranks = list(itertools.permutations(range(size)))
    above = {
        (a, b): sum(1 << place for place, rank in enumerate(ranks) if rank[a] > rank[b])
        for a, b in itertools.permutations(range(size), 2)
    }
    top = tuple(sum(1 << place for place, rank in enumerate(ranks) if rank[a] == size - 1) for a in range(size))
    bottom = tuple(sum(1 << place for place, rank in enumerate(ranks) if rank[a] == 0) for a in range(size))
    return above, top, bottom


@generator(3)
def orderings(r: random.Random) -> Example:
    """Who is taller, older, faster, later: what follows from some comparisons."""
    more, less, most, least = r.choice(ORDERS)
    size = r.randint(3, 4)
    who = r.sample(NAMES, size)
    above, top, bottom = order_masks(size)

    def sentence(extremes: float) -> Said:
        a, b = r.sample(range(size), 2)
        if coin(r, extremes):
            return (f"{who[a]} {most} of them.", top[a]) if coin(r) else (f"{who[a]} {least} of them.", bottom[a])
        return (f"{who[a]} {more} {who[b]}.", above[a, b]) if coin(r) else (f"{who[b]} {less} {who[a]}.", above[a, b])

    def make(wanted: int) -> Pair:
        while True:
            said = [sentence(0.1) for _ in range(r.randint(2, 3))]
            worlds = said[0][1] & said[1][1] & said[-1][1]
            if not worlds or len({bits for _, bits in said}) < len(said):
                continue
            claim, claimed = sentence(0.3)
            if claim not in {text for text, _ in said} and relation(worlds, claimed) == wanted:
                opening = f"{listed(who)} are compared; no two are equal. " if coin(r) else f"This is about {listed(who)}. "
                return opening + " ".join(text for text, _ in said), claim

    return asked(r, make)


SWITCHES = (
    ("the lamp is on", "the lamp is off"), ("the door is locked", "the door is not locked"), ("the pump is running", "the pump is not running"),
    ("the valve is open", "the valve is closed"), ("Kim is at work", "Kim is not at work"), ("the flag is up", "the flag is down"),
    ("the queue is empty", "the queue is not empty"), ("the shop is open", "the shop is closed"), ("it is raining", "it is not raining"),
    ("the test fails", "the test does not fail"), ("the bus is late", "the bus is on time"), ("the alarm sounds", "the alarm is silent"),
)  # fmt: skip


@generator(3)
def implications(r: random.Random) -> Example:
    """If, or, unless, not both: what follows, and what only seems to."""
    things = r.sample(SWITCHES, 3)

    def literal(place: int, positive: bool) -> Said:
        return things[place][not positive], of_worlds3(place, positive)

    def joined() -> Said:
        a, b = r.sample(range(3), 2)
        (x, mx), (y, my) = literal(a, coin(r)), literal(b, coin(r))
        full = (1 << 8) - 1
        words, worlds = r.choice(
            (
                (("If {x}, {y}.", "Whenever {x}, {y}.", "{X} only if {y}.", "In case {x}, {y}."), (full & ~mx) | my),
                (("{X} or {y}, or both.", "At least one of these is so: {x}; {y}."), mx | my),
                (("It cannot be that both {x} and {y}.", "Never both at once: {x}; {y}."), full & ~(mx & my)),
                (("{X} if and only if {y}.", "{X} exactly when {y}."), (mx & my) | (full & ~mx & ~my)),
            )
        )
        return r.choice(words).format(x=x, y=y, X=capital(x)), worlds

    def make(wanted: int) -> Pair:
        while True:
            said = [joined() for _ in range(r.randint(1, 2))]
            place = r.randrange(3)
            text, bits = literal(place, coin(r))
            said.append((capital(text) + ".", bits))
            worlds = said[0][1] & said[1][1] & said[-1][1]
            target = other(r, range(3), place)
            claim, claimed = literal(target, coin(r))
            if worlds and relation(worlds, claimed) == wanted:
                return " ".join(text for text, _ in shuffled(r, said)), capital(claim) + "."

    return asked(r, make)


@lru_cache(maxsize=None)
def of_worlds3(place: int, positive: bool) -> int:
    """The worlds of three truth values in which the one at `place` is `positive`."""
    return of_worlds(lambda world: world[place] == positive, 3)


@generator(2.5)
def whereabouts(r: random.Random) -> Example:
    """Who was where on which day; each person is in one place a day."""
    who, days, cities = r.sample(NAMES, 2), r.sample(DAYS, 4), r.sample(CITIES, 4)
    rows = [(name, day, r.choice(cities[:3])) for name in who for day in days[:2]]
    kept = r.sample(rows, r.randint(2, 4))
    said = " ".join(
        r.choice(("{n} spent all of {d} in {c}.", "On {d}, {n} was in {c} the whole day.", "{d}: {n} in {c}, all day.", "{n} was in {c} from morning to night on {d}.")).format(n=n, d=d, c=c)
        for n, d, c in kept
    )  # fmt: skip

    def make(wanted: int) -> Pair:
        name, day, city = r.choice(kept)
        if wanted == OPEN:
            return said, r.choice((f"{name} was in {city} on {days[3]}.", f"{name} likes {city}.", f"{name} was in {cities[3]} on {days[2]}.", f"{name} travels for work."))
        if wanted == FOLLOWS:
            return said, r.choice((f"{name} was in {city} on {day}.", f"On {day}, {name} was not in {other(r, cities, city)}.", f"Somebody was in {city} on {day}."))
        return said, r.choice((f"{name} was in {other(r, cities, city)} on {day}.", f"On {day}, {name} was not in {city}.", f"Nobody was in {city} on {day}."))  # fmt: skip

    return asked(r, make)


@generator(2.5)
def quantities(r: random.Random) -> Example:
    """How many of each: totals, differences, bounds."""
    thing = r.choice(("boxes", "chairs", "tickets", "bottles", "books", "pens", "plants", "tiles"))
    one, two = r.sample(COLOURS, 2)
    a, b = r.sample(range(2, 40), 2)
    who, total = r.choice(NAMES), a + b
    text = r.choice(
        ("{w} counted {a} {one} {t} and {b} {two} {t}; there are no others.", "The store has exactly {a} {one} {t} and {b} {two} ones, nothing else.",
         "Stock of {t}: {one} {a}, {two} {b}. That is all.", "In the room are {a} {one} and {b} {two} {t} and no more.")
    ).format(w=who, a=a, b=b, one=one, two=two, t=thing)  # fmt: skip
    big, small = (one, two) if a > b else (two, one)

    def make(wanted: int) -> Pair:
        off = total + r.choice((-4, -2, -1, 1, 2, 5))
        true = (
            f"There are {total} {thing} in all.", f"There are more {big} than {small} {thing}.", f"There are fewer {small} {thing} than {big} ones.",
            f"There are at least {r.randint(2, a)} {one} {thing}.", f"There are fewer than {b + r.randint(1, 9)} {two} {thing}.",
            f"The difference between the two colours is {abs(a - b)}.", f"There are more than {total - r.randint(1, 3)} {thing} in total.",
        )  # fmt: skip
        false = (
            f"There are {off} {thing} in all.", f"There are more {small} than {big} {thing}.", f"There are as many {one} as {two} {thing}.",
            f"There are at least {a + r.randint(1, 9)} {one} {thing}.", f"There are fewer than {r.randint(1, b)} {two} {thing}.",
            f"Some of the {thing} are neither {one} nor {two}.", f"There are more than {total + r.randint(0, 3)} {thing} in total.",
        )  # fmt: skip
        if wanted == OPEN:
            return text, r.choice((f"The {one} {thing} are heavier than the {two} ones.", f"All the {thing} are new.", f"{who} bought the {one} {thing} first.",
                                   f"Tomorrow there will be {total + 1} {thing}.", f"The {two} {thing} were cheap.", f"The {one} {thing} belong to {other(r, NAMES, who)}."))  # fmt: skip
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
            is_(top, "grandmother", "grandfather", grandchild), is_(grandchild, "granddaughter", "grandson", top),
            is_(aunt, "aunt", "uncle", grandchild), is_(aunt, "sister", "brother", child), is_(child, "sister", "brother", aunt),
            is_(grandchild, "niece", "nephew", aunt), f"{top[0]} has at least two children.", f"{child[0]} and {aunt[0]} have a parent in common.",
        )  # fmt: skip
        false = (
            is_(grandchild, "grandmother", "grandfather", top), is_(top, "granddaughter", "grandson", grandchild),
            is_(grandchild, "aunt", "uncle", aunt), is_(child, "mother", "father", top), f"{top[0]} has no children.",
            f"{child[0]} has no brothers or sisters.", is_(grandchild, "mother", "father", child), f"{aunt[0]} is an only child.",
        )  # fmt: skip
        left = (
            f"{aunt[0]} has children.", f"{top[0]} is older than 70.", f"{grandchild[0]} has a brother.", f"{child[0]} is older than {aunt[0]}.",
            f"{grandchild[0]} lives with {child[0]}.", f"{aunt[0]} is married.", f"{top[0]} has exactly two children.", f"{child[0]} is fond of {aunt[0]}.",
        )  # fmt: skip
        return said + unlike, r.choice({FOLLOWS: true, CONTRADICTED: false, OPEN: left}[wanted])

    return asked(r, make)


# (verb phrase, its negation, whether the first implies that it was done, whether the second does; None: open)
IMPLICATIVES = (
    ("managed to {v}", "did not manage to {v}", True, False), ("forgot to {v}", "did not forget to {v}", False, True),
    ("remembered to {v}", "did not remember to {v}", True, False), ("failed to {v}", "did not fail to {v}", False, True),
    ("neglected to {v}", "did not neglect to {v}", False, True), ("succeeded: {n} was able to {v} and did so", "was not able to {v}", True, False),
    ("refused to {v}", "had no chance to {v}", False, False), ("was about to {v} but was stopped", "never got round to it, although asked to {v}", False, False),
    ("wanted to {v}", "thought about whether to {v}", None, None), ("promised to {v}", "did not promise to {v}", None, None),
    ("was asked to {v}", "was not asked to {v}", None, None), ("planned to {v}", "had not planned to {v}", None, None),
)  # fmt: skip
DEEDS = (
    ("lock the door", "locked the door"), ("send the invoice", "sent the invoice"), ("call the plumber", "called the plumber"),
    ("water the plants", "watered the plants"), ("book the room", "booked the room"), ("fix the bug", "fixed the bug"),
    ("pay the bill", "paid the bill"), ("feed the cat", "fed the cat"), ("sign the contract", "signed the contract"),
    ("back up the disk", "backed up the disk"), ("switch off the oven", "switched off the oven"), ("return the key", "returned the key"),
)  # fmt: skip


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
    kind, group = r.choice((("house", "street"), ("teacher", "school"), ("shop", "mall"), ("tram", "fleet"), ("boat", "harbour"), ("painting", "gallery"), ("flat", "building")))
    good, bad = r.choice((("insured", "uninsured"), ("for sale", "not for sale"), ("older than ten years", "at most ten years old"), ("well known", "not well known"), ("on the list", "missing from the list"), ("green", "not green")))
    name = f"{r.choice('ABCDEFG')}{r.randint(1, 99)}" if kind != "teacher" else r.choice(NAMES)
    member = r.choice((f"{name} is a {kind} of this {group}.", f"{name} belongs to the {kind}s of the {group}."))
    stranger = f"{name} is a {kind}, but not of this {group}."
    every = r.choice((f"Every {kind} of the {group} is {good}.", f"All {kind}s of the {group} are {good}.", f"There is no {kind} of the {group} that is {bad}."))
    none = r.choice((f"No {kind} of the {group} is {good}.", f"All {kind}s of the {group} are {bad}."))
    part = r.choice((f"Some {kind}s of the {group} are {good}.", f"Most {kind}s of the {group} are {good}.", f"Not all {kind}s of the {group} are {good}."))  # fmt: skip

    def make(wanted: int) -> Pair:
        positive = coin(r)
        claim = f"{name} is {good if positive else bad}."
        if wanted == OPEN:
            rule, who = r.choice(((part, member), (every, stranger), (none, stranger)))
        else:
            rule, who = (every if (wanted == FOLLOWS) == positive else none), member
        return " ".join(shuffled(r, [rule, who])), claim

    return asked(r, make)


@generator(2)
def either_or(r: random.Random) -> Example:
    """A few people share out a few things, one each; some of it is told."""
    words, verb = r.choice(((SUBJECTS, "teaches"), (SPORTS, "plays"), (FOODS, "brings"), (CITIES, "moves to"), (COLOURS, "chose")))
    who, things = r.sample(NAMES, 3), r.sample(words, 3)
    deals = list(itertools.permutations(range(3)))

    def sentence() -> Said:
        a, b = r.sample(range(3), 2)
        t = r.randrange(3)
        u = other(r, range(3), t)
        text, test = r.choice(
            (
                (f"{who[a]} {verb} {things[t]}.", lambda d: d[a] == t),
                (f"It is not {who[a]} who {verb} {things[t]}.", lambda d: d[a] != t),
                (f"{who[a]} {verb} either {things[t]} or {things[u]}.", lambda d: d[a] in (t, u)),
                (f"Either {who[a]} or {who[b]} {verb} {things[t]}.", lambda d: t in (d[a], d[b])),
            )
        )
        return text, sum(1 << place for place, deal in enumerate(deals) if test(deal))

    def make(wanted: int) -> Pair:
        while True:
            said = [sentence() for _ in range(2)]
            worlds = said[0][1] & said[1][1]
            if not worlds or worlds in (said[0][1], said[1][1]):
                continue
            claim, claimed = sentence()
            if claim not in {text for text, _ in said} and relation(worlds, claimed) == wanted:
                opening = f"{listed(who)} share out {listed(things)}: one each, nothing twice. "
                return opening + " ".join(text for text, _ in said), claim

    return asked(r, make)


GENERATORS: tuple[Generator, ...] = (
    quantifiers, orderings, implications, whereabouts, quantities, families, implied_deeds, kinds, either_or,
)  # fmt: skip
