"""Which tool or backend a message is for, with descriptions as in function schemas; sometimes none of them."""

from __future__ import annotations

import random

from tiebreak.questions import JSON

from ..examples import Example
from .drawing import coin, other, shuffled
from .generator import Generator, generator
from .shapes import answer, pick, pick_described
from .surfaces import framed
from .tools import BACKENDS, IDLE, NONE, TOOLS, Tool
from .words import CITIES, DAYS, FOODS, NAMES, OBJECTS, PRODUCTS


def filled(r: random.Random, text: str) -> str:
    """The text with its slots filled."""
    return text.format(
        c=r.choice(CITIES),
        d=r.choice(DAYS),
        n=r.choice(NAMES),
        o=r.choice(OBJECTS),
        p=r.choice(PRODUCTS),
        f=r.choice(FOODS),
    )


def schema(r: random.Random, tool: Tool) -> str:
    """A tool as a line of text or of JSON."""
    takes = ", ".join(tool.takes)
    return r.choice(
        (
            f"{tool.name}({takes}): {tool.does}",
            f"{tool.name} - {tool.does} Parameters: {takes}.",
            f"{tool.name}: {tool.does}",
        )
    )


def as_object(tool: Tool) -> dict[str, JSON]:
    """A tool as function-calling interfaces describe it."""
    return {
        "name": tool.name,
        "description": tool.does,
        "parameters": dict(take.split(": ", 1) for take in tool.takes),
    }


@generator(4)
def tool_for_message(r: random.Random) -> Example:
    """A message and a list of tools; the right one, or none."""
    tool = r.choice(TOOLS)
    size = r.choice((1, 2, 3, 3, 4, 5, 7, 11, 15))
    others = r.sample([candidate for candidate in TOOLS if candidate is not tool], size)
    idle = coin(r, 0.2)
    text = filled(r, r.choice(IDLE if idle else tool.messages))
    shown = others if idle else shuffled(r, [tool, *others])
    none = r.choice(NONE)
    with_none = idle or coin(r, 0.3)
    right = none if idle else tool.name
    state = framed(r, text)
    ask = r.choice(
        (
            "Which tool should be called?",
            "Choose the function for the message.",
            "Which function answers the user?",
            "Route the request.",
            "What should the assistant call?",
            "Tool?",
            "Pick the API call.",
            "Which of the tools fits?",
        )
    )
    kind = r.random()
    if kind < 0.5:
        options = {
            candidate.name: schema(r, candidate).removeprefix(candidate.name).lstrip(":- ") for candidate in shown
        }
        if with_none:
            options[none] = r.choice(
                ("no tool is needed or able", "the message asks for nothing that the tools can do", "just talk")
            )
        if len(options) > 1:
            return pick_described(r, state, ask, right, options)
    names = [candidate.name for candidate in shown] + ([none] if with_none else [])
    if len(names) < 2:
        names.append(none if right != none else other(r, TOOLS, tool, *shown).name)
    if kind < 0.7:
        return pick(r, state, ask, right, [name for name in names if name != right])
    tools, wrong = shuffled(r, shown), [name for name in names if name != right]
    if len(tools) < 6 and coin(r):
        return pick(r, {"tools": [as_object(candidate) for candidate in tools], "user": text}, ask, right, wrong)
    lines = "\n".join(schema(r, candidate) for candidate in tools)
    return pick(r, f"Tools:\n{lines}\n\nUser: {text}", ask, right, wrong)


@generator(2)
def tool_fits(r: random.Random) -> Example:
    """Is this the right tool for the message?"""
    tool, truth = r.choice(TOOLS), coin(r)
    text = filled(
        r, r.choice(tool.messages if truth else r.choice([*[t.messages for t in TOOLS if t is not tool], IDLE]))
    )
    line = schema(r, tool)
    if coin(r, 0.3):
        return answer(
            r,
            {"tool": as_object(tool), "user": text},
            r.choice(
                (
                    "Should the tool be called for this message?",
                    "Is the tool of use here?",
                    "Does the user ask for what the tool does?",
                    "Call it?",
                )
            ),
            truth,
        )
    ask = r.choice(
        (
            "Should '{t}' be called?",
            "Is this a case for {t}?",
            "Does the user want this function: {t}?",
            "Available: {t}. Is it what the message asks for?",
            "Would a call of {t} serve the user?",
            "Right tool? {t}",
            "The assistant is about to call {t}. Sensible?",
            "Can this be answered with {t}?",
        )
    )
    return answer(r, framed(r, text), ask.format(t=line.rstrip(".")), truth)


@generator(1.5)
def what_can_do(r: random.Random) -> Example:
    """A tool, and several messages: which one is for it?"""
    tool, *others = r.sample(TOOLS, r.randint(2, 5))
    messages = [filled(r, r.choice(other_tool.messages)) for other_tool in others]
    right = filled(r, r.choice(tool.messages))
    state: JSON = as_object(tool) if coin(r) else schema(r, tool)
    return pick(
        r,
        state,
        r.choice(
            (
                "Which request is this function for?",
                "Which message should trigger the tool?",
                "What could a user have said to need it?",
                "Find the matching request.",
            )
        ),
        right,
        messages,
    )


@generator(2)
def backend_for_query(r: random.Random) -> Example:
    """Which source can answer a question."""
    names = r.sample(list(BACKENDS), r.randint(2, len(BACKENDS)))
    right = r.choice(names)
    text = filled(r, r.choice(BACKENDS[right][1]))
    labels = {name: name if coin(r, 0.7) else name.replace("_", " ") for name in names}
    ask = r.choice(
        (
            "Where should the answer be looked up?",
            "Which source can answer it?",
            "Route the query to a backend.",
            "Which system holds the answer?",
            "Backend?",
            "Choose where to send the query.",
            "Who can answer that?",
            "Pick the data source.",
        )
    )
    state = framed(r, text)
    if coin(r, 0.3):
        truth = coin(r)
        name = right if truth else other(r, names, right)
        return answer(
            r,
            state,
            r.choice(
                (
                    "Should the query go to {n} ({d})?",
                    "Is {n} the right source? It holds: {d}.",
                    "Can {n} answer it? Content: {d}",
                )
            ).format(n=labels[name], d=BACKENDS[name][0]),
            truth,
        )
    if coin(r, 0.8):
        return pick_described(r, state, ask, labels[right], {labels[name]: BACKENDS[name][0] for name in names})
    text = "\n".join(f"{labels[name]}: {BACKENDS[name][0]}" for name in names)
    return pick(r, state, f"{ask}\n{text}", labels[right], [labels[name] for name in names if name != right])


GENERATORS: tuple[Generator, ...] = (tool_for_message, tool_fits, what_can_do, backend_for_query)
