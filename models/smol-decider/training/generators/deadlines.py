"""Deadlines: late or in time, days allowed, old enough, which date is next, notice given."""

from __future__ import annotations

import random
from datetime import date, timedelta

from tiebreak.questions import JSON

from ..examples import Example
from .drawing import capital, coin, day, other, shuffled, spelled
from .generator import Generator, generator
from .shapes import answer, pick
from .surfaces import Fact, framed, record
from .words import NAMES, PRODUCTS


def gap(r: random.Random) -> int:
    """A number of days from one to about a year, short ones more often."""
    return r.choice((1, 1, 2, 3, r.randint(1, 14), r.randint(1, 60), r.randint(30, 400)))


LATE = (
    # key of the limit, key of the event, sentence with {a} the limit and {b} the event, questions for late and in time
    (
        "deadline",
        "received",
        "the deadline was {a} and the paper came in on {b}",
        ("Was the paper late?", "Did the paper miss the deadline?"),
        ("Was the paper in time?", "Was the deadline kept?"),
    ),
    (
        "expires",
        "today",
        "the pass is valid up to and including {a}, and today is {b}",
        ("Has the pass expired?", "Is the pass out of date?"),
        ("Is the pass still valid?", "Can the pass be used today?"),
    ),
    (
        "best_before",
        "today",
        "best before: {a}. Today: {b}",
        ("Is the date on the package over?", "Is it past the best-before date?"),
        ("Is the best-before date still ahead or today?", "Is it within its date?"),
    ),
    (
        "due",
        "paid_on",
        "the bill was due on {a} and was paid on {b}",
        ("Was it paid late?", "Did the payment come after the due date?"),
        ("Was it paid on time?", "Did the money come by the due date?"),
    ),
    (
        "guarantee_until",
        "broken_on",
        "the guarantee ran until {a}; it broke on {b}",
        ("Did it break after the end of the guarantee?", "Is the defect too late for the guarantee?"),
        ("Did it break while the guarantee ran?", "Is the defect within the guarantee?"),
    ),
    (
        "apply_by",
        "sent",
        "applications had to be sent by {a}, hers was sent on {b}",
        ("Was the application too late?", "Did the application miss the date?"),
        ("Was the application sent in time?", "Does the date of the application fit?"),
    ),
    (
        "frist",
        "eingang",
        "Fristende war der {a}, Eingang am {b}",
        ("Wurde die Frist versäumt?", "Was it too late?"),
        ("Wurde die Frist eingehalten?", "Was it in time?"),
    ),
    (
        "date_limite",
        "recu_le",
        "date limite : {a} ; reçu le {b}",
        ("Est-ce arrivé trop tard ?", "Was it too late?"),
        ("Est-ce arrivé à temps ?", "Was it in time?"),
    ),
)


@generator(3)
def late_or_not(r: random.Random) -> Example:
    """A limit and an event, as two dates."""
    key_a, key_b, text, late, fine = r.choice(LATE)
    truth, ask_late = coin(r), coin(r)
    limit = day(r)
    is_late = ask_late == truth
    event = limit + timedelta(days=gap(r)) if is_late else limit - timedelta(days=0 if coin(r, 0.1) else gap(r))
    foreign = key_a in ("frist", "date_limite")
    a, b = (limit.isoformat(), event.isoformat()) if foreign else (spelled(r, limit), spelled(r, event))
    question = r.choice(late if ask_late else fine)
    if coin(r):
        return answer(r, framed(r, capital(text.format(a=a, b=b)) + "."), question, truth)
    facts = [
        Fact(key_a, limit.isoformat(), f"{key_a.replace('_', ' ')}: {a}"),
        Fact(key_b, event.isoformat(), f"{key_b.replace('_', ' ')}: {b}"),
    ]
    return answer(r, record(r, facts), question, truth)


@generator(2)
def days_allowed(r: random.Random) -> Example:
    """So many days after a date: is it still possible?"""
    truth, days_allowed = coin(r), r.choice((7, 10, 14, 14, 20, 28, 30, 30, 60, 90))
    start = day(r)
    passed = r.randint(1, days_allowed - 1) if truth else days_allowed + r.randint(1, 40)
    if coin(r, 0.3):
        passed = days_allowed - r.randint(1, 2) if truth else days_allowed + r.randint(1, 2)
    today = start + timedelta(days=passed)
    thing = r.choice(PRODUCTS)
    text, yes, no = r.choice(
        (
            (
                "Returns are accepted within {n} days of purchase. The {t} was bought on {a}; today is {b}.",
                "Can it still be returned?",
                "Is it too late to return it?",
            ),
            (
                "Objections must arrive no later than {n} days after the letter. Letter of {a}, objection of {b}.",
                "Did the objection arrive in time?",
                "Was the objection too late?",
            ),
            (
                "The trial runs for {n} days. Started {a}. Now: {b}.",
                "Does the trial still run?",
                "Has the trial ended?",
            ),
            (
                "Reports older than {n} days are deleted. Report of {a}, clean-up on {b}.",
                "Does the report survive the clean-up?",
                "Is the report deleted?",
            ),
            (
                "Loans last {n} days. Taken out on {a}. It is now {b}.",
                "Is the loan still within its time?",
                "Is the loan overdue?",
            ),
            (
                "A password is good for {n} days. Last changed: {a}. Today: {b}.",
                "Is the password still good?",
                "Must the password be changed?",
            ),
            (
                "Claims can be made up to {n} days after the accident. Accident: {a}. Claim: {b}.",
                "Is the claim in time?",
                "Does the claim come too late?",
            ),
            (
                "Widerruf ist {n} Tage lang möglich. Vertrag vom {a}, heute ist der {b}.",
                "Ist der Widerruf noch möglich?",
                "Ist die Frist vorbei?",
            ),
        )
    )
    iso = "Widerruf" in text
    a, b = (start.isoformat(), today.isoformat()) if iso else (spelled(r, start), spelled(r, today))
    state: JSON = framed(r, text.format(n=days_allowed, t=thing, a=a, b=b))
    hint = f" ({passed} days have passed)" if coin(r, 0.35) else ""
    ask_yes = coin(r)
    if ask_yes:
        return answer(r, state, yes + hint, truth)
    return answer(r, state, no + hint, not truth)


