"""State that changes: the last value wins, things are cancelled and reopened, moved, given away."""

from __future__ import annotations

import random

from tiebreak.questions import JSON

from ..examples import Example
from .drawing import clock, coin, other, some
from .generator import Generator, generator
from .shapes import answer, pick
from .words import CITIES, DAYS, NAMES, OBJECTS, ROOMS


def stamped(r: random.Random, lines: list[str]) -> JSON:
    """Events in the order in which they happened, as a log, a list, a chat or a JSON array."""
    minute, times = r.randrange(300, 1000), []
    for _ in lines:
        minute += r.randint(1, 25)
        times.append(clock(minute))
    who = some(r, NAMES, 2, 2)
    return r.choice(
        (
            "\n".join(f"{time} {line}" for time, line in zip(times, lines, strict=True)),
            "\n".join(f"[{time}] {line}" for time, line in zip(times, lines, strict=True)),
            "\n".join(f"{number}. {line}" for number, line in enumerate(lines, 1)),
            "\n".join(f"- {line}" for line in lines),
            " ".join(line[:1].upper() + line[1:] + "." for line in lines),
            "\n".join(f"{who[place % 2]}: {line}" for place, line in enumerate(lines)),
            {"events": [{"at": time, "text": line} for time, line in zip(times, lines, strict=True)]},
            {"history": list(lines)},
            "; then ".join(lines),
        )
    )


TICKET = (
    (("reopened", "reopened by the customer", "back to open, the error is there again"), "open"),
    (("closed", "marked as solved", "closed by support"), "closed"),
    (("put on hold", "waiting for the supplier", "paused until parts arrive"), "on hold"),
    (("taken by {n}, work started", "{n} has begun to work on it", "in progress with {n}"), "in progress"),
    (("cancelled", "withdrawn, no longer wanted", "called off by the requester"), "cancelled"),
)
CHATTER = (
    "{n} read the ticket",
    "{n} added a screenshot",
    "priority discussed",
    "a mail was sent to {n}",
    "{n} was put in copy",
    "a label was added",
)


@generator(3)
def ticket_status(r: random.Random) -> Example:
    """The status of a ticket after several events."""
    number = r.randint(2, 5)
    lines, current = [f"ticket opened by {r.choice(NAMES)}"], "open"
    for _ in range(number):
        if coin(r, 0.3):
            lines.append(r.choice(CHATTER).format(n=r.choice(NAMES)))
            continue
        words, after = r.choice([event for event in TICKET if event[1] != current])
        never_closed = after == "open" and current not in ("closed", "cancelled")
        word = "back to open, nobody works on it" if never_closed else r.choice(words)
        lines.append(word.format(n=r.choice(NAMES)))
        current = after
    statuses = [status for _, status in TICKET]
    state = stamped(r, lines)
    if coin(r, 0.5):
        truth = coin(r)
        shown = current if truth else other(r, statuses, current)
        return answer(
            r,
            state,
            r.choice(
                (
                    "Is the ticket {s} now?",
                    "Is its present status '{s}'?",
                    "After all this, is the ticket {s}?",
                    "Status now: {s}. Correct?",
                )
            ).format(s=shown),
            truth,
        )
    wrong = [status for status in statuses if status != current]
    return pick(
        r,
        state,
        r.choice(
            (
                "What is the status now?",
                "Which state is the ticket in?",
                "Final status?",
                "How does the ticket stand at the end?",
            )
        ),
        current,
        some(r, wrong, 1, 4),
    )


SETTINGS = (
    ("timeout", ("10", "30", "60", "90", "120")),
    ("log_level", ("debug", "info", "warning", "error")),
    ("region", ("eu", "us", "asia", "africa")),
    ("theme", ("dark", "light", "blue", "contrast")),
    ("retries", ("0", "1", "3", "5", "8")),
    ("currency", ("EUR", "USD", "JPY", "CHF")),
    ("mode", ("auto", "manual", "eco", "boost")),
    ("backend", ("disk", "memory", "remote", "none")),
    ("language", ("en", "fr", "de", "pl")),
    ("port", ("8080", "8081", "9000", "443")),
)


