"""Surfaces: the same facts as JSON, table, log line, prose, mail or chat, so that no layout gives an answer away."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence

import attrs

from tiebreak.questions import JSON

from .drawing import capital, clock, coin, day, shuffled, some
from .words import CITIES, COLOURS, COMPANIES, DAYS, MAIL_DOMAINS, NAMES, PRODUCTS, SURNAMES

SUBJECT_LINES = ("question", "my case", "info", "please read")
TEXT_KEYS = ("text", "message", "body", "content", "note", "comment", "description", "ticket", "entry", "transcript")


@attrs.frozen
class Fact:
    """One thing that a state says.

    Args:
        key: Its key in JSON, snake case.
        value: Its JSON value.
        sentence: The same as a sentence without the full stop, starting in lower case unless with a name.
        label: Its name in a table or form.
    """

    key: str
    value: JSON
    sentence: str
    label: str = ""

    @property
    def name(self) -> str:
        """What a form calls it."""
        return self.label or self.key.replace("_", " ")

    @property
    def shown(self) -> str:
        """The value as a form shows it."""
        if isinstance(self.value, bool):
            return "yes" if self.value else "no"
        if isinstance(self.value, list):
            return ", ".join(map(str, self.value)) or "-"
        return "-" if self.value is None else str(self.value)


def noise(r: random.Random) -> Fact:
    """A fact that no question of these generators asks about."""
    name, city = r.choice(NAMES), r.choice(CITIES)
    number = r.randint(100, 99999)
    return r.choice(
        (
            Fact("ref", f"R-{number}", f"the reference is R-{number}"),
            Fact("clerk", name, f"{name} took the details"),
            Fact("office", city, f"the office in {city} handles this"),
            Fact("channel", "phone", "it came in by phone"),
            Fact("badge_colour", r.choice(COLOURS), "the badge has the usual colour"),
            Fact("printed", "twice", "the sheet was printed twice"),
            Fact("newsletter_topic", r.choice(PRODUCTS) + "s", "a newsletter is sent from time to time"),
            Fact("file_id", number, f"the file number is {number}"),
            Fact("comment", "", "there is no further comment"),
        )
    )


def with_noise(r: random.Random, facts: Sequence[Fact], most: int = 3) -> list[Fact]:
    """The facts, in another order, with up to `most` unrelated ones among them."""
    keys = {fact.key for fact in facts}
    extra = {fact.key: fact for fact in (noise(r) for _ in range(r.randint(0, most))) if fact.key not in keys}
    return shuffled(r, [*facts, *extra.values()])


def as_json(r: random.Random, facts: Sequence[Fact]) -> JSON:
    """A JSON object, flat or with some facts one level down."""
    flat: dict[str, JSON] = {fact.key: fact.value for fact in facts}
    if len(facts) < 4 or coin(r, 0.7):
        return flat
    cut = r.randint(1, len(facts) - 1)
    items = list(flat.items())
    inner = r.choice(("details", "data", "attributes", "record", "info"))
    return {**dict(items[:cut]), inner: dict(items[cut:])}


def as_form(r: random.Random, facts: Sequence[Fact]) -> str:
    """`name: value` lines."""
    mark = r.choice(("", "- ", "* "))
    return "\n".join(f"{mark}{capital(fact.name)}: {fact.shown}" for fact in facts)


def as_log(r: random.Random, facts: Sequence[Fact]) -> str:
    """One log line of `key=value` pairs."""
    pairs = " ".join(f"{fact.key}={json.dumps(fact.value, ensure_ascii=False)}" for fact in facts)
    when = f"{day(r).isoformat()}T{clock(r.randrange(1440))}:00Z "
    return when * coin(r) + r.choice(("INFO ", "", "record ", "[case] ")) + pairs


def as_table(r: random.Random, facts: Sequence[Fact]) -> str:
    """A table of two columns, or of one row."""
    if coin(r) or len(facts) > 5:
        return "\n".join(["| field | value |", "| --- | --- |", *(f"| {fact.name} | {fact.shown} |" for fact in facts)])
    mark = r.choice((" | ", ";", ","))
    if mark == ",":
        mark = ", " if not any("," in fact.shown for fact in facts) else " | "
    return mark.join(fact.name for fact in facts) + "\n" + mark.join(fact.shown for fact in facts)


def as_prose(r: random.Random, facts: Sequence[Fact]) -> str:
    """Sentences."""
    sentences = [fact.sentence for fact in facts]
    out: list[str] = []
    while sentences:
        head = sentences.pop(0)
        if sentences and coin(r, 0.3):
            head += r.choice((", and ", "; ")) + sentences.pop(0)
        out.append(capital(head) + ".")
    return " ".join(out)


def as_notes(r: random.Random, facts: Sequence[Fact]) -> str:
    """Sentences as a list."""
    mark = r.choice(("- ", "* ", "> ", "• "))
    return "\n".join(mark + capital(fact.sentence) for fact in facts)


def as_chat(r: random.Random, facts: Sequence[Fact]) -> str:
    """One speaker tells the facts, another acknowledges."""
    a, b = r.choice((("Agent", "Caller"), ("A", "B"), ("Clerk", "Visitor"), tuple(r.sample(NAMES, 2)), ("bot", "user")))
    lines = []
    for fact in facts:
        lines.append(f"{b}: {capital(fact.sentence)}.")
        if coin(r, 0.4):
            lines.append(f"{a}: " + r.choice(("OK.", "I see.", "Noted.", "Anything else?", "Mhm.", "Thanks.")))
    return "\n".join(lines)


def as_mail(r: random.Random, facts: Sequence[Fact]) -> str:
    """A short mail."""
    return mail(r, as_prose(r, facts))


def mail(r: random.Random, text: str) -> str:
    """The text as the body of a mail."""
    name = r.choice(NAMES)
    head = r.choice(
        (
            f"From: {name.lower()}@{r.choice(MAIL_DOMAINS)}\nSubject: {r.choice(SUBJECT_LINES)}\n\n",
            "Hello,\n\n",
            "Dear team,\n",
            f"Hi {r.choice(NAMES)},\n\n",
            "Good morning,\n",
            "Guten Tag,\n\n",
            "Bonjour,\n",
            "Hola,\n\n",
        )
    )
    tail = r.choice(
        (f"\n\nBest regards\n{name}", f"\n{name} {r.choice(SURNAMES)}", "\n\nThanks!", "", "\n\nSent from my phone")
    )
    return head + text + tail


LAYOUTS: tuple[Callable[[random.Random, Sequence[Fact]], JSON], ...] = (
    as_json,
    as_json,
    as_json,
    as_form,
    as_log,
    as_table,
    as_prose,
    as_prose,
    as_notes,
    as_chat,
    as_mail,
)


def record(r: random.Random, facts: Sequence[Fact], most_noise: int = 3) -> JSON:
    """The facts of one case in one of the layouts."""
    return r.choice(LAYOUTS)(r, with_noise(r, facts, most_noise))


def prose(r: random.Random, facts: Sequence[Fact], most_noise: int = 1) -> str:
    """The facts of one case in words."""
    layout: Callable[[random.Random, Sequence[Fact]], str] = r.choice((as_prose, as_prose, as_notes, as_chat, as_mail))
    return layout(r, with_noise(r, facts, most_noise))


ASIDES = (
    "It is {day} today.",
    "I live in {city}.",
    "{name} told me to write.",
    "Greetings from {city}.",
    "This is my second message.",
    "Hope you are well.",
    "{name} sends regards.",
    "See you at {company} some day.",
    "Sorry for my English.",
    "This got longer than I wanted.",
)


def aside(r: random.Random) -> str:
    """A sentence that says nothing about the matter."""
    slots = {"day": DAYS, "city": CITIES, "name": NAMES, "company": COMPANIES}
    return r.choice(ASIDES).format(**{slot: r.choice(words) for slot, words in slots.items()})


def framed(r: random.Random, text: str) -> JSON:
    """A text as it reaches a program: bare, quoted, in a mail, in a chat or in a JSON object."""
    kind = r.random()
    if kind < 0.45:
        return text
    if kind < 0.55:
        return {r.choice(TEXT_KEYS): text}
    if kind < 0.67:
        fields = {
            r.choice(TEXT_KEYS): text,
            **{fact.key: fact.value for fact in some(r, [noise(r) for _ in range(3)], 1, 3)},
        }
        return dict(shuffled(r, list(fields.items())))
    if kind < 0.77:
        return mail(r, text)
    if kind < 0.85:
        return r.choice(("User: ", "Customer: ", f"{r.choice(NAMES)}: ", "Message: ", "Text: ", "Input: ", "> ")) + text
    if kind < 0.92:
        return f"{text}\n{aside(r)}" if coin(r) else f"{aside(r)}\n{text}"
    return f"[{clock(r.randrange(1440))}] {r.choice(NAMES).lower()}: {text}"
