"""Priorities: impact and urgency in a matrix, ladders of severity, the order of a queue."""

from __future__ import annotations

import random

from tiebreak.questions import JSON

from ..examples import Example
from .drawing import capital, coin, listed, other, shuffled
from .generator import Generator, generator
from .shapes import answer, level, pick, pick_described
from .surfaces import Fact, framed, prose, record
from .words import NAMES, SERVICES

WIDTHS = ("low", "medium", "high")
IMPACTS = {
    "high": (
        "all customers are affected",
        "nobody in the company can work",
        "every shop is hit",
        "the whole site is down",
        "all {k} users see the error",
    ),
    "medium": (
        "one department is affected",
        "about a tenth of the users notice it",
        "one of our five shops is hit",
        "the team in one office cannot work",
    ),
    "low": (
        "a single user is affected",
        "only {n} has the problem",
        "one test account is hit",
        "nobody but the reporter notices it",
    ),
}
URGENCIES = {
    "high": (
        "it has to work within the hour",
        "money is lost every minute",
        "the deadline is in thirty minutes",
        "it cannot wait until noon",
    ),
    "medium": (
        "it should be solved by tomorrow",
        "it is needed this week",
        "it can wait until the end of the day",
        "there is a clumsy way around it for a day or two",
    ),
    "low": (
        "there is no hurry",
        "some time this quarter is fine",
        "it may wait for the next release",
        "whenever you have time",
    ),
}
MATRICES = (
    (
        ("P1", "P2", "P3", "P4", "P5"),
        {
            ("high", "high"): 0,
            ("high", "medium"): 1,
            ("medium", "high"): 1,
            ("high", "low"): 2,
            ("medium", "medium"): 2,
            ("low", "high"): 2,
            ("medium", "low"): 3,
            ("low", "medium"): 3,
            ("low", "low"): 4,
        },
    ),
    (
        ("critical", "major", "minor"),
        {
            ("high", "high"): 0,
            ("high", "medium"): 0,
            ("medium", "high"): 0,
            ("high", "low"): 1,
            ("medium", "medium"): 1,
            ("low", "high"): 1,
            ("medium", "low"): 2,
            ("low", "medium"): 2,
            ("low", "low"): 2,
        },
    ),
    (
        ("page", "call", "ticket", "backlog"),
        {
            ("high", "high"): 0,
            ("high", "medium"): 1,
            ("medium", "high"): 1,
            ("high", "low"): 2,
            ("medium", "medium"): 2,
            ("low", "high"): 2,
            ("medium", "low"): 3,
            ("low", "medium"): 3,
            ("low", "low"): 3,
        },
    ),
)


def matrix_text(r: random.Random, names: tuple[str, ...], cells: dict[tuple[str, str], int]) -> str:
    """The matrix as a table, a list of lines, or lines per priority."""
    form = r.random()
    if form < 0.35:
        head = "| impact \\ urgency | " + " | ".join(WIDTHS) + " |\n| --- | --- | --- | --- |\n"
        return head + "\n".join(
            f"| {impact} | " + " | ".join(names[cells[impact, urgency]] for urgency in WIDTHS) + " |"
            for impact in WIDTHS
        )
    if form < 0.7:
        rows = [
            f"impact {impact} + urgency {urgency} = {names[cells[impact, urgency]]}"
            for impact in WIDTHS
            for urgency in WIDTHS
        ]
        return r.choice(("\n", "; ")).join(shuffled(r, rows))
    return "\n".join(described(names, cells, place) for place in range(len(names)))


def described(names: tuple[str, ...], cells: dict[tuple[str, str], int], place: int) -> str:
    """`P2: impact high with urgency medium, or ...`."""
    pairs = [f"impact {impact} with urgency {urgency}" for (impact, urgency), at in cells.items() if at == place]
    return f"{names[place]}: {listed(pairs, 'or')}"


