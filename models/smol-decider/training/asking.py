"""The ways to ask about a hand-written state: as its task does, over fewer options, in other wordings, as yes/no."""

from __future__ import annotations

from random import Random

from tiebreak.questions import JSON
from training import examples
from training.containers import contained
from training.describing import described, long_description
from training.examples import Example
from training.slots import expand
from training.tasks import Label, Task

__all__ = ["ask_choice", "ask_level", "ask_yes_no"]

_GENERAL = (
    "Which category fits best?",
    "Which option fits best?",
    "Classify the text.",
    "Choose the best label.",
    "Which option applies?",
    "What is this?",
    "Select the correct class.",
    "Decide which option describes the input.",
    "Pick one.",
    "category",
    "Which of these is right?",
    "Which description matches?",
)
_ELSE = ("other", "none of these", "something else", "none of the above")
_FITS = (
    "Is this {name}?",
    "Does the label '{name}' fit?",
    "{question} Is it {name}?",
    "Should this be labelled {name}?",
    "Is '{name}' the right answer to: {question}",
    "Does the text belong to the category {name}?",
    "The correct label is {name}.",
    "Is the following true: {name} applies",
    "Is it about {text}?",
    "Does this match the description '{text}'?",
    "Would you file it under: {text}?",
)
_EITHER = (("no", "yes"), ("false", "true"), ("No, it is not so", "Yes, it is so"), ("incorrect", "correct"))


def ask_choice(task: Task, rng: Random) -> Example:
    """A choice out of a task of any kind; a yes/no task gives its two answers as options."""
    if task.kind == "yes_no":
        state, question, answer = _drawn_yes_no(task, rng)
        pair = rng.choice(_EITHER)
        options = pair if rng.random() < 0.5 else pair[::-1]
        return examples.choice(f"{task.name}.either", state, question, options, options.index(pair[answer]))
    gold = rng.choice(task.labels)
    if task.kind == "score":
        names = [rng.choice(label.descriptions) for label in task.labels]
        numbered = {str(level): name for level, name in enumerate(names)}
        state = contained(expand(rng.choice(gold.states), rng), rng)
        where = task.labels.index(gold)
        return examples.choice(f"{task.name}.choice", state, rng.choice(task.questions), numbered, where)
    if len(task.labels) > 2 and rng.random() < 0.06:
        return _example_of(task, gold, rng)
    question = rng.choice(task.questions) if rng.random() < 0.85 else rng.choice(_GENERAL)
    line = rng.choice(gold.states)
    state = contained(expand(line, rng), rng)
    named = _options(task, gold, line, rng)
    if rng.random() < 0.04 and len(named) > 2:
        del named[_first(named)]  # the right option is missing, so that "none of these" is right
        named = {**named, rng.choice(_ELSE): None}
        right = list(named)[-1]
    else:
        right = _first(named)
        if rng.random() < 0.05:
            named.setdefault(rng.choice(_ELSE), None)
    names = rng.sample(list(named), len(named))
    return examples.choice(task.name, state, question, {name: named[name] for name in names}, names.index(right))


def ask_yes_no(task: Task, rng: Random) -> Example:
    """A yes/no question, as often yes as no: the task's own, or whether a label of a choice fits.

    Raises:
        ValueError: the task is a score.
    """
    if task.kind == "choice":
        return _fits(task, rng)
    if task.kind != "yes_no":
        raise ValueError(f"{task.name} is a {task.kind}; it has no yes/no question")
    state, question, answer = _drawn_yes_no(task, rng)
    meant: dict[str, str] = {}
    # Only states that share their question share what yes and no mean.
    if task.labels and rng.random() < 0.35:
        for side, label in zip(("no", "yes"), task.labels, strict=True):
            if label.descriptions:
                meant[side] = rng.choice(label.descriptions)
    return examples.yes_no(task.name, state, question, answer, yes=meant.get("yes"), no=meant.get("no"))


def ask_level(task: Task, rng: Random) -> Example:
    """A place on a rubric; a choice is asked as if its labels were levels, in the order of the file.

    Raises:
        ValueError: the task is yes/no.
    """
    if task.kind == "yes_no":
        raise ValueError(f"{task.name} is yes/no; it has no levels")
    gold = rng.choice(task.labels)
    state = contained(expand(rng.choice(gold.states), rng), rng)
    question = rng.choice(task.questions)
    if task.kind == "score":
        levels = [rng.choice(label.descriptions) for label in task.labels]
    else:
        texts = rng.random() < 0.5 and all(label.descriptions for label in task.labels)
        levels = [rng.choice(label.descriptions) if texts else _spelled(label, rng) for label in task.labels]
    if len(set(levels)) < len(levels):
        levels = [label.names[0] if task.kind == "choice" else label.descriptions[0] for label in task.labels]
    return examples.score(task.name, state, question, levels, task.labels.index(gold))


