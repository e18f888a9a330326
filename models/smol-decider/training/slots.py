"""Slots and alternatives: how one line of a task file becomes many texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from random import Random

__all__ = ["expand"]

_WORDS: Mapping[str, Sequence[str]] = {
    "name": (
        "Anna Ben Carla David Elena Farid Grace Hugo Ines Jack Kim Lena Marco Nadia Omar Paula Quinn Rosa Sam Tina Uma "
        "Victor Wanda Yusuf Zoe Liam Mia Noah Olga Piotr"
    ).split(),
    "city": (
        "London Paris Berlin Madrid Rome Vienna Oslo Tokyo Lima Cairo Dublin Prague Boston Denver Lagos Delhi Sydney "
        "Zurich Hamburg Lyon Porto Athens Riga Toronto Austin Leeds Bern Ghent Turin Kyoto"
    ).split(),
    "month": (
        "January February March April May June July August September October November December"
    ).split(),
    "day": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split(),
    "prod": (
        "headphones,coffee machine,laptop,vacuum cleaner,phone,backpack,tablet,blender,office chair,camera,smart watch,"
        "desk lamp,keyboard,printer,toaster,electric bike,tent,mattress,router,hair dryer"
    ).split(","),
    "company": (
        "Aldermoor,Brightwell,Corvane,Umbra Systems,Northgate,Bluefin,Halden & Co,Stark & Sons,Vantor,Quillfield,"
        "Pine Ledger,Orbital Foods,Zenith Bank,Fennimore,Tyndale"
    ).split(","),
    "lang": (
        "Spanish German French Italian Polish Turkish Japanese Korean Arabic Dutch Swedish Greek Hindi Czech"
    ).split(),
    "animal": "cat dog horse rabbit parrot hamster goat turtle fox owl penguin donkey sheep duck elephant".split(),
    "food": (
        "bread cheese pasta apples soup rice tomatoes pizza bananas salad noodles lentils pancakes mushrooms carrots "
        "fish"
    ).split(),
    "color": "red blue green yellow black white purple orange brown grey pink silver".split(),
    "ident": (
        "parser user_id cache worker token_map config report invoice_list session queue handler loader index buffer "
        "router client"
    ).split(),
    "Ident": (
        "Parser User Cache Worker Token Config Report Invoice Session Queue Handler Loader Index Buffer Router Client"
    ).split(),
    "path": (
        "/var/log/app.log ~/notes/todo.txt src/main.py /etc/hosts data/input.csv docs/guide.md /tmp/out.bin "
        "backup/2024.tar config/settings.yml reports/q3.pdf"
    ).split(),
}  # fmt: skip


def _amount(rng: Random) -> str:
    form = rng.choice(("${}", "€{}", "£{}", "{} euros", "{} dollars", "${}.99", "{}.50 EUR"))
    return form.format(rng.choice((rng.randint(5, 99), rng.randint(100, 5000))))


def _clock(rng: Random) -> str:
    if rng.random() < 0.5:
        return f"{rng.randint(6, 23)}:{rng.choice((0, 15, 30, 45)):02d}"
    return f"{rng.randint(1, 12)} {rng.choice(('am', 'pm'))}"


def _date(rng: Random) -> str:
    day, month, number = rng.randint(1, 28), rng.choice(_WORDS["month"]), rng.randint(1, 12)
    return rng.choice((f"{day} {month}", f"{month} {day}", f"2025-{number:02d}-{day:02d}", f"{day}.{number}.2026"))


def _email(rng: Random) -> str:
    host = rng.choice(("example.com", "mail.example.org", "post.example.net"))
    return f"{rng.choice(_WORDS['name']).lower()}@{host}"


_DRAWN: Mapping[str, Callable[[Random], str]] = {
    "num": lambda rng: str(rng.choice((rng.randint(10, 99), rng.randint(100, 999), rng.randint(1000, 9999)))),
    "small": lambda rng: str(rng.randint(2, 12)),
    "amt": _amount,
    "pct": lambda rng: f"{rng.randint(2, 95)}{rng.choice(('%', ' percent'))}",
    "time": _clock,
    "date": _date,
    "email": _email,
    "ver": lambda rng: f"{rng.randint(0, 9)}.{rng.randint(0, 20)}.{rng.randint(0, 9)}",
}
_SLOT = re.compile(r"\{(" + "|".join([*_WORDS, *_DRAWN]) + r")\}")
# Quotation marks and braces keep JSON arrays and objects out: they are states, not alternatives.
_ALTERNATIVES = re.compile(r'\[([^\[\]{}"]*\|[^\[\]{}"]*)\]')


def expand(text: str, rng: Random) -> str:
    r"""One text out of a line: each `[one|another]` and each `{slot}` drawn, each `\n` a line break."""
    text = _ALTERNATIVES.sub(lambda found: rng.choice(found[1].split("|")), text)
    text = _SLOT.sub(lambda found: _fill(found[1], rng), text)
    return text.replace("\\n", "\n")


def _fill(slot: str, rng: Random) -> str:
    return _DRAWN[slot](rng) if slot in _DRAWN else rng.choice(_WORDS[slot])
