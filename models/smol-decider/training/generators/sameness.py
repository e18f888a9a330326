"""Do two texts or records say the same, or speak of the same thing?"""

from __future__ import annotations

import random

from tiebreak.questions import JSON

from ..examples import Example
from .drawing import clock, coin, day, other, spelled
from .generator import Generator, generator
from .shapes import answer, pick
from .words import (
    ANIMALS,
    CITIES,
    COLOURS,
    COMPANIES,
    DAYS,
    FOODS,
    MAIL_DOMAINS,
    NAMES,
    OBJECTS,
    PRODUCTS,
    ROOMS,
    SERVICES,
    SURNAMES,
)

# Each row: wordings of one fact. The slots are what may differ between two facts.
FACTS: tuple[tuple[str, ...], ...] = (
    (
        "{a} moved from {c} to {d}.",
        "{a} used to live in {c} and lives in {d} now.",
        "{d} is {a}'s new home; before, it was {c}.",
        "After leaving {c}, {a} settled in {d}.",
    ),
    (
        "{a} sold the {o} to {b}.",
        "{b} bought the {o} from {a}.",
        "The {o} went from {a} to {b} for money.",
        "{a} found a buyer for the {o}: {b}.",
    ),
    (
        "The {p} costs {m} dollars.",
        "You pay ${m} for the {p}.",
        "Price of the {p}: {m} dollars.",
        "For {m} dollars the {p} is yours.",
    ),
    (
        "The meeting with {a} is on {w} at {t}.",
        "On {w} at {t} we meet {a}.",
        "{w}, {t}: meeting with {a}.",
        "{a} expects us on {w} at {t}.",
    ),
    (
        "{s} has been down since {t}.",
        "Since {t} nobody can reach {s}.",
        "{s} stopped working at {t} and is still out.",
        "Outage of {s}, start {t}, not over.",
    ),
    (
        "{a} is older than {b}.",
        "{b} is younger than {a}.",
        "Of the two, {a} has lived longer than {b}.",
        "{b} was born after {a}.",
    ),
    (
        "{a} has {k} {n}s.",
        "{k} {n}s belong to {a}.",
        "{a} is the owner of {k} {n}s.",
        "The number of {n}s that {a} has is {k}.",
    ),
    (
        "{co} hired {a} as a cook.",
        "{a} got a job as a cook at {co}.",
        "{a} cooks for {co} now; they have taken {a} on.",
        "At {co}, {a} was employed to cook.",
    ),
    (
        "The {q} is in the {r}.",
        "You find the {q} in the {r}.",
        "In the {r} there is the {q}.",
        "Look for the {q} in the {r}.",
    ),
    (
        "{a} beat {b} at chess.",
        "{b} lost the game of chess against {a}.",
        "In chess, {a} won against {b}.",
        "Chess: {a} was the winner, {b} the loser.",
    ),
    (
        "{a} does not eat {f}.",
        "{f} is something that {a} never eats.",
        "{a} keeps away from {f} at meals.",
        "You cannot serve {f} to {a}.",
    ),
    (
        "{a} wants the {x} {q}.",
        "The {q} that {a} would like is the {x} one.",
        "{a} has asked for the {q} in {x}.",
        "For {a}: {q}, colour {x}.",
    ),
    (
        "{a} taught {b} to swim.",
        "{b} learned swimming from {a}.",
        "It was {a} who showed {b} how to swim.",
        "{b}'s swimming teacher was {a}.",
    ),
    (
        "The train from {c} to {d} leaves at {t}.",
        "At {t} the train to {d} departs from {c}.",
        "{c} to {d} by train: departure {t}.",
        "If you go from {c} to {d} by train, be there at {t}.",
    ),
    (
        "{a} lent {b} {m} dollars.",
        "{b} borrowed {m} dollars from {a}.",
        "{b} owes {a} {m} dollars from a loan.",
        "A loan of {m} dollars went from {a} to {b}.",
    ),
    (
        "{a} arrived before {b}.",
        "{b} arrived after {a}.",
        "When {b} came, {a} was already there.",
        "{a} was there first, then came {b}.",
    ),
)


