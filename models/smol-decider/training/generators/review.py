"""Code review: small functions with and without a fault, and what a change does."""

from __future__ import annotations

import random

from ..examples import Example
from .drawing import coin, some
from .faults import FAULTS, NEAR, Fault
from .generator import Generator, generator
from .shapes import answer, pick, pick_described
from .words import IDENTIFIERS


def code(r: random.Random, fault: Fault, faulty: bool) -> str:
    """An example of code with or without the fault."""
    pair = r.choice(fault.pairs)
    text = pair[not faulty].format(x=r.choice(IDENTIFIERS))
    form = r.random()
    if form < 0.25:
        return f"```\n{text}\n```"
    if form < 0.4:
        return "\n".join("+" + line for line in text.split("\n"))
    if form < 0.5:
        return f"{r.choice(('Please review:', 'New code:', 'Diff of the pull request:', 'Is this fine?'))}\n\n{text}"
    return text


@generator(2)
def fault_present(r: random.Random) -> Example:
    """Does the code have this fault?"""
    fault, truth = r.choice(FAULTS), coin(r)
    state = code(r, fault, truth)
    if coin(r, 0.75):
        ask = r.choice(
            (
                *fault.questions,
                *fault.questions,
                "Review for this fault: {m}. Found?",
                "Is this true of the code: {m}?",
                "Fault '{n}' ({m}): present?",
            )
        ).format(m=fault.means, n=fault.name)
        return answer(r, state, ask, truth)
    return answer(
        r,
        state,
        r.choice(
            (
                "Is the code free of this fault: {m}?",
                "As far as '{n}' is concerned ({m}), is the code all right?",
                "Was care taken that this cannot be said: {m}?",
            )
        ).format(m=fault.means, n=fault.name),
        not truth,
    )


@generator(1.5)
def fault_kind(r: random.Random) -> Example:
    """Which fault is it?"""
    fault = r.choice(FAULTS)
    near = {other for pair in NEAR if fault.name in pair for other in pair}
    wrong = some(r, [other for other in FAULTS if other is not fault and other.name not in near], 1, 7)
    ask = r.choice(
        (
            "Which fault does the code have?",
            "What should the reviewer point out?",
            "Name the problem.",
            "What is wrong here?",
            "Review verdict?",
            "Which label fits the bug?",
        )
    )
    state = code(r, fault, True)
    if coin(r, 0.6):
        return pick_described(r, state, ask, fault.name, {one.name: one.means for one in [fault, *wrong]})
    return pick(r, state, ask, fault.means, [one.means for one in wrong])


@generator(1.5)
def better_version(r: random.Random) -> Example:
    """Two versions: which one is sound?"""
    fault = r.choice(FAULTS)
    bad, good = (text.format(x=r.choice(("items", "rows", "data"))) for text in r.choice(fault.pairs))
    first = coin(r)
    names = r.choice((("A", "B"), ("old", "new"), ("version 1", "version 2"), ("left", "right")))
    one, two = (good, bad) if first else (bad, good)
    state = {names[0]: one, names[1]: two} if coin(r) else f"{names[0]}:\n{one}\n\n{names[1]}:\n{two}"
    right = names[not first]
    if coin(r, 0.4):
        truth = coin(r)
        return answer(
            r,
            state,
            f"Is the version '{right if truth else names[first]}' the one without this fault: {fault.means}?",
            truth,
        )
    return pick(
        r,
        state,
        r.choice(
            (
                f"Which version avoids this: {fault.means}?",
                "Which version is the correct one?",
                "Which version should be kept?",
                "Which one passes the review?",
            )
        ),
        right,
        [names[first]],
    )


CHANGES = {
    "fix": (
        "repairs wrong behaviour",
        (
            "Fix crash when {x} is empty",
            "{x}: return the right total again after the rounding error",
            "Stop {x} from losing the last line",
            "Correct wrong date in {x} export",
        ),
    ),
    "feature": (
        "adds something users can do",
        (
            "Add search to {x}",
            "{x}: users can now sort by date",
            "New command: {x} export",
            "Support a second language in {x}",
        ),
    ),
    "refactor": (
        "changes the inside, not what it does",
        (
            "Split {x} into two modules, same behaviour",
            "Rename variables in {x} for clarity",
            "{x}: replace the nested ifs by a table, no change of results",
            "Move helpers of {x} to their own file",
        ),
    ),
    "docs": (
        "only text for readers changes",
        (
            "Explain the options of {x} in the manual",
            "README: how to install {x}",
            "Correct two spelling mistakes in the {x} guide",
            "Add an example to the docstring of {x}",
        ),
    ),
    "tests": (
        "only tests change",
        (
            "Cover the empty case of {x} with a test",
            "Make the flaky {x} test wait for the server",
            "Add property tests for {x}",
            "{x}: test that bad input is refused",
        ),
    ),
    "dependencies": (
        "versions of other packages change",
        (
            "Bump the parser used by {x} from 2.1 to 2.2",
            "Drop the unused package that {x} required",
            "Pin the version of the driver in {x}",
            "Update lock file of {x}",
        ),
    ),
}


@generator(1.5)
def kind_of_commit(r: random.Random) -> Example:
    """What kind of change a commit message tells of."""
    right = r.choice(list(CHANGES))
    text = r.choice(CHANGES[right][1]).format(x=r.choice(IDENTIFIERS))
    wrong = some(r, [name for name in CHANGES if name != right], 1, 5)
    ask = r.choice(
        ("What kind of change is it?", "Label the commit.", "Which type of commit?", "Prefix for the change log?")
    )
    kind = r.random()
    if kind < 0.35:
        truth = coin(r)
        name = right if truth else wrong[0]
        asks = (
            "Is '{n}' the right label?",
            "Does the description '{m}' fit the commit?",
            "Type {n}: {m}. Is it of that type?",
        )
        return answer(r, text, r.choice(asks).format(n=name, m=CHANGES[name][0]), truth)
    if kind < 0.7:
        return pick_described(r, text, ask, right, {name: CHANGES[name][0] for name in [right, *wrong]})
    return pick(r, text, ask, right, wrong)


GENERATORS: tuple[Generator, ...] = (fault_present, fault_kind, better_version, kind_of_commit)