@generator(3)
def priority_matrix(r: random.Random) -> Example:
    """Impact and urgency, in words or given, and the matrix in the question, the state or the options."""
    names, plain = r.choice(MATRICES)
    cells = plain
    if coin(r, 0.4):  # an unusual matrix, so that the table has to be read
        cells = {pair: r.randrange(len(names)) for pair in plain}
        for place, pair in enumerate(r.sample(list(cells), len(names))):
            cells[pair] = place
    impact, urgency = r.choice(WIDTHS), r.choice(WIDTHS)
    if coin(r, 0.5):
        facts = [
            Fact("impact", impact, f"the impact is {impact}"),
            Fact("urgency", urgency, f"the urgency is {urgency}"),
            Fact("service", (name := r.choice(SERVICES)), f"it concerns {name}"),
        ]
        state = record(r, facts, 2)
    else:
        words = r.choice(IMPACTS[impact]).format(n=r.choice(NAMES), k=r.choice((4000, 900, 25000)))
        hurry = r.choice(URGENCIES[urgency])
        state = framed(
            r,
            f"{capital(r.choice(SERVICES))} fails. {capital(words)}; {hurry}."
            if coin(r)
            else f"{capital(hurry)}: {r.choice(SERVICES)} is broken and {words}.",
        )
    right = names[cells[impact, urgency]]
    ask = r.choice(
        (
            "Which priority results?",
            "Set the priority.",
            "Priority?",
            "How is it to be handled?",
            "Read the matrix and choose.",
            "What does the matrix say?",
            "Classify the incident.",
            "Which class is it?",
        )
    )
    kind = r.random()
    if kind < 0.35:
        return pick(
            r, state, f"{ask}\n{matrix_text(r, names, cells)}", right, [name for name in names if name != right]
        )
    if kind < 0.7:
        options = {name: described(names, cells, place).split(": ", 1)[1] for place, name in enumerate(names)}
        return pick_described(r, state, ask, right, options)
    truth = coin(r)
    shown = right if truth else other(r, names, right)
    table = matrix_text(r, names, cells)
    if isinstance(state, str) and coin(r):
        return answer(
            r,
            f"{table}\n\n{state}",
            r.choice((f"Is it {shown}?", f"Is {shown} the right class?", f"Does the matrix give {shown}?")),
            truth,
        )
    return answer(r, state, f"{table}\nDoes that make it {shown}?", truth)


LADDERS = (
    (
        "How bad is the outage?",
        ("no effect for users", "a few users are affected", "most users are affected", "nobody can use it"),
        (
            (
                "Only the colour of a button on {s} was wrong; everything works.",
                "{s}: planned test alarm, no user noticed.",
                "The nightly clean-up of {s} ran and finished, nobody was logged in.",
            ),
            (
                "Three customers wrote that {s} is slow for them.",
                "{s} fails for people with very long names.",
                "{s}: errors for 2% of users.",
            ),
            (
                "{s} times out for four out of five visitors.",
                "Two of our three regions cannot reach {s}.",
                "{s}: error rate 78%.",
            ),
            (
                "{s} has been down completely since 04:10.",
                "No one can log in to {s} any more, anywhere.",
                "{s}: 100% of requests fail.",
            ),
        ),
    ),
    (
        "How soon must somebody act?",
        ("no need to act", "within some weeks", "today", "at once"),
        (
            (
                "{s} reported success, all green.",
                "For the files: {s} was updated last night without trouble.",
                "Nothing to do, just saying that {s} runs fine.",
            ),
            (
                "The certificate of {s} ends in seven weeks.",
                "The disk of {s} will be full in about two months.",
                "Please plan the update of {s} for next month.",
            ),
            (
                "The disk of {s} will be full tonight.",
                "The certificate of {s} ends at midnight.",
                "{s} must be patched before people come in tomorrow morning.",
            ),
            (
                "Smoke comes out of the rack of {s}!",
                "Somebody is deleting customer data in {s} right now.",
                "{s} is charging every customer again and again as I write.",
            ),
        ),
    ),
    (
        "How large is the damage?",
        ("none", "small", "large", "ruinous"),
        (
            (
                "The box of {s} fell, yet nothing is broken.",
                "After the power cut {s} came back with all data.",
                "We checked {s}: nothing is missing.",
            ),
            (
                "{s} lost one log file of five lines.",
                "A lamp on {s} is cracked; a new one costs 3 dollars.",
                "One entry in {s} had to be typed again.",
            ),
            (
                "A week of work in {s} is gone.",
                "Repairing {s} costs half of the yearly budget.",
                "Hundreds of orders in {s} have been lost.",
            ),
            (
                "All data of {s} are gone, and so are the backups: the firm has to close.",
                "The loss through {s} is greater than all we own.",
                "After the fire at {s} nothing is left, and we were not insured.",
            ),
        ),
    ),
)