@generator(2.5)
def last_value(r: random.Random) -> Example:
    """A setting is written several times; the last value counts."""
    chosen = r.sample(SETTINGS, r.randint(2, 3))
    values: dict[str, str] = {}
    lines, seen = [], {key: set[str]() for key, _ in chosen}
    for place in range(r.randint(3, 6)):
        key, words = chosen[place] if place < len(chosen) else r.choice(chosen)
        value = other(r, words, values.get(key, ""))
        values[key] = value
        seen[key].add(value)
        lines.append(
            r.choice(
                (
                    "set {k} to {v}",
                    "{k} = {v}",
                    "{k} changed to {v}",
                    "now {k} is {v}",
                    "SET {k} {v}",
                    "update: {k} -> {v}",
                    "{k} becomes {v}",
                )
            ).format(k=key, v=value)
        )
    key = max(seen, key=lambda name: len(seen[name])) if coin(r, 0.8) else r.choice(list(seen))
    words = dict(SETTINGS)[key]
    state = stamped(r, lines)
    if coin(r):
        truth = coin(r)
        past = sorted(seen[key] - {values[key]})
        shown = values[key] if truth else (r.choice(past) if past else other(r, words, values[key]))
        return answer(
            r,
            state,
            r.choice(
                (
                    "Is {k} {v} now?",
                    "Is the current value of {k} {v}?",
                    "In the end, does {k} equal {v}?",
                    "{k} == {v}?",
                    "Does {v} apply for {k} at the end?",
                )
            ).format(k=key, v=shown),
            truth,
        )
    return pick(
        r,
        state,
        r.choice(
            ("What is {k} now?", "Which value of {k} applies?", "Final value of {k}?", "To what is {k} set at the end?")
        ).format(k=key),
        values[key],
        [word for word in words if word != values[key]],
    )


@generator(2)
def moved_things(r: random.Random) -> Example:
    """People go from room to room and carry, give and leave things."""
    who, rooms, thing = r.sample(NAMES, 3), r.sample(ROOMS, 4), r.choice(OBJECTS)
    place = {name: r.choice(rooms) for name in who}
    lines = [f"{name} is in the {place[name]}" for name in who]
    holder: str | None = r.choice(who)
    lines.append(f"{holder} picks up the {thing}")
    left_in = ""
    for _ in range(r.randint(1, 4)):
        move = r.random()
        name = r.choice(who)
        if move < 0.55:
            place[name] = other(r, rooms, place[name])
            lines.append(
                r.choice(
                    (
                        f"{name} goes to the {place[name]}",
                        f"{name} walks into the {place[name]}",
                        f"{name} moves on to the {place[name]}",
                    )
                )
            )
        elif holder and move < 0.8:
            taker = other(r, who, holder)
            place[taker] = place[holder]
            lines.append(f"{taker} comes to the {place[holder]}, and {holder} hands {taker} the {thing}")
            holder = taker
        elif holder:
            left_in = place[holder]
            lines.append(
                r.choice((f"{holder} puts the {thing} down", f"{holder} leaves the {thing} behind in the {left_in}"))
            )
            holder = None
    state = stamped(r, lines)
    where = place[holder] if holder else left_in
    if coin(r, 0.35):
        truth = coin(r)
        room = where if truth else other(r, rooms, where)
        return answer(
            r,
            state,
            r.choice(
                (
                    f"Is the {thing} in the {room} at the end?",
                    f"Would you find the {thing} in the {room} now?",
                    f"The {thing} is in the {room} now. Right?",
                )
            ),
            truth,
        )
    if coin(r, 0.4):
        return pick(r, state, f"Where is the {thing} at the end?", where, [room for room in rooms if room != where])
    if coin(r, 0.4):
        name = r.choice(who)
        return pick(
            r,
            state,
            r.choice((f"Where is {name} now?", f"In which room is {name} at the end?")),
            place[name],
            [room for room in rooms if room != place[name]],
        )
    nobody = "nobody"
    right = holder or nobody
    return pick(r, state, f"Who has the {thing} at the end?", right, [name for name in [*who, nobody] if name != right])


