"""Comparing amounts: numbers, prices, durations, units, shares, and the largest or smallest of several."""

from __future__ import annotations

import random

from tiebreak.questions import JSON

from ..examples import Example
from .drawing import capital, clock, coin, other, shuffled
from .generator import Generator, generator
from .shapes import answer, ordered, pick
from .surfaces import Fact, framed, record
from .words import CITIES, COMPANIES, NAMES, PRODUCTS

# key a, key b, text with {a} and {b}, questions that are yes when b > a, questions that are yes when b < a
LIMITS: tuple[tuple[str, str, str, tuple[str, ...], tuple[str, ...]], ...] = (
    ("planned_seats", "booked_seats", "{a} seats were planned and {b} are booked", ("Are more seats booked than planned?", "Is the event overbooked?"), ("Are there seats left?", "Can someone still book?")),
    ("speed_limit", "measured_speed", "the speed limit is {a} km/h and the radar showed {b} km/h", ("Was the car too fast?", "Will there be a ticket for speeding?"), ("Was the car slower than the limit?", "Did the driver stay below the limit?")),
    ("max_weight_kg", "parcel_weight_kg", "up to {a} kg are allowed and the parcel weighs {b} kg", ("Is the parcel too heavy?", "Must the parcel be turned away because of its weight?"), ("Is the parcel lighter than the maximum?", "Is there weight to spare?")),
    ("threshold", "reading", "the threshold is {a} and the sensor reads {b}", ("Is the reading above the threshold?", "Has the threshold been crossed?"), ("Is the reading below the threshold?", "Is the value still under the mark?")),
    ("sold_last_year", "sold_this_year", "last year {a} were sold, this year {b}", ("Did sales grow?", "Was this year better?"), ("Did sales fall?", "Was last year better?")),
    ("estimated_hours", "actual_hours", "the estimate was {a} hours and it took {b} hours", ("Did the work take longer than estimated?", "Was the estimate too low?"), ("Was the work done faster than estimated?", "Was the estimate too high?")),
    ("budget", "cost_so_far", "the budget is ${a} and the costs so far are ${b}", ("Have the costs gone past the budget?", "Is the project in the red?"), ("Is some of the budget left?", "Are the costs within the budget with money to spare?")),
    ("shelf_width_cm", "box_width_cm", "the shelf is {a} cm wide and the box {b} cm", ("Is the box too wide for the shelf?", "Is the box wider than the shelf?"), ("Does the box fit on the shelf with room to spare?", "Is the shelf wider than the box?")),
    ("points_needed", "points_reached", "{a} points are needed to pass and {b} were reached", ("Was the exam passed with points to spare?", "Does the result lie above the pass mark?"), ("Did the candidate fail?", "Are points missing?")),
    ("data_plan_gb", "data_used_gb", "the plan has {a} GB and {b} GB have been used", ("Has the plan been used up and more?", "Did the user go over the plan?"), ("Is there data left in the plan?", "Can the user still browse without paying extra?")),
    ("home_goals", "guest_goals", "the home team scored {a}, the guests {b}", ("Did the guests win?", "Was it an away win?"), ("Did the home team win?", "Did the guests lose?")),
    ("yesterday_c", "today_c", "yesterday it was {a} degrees, today it is {b}", ("Has it become warmer?", "Is today the warmer day?"), ("Has it become colder?", "Was yesterday warmer?")),
    ("lagerbestand", "bestellt", "es sind {a} Stück auf Lager, bestellt wurden {b}", ("Reicht der Bestand nicht aus?", "Is the stock too small for the order?"), ("Bleibt nach der Lieferung etwas übrig?", "Is there stock left after the order?")),
    ("places_prevues", "personnes", "{a} places sont prévues et {b} personnes viennent", ("Manque-t-il des places ?", "Are there too few places?"), ("Reste-t-il des places libres ?", "Are some places still free?")),
    ("presupuesto", "gasto", "el presupuesto es de {a} euros y se gastaron {b}", ("¿Se superó el presupuesto?", "Was too much spent?"), ("¿Sobró dinero?", "Is money left?")),
)  # fmt: skip


