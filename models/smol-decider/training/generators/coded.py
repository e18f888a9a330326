"""Labels that mean nothing by themselves: explained in descriptions, in the question, or by examples in the state."""

from __future__ import annotations

import random

from tiebreak.questions import JSON

from ..examples import Example
from .drawing import coin, other, shuffled
from .generator import Generator, generator
from .shapes import answer, pick, pick_described
from .surfaces import framed
from .themes import THEMES, Theme

GREEK = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda sigma omega tau rho phi psi chi upsilon xi".split()
)
SYLLABLES = (
    "blim dorp fesk glon hask jurb kelm lorv mipp narg plon quist rabb skel tronk urf vemp wixx yolt zarn".split()
)


def codes(r: random.Random, count: int) -> list[str]:
    """Different meaningless names."""
    kind = r.random()
    if kind < 0.3:
        return [f"{r.choice('KLMNPRSTX')}{number}" for number in r.sample(range(1, 99), count)]
    if kind < 0.5:
        return [str(number) for number in r.sample(range(1, 999), count)]
    if kind < 0.7:
        return r.sample(GREEK, count)
    if kind < 0.85:
        return r.sample(SYLLABLES, count)
    return [f"cat_{number:03d}" for number in r.sample(range(1, 400), count)]


@generator(3)
def coded_options(r: random.Random) -> Example:
    """Codes with descriptions as options, from two to twenty, with short or long descriptions."""
    size = r.choice((2, 3, 4, 5, 6, 8, 10, 12, 16, 20))
    themes = r.sample(THEMES, size)
    long = coin(r, 0.4)
    names = codes(r, size)
    right = r.randrange(size)
    options = {name: theme.means[1 if long else 0] for name, theme in zip(names, themes, strict=True)}
    ask = r.choice(
        (
            "Assign the code.",
            "Which code fits the text?",
            "Choose the matching class.",
            "Select the code whose description fits.",
            "Code?",
            "Under which code is it filed?",
            "Sort the text.",
            "Which label applies?",
        )
    )
    return pick_described(r, framed(r, r.choice(themes[right].texts)), ask, names[right], options)


@generator(2)
def code_key_in_question(r: random.Random) -> Example:
    """The meaning of the codes is in the question, the options are bare."""
    size = r.randint(2, 6)
    themes, names = r.sample(THEMES, size), codes(r, size)
    right = r.randrange(size)
    key = r.choice(("; ", ", ", "\n")).join(
        r.choice(("{n} = {m}", "{n}: {m}", "{n} means {m}", "{m} -> {n}")).format(n=name, m=theme.names[0])
        for name, theme in zip(names, themes, strict=True)
    )
    text = r.choice(themes[right].texts)
    ask = r.choice(("Which code does the text get?", "Assign one code.", "Apply the key.", "Choose the code."))
    if coin(r, 0.3):
        truth = coin(r)
        return answer(
            r,
            framed(r, text),
            f"Key: {key}\nIs {names[right] if truth else other(r, names, names[right])} the right code?",
            truth,
        )
    if coin(r):
        return pick(r, framed(r, text), f"{ask}\n{key}", names[right], [name for name in names if name != names[right]])
    return pick(r, f"Key\n{key}\n\nText: {text}", ask, names[right], [name for name in names if name != names[right]])


@generator(3)
def shown_examples(r: random.Random) -> Example:
    """Examples with labels in the state; the new one gets the label of its kind."""
    size = r.randint(2, 4)
    themes, names = r.sample(THEMES, size), codes(r, size)
    if coin(r, 0.3):
        names = [theme.names[0] for theme in themes]
    right = r.randrange(size)
    rows, new = [], ""
    for place, theme in enumerate(themes):
        texts = r.sample(theme.texts, 3)
        rows += [(text, names[place]) for text in texts[: r.randint(1, 2)]]
        if place == right:
            new = texts[2]
    r.shuffle(rows)
    form = r.random()
    state: JSON
    if form < 0.3:
        state = {"examples": [{"text": text, "label": name} for text, name in rows], "new": new}
    elif form < 0.6:
        state = "\n".join(f"{text} => {name}" for text, name in rows) + f"\n{new} => ?"
    else:
        state = "Examples:\n" + "\n".join(f"{name}: {text}" for text, name in rows) + f"\n\nNew text: {new}"
    ask = r.choice(
        (
            "Which label does the new text get?",
            "Label the new one like the examples.",
            "Which of the labels continues the pattern?",
            "What belongs in place of the missing label?",
            "Classify the last text.",
            "New text: which label?",
        )
    )
    if coin(r, 0.3):
        truth = coin(r)
        return answer(r, state, f"{ask} Is it {names[right] if truth else other(r, names, names[right])}?", truth)
    return pick(r, state, ask, names[right], [name for name in names if name != names[right]])


@generator(2)
def theme_fits(r: random.Random) -> Example:
    """Is the text on this theme, given by name or description?"""
    theme, truth = r.choice(THEMES), coin(r)
    shown = theme if truth else other(r, THEMES, theme)
    name, short, long = r.choice(shown.names), *shown.means
    ask = r.choice(
        (
            "Is the text about {n}?",
            "Does it belong to the class '{n}' ({m})?",
            "Description of the class: {l}. Does the text belong there?",
            "Would you file this under {n}?",
            "Theme: {m}. Does the text fit?",
            "Is {n} the subject?",
            "Should the {n} desk read this? It covers {m}.",
            "Category {n}: {l}. True?",
        )
    )
    return answer(r, framed(r, r.choice(theme.texts)), ask.format(n=name, m=short, l=long), truth)


@generator(1.5)
def odd_one_out(r: random.Random) -> Example:
    """Several texts on one theme and one on another."""
    theme, strange = r.sample(THEMES, 2)
    size = r.randint(2, 3)
    rows: list[tuple[str, Theme]] = [(text, theme) for text in r.sample(theme.texts, size)]
    rows.append((r.choice(strange.texts), strange))
    rows = shuffled(r, rows)
    names = [str(number) for number in range(1, len(rows) + 1)] if coin(r) else list("ABCD"[: len(rows)])
    right = next(name for name, (_, kind) in zip(names, rows, strict=True) if kind is strange)
    state: JSON = "\n".join(f"{name}. {text}" for name, (text, _) in zip(names, rows, strict=True))
    if coin(r, 0.3):
        state = {name: text for name, (text, _) in zip(names, rows, strict=True)}
    return pick(
        r,
        state,
        r.choice(
            (
                "Which text is on another theme than the rest?",
                "Find the odd one out.",
                "Which one does not belong to the others?",
                "One of them is about something else. Which?",
            )
        ),
        right,
        [name for name in names if name != right],
    )


@generator(1.5)
def same_theme(r: random.Random) -> Example:
    """Two texts: one theme or two?"""
    truth, theme = coin(r), r.choice(THEMES)
    one, two = r.sample(theme.texts, 2)
    if not truth:
        two = r.choice(other(r, THEMES, theme).texts)
    state: JSON = {"a": one, "b": two} if coin(r) else f"1: {one}\n2: {two}"
    return answer(
        r,
        state,
        r.choice(
            (
                "Are both texts about the same theme?",
                "Would both be filed under the same heading?",
                "Same subject in both?",
                "Do the two belong to one category?",
            )
        ),
        truth,
    )


GENERATORS: tuple[Generator, ...] = (
    coded_options,
    code_key_in_question,
    shown_examples,
    theme_fits,
    odd_one_out,
    same_theme,
)