@generator(2.5)
def changed_minds(r: random.Random) -> Example:
    """An order or appointment that is changed in a conversation; what stands at the end."""
    words, subject = r.choice(
        (
            (DAYS, "the meeting"),
            (CITIES, "the trip"),
            (("pizza", "soup", "pasta", "salad", "curry"), "lunch"),
            (("red", "green", "black", "white"), "the paint"),
            (("9 am", "11 am", "2 pm", "4 pm", "6 pm"), "the call"),
            (("train", "bus", "car", "plane"), "the way there"),
        )
    )
    first, second, third = r.sample(words, 3)
    a, b = r.sample(NAMES, 2)
    opening = r.choice(
        (
            "{a}: Shall we take {x} for {s}?\n{b}: Yes, {x} is good.",
            "{a}: For {s} I suggest {x}.\n{b}: Fine with me.",
            "{a}: {s}: {x}?\n{b}: Agreed, {x}.",
        )
    ).format(a=a, b=b, x=first, s=subject)
    path = r.choice(("kept", "changed", "changed twice", "changed back", "cancelled", "refused"))
    turns = {
        "kept": r.choice(
            (
                f"{a}: Some people prefer {second}.\n{b}: Let us leave it as it is.",
                f"{a}: I thought about {second}, but no, all stays the same.",
                f"{b}: {second} would not work for me at all.",
            )
        ),
        "changed": r.choice(
            (
                f"{b}: Sorry, {first} does not work any more. {second} instead?\n{a}: OK.",
                f"{a}: Change of plan: {second}, not {first}.\n{b}: Got it.",
                f"{b}: Could it be {second} after all?\n{a}: Sure, I changed it.",
            )
        ),
        "changed twice": (
            f"{b}: {second} would be better.\n{a}: OK, {second}.\n{b}: "
            f"Oh no, please {third}.\n{a}: Done, {third} it is."
        ),
        "changed back": (
            f"{b}: {second} would be better.\n{a}: OK, {second}.\n{b}: "
            f"Forget it, back to {first}, please.\n{a}: All right."
        ),
        "cancelled": r.choice(
            (
                f"{b}: I have to cancel, sorry.\n{a}: No problem, I have deleted it.",
                f"{a}: We drop it altogether.\n{b}: Pity, but fine.",
            )
        ),
        "refused": (
            f"{b}: Could we switch to {second}?\n{a}: Sorry, that is not "
            f"possible, so we stay with what we said.\n{b}: Then so be it."
        ),
    }
    end = {
        "kept": first,
        "changed": second,
        "changed twice": third,
        "changed back": first,
        "cancelled": "nothing, it was called off",
        "refused": first,
    }[path]
    state = f"{opening}\n{turns[path]}"
    kind, truth = r.random(), coin(r)
    off = "nothing, it was called off"
    if kind < 0.5:
        choices = [first, second, third, off]
        return pick(
            r,
            state,
            r.choice(
                (
                    f"What stands in the end for {subject}?",
                    f"What was finally agreed for {subject}?",
                    f"Final decision on {subject}?",
                    f"What should be written down for {subject}?",
                )
            ),
            end,
            [word for word in choices if word != end],
        )
    if kind < 0.8:
        shown = end if truth else r.choice([word for word in (first, second, third) if word != end])
        if shown == off:
            return answer(r, state, f"Was {subject} called off?", True)
        return answer(
            r,
            state,
            r.choice(
                (
                    f"Is it {shown} in the end?",
                    f"Does {shown} stand for {subject}?",
                    f"Should {shown} be written down for {subject}?",
                    f"Is {shown} the final word?",
                )
            ),
            truth,
        )
    changed = path in ("changed", "changed twice", "cancelled")
    if changed == truth:
        return answer(
            r,
            state,
            r.choice(
                (
                    "Is the outcome different from the first agreement?",
                    "Does something else stand now than what was agreed at first?",
                )
            ),
            truth,
        )
    return answer(
        r, state, r.choice(("Does the first agreement still stand?", "Is it as they agreed at the beginning?")), truth
    )


GENERATORS: tuple[Generator, ...] = (
    ticket_status,
    last_value,
    moved_things,
    changed_minds,
)