@generator(3)
def limits(r: random.Random) -> Example:
    """Two numbers that belong together: is the second above or below the first?"""
    key_a, key_b, text, above, below = r.choice(LIMITS)
    truth, top = coin(r), r.choice((20, 100, 100, 1000))
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
    from .surfaces import as_form, as_json, as_log, as_table, with_noise

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
    (unit_a, size_a), (unit_b, size_b) = r.sample(UNITS[what], 2)
    while True:
        base = r.uniform(1, 200) * min(size_a, size_b) * r.choice((1, 10, max(size_a, size_b) / min(size_a, size_b)))
        a, b = round(base / size_a), round(base * r.choice((0.2, 0.5, 0.8, 1.25, 2, 5)) / size_b)
        if 1 <= a < 100000 and 1 <= b < 100000 and a * size_a != b * size_b:
            break
    truth, names = coin(r), r.choice((("the first", "the second"), ("A", "B"), ("the red one", "the blue one"), ("mine", "yours")))
    if (a * size_a > b * size_b) != truth:
        a, unit_a, b, unit_b = b, unit_b, a, unit_a
    word = what.split(" in ")[0]
    text = r.choice(("{x}: {a} {ua}; {y}: {b} {ub}", "{x} has {a} {ua}, {y} {b} {ub}.", "{x} = {a} {ua}\n{y} = {b} {ub}", "{x} - {a} {ua} / {y} - {b} {ub}")).format(
        x=names[0], y=names[1], a=a, b=b, ua=unit_a, ub=unit_b
    )  # fmt: skip
    state: JSON = {names[0]: f"{a} {unit_a}", names[1]: f"{b} {unit_b}"} if coin(r, 0.3) else framed(r, text)
    if coin(r, 0.7):
        asks = (f"Is {names[0]} {word} than {names[1]}?", f"Compare: is {names[0]} the {word} of the two?", f"Does {names[0]} stand for the {word} amount?")
        if what == "more money":
            asks = (f"Is {names[0]} {word} than {names[1]}?", f"Is {names[0]} the larger sum?", f"Is {names[0]} worth more?")
        return answer(r, state, r.choice(asks), truth)
    right = names[not truth]
    return pick(r, state, r.choice((f"Which one is {word}?", "Which amount is larger?", "Choose the larger of the two.", "Mind the units: which is more?")), right, [names[truth]])


TABLES = (
    ("price", "$", 5, 900, "cheapest", "most expensive"), ("distance", " km", 1, 900, "nearest", "farthest away"),
    ("weight", " kg", 1, 90, "lightest", "heaviest"), ("rating", " points", 1, 100, "worst rated", "best rated"),
    ("delay", " min", 1, 120, "least delayed", "most delayed"), ("age", " years", 1, 95, "youngest", "oldest"),
    ("visitors", "", 10, 9000, "least visited", "most visited"), ("duration", " min", 5, 300, "shortest", "longest"),
    ("load", "%", 1, 99, "least loaded", "most heavily loaded"), ("stock", "", 1, 500, "scarcest", "most plentiful"),
)  # fmt: skip
ROWS = (CITIES, NAMES, PRODUCTS, COMPANIES, tuple(f"server-{n}" for n in range(1, 30)), tuple("ABCDEFGHJKLMN"), tuple(f"line {n}" for n in range(1, 30)))


