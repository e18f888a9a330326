"""Comparing amounts: numbers, durations, units, sums, and bands that a number falls into."""

from __future__ import annotations

import itertools
import random

from tiebreak.questions import JSON

from ..examples import Example
from .drawing import capital, coin
from .generator import Generator, generator
from .shapes import answer, ordered, pick
from .surfaces import Fact, as_form, as_json, as_log, as_table, framed, with_noise
from .words import NAMES, PRODUCTS

# key a, key b, text with {a} and {b}, questions that are yes when b > a, questions that are yes when b < a
LIMITS: tuple[tuple[str, str, str, tuple[str, ...], tuple[str, ...]], ...] = (
    (
        "planned_seats",
        "booked_seats",
        "{a} seats were planned and {b} are booked",
        ("Are more seats booked than planned?", "Is the event overbooked?"),
        ("Are there seats left?", "Can someone still book?"),
    ),
    (
        "speed_limit",
        "measured_speed",
        "the speed limit is {a} km/h and the radar showed {b} km/h",
        ("Was the car too fast?", "Will there be a ticket for speeding?"),
        ("Was the car slower than the limit?", "Did the driver stay below the limit?"),
    ),
    (
        "max_weight_kg",
        "parcel_weight_kg",
        "up to {a} kg are allowed and the parcel weighs {b} kg",
        ("Is the parcel too heavy?", "Must the parcel be turned away because of its weight?"),
        ("Is the parcel lighter than the maximum?", "Is there weight to spare?"),
    ),
    (
        "threshold",
        "reading",
        "the threshold is {a} and the sensor reads {b}",
        ("Is the reading above the threshold?", "Has the threshold been crossed?"),
        ("Is the reading below the threshold?", "Is the value still under the mark?"),
    ),
    (
        "sold_last_year",
        "sold_this_year",
        "last year {a} were sold, this year {b}",
        ("Did sales grow?", "Was this year better?"),
        ("Did sales fall?", "Was last year better?"),
    ),
    (
        "estimated_hours",
        "actual_hours",
        "the estimate was {a} hours and it took {b} hours",
        ("Did the work take longer than estimated?", "Was the estimate too low?"),
        ("Was the work done faster than estimated?", "Was the estimate too high?"),
    ),
    (
        "tank_litres",
        "ordered_litres",
        "the tank holds {a} litres and {b} litres of oil were ordered",
        ("Was more ordered than the tank holds?", "Will some of the oil have no place in the tank?"),
        ("Is the tank larger than the order?", "Will the tank still have room after the delivery, if it is empty now?"),
    ),
    (
        "shelf_width_cm",
        "box_width_cm",
        "the shelf is {a} cm wide and the box {b} cm",
        ("Is the box too wide for the shelf?", "Is the box wider than the shelf?"),
        ("Does the box fit on the shelf with room to spare?", "Is the shelf wider than the box?"),
    ),
    (
        "points_needed",
        "points_reached",
        "{a} points are needed to pass and {b} were reached",
        ("Was the exam passed with points to spare?", "Does the result lie above the pass mark?"),
        ("Did the candidate fail?", "Are points missing?"),
    ),
    (
        "data_plan_gb",
        "data_used_gb",
        "the plan has {a} GB and {b} GB have been used",
        ("Has the plan been used up and more?", "Did the user go over the plan?"),
        ("Is there data left in the plan?", "Can the user still browse without paying extra?"),
    ),
    (
        "home_goals",
        "guest_goals",
        "the home team scored {a}, the guests {b}",
        ("Did the guests win?", "Was it an away win?"),
        ("Did the home team win?", "Did the guests lose?"),
    ),
    (
        "yesterday_c",
        "today_c",
        "yesterday it was {a} degrees, today it is {b}",
        ("Has it become warmer?", "Is today the warmer day?"),
        ("Has it become colder?", "Was yesterday warmer?"),
    ),
    (
        "lagerbestand",
        "bestellt",
        "es sind {a} Stück auf Lager, bestellt wurden {b}",
        ("Reicht der Bestand nicht aus?", "Is the stock too small for the order?"),
        ("Bleibt nach der Lieferung etwas übrig?", "Is there stock left after the order?"),
    ),
    (
        "places_prevues",
        "personnes",
        "{a} places sont prévues et {b} personnes viennent",
        ("Manque-t-il des places ?", "Are there too few places?"),
        ("Reste-t-il des places libres ?", "Are some places still free?"),
    ),
    (
        "sillas",
        "personas",
        "hay {a} sillas y vinieron {b} personas",
        ("¿Faltan sillas?", "Must somebody stand?"),
        ("¿Sobran sillas?", "Are there more chairs than people?"),
    ),
)