def slots(r: random.Random) -> dict[str, str]:
    """Values for all slots."""
    a, b = r.sample(NAMES, 2)
    c, d = r.sample(CITIES, 2)
    return {
        "a": a,
        "b": b,
        "c": c,
        "d": d,
        "o": r.choice(OBJECTS),
        "q": r.choice(OBJECTS),
        "p": r.choice(PRODUCTS),
        "m": str(r.randint(2, 90) * 5),
        "w": r.choice(DAYS),
        "t": clock(r.randrange(0, 1440, 15)),
        "s": r.choice(SERVICES).capitalize(),
        "n": r.choice([x for x in ANIMALS if x not in ("fox", "sheep")]),
        "k": r.choice(("two", "three", "four", "five")),
        "co": r.choice(COMPANIES),
        "r": r.choice(ROOMS),
        "f": r.choice(FOODS),
        "x": r.choice(COLOURS),
    }


def differing(r: random.Random, wordings: tuple[str, ...], values: dict[str, str]) -> dict[str, str]:
    """The values with one that the wordings use changed, or with the two persons or places swapped."""
    used = [slot for slot in values if "{" + slot + "}" in wordings[0]]
    pairs = [pair for pair in (("a", "b"), ("c", "d")) if pair[0] in used and pair[1] in used]
    if pairs and coin(r, 0.6):
        one, two = r.choice(pairs)
        return {**values, one: values[two], two: values[one]}
    slot = r.choice(used)
    while True:
        changed = slots(r)[slot]
        if changed not in values.values():
            return {**values, slot: changed}


PAIR_FORMS = (
    "1: {x}\n2: {y}",
    "{x}\n{y}",
    "A: {x}\nB: {y}",
    "First text: {x}\nSecond text: {y}",
    "{x} || {y}",
    "Old: {x}\nNew: {y}",
    "- {x}\n- {y}",
    '"{x}" / "{y}"',
)
PAIR_KEYS = (
    ("a", "b"),
    ("text_1", "text_2"),
    ("source", "copy"),
    ("left", "right"),
    ("question", "candidate"),
    ("first", "second"),
)


def paired(r: random.Random, one: str, two: str) -> JSON:
    """Two texts in one state."""
    if coin(r, 0.35):
        keys = r.choice(PAIR_KEYS)
        return {keys[0]: one, keys[1]: two}
    return r.choice(PAIR_FORMS).format(x=one, y=two)


@generator(3)
def same_fact(r: random.Random) -> Example:
    """Two wordings: one fact or two?"""
    truth, wordings, values = coin(r), r.choice(FACTS), slots(r)
    one, two = r.sample(wordings, 2)
    first = one.format(**values)
    second = two.format(**(values if truth else differing(r, wordings, values)))
    state = paired(r, first, second)
    if coin(r, 0.65):
        return answer(
            r,
            state,
            r.choice(
                (
                    "Do both say the same?",
                    "Is the second a paraphrase of the first?",
                    "Do the two mean the same thing?",
                    "Same meaning?",
                    "Could one be replaced by the other without changing the sense?",
                    "Is it the same fact twice?",
                    "Does the second repeat the first in other words?",
                )
            ),
            truth,
        )
    return answer(
        r,
        state,
        r.choice(
            (
                "Do the two differ in meaning?",
                "Is there a difference in what they say?",
                "Does the second say something else than the first?",
                "Do they tell different things?",
            )
        ),
        not truth,
    )


@generator(2)
def best_paraphrase(r: random.Random) -> Example:
    """Which of several sentences says the same?"""
    wordings, values = r.choice(FACTS), slots(r)
    one, two, *rest = r.sample(wordings, 4)
    wrong = {r.choice((two, *rest)).format(**differing(r, wordings, values)) for _ in range(r.randint(1, 4))}
    right = two.format(**values)
    return pick(
        r,
        one.format(**values),
        r.choice(
            (
                "Which sentence means the same?",
                "Choose the paraphrase.",
                "Which of these says the same in other words?",
                "Find the sentence with the same content.",
                "Which one agrees with the text?",
            )
        ),
        right,
        sorted(wrong - {right}),
    )