@generator(3)
def extremes(r: random.Random) -> Example:
    """The largest, smallest or second largest row of a table."""
    key, unit, low, high, least, most = r.choice(TABLES)
    size = r.choice((2, 3, 3, 4, 4, 5, 6, 8, 12))
    names, values = r.sample(r.choice(ROWS), size), r.sample(range(low, high), size)
    rows = list(zip(names, values, strict=True))
    ranked = sorted(rows, key=lambda row: row[1])
    shown = [f"${value}" if unit == "$" else f"{value}{unit}" for value in values]
    state: JSON = r.choice(
        (
            {name: value for name, value in rows},
            {"unit": unit.strip() or "count", key: {name: value for name, value in rows}},
            f"{key}\n" + "\n".join(f"{name}: {text}" for name, text in zip(names, shown, strict=True)),
            "| name | " + key + " |\n| --- | --- |\n" + "\n".join(f"| {name} | {text} |" for name, text in zip(names, shown, strict=True)),
            "; ".join(f"{name} {text}" for name, text in zip(names, shown, strict=True)),
            "\n".join(f"{name},{value}" for name, value in [("name", key), *rows]),
            f"The {key} of " + ", of ".join(f"{name} is {text}" for name, text in zip(names, shown, strict=True)) + ".",
            {"rows": [{"name": name, key: value} for name, value in rows]},
        )
    )
    kind = r.random()
    if kind < 0.6:
        place, word = r.choice(((0, least), (-1, most)))
        right = ranked[place][0]
        ask = r.choice(("Which is the {w}?", "Find the {w} one.", "Which one is the {w} ({k})?", "Name the {w} of all.", "By {k}, which is {w}?", "{w}?")).format(w=word, k=key)
    elif kind < 0.7 and size > 2:
        right, ask = ranked[-2][0], r.choice((f"Which has the second highest {key}?", f"Second place by {key}, highest first?"))
    else:
        truth = coin(r)
        place, word = r.choice(((0, least), (-1, most)))
        name = ranked[place][0] if truth else other(r, names, ranked[place][0])
        return answer(r, state, r.choice((f"Is {name} the {word}?", f"Judging by {key}, is {name} the {word} one?", f"Of all, {name} is {word}. Right?")), truth)
    return pick(r, state, ask, right, [name for name in names if name != right])


