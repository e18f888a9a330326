"""Claims about small worlds that can be tried out: quantifiers, orders, implications, deals."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from functools import cache

from ..examples import Example
from .claims import Pair, asked, relation
from .drawing import capital, coin, listed, other, shuffled
from .generator import Generator, generator
from .words import CITIES, COLOURS, FOODS, NAMES, SPORTS, SUBJECTS

Said = tuple[str, int]
"""A sentence and the bit set of the worlds in which it is true."""

# (of the group), (plural, does), (plural, does not), (singular, does), (singular, does not)
HABITS = (
    ("passed the exam", "did not pass the exam"),
    ("came to the meeting", "did not come to the meeting"),
    ("paid the fee", "did not pay the fee"),
    ("signed the letter", "did not sign the letter"),
    ("voted for the plan", "did not vote for the plan"),
    ("took the bus", "did not take the bus"),
    ("finished the race", "did not finish the race"),
    ("got a prize", "did not get a prize"),
    ("answered the survey", "did not answer the survey"),
    ("brought a cake", "did not bring a cake"),
    ("saw the film", "did not see the film"),
    ("slept in the tent", "did not sleep in the tent"),
)
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
    text = r.choice(words).format(
        g=group, does=does, not_=not_, a=name, b=who[second], k=NUMBERS[number], n=NUMBERS[size]
    )
    return capital(text) + ".", mask(test, place, second, number, size)


NUMBERS = ("zero", "one", "two", "three", "four", "five")
QUANTIFIERS: tuple[tuple[tuple[str, ...], str], ...] = (
    (
        (
            "all of the {g} {does}",
            "every one of the {n} {g} {does}",
            "all {n} {does}",
            "none of the {g} failed to do it: all {does}",
        ),
        "all",
    ),
    (("none of the {g} {does}", "not one of the {n} {g} {does}"), "none"),
    (("at least one of the {g} {does}", "some of the {g}, one or more, {does}"), "some"),
    (("not all of the {g} {does}", "at least one of the {g} {not_}"), "not all"),
    (("of the {g}, only {a} {does}", "{a} {does}, and nobody else among the {g}"), "only"),
    (("all of the {g} except {a} {does}", "everyone among the {g} but {a} {does}, and {a} {not_}"), "except"),
    (("{a} {does}",), "a"),
    (("{a} {not_}",), "not a"),
    (("both {a} and {b} {does}",), "both"),
    (("neither {a} nor {b} {does}",), "neither"),
    (("{a} {does}, but {b} {not_}",), "but"),
    (("at least one of {a} and {b} {does}",), "either"),
    (("exactly {k} of the {n} {g} {does}",), "exactly"),
    (("at least {k} of the {n} {g} {does}",), "least"),
    (("at most {k} of the {n} {g} {does}", "no more than {k} of the {n} {g} {does}"), "most"),
)
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


@cache
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
    ("is taller than", "is shorter than", "is the tallest", "is the shortest"),
    ("is older than", "is younger than", "is the oldest", "is the youngest"),
    ("runs faster than", "runs more slowly than", "is the fastest", "is the slowest"),
    ("earns more than", "earns less than", "earns the most", "earns the least"),
    ("arrived after", "arrived before", "arrived last", "arrived first"),
    ("lives farther north than", "lives farther south than", "lives farthest north", "lives farthest south"),
    ("scored higher than", "scored lower than", "scored highest", "scored lowest"),
    ("has more books than", "has fewer books than", "has the most books", "has the fewest books"),
)


@cache
def order_masks(size: int) -> tuple[dict[tuple[int, int], int], tuple[int, ...], tuple[int, ...]]:
    """The orders as bit sets: per pair those with the first above; per person those with it on top, at the bottom."""
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
                opening = (
                    f"{listed(who)} are compared; no two are equal. " if coin(r) else f"This is about {listed(who)}. "
                )
                return opening + " ".join(text for text, _ in said), claim

    return asked(r, make)


SWITCHES = (
    ("the lamp is on", "the lamp is off"),
    ("the door is locked", "the door is not locked"),
    ("the pump is running", "the pump is not running"),
    ("the valve is open", "the valve is closed"),
    ("Kim is at work", "Kim is not at work"),
    ("the flag is up", "the flag is down"),
    ("the queue is empty", "the queue is not empty"),
    ("the shop is open", "the shop is closed"),
    ("it is raining", "it is not raining"),
    ("the test fails", "the test does not fail"),
    ("the bus is late", "the bus is on time"),
    ("the alarm sounds", "the alarm is silent"),
)


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


@cache
def of_worlds3(place: int, positive: bool) -> int:
    """The worlds of three truth values in which the one at `place` is `positive`."""
    return of_worlds(lambda world: world[place] == positive, 3)


@generator(2)
def either_or(r: random.Random) -> Example:
    """A few people share out a few things, one each; some of it is told."""
    words, verb = r.choice(
        ((SUBJECTS, "teaches"), (SPORTS, "plays"), (FOODS, "brings"), (CITIES, "moves to"), (COLOURS, "chose"))
    )
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
    quantifiers,
    orderings,
    implications,
    either_or,
)
