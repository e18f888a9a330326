"""Timetables: opening hours, clashes in a calendar, days of the week."""

from __future__ import annotations

import random

from tiebreak.questions import JSON

from ..examples import Example
from .drawing import capital, clock, coin, listed, other
from .generator import Generator, generator
from .shapes import answer, pick
from .words import DAYS


@generator(3)
def opening_hours(r: random.Random) -> Example:
    """A timetable of the week and a moment in it."""
    open_days = sorted(r.sample(range(7), r.randint(3, 6)))
    hours = {
        place: (r.randrange(6, 12) * 60 + r.choice((0, 30)), r.randrange(14, 23) * 60 + r.choice((0, 30)))
        for place in open_days
    }
    if coin(r):
        hours = dict.fromkeys(open_days, hours[open_days[0]])
    closed = [place for place in range(7) if place not in hours]
    truth = coin(r)
    place = r.choice(open_days)
    start, end = hours[place]
    if truth:
        minute = r.randrange(start + 5, end - 5, 5)
    elif coin(r, 0.4) and closed:
        place = r.choice(closed)
        minute = r.randrange(9 * 60, 17 * 60, 5)
    else:
        minute = r.choice(
            (r.randrange(max(0, start - 180), start - 5, 5), min(1435, r.randrange(end + 5, end + 180, 5)))
        )
    shop = r.choice(
        ("shop", "library", "museum", "surgery", "pool", "office", "bakery", "repair café", "hotline", "garage")
    )
    lines = [
        f"{DAYS[at]}: {clock(hours[at][0])}-{clock(hours[at][1])}" if at in hours else f"{DAYS[at]}: closed"
        for at in range(7)
    ]
    text = r.choice(
        (
            f"Opening hours of the {shop}\n" + "\n".join(lines),
            f"{capital(shop)} hours. " + "; ".join(lines),
            f"The {shop} is open on "
            + listed([f"{DAYS[at]} from {clock(hours[at][0])} to {clock(hours[at][1])}" for at in open_days])
            + ". On other days it is closed.",
            "| day | hours |\n| --- | --- |\n" + "\n".join("| " + line.replace(": ", " | ") + " |" for line in lines),
        )
    )
    moment = r.choice(
        (f"{DAYS[place]} {clock(minute)}", f"{DAYS[place]} at {clock(minute)}", f"{DAYS[place]}, {clock(minute)}")
    )
    positive = ("Is it open on {m}?", "Can I go there on {m}?", "Open at this time: {m}?", "Would I find it open, {m}?")
    negative = (
        "Is it closed on {m}?",
        "Would I stand before a locked door on {m}?",
        "Closed at this time: {m}?",
        "Is {m} outside the opening hours?",
    )
    ask_open = coin(r, 0.65)
    question = r.choice(positive if ask_open else negative)
    truth = truth if ask_open else not truth
    if coin(r, 0.4):
        state: JSON = {
            "hours": {DAYS[at]: [clock(hours[at][0]), clock(hours[at][1])] for at in open_days},
            "now": f"{DAYS[place]} {clock(minute)}",
            "type": shop,
        }
        return answer(
            r,
            state,
            r.choice(("Is it open now?", "Can a visitor go in at this moment?", "Do the hours cover the present time?"))
            if ask_open
            else r.choice(("Is it closed now?", "Is the present time outside the hours?")),
            truth,
        )
    if coin(r, 0.4):
        return answer(
            r, f"{text}\n\nNow: {moment}", "Is it open now?" if ask_open else "Is it closed right now?", truth
        )
    return answer(r, text, question.format(m=moment), truth)


@generator(2)
def overlaps(r: random.Random) -> Example:
    """Does an appointment collide with the calendar?"""
    starts = sorted(r.sample(range(8 * 60, 18 * 60, 60), r.randint(2, 4)))
    busy = [(start, start + r.choice((15, 30, 45, 60))) for start in starts]
    names = r.sample(
        ("stand-up", "dentist", "review", "call with Oslo", "lunch", "interview", "training", "gym"), len(busy)
    )
    truth = coin(r)  # a clash
    if truth:
        start, end = r.choice(busy)
        begin = r.randrange(start - 10, end - 4, 5)
        finish = begin + r.choice((20, 30, 45))
        if finish <= start:
            finish = start + 10
    else:
        start, end = r.choice(busy)
        room = next((later for later, _ in busy if later >= end), 20 * 60) - end
        if room < 15:
            begin, finish = 19 * 60 + 5, 19 * 60 + 35
        else:
            begin = end if coin(r, 0.4) else end + r.randrange(0, room - 10, 5)
            finish = min(begin + r.choice((10, 15, 30)), end + room)
    rows = [f"{clock(a)}-{clock(b)} {name}" for (a, b), name in zip(busy, names, strict=True)]
    slot = f"{clock(begin)}-{clock(finish)}"
    states: tuple[JSON, ...] = (
        {
            "calendar": [
                {"from": clock(a), "to": clock(b), "what": name} for (a, b), name in zip(busy, names, strict=True)
            ],
            "request": slot,
        },
        "Calendar\n" + "\n".join(rows) + f"\nRequested: {slot}",
        "Booked: " + "; ".join(rows) + f". New request: {slot}.",
        f"Could we meet {slot}?\n(my day: " + ", ".join(rows) + ")",
    )
    state = r.choice(states)
    if coin(r):
        return answer(
            r,
            state,
            r.choice(
                (
                    "Does the request clash with something?",
                    "Is there a conflict in the calendar?",
                    "Would somebody be double-booked?",
                    "Does it overlap with an entry?",
                )
            ),
            truth,
        )
    return answer(
        r,
        state,
        r.choice(
            (
                "Is the requested time free?",
                "Can the request be accepted without moving anything?",
                "Does the request fit into the day?",
                "Is there no clash?",
            )
        ),
        not truth,
    )


@generator(1.5)
def weekdays(r: random.Random) -> Example:
    """Counting days of the week."""
    start, step = r.randrange(7), r.choice((1, 2, 3, 4, 5, 6, 7, 8, 10, 14))
    back = coin(r, 0.3)
    right = DAYS[(start - step if back else start + step) % 7]
    text = r.choice(
        (
            "Today is {d}.",
            "It is {d}.",
            '{{"today": "{d}"}}',
            "now: {d}",
            "{d} again!",
            "The note was written on a {d}.",
            "date: {d}",
            "Heute ist {d}.",
        )
    ).format(d=DAYS[start])
    plural = "s" if step > 1 else ""
    ask = (
        f"Which weekday was it {step} day{plural} earlier?"
        if back
        else r.choice((f"Which weekday is it in {step} day{plural}?", f"What day comes {step} day{plural} later?"))
    )
    if coin(r, 0.4):
        truth = coin(r)
        shown = right if truth else other(r, DAYS, right)
        return answer(r, text, f"{ask} Is it {shown}?", truth)
    return pick(r, text, ask, right, r.sample([name for name in DAYS if name != right], r.randint(2, 6)))


GENERATORS: tuple[Generator, ...] = (
    opening_hours,
    overlaps,
    weekdays,
)