@generator(2.5)
def same_person(r: random.Random) -> Example:
    """Two records with small differences of spelling: the same person?"""
    truth = coin(r)
    name, surname, born, city = r.choice(NAMES), r.choice(SURNAMES), day(r, 1950, 2004), r.choice(CITIES)
    mail = f"{name}.{surname}@{r.choice(MAIL_DOMAINS)}".lower()
    phone = f"0{r.randint(100, 999)} {r.randint(100000, 999999)}"
    one: dict[str, JSON] = {
        "name": f"{name} {surname}",
        "born": born.isoformat(),
        "city": city,
        "mail": mail,
        "phone": phone,
    }
    two = dict(one)
    if truth:
        for change in r.sample(range(5), r.randint(1, 3)):
            if change == 0:
                two["name"] = r.choice((f"{surname}, {name}", f"{name[0]}. {surname}", f"{name} {surname}".upper()))
            elif change == 1:
                two["born"] = spelled(r, born)
            elif change == 2:
                two["mail"] = mail.upper()
            elif change == 3:
                two["phone"] = phone.replace(" ", "-")
            else:
                two["city"] = other(r, CITIES, city) if coin(r) else city.upper()  # people move
    else:
        two = {
            "name": f"{name} {surname}",
            "born": day(r, 1950, 2004).isoformat(),
            "city": city if coin(r) else other(r, CITIES, city),
            "mail": f"{name[0]}{r.randint(10, 99)}@{r.choice(MAIL_DOMAINS)}".lower(),
            "phone": f"0{r.randint(100, 999)} {r.randint(100000, 999999)}",
        }
        if coin(r, 0.4):
            two["name"] = f"{other(r, NAMES, name)} {surname}"
        if two["born"] == one["born"]:
            two["born"] = "1931-01-01"
    keys = ["name", *r.sample(("born", "mail", "phone"), 2), "city"]
    one, two = {key: one[key] for key in keys}, {key: two[key] for key in keys}
    state: JSON = (
        {"a": one, "b": two}
        if coin(r)
        else "\n".join(
            f"{label}: " + ", ".join(f"{key} {value}" for key, value in row.items())
            for label, row in (("A", one), ("B", two))
        )
    )
    if coin(r, 0.7):
        return answer(
            r,
            state,
            r.choice(
                (
                    "Do both records describe one person?",
                    "Should the two entries be merged?",
                    "Is B a duplicate of A?",
                    "One and the same person?",
                    "Do the entries belong together?",
                )
            ),
            truth,
        )
    return answer(
        r,
        state,
        r.choice(("Are these two different people?", "Must the records be kept apart?", "Is it two persons?")),
        not truth,
    )


SYMPTOMS = (
    ("{s} shows a blank page after login", "when I log in to {s}, the screen stays white"),
    ("{s} sends every mail twice", "users of {s} get each message two times"),
    ("the export button in {s} does nothing", "clicking on export has no effect in {s}"),
    ("{s} forgets the language setting", "my choice of language in {s} is lost after a while"),
    ("{s} is very slow in the morning", "before noon {s} takes ages to answer"),
    ("dates in {s} are off by one day", "{s} shows the day before the right one"),
    ("{s} crashes when a file has no name", "a file without a name makes {s} stop"),
    ("the total in {s} ignores the discount", "discounts are left out of the sum in {s}"),
    ("search in {s} finds nothing with an umlaut", "words with ä, ö or ü give no results in {s}"),
    ("{s} logs me out every five minutes", "I have to sign in to {s} again and again, every few minutes"),
)


@generator(2)
def duplicate_report(r: random.Random) -> Example:
    """Two bug reports: one bug or two?"""
    truth, service = coin(r), r.choice(SERVICES)
    first, second = r.sample(SYMPTOMS, 2)
    one = first[0].format(s=service)
    if truth:
        two = first[1].format(s=service)
    elif coin(r):
        two = second[1].format(s=service)
    else:
        two = first[1].format(s=other(r, SERVICES, service))
    if coin(r):
        one, two = two, one
    return answer(
        r,
        paired(r, one, two),
        r.choice(
            (
                "Are both reports about the same bug?",
                "Is one report a duplicate of the other?",
                "Can one of the tickets be closed as a duplicate?",
                "Do both describe one fault?",
                "Duplicate?",
                "Same problem in both?",
            )
        ),
        truth,
    )


GENERATORS: tuple[Generator, ...] = (same_fact, best_paraphrase, same_person, duplicate_report)
