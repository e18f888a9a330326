"""Grading: answers against a key, forms for completeness, applicants against requirements, reports."""

from __future__ import annotations

import random
from collections.abc import Callable

from tiebreak.questions import JSON

from ..examples import Example
from .drawing import coin, day, listed, shuffled, some
from .generator import Generator, generator
from .shapes import answer, level, pick
from .words import ANIMALS, CITIES, COLOURS, FOODS, MAIL_DOMAINS, NAMES, OBJECTS, SPORTS, SUBJECTS

POOLS = (FOODS, ANIMALS, COLOURS, OBJECTS, SPORTS, SUBJECTS, CITIES)
TASKS = (
    "Name the {n} things that the text lists.",
    "Which {n} does the recipe card name?",
    "List the {n} items of the key.",
    "What are the {n} words that had to be learned?",
)


@generator(2.5)
def points_for_answer(r: random.Random) -> Example:
    """How many items of the key does the answer contain?"""
    pool = r.choice(POOLS)
    size = r.randint(2, 4)
    key = r.sample(pool, size)
    hit = r.randint(0, size)
    wrong = [thing for thing in pool if thing not in key]
    given = shuffled(r, r.sample(key, hit) + r.sample(wrong, r.randint(0 if hit else 1, 2)))
    said = r.choice(
        ("I remember {l}.", "{l}", "It must be {l}, I think.", "My answer: {l}.", "{l}. More I do not know.")
    ).format(l=listed(given))
    task = r.choice(TASKS).format(n=size)
    state: JSON
    form = r.random()
    if form < 0.35:
        state = {"task": task, "key": key, "answer": said}
    elif form < 0.7:
        state = f"Task: {task}\nKey: {', '.join(key)}\nAnswer: {said}"
    else:
        state = f"Expected: {listed(key)}\nStudent: {said}"
    kind = r.random()
    if kind < 0.4:
        levels = [f"{number} of {size} right" for number in range(size + 1)]
        return level(
            state,
            r.choice(
                ("Grade the answer by the key.", "How many points does the answer get?", "How complete is the answer?")
            ),
            levels,
            hit,
        )
    if kind < 0.6:
        return pick(
            r,
            state,
            r.choice(("How many items of the key are in the answer?", "Points, one for each right item?")),
            str(hit),
            [str(number) for number in range(size + 1) if number != hit],
        )
    if hit == 0 or hit == size or coin(r, 0.4):
        truth = coin(r)
        thing = r.choice(
            [item for item in key if (item in given) == truth]
            or [item for item in (given if truth else wrong) if (item in given) == truth]
        )
        return answer(
            r,
            state,
            r.choice(("Does the answer name {t}?", "Did the student write {t}?", "Is {t} part of the answer?")).format(
                t=thing
            ),
            truth,
        )
    truth = coin(r)
    low = r.randint(1, hit) if truth else r.randint(hit + 1, size)
    return answer(
        r,
        state,
        r.choice(
            (
                f"Does the answer contain at least {low} of the {size} items of the key?",
                f"To pass, {low} of {size} must be right. Passed?",
                f"Are {low} or more items of the key there?",
            )
        ),
        truth,
    )


FIELDS: tuple[tuple[str, Callable[[random.Random], str]], ...] = (
    ("name", lambda r: r.choice(NAMES)),
    ("birth date", lambda r: day(r, 1960, 2005).isoformat()),
    ("city", lambda r: r.choice(CITIES)),
    ("e-mail", lambda r: f"{r.choice(NAMES).lower()}@{r.choice(MAIL_DOMAINS)}"),
    ("phone", lambda r: f"0{r.randint(10, 99)} {r.randint(10000, 99999)}"),
    ("signature", lambda r: "signed"),
    ("account number", lambda r: str(r.randint(10**7, 10**8))),
    ("reason", lambda r: r.choice(("move", "illness", "new job", "study"))),
    ("number of persons", lambda r: str(r.randint(1, 9))),
    ("start date", lambda r: day(r, 2025, 2027).isoformat()),
)
EMPTY = ("", "-", "(empty)", "not given", "______")


@generator(2.5)
def form_complete(r: random.Random) -> Example:
    """Are all required fields of a form filled in; which one is missing?"""
    fields = r.sample(FIELDS, r.randint(3, 6))
    names = [name for name, _ in fields]
    required = set(r.sample(names, r.randint(2, len(names) - 1)))
    which = coin(r, 0.2)
    truth = not which and coin(r)
    missing = [] if truth else r.sample(sorted(required), 1 if which else r.randint(1, min(2, len(required))))
    loose = [name for name in names if name not in required and coin(r)]
    blank = r.choice(EMPTY)
    filled = {name: (blank if name in missing or name in loose else make(r)) for name, make in fields}
    star = coin(r, 0.5)
    rule = (
        ""
        if star
        else r.choice(
            (
                "Required: {l}.",
                "These must be filled in: {l}.",
                "Mandatory fields: {l}. The others are optional.",
                "Without {l} the form is sent back.",
            )
        ).format(l=listed([name for name in names if name in required]))
    )
    shown = {name + ("*" if star and name in required else ""): value for name, value in filled.items()}
    state: JSON = (
        {key: (None if value in EMPTY else value) for key, value in shown.items()}
        if coin(r, 0.4)
        else "\n".join(f"{key}: {value}" for key, value in shown.items())
    )
    lead = "Fields with * are required. " if star else f"{rule} "
    if which:
        return pick(
            r,
            state,
            lead
            + r.choice(
                (
                    "Which required field is missing?",
                    "What has to be added?",
                    "What keeps the form from being complete?",
                )
            ),
            missing[0],
            [name for name in names if name != missing[0]],
        )
    if coin(r, 0.6):
        return answer(
            r,
            state,
            lead
            + r.choice(
                (
                    "Is the form complete?",
                    "Can the form be accepted?",
                    "Are all required fields filled in?",
                    "Is everything there that has to be?",
                )
            ),
            truth,
        )
    return answer(
        r,
        state,
        lead + r.choice(("Must the form be sent back?", "Is a required field missing?", "Is the form incomplete?")),
        not truth,
    )