SMALL = {"home_goals": 9, "yesterday_c": 38, "shelf_width_cm": 150, "max_weight_kg": 60}


@generator(3)
def limits(r: random.Random) -> Example:
    """Two numbers that belong together: is the second above or below the first?"""
    key_a, key_b, text, above, below = r.choice(LIMITS)
    truth, top = coin(r), SMALL.get(key_a) or r.choice((20, 100, 100, 1000))
    small, large = sorted(r.sample(range(1, top), 2))
    if coin(r, 0.3):
        large = small + r.randint(1, 3)
    ask_above = coin(r)
    a, b = (small, large) if ask_above == truth else (large, small)
    question = r.choice(above if ask_above else below)
    if coin(r, 0.5):
        return answer(r, framed(r, capital(text.format(a=a, b=b)) + "."), question, truth)
    first, second = Fact(key_a, a, ""), Fact(key_b, b, "")
    return answer(r, forms(r, [first, second]), question, truth)


def forms(r: random.Random, facts: list[Fact]) -> JSON:
    """A layout of keys and values, without sentences."""
    return r.choice((as_json, as_json, as_form, as_log, as_table))(r, with_noise(r, facts, 3))


UNITS: dict[str, tuple[tuple[str, float], ...]] = {
    "longer": (("mm", 1), ("cm", 10), ("m", 1000), ("km", 1_000_000)),
    "heavier": (("g", 1), ("kg", 1000), ("t", 1_000_000)),
    "longer in time": (("seconds", 1), ("minutes", 60), ("hours", 3600), ("days", 86400), ("weeks", 604800)),
    "larger in volume": (("ml", 1), ("cl", 10), ("l", 1000)),
    "larger in storage": (("KB", 1), ("MB", 1000), ("GB", 1_000_000), ("TB", 1_000_000_000)),
    "more money": (("cents", 1), ("dollars", 100)),
}


@generator(2.5)
def units(r: random.Random) -> Example:
    """Two amounts in different units."""
    what = r.choice(list(UNITS))
    place = r.randrange(len(UNITS[what]) - 1)
    (unit_a, size_a), (unit_b, size_b) = UNITS[what][place : place + 2]
    b = r.randint(2, 30)
    a = round(b * size_b * r.choice((0.2, 0.5, 0.8, 1.25, 2, 5)) / size_a)
    truth, names = (
        coin(r),
        r.choice((("the first", "the second"), ("A", "B"), ("the red one", "the blue one"), ("mine", "yours"))),
    )
    if (a * size_a > b * size_b) != truth:
        a, unit_a, b, unit_b = b, unit_b, a, unit_a
    word = what.split(" in ")[0]
    text = r.choice(
        (
            "{x}: {a} {ua}; {y}: {b} {ub}",
            "{x} has {a} {ua}, {y} {b} {ub}.",
            "{x} = {a} {ua}\n{y} = {b} {ub}",
            "{x} - {a} {ua} / {y} - {b} {ub}",
        )
    ).format(x=names[0], y=names[1], a=a, b=b, ua=unit_a, ub=unit_b)
    state: JSON = {names[0]: f"{a} {unit_a}", names[1]: f"{b} {unit_b}"} if coin(r, 0.3) else framed(r, text)
    if coin(r, 0.7):
        asks = (
            f"Is {names[0]} {word} than {names[1]}?",
            f"Compare: is {names[0]} the {word} of the two?",
            f"Does {names[0]} stand for the {word} amount?",
        )
        if what == "more money":
            asks = (
                f"Is {names[0]} {word} than {names[1]}?",
                f"Is {names[0]} the larger sum?",
                f"Is {names[0]} worth more?",
            )
        return answer(r, state, r.choice(asks), truth)
    right = names[not truth]
    return pick(
        r,
        state,
        r.choice(
            (
                f"Which one is {word}?",
                "Which amount is larger?",
                "Choose the larger of the two.",
                "Mind the units: which is more?",
            )
        ),
        right,
        [names[truth]],
    )


