"""`Word`: senses of words out of WordNet's database files.

The formats of `data.*` and `index.sense` are those of the manual pages wndb(5WN) and senseidx(5WN).
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping
from typing import Any

import attrs

__all__ = ["Word", "words_of"]

PARTS = {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}
OF_NUMBER = {"1": "n", "2": "v", "3": "a", "4": "r", "5": "a"}
TOPICS = (
    "adj.all adj.pert adv.all noun.Tops noun.act noun.animal noun.artifact noun.attribute noun.body noun.cognition "
    "noun.communication noun.event noun.feeling noun.food noun.group noun.location noun.motive noun.object noun.person "
    "noun.phenomenon noun.plant noun.possession noun.process noun.quantity noun.relation noun.shape noun.state "
    "noun.substance noun.time verb.body verb.change verb.cognition verb.communication verb.competition "
    "verb.consumption verb.contact verb.creation verb.emotion verb.motion verb.perception verb.possession verb.social "
    "verb.stative verb.weather adj.ppl"
).split()
UNFIT = re.compile(
    r"sexual|slut|whore|nigg|genital|obscen|vulgar|offensive|ethnic slur|intercourse|rape", re.IGNORECASE
)


@attrs.frozen(kw_only=True)
class Word:
    """A sense of a word: its synonyms, definition, an example, the thing it is a kind of, its opposite, its topic."""

    part: str
    words: tuple[str, ...]
    definition: str
    example: str
    kind_of: str
    opposite: str
    topic: str
    common: bool


def spoken(word: str) -> str:
    """A lemma as one writes it, without syntactic markers."""
    return re.sub(r"\(.*?\)", "", word).replace("_", " ")


def synsets(files: Mapping[str, bytes]) -> dict[tuple[str, str], dict[str, Any]]:
    """All synonym sets, by part of speech and offset."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for name, part in PARTS.items():
        for line in files[f"dict/data.{name}"].decode("latin-1").splitlines():
            if line.startswith("  "):
                continue
            data, _, gloss = line.partition("|")
            fields = data.split()
            count = int(fields[3], 16)
            at = 4 + 2 * count
            pointers = [tuple(fields[at + 1 + 4 * k : at + 5 + 4 * k]) for k in range(int(fields[at]))]
            definition, *examples = gloss.strip().split('; "')
            found[part, fields[0]] = {
                "words": [spoken(fields[4 + 2 * k]) for k in range(count)],
                "topic": TOPICS[int(fields[1])],
                "definition": definition.strip(),
                "examples": [text.strip().strip('"') for text in examples],
                "pointers": pointers,
            }
    return found


def words_of(files: Mapping[str, bytes], rng: random.Random) -> Iterator[list[Any]]:
    """The senses that were met in texts, and a fifth of the others."""
    met: set[tuple[str, str]] = set()
    for line in files["dict/index.sense"].decode("latin-1").splitlines():
        key, offset, _, count = line.split()
        if count != "0":
            met.add((OF_NUMBER[key.partition("%")[2][0]], offset))
    senses = synsets(files)
    for place, sense in senses.items():
        common = place in met
        if (
            (not common and rng.random() > 0.2)
            or not 8 <= len(sense["definition"]) <= 160
            or not sense["words"][0][0].islower()
        ):
            continue
        if UNFIT.search(sense["definition"] + " ".join(sense["words"])):
            continue
        kind_of = opposite = ""
        for symbol, offset, part, ends in sense["pointers"]:
            target = senses.get(("a" if part == "s" else part, offset))
            if target and symbol == "@" and not kind_of:
                kind_of = target["words"][0]
            if target and symbol == "!" and ends[:2] == "01" and not opposite:
                opposite = target["words"][int(ends[2:], 16) - 1]
        example = sense["examples"][0] if sense["examples"] and len(sense["examples"][0]) < 120 else ""
        yield [
            place[0],
            sense["words"][:4],
            sense["definition"],
            example,
            kind_of,
            opposite,
            sense["topic"],
            int(common),
        ]