REQUIREMENTS = (
    ("speaks {x}", ("French", "Polish", "Arabic", "Korean"), "speaks {x}", "does not speak {x}"),
    (
        "has a licence for {x}",
        ("lorries", "buses", "motorbikes", "boats"),
        "holds a licence for {x}",
        "has no licence for {x}",
    ),
    (
        "has worked with {x}",
        ("children", "databases", "horses", "glass"),
        "worked with {x} for some years",
        "has never worked with {x}",
    ),
    ("can start in {x}", ("March", "June", "September"), "is free from {x}", "is bound until long after {x}"),
    ("knows {x}", ("bookkeeping", "statistics", "first aid", "welding"), "has learned {x}", "knows nothing about {x}"),
    (
        "is ready to move to {x}",
        ("Lyon", "Riga", "Porto", "Leeds"),
        "would be happy to live in {x}",
        "does not want to live in {x}",
    ),
)


@generator(2)
def requirements_met(r: random.Random) -> Example:
    """How many of the requirements does an applicant meet?"""
    size = r.randint(2, 4)
    chosen = [(text, r.choice(words), yes, no) for text, words, yes, no in r.sample(REQUIREMENTS, size)]
    met = [coin(r) for _ in chosen]
    name = r.choice(NAMES)
    wanted = [text.format(x=word) for text, word, _, _ in chosen]
    facts = [(yes if good else no).format(x=word) for (_, word, yes, no), good in zip(chosen, met, strict=True)]
    post = f"Wanted: a person who {listed(wanted)}."
    person = " ".join(f"{r.choice((name, 'The applicant'))} {fact}." for fact in shuffled(r, facts))
    state: JSON = {"requirements": wanted, "applicant": person} if coin(r, 0.35) else f"{post}\n{person}"
    count, truth, kind = sum(met), coin(r), r.random()
    if kind < 0.3:
        return level(
            state,
            r.choice(("How far does the applicant meet the wishes?", "How many requirements are met?")),
            [f"{number} of {size} requirements met" for number in range(size + 1)],
            count,
        )
    if kind < 0.55:
        place = r.randrange(size)
        ask = (
            ("Is this requirement met: {w}?", "Does the applicant fulfil '{w}'?")
            if met[place] == truth
            else ("Is this requirement not met: {w}?", "Does the applicant fall short of '{w}'?")
        )
        return answer(r, state, r.choice(ask).format(w=wanted[place]), truth)
    if kind < 0.75 and met.count(False) == 1:
        gap = wanted[met.index(False)]
        return pick(
            r,
            state,
            r.choice(("Which requirement is not met?", "What does the applicant lack?")),
            gap,
            [text for text in wanted if text != gap],
        )
    full = count == size
    if truth == full:
        return answer(
            r, state, r.choice(("Are all requirements met?", "Does the applicant fit in every point?")), truth
        )
    return answer(
        r,
        state,
        r.choice(("Is at least one requirement not met?", "Does the applicant lack something that is asked for?")),
        truth,
    )


STANDARDS = ("says what happened", "names the version", "lists the steps", "says what was expected")


@generator(1.5)
def report_quality(r: random.Random) -> Example:
    """How much of what a good report needs is there?"""
    parts = {
        "says what happened": r.choice(
            ("The window closes by itself.", "The export file is empty.", "The page shows an old price.")
        ),
        "names the version": r.choice(("Version 3.1.4.", "I use 2.0 on a tablet.", "Build 7781.")),
        "lists the steps": r.choice(
            (
                "Open the list, press Delete, press Undo.",
                "1. log in 2. choose a date 3. press OK",
                "Start it, load a file, then save.",
            )
        ),
        "says what was expected": r.choice(
            ("It should stay open.", "I expected the list to be full.", "The new price ought to be there.")
        ),
    }
    have = some(r, STANDARDS, 0, 4)
    text = " ".join(parts[name] for name in STANDARDS if name in have) or r.choice(
        ("It does not work!!!", "help please", "same trouble as ever")
    )
    kind = r.random()
    if kind < 0.45:
        return level(
            text,
            r.choice(
                (
                    (
                        "A good report has four parts: what happened, the version, "
                        "the steps, what was expected. How many are there?"
                    ),
                    "How complete is the report? (event, version, steps, expectation)",
                )
            ),
            ["none", "one", "two", "three", "all four"],
            len(have),
        )
    truth = coin(r)
    names = [name for name in STANDARDS if (name in have) == truth]
    if not names:
        truth = not truth
        names = list(STANDARDS)
    return answer(
        r,
        text,
        r.choice(
            ("Is this true of the report: it {p}?", "Check: the report {p}.", "Can one say that the report {p}?")
        ).format(p=r.choice(names)),
        truth,
    )


GENERATORS: tuple[Generator, ...] = (
    points_for_answer,
    form_complete,
    requirements_met,
    report_quality,
)
