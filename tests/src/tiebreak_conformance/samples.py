"""The states and questions that the checks ask about."""

from __future__ import annotations

from tiebreak.questions import Question, choice, score, yes_no

__all__ = ["DESK", "LATE", "TEAMS", "UNUSUAL", "URGENCY", "ask_all", "described", "long_state", "many", "state"]

TEAMS = ("billing", "shipping", "technical support")
DESK = choice("Which team should answer this message?", TEAMS)
LATE = yes_no("Did the parcel come late?")
URGENCY = score("How urgent is it?", ["can wait", "this week", "today"])

UNUSUAL = (
    ("refund", "Refund", "REFUND"),
    ("if", "None", "class", "True"),
    ("two words", "two  words", " two words"),
    ("1", "01", "1.0", "10"),
    ("🙂", "🙁", "🙂🙁"),
    ("refund_full", "refund_partial", "refund_none"),
    ("A", "B", "C"),
    ("B", "A"),
    ('"quoted"', "'quoted'", "back\\slash"),
    ("naïve", "naive", "日本語"),
)
"""Option names that an engine may confuse: case, keywords, spaces, digits, emoji, prefixes, its own labels."""

_SENTENCES = (
    "A customer writes that the parcel came late and that the screen is cracked.",
    "The invoice shows the amount twice, and the second one was taken from the account.",
    "The password works on the phone but not on the laptop.",
    "Nobody has answered the first message, which is a week old.",
)


def state(nonce: object) -> str:
    """A short state that no other nonce gives; the nonce comes first, so that no prefix is shared."""
    text = str(nonce)
    return f"Ticket {text}. {_SENTENCES[sum(text.encode()) % len(_SENTENCES)]}"


def long_state(nonce: object, sentences: int) -> str:
    """A state of that many numbered sentences."""
    lines = (f"{number}. {_SENTENCES[number % len(_SENTENCES)]}" for number in range(sentences))
    return f"Ticket {nonce}. " + " ".join(lines)


def ask_all(kinds: tuple[str, ...]) -> dict[str, Question]:
    """One question of each kind that an engine answers."""
    every = {"desk": DESK, "late": LATE, "urgency": URGENCY}
    return {name: question for name, question in every.items() if question.kind in kinds}


def many(count: int) -> Question:
    """A choice among that many short names."""
    return choice("Which number is it?", [f"n{number}" for number in range(count)])


def described(last: str) -> Question:
    """A choice among 14 options, 1,100 bytes with their descriptions; only the last one's differs."""
    lines = {f"team{number}": f"{_SENTENCES[number % 4]} Desk {number}." for number in range(13)}
    return choice("Which team should answer?", {**lines, "team13": last})
