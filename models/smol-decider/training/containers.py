"""What texts arrive in: bare, in JSON, in a mail or a chat, with typing errors and remarks beside the point."""

from __future__ import annotations

import json
from random import Random

from tiebreak.questions import JSON
from training.slots import expand

__all__ = ["contained"]

_KEYS = "text message body content input note comment description utterance user_message ticket entry".split()
_ASIDES = (
    "It is {day} today.",
    "I live in {city}.",
    "My name is {name}.",
    "{name} told me to write.",
    "I had {food} for lunch.",
    "By the way, nice {color} logo.",
    "Hope you are well.",
    "I have been here since {month}.",
)
_ENDINGS = (
    "Sent from my phone",
    "Best regards",
    "Thanks in advance",
    "PS: I also like the new logo.",
    "Reference: {num}",
    "Have a nice day!",
    "{name}",
    "Tel. 0{num}",
    "-- \n{name}, {company}",
)
_PREFIXES = ("User: ", "Customer: ", "{name}: ", "> ", "Message: ", "Text: ", "Input: ")


def contained(text: str, rng: Random, *, asides: bool = True) -> JSON:
    """A text in a container, drawn; half of them stand bare.

    A text that is a JSON object becomes that object most of the time and is else left alone: a container
    around it would change what the question is about.

    Args:
        text: what is asked about.
        rng: draws.
        asides: whether unrelated remarks may stand beside it; not where a question may be about what they say.
    """
    drawn = rng.random()
    if text.startswith("{"):
        return _object(text) if 0.3 < drawn < 0.9 else text
    text = _roughened(text, rng, asides=asides)
    if drawn < 0.55 or not asides:
        return text
    if drawn < 0.62:
        return {rng.choice(_KEYS): text}
    if drawn < 0.74:
        return _record(text, rng)
    if drawn < 0.82:
        return expand(rng.choice(_PREFIXES), rng) + text
    if drawn < 0.89:
        return f"{text}\n\n{expand(rng.choice(_ENDINGS), rng)}"
    if drawn < 0.93:
        return f"{expand('From: {email}', rng)}\n{expand('Date: {date}', rng)}\n\n{text}"
    if drawn < 0.97:
        return f'"{text}"'
    return f"Agent: Hello, how can I help you?\nCustomer: {text}"


def _object(text: str) -> JSON:
    try:
        value: JSON = json.loads(text)
    except ValueError:
        return text  # begins like JSON, but is prose or code
    return value


def _record(text: str, rng: Random) -> JSON:
    """The text among fields that say nothing about it, in any order."""
    record: dict[str, JSON] = {
        "id": rng.randint(1, 9999),
        "lang": None,
        "channel": rng.choice(("email", "chat", "web", "phone")),
        "created": expand("{date}", rng),
        "user": expand("{name}", rng),
        "premium": rng.random() < 0.5,
        "attachments": [],
        "priority": None,
        "score": round(rng.random(), 2),
        "city": expand("{city}", rng),
    }
    fields: list[tuple[str, JSON]] = [(key, record[key]) for key in rng.sample(sorted(record), rng.randint(1, 4))]
    fields.insert(rng.randint(0, len(fields)), (rng.choice(_KEYS), text))
    return dict(fields)


def _roughened(text: str, rng: Random, *, asides: bool) -> str:
    """Typing errors, missing capitals and stops, unrelated remarks: so that wording is not learnt by heart."""
    drawn = rng.random()
    if drawn < 0.06:
        return text.lower()
    if drawn < 0.07:
        return text.upper()
    if drawn < 0.12:
        return text.rstrip(".!")
    if drawn < 0.17 and len(text) > 12:
        at = rng.randrange(1, len(text) - 2)
        swapped = text[at + 1] + text[at] if rng.random() < 0.5 else text[at + 1]
        return text[:at] + swapped + text[at + 2 :]
    if drawn < 0.25 and asides and "\n" not in text:
        aside = expand(rng.choice(_ASIDES), rng)
        return f"{aside} {text}" if rng.random() < 0.5 else f"{text} {aside}"
    return text