def _drawn_yes_no(task: Task, rng: Random) -> tuple[JSON, str, bool]:
    """State, question and answer; the answer is drawn first, so that it is yes half of the time in every task."""
    answer = rng.random() < 0.5
    if task.asked:
        one = rng.choice([asked for asked in task.asked if (asked.yes if answer else asked.no)])
        state, question = one.state, rng.choice(one.yes if answer else one.no)
        # Slots of a state and its question are independent draws: none of them may decide.
        return contained(expand(state, rng), rng, asides=False), expand(question, rng), answer
    return contained(expand(rng.choice(task.labels[answer].states), rng), rng), rng.choice(task.questions), answer


def _fits(task: Task, rng: Random) -> Example:
    """Whether one label of a choice is right for a state."""
    gold = rng.choice(task.labels)
    answer = rng.random() < 0.5
    asked = gold if answer else rng.choice([label for label in task.labels if label is not gold])
    forms = [form for form in _FITS if asked.descriptions or "{text}" not in form]
    question = rng.choice(forms).format(
        name=_spelled(asked, rng).replace("_", " "),
        text=rng.choice(asked.descriptions) if asked.descriptions else "",
        question=rng.choice(task.questions),
    )
    state = contained(expand(rng.choice(gold.states), rng), rng)
    return examples.yes_no(f"{task.name}.fits", state, question, answer)


def _example_of(task: Task, gold: Label, rng: Random) -> Example:
    """The other way round: which of several texts a label is right for."""
    rest = [label for label in task.labels if label is not gold]
    others = rng.sample(rest, rng.randint(1, min(3, len(rest))))
    texts = {expand(rng.choice(label.states), rng).replace("\n", " "): label for label in (*others, gold)}
    if len(texts) < 2:
        return ask_choice(task, rng)
    listed = rng.sample(list(texts), len(texts))
    question = rng.choice(
        (
            "Which of these is an example of it?",
            "Which text matches the label?",
            "Which message belongs in this category?",
            "Find the matching text.",
        )
    )
    state = f"{_spelled(gold, rng)}: {rng.choice(gold.descriptions)}" if gold.descriptions else _spelled(gold, rng)
    right = next(index for index, text in enumerate(listed) if texts[text] is gold)
    return examples.choice(f"{task.name}.reverse", state, question, listed, right)


def _options(task: Task, gold: Label, line: str, rng: Random) -> dict[str, str | None]:
    """The right label first, then others; bare, with descriptions short or long, as descriptions, or behind codes."""
    others = [label for label in task.labels if label is not gold]
    form = rng.random()
    long = form > 0.78
    # Most of the time all of them, as a program would ask; else a part, so that none is right by elimination.
    count = len(others) if long or rng.random() < 0.5 else rng.randint(1, len(others))
    words = rng.randint(10, 60)
    named: dict[str, str | None] = {}
    for label in (gold, *rng.sample(others, count)):
        name, text = _spelled(label, rng), described(label, rng)
        if long:
            text = long_description(label, [other for other in task.labels if other is not label], line, words, rng)
        if form < 0.3:
            text = None
        elif form < 0.36:
            name, text = text or name, None
        elif form < 0.42 or form > 0.96:
            name, text = _code(named, rng), text or name
        if name not in named:
            named[name] = text
    return named if len(named) > 1 else {label.names[0]: None for label in (gold, *others)}


def _spelled(label: Label, rng: Random) -> str:
    """One of a label's names, in one of the ways in which programs spell such names."""
    name, drawn = rng.choice(label.names), rng.random()
    if drawn < 0.12:
        return name.replace(" ", "_")
    if drawn < 0.20:
        return name.replace("_", " ").title()
    if drawn < 0.24:
        return name.upper()
    if drawn < 0.40:
        return name.replace("_", " ")
    return name


def _code(taken: dict[str, str | None], rng: Random) -> str:
    """An identifier that says nothing, not among those taken."""
    while True:
        code = rng.choice("ABCDEFGHKLMNPQRSTXZ") + str(rng.randint(1, 99))
        if code not in taken:
            return code


def _first(named: dict[str, str | None]) -> str:
    return next(iter(named))
