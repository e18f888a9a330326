"""Ledgers: stock that comes and goes, services that fail and recover, members who join and leave."""

from __future__ import annotations

import random

from ..examples import Example
from .drawing import coin, other
from .generator import Generator, generator
from .shapes import answer, pick
from .tracking import stamped
from .words import NAMES, SERVICES


@generator(2)
def stock_level(r: random.Random) -> Example:
    """Goods come and go; how many are there, and is it enough?"""
    level = start = r.randint(5, 60)
    lines = [r.choice((f"opening stock {start}", f"{start} on the shelf in the morning", f"start: {start}"))]
    for _ in range(r.randint(1, 4)):
        if coin(r) and level > 2:
            number = r.randint(1, level - 1)
            level -= number
            lines.append(
                r.choice(
                    ("{n} sold", "{n} taken out", "{n} sent to a customer", "-{n}", "{n} broken and thrown away")
                ).format(n=number)
            )
        else:
            number = r.randint(1, 30)
            level += number
            lines.append(
                r.choice(
                    ("{n} delivered", "{n} came back", "+{n}", "{n} new ones put in", "{n} returned by a customer")
                ).format(n=number)
            )
    state = stamped(r, lines)
    kind, truth = r.random(), coin(r)
    if kind < 0.35:
        near = sorted({level + step for step in (-10, -5, -2, -1, 1, 2, 5, 10) if level + step >= 0})
        return pick(
            r,
            state,
            r.choice(("How many are there at the end?", "Closing stock?", "What is the level now?")),
            str(level),
            [str(number) for number in r.sample(near, 3)],
        )
    if kind < 0.7:
        number = max(1, level - r.randint(0, 10)) if truth else level + r.randint(1, 10)
        return answer(
            r,
            state,
            r.choice(
                (
                    "Can an order of {n} be filled now?",
                    "Are at least {n} left?",
                    "Would {n} still be available?",
                    "Is the level {n} or higher?",
                )
            ).format(n=number),
            truth,
        )
    up = level > start
    if level == start:
        return (
            answer(r, state, "Is the level at the end the same as at the start?", True)
            if truth
            else answer(r, state, "Is the level at the end higher than at the start?", False)
        )
    ask = "higher" if up == truth else "lower"
    return answer(r, state, f"Is the level at the end {ask} than at the start?", truth)


@generator(2)
def service_up(r: random.Random) -> Example:
    """Which services are up after a log of failures and recoveries."""
    names = r.sample(SERVICES, r.randint(2, 4))
    up = dict.fromkeys(names, True)
    lines: list[str] = []
    for _ in range(r.randint(2, 6)):
        name = r.choice(names)
        if up[name] and coin(r, 0.2):
            lines.append(
                r.choice(
                    ("{s}: slow answers, still serving", "{s}: configuration reloaded", "{s}: certificate renewed")
                ).format(s=name)
            )
            continue
        up[name] = not up[name]
        words = (
            ("{s} recovered", "{s} is back", "{s} healthy again", "{s}: started, serving")
            if up[name]
            else ("{s} went down", "{s}: no heartbeat, marked dead", "{s} crashed", "{s} stopped answering and is out")
        )
        lines.append(r.choice(words).format(s=name))
    opening = r.choice(("at first all services are up: ", "all up at the start: ", "initially healthy: ")) + ", ".join(
        names
    )
    state = stamped(r, [opening, *lines])
    down = [name for name in names if not up[name]]
    if len(down) == 1 and coin(r):
        return pick(
            r,
            state,
            r.choice(
                (
                    "Which service is down now?",
                    "Which one needs help at the end?",
                    "Name the service that does not run.",
                )
            ),
            down[0],
            [name for name in names if up[name]],
        )
    if coin(r, 0.3):
        truth = coin(r)
        if bool(down) == truth:
            return answer(
                r, state, r.choice(("Is any service still down at the end?", "Is there an outage now?")), truth
            )
        return answer(r, state, r.choice(("Are all services up at the end?", "Is everything running again?")), truth)
    name, truth = r.choice(names), coin(r)
    ask = (
        ("Is {s} up at the end?", "Does {s} work now?", "Can {s} be used at the end of the log?")
        if up[name] == truth
        else ("Is {s} down at the end?", "Is {s} out of order now?", "Does {s} still need to be restarted?")
    )
    return answer(r, state, r.choice(ask).format(s=name), truth)


@generator(1.5)
def membership_list(r: random.Random) -> Example:
    """People join and leave; who is in it now."""
    who = r.sample(NAMES, 5)
    inside: list[str] = r.sample(who, 2)
    lines = [f"members at the start: {inside[0]} and {inside[1]}"]
    for _ in range(r.randint(2, 5)):
        name = r.choice(who)
        if name in inside and len(inside) > 1:
            inside.remove(name)
            lines.append(
                r.choice((f"{name} leaves", f"{name} signs off", f"{name} was removed", f"{name} unsubscribed"))
            )
        elif name not in inside:
            inside.append(name)
            lines.append(r.choice((f"{name} joins", f"{name} signs up", f"{name} was added", f"{name} subscribed")))
    state = stamped(r, lines)
    if coin(r, 0.6):
        truth = coin(r)
        name = (
            r.choice(inside)
            if truth
            else r.choice([name for name in who if name not in inside] or [other(r, NAMES, *who)])
        )
        return answer(
            r,
            state,
            r.choice(
                (
                    f"Is {name} a member at the end?",
                    f"Does {name} belong to the group now?",
                    f"Is {name} still or newly on the list?",
                    f"After all changes, is {name} in?",
                )
            ),
            truth,
        )
    if coin(r):
        outside = [name for name in who if name not in inside]
        if outside:
            return pick(r, state, "Who of these is a member at the end?", r.choice(inside), outside)
    return pick(
        r,
        state,
        "How many members are there at the end?",
        str(len(inside)),
        [str(number) for number in range(1, 6) if number != len(inside)],
    )


GENERATORS: tuple[Generator, ...] = (
    stock_level,
    service_up,
    membership_list,
)