@generator(2)
def totals(r: random.Random) -> Example:
    """Is the sum of a list within a limit?"""
    size, truth = r.randint(2, 5), coin(r)
    parts = [r.randint(1, 20) * r.choice((1, 1, 5)) for _ in range(size)]
    total, gap = sum(parts), r.randint(1, max(2, sum(parts) // 4))
    limit = total + gap if truth else max(1, total - gap)
    names = r.sample(PRODUCTS, size)
    things = ", ".join(f"{name} ${part}" for name, part in zip(names, parts, strict=True))
    states: tuple[JSON, ...] = (
        {"cart": dict(zip(names, parts, strict=True)), "money": limit},
        f"Cart: {things}. Money in the purse: ${limit}.",
        f"I have ${limit} and want {things}.",
        f"{things}\nCredit: ${limit}",
        f"Wallet ${limit}\n" + "\n".join(f"- {name}: ${part}" for name, part in zip(names, parts, strict=True)),
        {
            "balance": limit,
            "items": [{"name": name, "price": part} for name, part in zip(names, parts, strict=True)],
        },
    )
    state = r.choice(states)
    if coin(r):
        return answer(
            r,
            state,
            r.choice(
                (
                    "Is the money enough for everything?",
                    "Can all of it be paid?",
                    "Does the sum stay within the money available?",
                    "Will the purchase go through?",
                )
            ),
            truth,
        )
    return answer(
        r,
        state,
        r.choice(
            (
                "Is the money too little?",
                "Will the payment fail for lack of money?",
                "Is the sum larger than the money available?",
                "Does money run out?",
            )
        ),
        not truth,
    )


@generator(1.5)
def arithmetic(r: random.Random) -> Example:
    """A small calculation in words, among near results."""
    a, b = r.randint(2, 30), r.randint(2, 12)
    text, ask, right = r.choice(
        (
            (f"{r.choice(NAMES)} had {a + b} stamps and gave away {b}.", "How many stamps are left?", a),
            (f"A pack holds {b} bottles. There are {a} packs.", "How many bottles are there?", a * b),
            (f"In the bus sit {a} people; at the stop {b} get on.", "How many are in the bus now?", a + b),
            (f"{a * b} cards are dealt to {b} players, the same number each.", "How many cards does each get?", a),
            (
                f"The meeting starts at 9:00 and lasts {b * 5} minutes.",
                "How many minutes does the meeting last?",
                b * 5,
            ),
            (f"{a} + {b}", "What is the result?", a + b),
            (f"{a + b} - {b}", "Calculate.", a),
            (f"{a} x {b}", "What is the product?", a * b),
            (f"qty={a} unit_price={b}", "What is the total price?", a * b),
        )
    )
    near = {right + step for step in (-10, -3, -2, -1, 1, 2, 3, 10, b) if right + step > 0} - {right}
    wrong = [str(number) for number in r.sample(sorted(near), r.randint(2, 5))]
    if coin(r, 0.3):
        truth = coin(r)
        return answer(r, text, f"{ask} Is it {right if truth else wrong[0]}?", truth)
    return pick(r, framed(r, text), ask, str(right), wrong)


@generator(1.5)
def ranges(r: random.Random) -> Example:
    """Which band a number falls into; the bands are the options."""
    size = r.randint(2, 7)
    cuts = sorted(r.sample(range(5, 200), size - 1))
    bands = (
        [f"below {cuts[0]}"]
        + [f"{low} to {high - 1}" for low, high in itertools.pairwise(cuts)]
        + [f"{cuts[-1]} or more"]
    )
    number = r.choice((r.randint(0, 220), r.choice(cuts), r.choice(cuts) - 1))
    gold = sum(number >= cut for cut in cuts)
    what = r.choice(("points", "visitors", "orders", "units", "minutes", "euros", "kilometres", "requests"))
    text = r.choice(
        (
            "{n} {w}",
            "We counted {n} {w}.",
            "value={n} unit={w}",
            "The result was {n} {w}.",
            "Total {w}: {n}",
            "It came to {n} {w} in the end.",
        )
    ).format(n=number, w=what)
    ask = r.choice(
        (
            "Which band is it?",
            "Into which range does the number fall?",
            "Choose the bracket.",
            "Class?",
            f"How many {what}?",
            "Where does it belong?",
        )
    )
    state = framed(r, text)
    if coin(r, 0.7):
        return (
            ordered(state, ask, bands, gold)
            if coin(r)
            else pick(r, state, ask, bands[gold], bands[:gold] + bands[gold + 1 :])
        )
    letters = r.sample("ABCDEFGHKLMNP", size)
    labels = [f"{letter} ({band})" for letter, band in zip(letters, bands, strict=True)]
    return pick(r, state, ask, labels[gold], labels[:gold] + labels[gold + 1 :])


GENERATORS: tuple[Generator, ...] = (
    limits,
    units,
    totals,
    arithmetic,
    ranges,
)