@generator(2)
def ages(r: random.Random) -> Example:
    """Old enough on a date?"""
    truth, limit = coin(r), r.choice((6, 12, 14, 16, 18, 18, 21, 60, 65))
    today = day(r)
    try:
        birthday = today.replace(year=today.year - limit)
    except ValueError:
        birthday = date(today.year - limit, 2, 28)
        today = today.replace(day=28)
    shift = timedelta(days=gap(r))
    born = birthday - shift if truth else birthday + shift
    if truth and coin(r, 0.08):
        born = birthday
    name, verb = (
        r.choice(NAMES),
        r.choice(
            ("watch the film", "open an account", "rent a scooter", "vote", "enter", "get the pass", "join the course")
        ),
    )
    rule = r.choice(
        (
            "You must be at least {n} to {v}.",
            "Only people aged {n} or over may {v}.",
            "Minimum age to {v}: {n}.",
            "Nobody under {n} may {v}.",
        )
    ).format(n=limit, v=verb)
    facts = [
        Fact("name", name, f"the name is {name}"),
        Fact("born", born.isoformat(), f"{name} was born on {spelled(r, born)}"),
        Fact("today", today.isoformat(), f"today is {spelled(r, today)}"),
    ]
    if coin(r):
        return answer(r, record(r, facts, 1), f"{rule} Is {name} old enough?", truth)
    body = " ".join(capital(fact.sentence) + "." for fact in shuffled(r, facts[1:]))
    if coin(r):
        return answer(r, f"{rule} {body}", f"May {name} {verb}?", truth)
    return answer(r, f"{rule} {body}", f"Is {name} too young to {verb}?", not truth)


@generator(1.5)
def soonest(r: random.Random) -> Example:
    """Which of several dates comes first, last, or next after today."""
    size = r.randint(2, 5)
    base = day(r)
    steps = r.sample(range(-60, 200), size)
    names = r.sample(
        ("report", "payment", "trip", "exam", "audit", "party", "delivery", "check-up", "move", "concert"), size
    )
    rows = [(name, base + timedelta(days=step)) for name, step in zip(names, steps, strict=True)]
    iso = coin(r)
    lines = [f"{name}: {when.isoformat() if iso else spelled(r, when)}" for name, when in rows]
    future = [row for row in rows if row[1] > base]
    state: JSON = (
        {name: when.isoformat() for name, when in rows}
        if coin(r, 0.35)
        else r.choice(("\n".join(lines), "; ".join(lines), "- " + "\n- ".join(lines)))
    )
    ask = r.choice(("first", "last", "next")) if future else r.choice(("first", "last"))
    if ask == "next":
        right = min(future, key=lambda row: row[1])[0]
        question = r.choice(
            (
                f"Today is {spelled(r, base)}. What comes next?",
                f"Seen from {spelled(r, base)}, which is the next one ahead?",
            )
        )
    else:
        right = (min if ask == "first" else max)(rows, key=lambda row: row[1])[0]
        question = (
            r.choice(("Which has the earliest date?", "What was or is first?"))
            if ask == "first"
            else r.choice(("Which has the latest date?", "What comes last of all?"))
        )
    if coin(r, 0.3):
        truth = coin(r)
        return answer(r, state, f"{question} Is it the {right if truth else other(r, names, right)}?", truth)
    return pick(r, state, question, right, [name for name in names if name != right])


@generator(1.5)
def notice(r: random.Random) -> Example:
    """Done early enough before an event?"""
    truth, hours = coin(r), r.choice((2, 6, 12, 24, 24, 48, 72))
    before = r.randint(hours, hours * 3) if truth else r.randint(1, max(1, hours - 1))
    thing = r.choice(("booking", "lesson", "appointment", "table", "ride", "court", "delivery", "room"))
    rule = r.choice(
        (
            "Cancelling the {t} is free up to {h} hours before.",
            "Free cancellation of the {t}: no later than {h} h in advance.",
            "Who cancels the {t} less than {h} hours before it starts pays in full.",
            "{t}: cancel at least {h} hours ahead or pay.",
        )
    ).format(t=thing, h=hours)
    case = r.choice(
        (
            "Cancelled {b} hours before the start.",
            "The guest called {b} hours ahead.",
            "Time left when the message came: {b} h.",
            "It began {b} hours after the cancellation.",
        )
    ).format(b=before)
    state: JSON = {"terms": capital(rule), "case": case} if coin(r, 0.3) else framed(r, f"{capital(rule)} {case}")
    if coin(r):
        return answer(
            r,
            state,
            r.choice(
                (
                    "Is the cancellation free?",
                    "Was it cancelled early enough?",
                    "Does the guest get away without paying?",
                )
            ),
            truth,
        )
    return answer(
        r, state, r.choice(("Does the guest have to pay?", "Was it cancelled too late?", "Is a fee due?")), not truth
    )


GENERATORS: tuple[Generator, ...] = (
    late_or_not,
    days_allowed,
    ages,
    soonest,
    notice,
)