@generator(2)
def totals(r: random.Random) -> Example:
    """Is the sum of a list within a limit?"""
    size, truth = r.randint(2, 5), coin(r)
    parts = [r.randint(1, 20) * r.choice((1, 1, 5)) for _ in range(size)]
    total, gap = sum(parts), r.randint(1, max(2, sum(parts) // 4))
    limit = total + gap if truth else max(1, total - gap)
    truth = total <= limit
    names = r.sample(PRODUCTS, size)
    things = ", ".join(f"{name} ${part}" for name, part in zip(names, parts, strict=True))
    state: JSON = r.choice(
        (
            {"cart": dict(zip(names, parts, strict=True)), "money": limit},
            f"Cart: {things}. Money in the purse: ${limit}.",
            f"I have ${limit} and want {things}.",
            f"{things}\nCredit: ${limit}",
            f"Wallet ${limit}\n" + "\n".join(f"- {name}: ${part}" for name, part in zip(names, parts, strict=True)),
            {"balance": limit, "items": [{"name": name, "price": part} for name, part in zip(names, parts, strict=True)]},
        )
    )
    if coin(r):
        return answer(r, state, r.choice(("Is the money enough for everything?", "Can all of it be paid?", "Does the sum stay within the money available?", "Will the purchase go through?")), truth)
    return answer(r, state, r.choice(("Is the money too little?", "Will the payment fail for lack of money?", "Is the sum larger than the money available?", "Does money run out?")), not truth)


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
            (f"The meeting starts at 9:00 and lasts {b * 5} minutes.", "How many minutes does the meeting last?", b * 5),
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
    bands = [f"below {cuts[0]}"] + [f"{low} to {high - 1}" for low, high in zip(cuts, cuts[1:], strict=False)] + [f"{cuts[-1]} or more"]
    number = r.choice((r.randint(0, 220), r.choice(cuts), r.choice(cuts) - 1))
    gold = sum(number >= cut for cut in cuts)
    what = r.choice(("points", "visitors", "orders", "units", "minutes", "euros", "kilometres", "requests"))
    text = r.choice(("{n} {w}", "We counted {n} {w}.", "value={n} unit={w}", "The result was {n} {w}.", "Total {w}: {n}", "It came to {n} {w} in the end.")).format(n=number, w=what)
    ask = r.choice(("Which band is it?", "Into which range does the number fall?", "Choose the bracket.", "Class?", f"How many {what}?", "Where does it belong?"))
    state = framed(r, text)
    if coin(r, 0.7):
        return ordered(state, ask, bands, gold) if coin(r) else pick(r, state, ask, bands[gold], bands[:gold] + bands[gold + 1 :])
    letters = r.sample("ABCDEFGHKLMNP", size)
    labels = [f"{letter} ({band})" for letter, band in zip(letters, bands, strict=True)]
    return pick(r, state, ask, labels[gold], labels[:gold] + labels[gold + 1 :])


@generator(2)
def changes(r: random.Random) -> Example:
    """Two readings of several things: which went up, down, or by how much per cent."""
    size = r.randint(2, 4)
    names = r.sample(("revenue", "costs", "visitors", "complaints", "errors", "orders", "staff", "stock", "calls"), size)
    odd, up = r.randrange(size), coin(r)
    before = [r.randint(20, 400) for _ in names]
    after = [max(1, value + r.randint(1, 60) * (1 if (place == odd) == up else -1)) for place, value in enumerate(before)]
    if any(x == y for x, y in zip(before, after, strict=True)):
        after = [value + (1 if (place == odd) == up else -1) for place, value in enumerate(before)]
    quarter = r.choice((("Q1", "Q2"), ("March", "April"), ("2024", "2025"), ("before", "after"), ("last week", "this week")))
    lines = [f"{name}: {x} -> {y}" for name, x, y in zip(names, before, after, strict=True)]
    state: JSON = r.choice(
        (
            {quarter[0]: dict(zip(names, before, strict=True)), quarter[1]: dict(zip(names, after, strict=True))},
            f"{quarter[0]} -> {quarter[1]}\n" + "\n".join(lines),
            " ".join(capital(f"{name} went from {x} in {quarter[0]} to {y} in {quarter[1]}.") for name, x, y in zip(names, before, after, strict=True)),
            f"metric | {quarter[0]} | {quarter[1]}\n" + "\n".join(f"{name} | {x} | {y}" for name, x, y in zip(names, before, after, strict=True)),
        )
    )
    if coin(r):
        word = r.choice(("rose", "went up", "grew", "increased") if up else ("fell", "went down", "shrank", "decreased"))
        return pick(r, state, f"Which of these {word}?", names[odd], names[:odd] + names[odd + 1 :])
    truth, place = coin(r), r.randrange(size)
    rising = (after[place] > before[place]) == truth
    ask = r.choice(("Did {n} go up?", "Was there growth in {n}?", "Is the second figure for {n} the higher one?") if rising else ("Did {n} go down?", "Was there a drop in {n}?", "Is the second figure for {n} the lower one?"))
    return answer(r, state, ask.format(n=names[place]), truth)


@generator(1.5)
def earlier_later(r: random.Random) -> Example:
    """Two times of day: which is earlier, and by how much."""
    a, b = sorted(r.sample(range(5, 1435, 5), 2))
    first, second = r.sample(NAMES, 2)
    verb = r.choice(("arrived", "left", "called", "logged in", "finished", "started work"))
    rows = [(first, a), (second, b)]
    state: JSON = r.choice(
        (
            " ".join(f"{name} {verb} at {clock(time)}." for name, time in shuffled(r, rows)),
            {name: f"{verb} {clock(time)}" for name, time in shuffled(r, rows)},
            "\n".join(f"{clock(time)} {name} {verb}" for name, time in shuffled(r, rows)),
            ", ".join(f"{name}: {verb} {clock(time)}" for name, time in shuffled(r, rows)),
        )
    )
    kind, truth = r.random(), coin(r)
    if kind < 0.45:
        one, two = (first, second) if truth else (second, first)
        early = coin(r)
        ask = f"Was {one} earlier than {two}?" if early else f"Was {two} later than {one}?"
        return answer(r, state, ask, truth)
    if kind < 0.7:
        return pick(r, state, r.choice((f"Who {verb} first?", "Who was earlier?")) if truth else r.choice((f"Who {verb} last?", "Who was later?")), first if truth else second, [second if truth else first])
    gap = b - a
    limit = max(1, gap + r.choice((-30, -15, -10, -5, 5, 10, 15, 30)))
    more = coin(r)
    ask = f"Are there {'more' if more else 'less'} than {limit} minutes between the two?"
    return answer(r, state, ask, (gap > limit) == more) if gap != limit else answer(r, state, "Is it the same time for both?", False)


GENERATORS: tuple[Generator, ...] = (limits, units, extremes, totals, arithmetic, ranges, changes, earlier_later)