@generator(2)
def severity(r: random.Random) -> Example:
    """A place on a ladder of severity."""
    ask, levels, texts = r.choice(LADDERS)
    gold = r.randrange(len(levels))
    state = framed(r, capital(r.choice(texts[gold]).format(s=r.choice(SERVICES))))
    if coin(r, 0.6):
        return level(state, ask, levels, gold)
    return pick(r, state, ask, levels[gold], [name for name in levels if name != levels[gold]])


@generator(2)
def more_urgent(r: random.Random) -> Example:
    """Which of several messages comes first, by a stated order."""
    _, levels, texts = r.choice(LADDERS[:2])
    size = r.randint(2, 3)
    ranks = r.sample(range(len(levels)), size)
    names = r.choice((("A", "B", "C"), ("first", "second", "third"), ("1", "2", "3"), ("msg-7", "msg-12", "msg-30")))[
        :size
    ]
    rows = [
        (name, capital(r.choice(texts[rank]).format(s=service)))
        for name, rank, service in zip(names, ranks, r.sample(SERVICES, size), strict=True)
    ]
    state: JSON = dict(rows) if coin(r, 0.4) else "\n".join(f"{name}: {text}" for name, text in rows)
    top, bottom = names[ranks.index(max(ranks))], names[ranks.index(min(ranks))]
    first = coin(r, 0.7)
    right = top if first else bottom
    question = r.choice(
        (
            "Which message has to be dealt with first?",
            "Which is the most urgent?",
            "What comes first?",
            "Pick the most serious one.",
        )
        if first
        else ("Which can wait longest?", "Which is the least urgent?", "Which one is the most harmless?")
    )
    if coin(r, 0.3):
        truth = coin(r)
        return answer(r, state, f"{question} Is it {right if truth else other(r, names, right)}?", truth)
    return pick(r, state, question, right, [name for name in names if name != right])


@generator(1.5)
def escalation_times(r: random.Random) -> Example:
    """Target times per priority: has the target been missed?"""
    names = r.choice((("P1", "P2", "P3"), ("gold", "silver", "bronze"), ("urgent", "normal", "low"), ("A", "B", "C")))
    hours = sorted(r.sample((1, 2, 4, 8, 12, 24, 48, 72), 3))
    place, truth = r.randrange(3), coin(r)
    waited = hours[place] + r.randint(1, 12) if truth else r.randint(0, max(0, hours[place] - 1))
    table = r.choice(("; ", "\n", ", ")).join(f"{name}: {time} h" for name, time in zip(names, hours, strict=True))
    rule = r.choice(
        ("Answer within: {t}", "Target times - {t}", "We promise a reply after at most ({t})", "SLA {t}")
    ).format(t=table)
    facts = [
        Fact("class", names[place], f"the ticket is of class {names[place]}"),
        Fact("hours_waiting", waited, f"it has been waiting for {waited} h"),
    ]
    late = coin(r)
    ask = r.choice(
        ("Has the target time been missed?", "Is the answer overdue?", "Has it been waiting too long?")
        if late
        else ("Is there time left?", "Is it still within the target?", "Has the promise been kept so far?")
    )
    if coin(r):
        return answer(r, record(r, facts, 2), f"{rule}\n{ask}", truth == late)
    return answer(r, f"{rule}\n\n{prose(r, facts, 0)}", ask, truth == late)


GENERATORS: tuple[Generator, ...] = (priority_matrix, severity, more_urgent, escalation_times)
