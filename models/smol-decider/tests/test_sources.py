"""The sources: templates are drawn as they are meant, packages are checked, the file is read as it was written."""

from __future__ import annotations

import gzip
import json
import random
import subprocess
import tarfile
from pathlib import Path

import pytest
from training import sources
from training.generators import GENERATORS, sourced
from training.packages import Package, fetch, members
from training.sources import names_of, read
from training.templates import Grammar
from training.wordnet import words_of


def drawn(template: str, count: int = 200) -> set[str]:
    grammar = Grammar({"please": "[please|kindly]", "loop": "a <loop>"}, {"room": ["hall", "the (attic|cellar)"]})
    rng = random.Random(1)
    return {grammar.sentence(template, rng) for _ in range(count)}


def test_a_template_gives_all_its_sentences() -> None:
    assert drawn("(open|shut) [the] door") == {"open the door", "shut the door", "open door", "shut door"}
    assert drawn("<please> go") == {"go", "please go", "kindly go"}
    assert drawn("to {room:area}") == {"to hall", "to the attic", "to the cellar"}
    assert drawn("(now;(go|run))") == {"now go", "go now", "now run", "run now"}
    assert drawn("a|b") == {"a", "b"}


@pytest.mark.parametrize(
    "template, message",
    [("(a", r"lacks a \)"), ("<nothing>", "no rule"), ("{nothing}", "no values"), ("<loop>", "nest more")],
)
def test_a_broken_template_is_an_error(template: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        drawn(template, 1)


def test_another_archive_than_the_pinned_one_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def packed(command: list[str], *, cwd: Path, **_: object) -> None:
        assert command[-1] == "thing@1.0"
        (cwd / "thing-1.0.tgz").write_bytes(b"something else")

    monkeypatch.setattr(subprocess, "run", packed)
    with pytest.raises(ValueError, match=r"thing-1\.0\.tgz has the SHA-256 .* do not use it"):
        fetch(Package(name="thing", version="1.0", registry="npm", sha256="0" * 64), tmp_path)


LAMP_POST = "00000100 06 n 02 lamp_post 0 lantern 0 002 @ 00000200 n 0000 ! 00000200 n 0101"
SENSES = f"""\
  1 This line is a licence.
{LAMP_POST} | a post that holds a lamp; "the dog ran to the lamp post"
00000200 06 n 01 post 0 000 | an upright piece of timber
00000300 06 n 01 Post 0 000 | a proper name that is left out
"""


def test_words_are_read_as_wordnet_writes_them() -> None:
    files = {f"dict/data.{name}": b"" for name in ("verb", "adj", "adv")}
    files["dict/data.noun"] = SENSES.encode()
    files["dict/index.sense"] = b"lamp_post%1:06:00:: 00000100 1 3\npost%1:06:00:: 00000200 1 0\n"
    lamp = next(words_of(files, random.Random(1)))
    assert lamp == [
        "n", ["lamp post", "lantern"], "a post that holds a lamp", "the dog ran to the lamp post", "post", "post",
        "noun.artifact", 1,
    ]  # fmt: skip


def test_only_pictured_things_with_names_in_many_languages_are_taken() -> None:
    files = {}
    for place, language in enumerate(sources.LANGUAGES):
        notes = {"\U0001f98a": {"tts": ["fox"], "default": ["animal", "x"]}, "→": {"tts": ["arrow"], "default": []}}
        if place < 10:
            notes["\U0001f98b"] = {"tts": ["butterfly"], "default": []}
        files[f"annotations/{language}/annotations.json"] = json.dumps({"annotations": {"annotations": notes}}).encode()
    (fox,) = names_of(files)
    assert fox["en"] == ["fox", ["animal"]]


def test_a_tgz_is_read_without_its_first_folder(tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "a.txt").write_text("text")
    with tarfile.open(tmp_path / "p.tgz", "w:gz") as tar:
        tar.add(tmp_path / "package", "package")
    assert members(tmp_path / "p.tgz") == {"a.txt": b"text"}


def _word(topic: str, number: int) -> list[object]:
    name = f"{topic[5:]}{number}"
    definition, example = f"the thing of {topic} numbered {number}", f"see w{name} there"
    kind_of = f"k{topic[5:]}{number % 3}"
    return ["n", [f"w{name}", f"v{name}"], definition, example, kind_of, f"o{name}", topic, number % 2]


def written(folder: Path) -> Path:
    """A small file of sources, made up: enough for every generator to draw from."""
    rng = random.Random(2)
    topics = ["noun.animal", "noun.food", "noun.act", "noun.plant", "noun.person", "noun.feeling", "noun.body"]
    topics += [
        f"noun.{name}" for name in ["artifact", "communication", "location", "possession", "shape", "substance", "time"]
    ]
    topics += [f"noun.{name}" for name in ["quantity", "process", "phenomenon", "group", "event", "motive"]]
    words = [_word(topic, number) for topic in topics for number in range(12)]
    codes = ("en", "de", "fr", "es", "it")
    names = [{code: [f"{code}-thing-{n}", [f"{code}-key-{n}", f"{code}-tag-{n}"]] for code in codes} for n in range(30)]
    sentences = {name: [" ".join(f"{name}{rng.randrange(99)}" for _ in range(12))] * 3 for name in "ABCDEFGH"}
    intents = ("turn_on", "get_weather", "start_timer", "nevermind", "broadcast", "media_next")
    commands = [[code, intent, f"{code} {intent} {n}"] for code in ("en", "de") for n in range(3) for intent in intents]
    content = {"words": words, "names": names, "sentences": sentences, "commands": commands}
    path = folder / "sources.json.gz"
    path.write_bytes(gzip.compress(json.dumps(content).encode()))
    return path


def test_generators_draw_from_the_sources(tmp_path: Path) -> None:
    found = sourced(read(written(tmp_path)))
    assert len({generator.name for generator in (*GENERATORS, *found)}) == len(GENERATORS) + len(found)
    for generator in found:
        examples = [generator(random.Random(seed)) for seed in range(300)]
        assert examples == [generator(random.Random(seed)) for seed in range(300)]
        answers = [example.gold for example in examples if example.kind == "yes_no"]
        assert abs(sum(answers) - len(answers) / 2) <= 4.5 * (len(answers) / 4) ** 0.5
        for example in examples:
            assert example.family == generator.name and example.question.text.strip()
            assert 0 <= example.gold < len(example.question.options) <= 20
