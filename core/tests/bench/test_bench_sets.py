"""The router set, and files of the user's: what is accepted, and how a bad line is named."""

from __future__ import annotations

import importlib.resources
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tiebreak import InvalidRequest
from tiebreak.bench.sets import read_set

GOOD: dict[str, Any] = {"state": "text", "question": "Which?", "options": ["a", "b"], "answer": "a"}


def test_the_router_set_is_what_its_notice_says() -> None:
    found = read_set("router")
    assert (found.name, len(found.items)) == ("router-67", 67)
    assert Counter(item.answer for item in found.items) == {"docs": 17, "fea": 14, "sample": 14, "python": 13, "vfj": 9}
    assert Counter(item.language == "en" for item in found.items) == {True: 28, False: 39}
    assert len({item.language for item in found.items}) == 30
    assert all((item.translated is None) == (item.language == "en") for item in found.items)
    assert found.wordings == ("middle", "long", "short")
    assert found.modes == ("translated", "direct")
    for item in found.items:
        for question in item.questions.values():
            assert question.names == ("docs", "python", "fea", "vfj", "sample")
            assert all(option.description for option in question.options)


def test_the_router_set_comes_with_source_and_licence() -> None:
    notice = importlib.resources.files("tiebreak.bench").joinpath("data", "NOTICE.md").read_text(encoding="utf-8")
    assert "fontlaborg/ornotto" in notice
    assert "Apache-2.0" in notice


def test_texts_by_mode() -> None:
    items = {item.id: item for item in read_set("router").items}
    assert items["r001"].text("translated") == items["r001"].text("direct") == items["r001"].state
    assert items["r031"].text("direct") == "Escreva o código da feature smcp para versaletes"
    assert items["r031"].text("translated") == items["r031"].translated


def write(path: Path, *lines: object) -> str:
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines), encoding="utf-8")
    return str(path)


def test_a_file(tmp_path: Path) -> None:
    name = write(
        tmp_path / "mine.jsonl",
        "\ufeff" + json.dumps(GOOD),
        "",
        {**GOOD, "id": "x", "state": {"k": 1}, "question": None, "options": {"a": None, "b": "bee"}, "answer": None},
        {**GOOD, "translated": "words", "language": "nl"},
    )
    found = read_set(name)
    assert found.name == "mine.jsonl"
    assert [item.id for item in found.items] == ["line 1", "x", "line 4"]
    assert found.wordings == ("own",)
    assert found.modes == ("translated", "direct")
    assert found.items[1].questions["own"].options[1].description == "bee"
    assert found.items[1].answer is None
    assert len(found.sha256) == 64


def test_without_translations_there_is_one_mode(tmp_path: Path) -> None:
    assert read_set(write(tmp_path / "mine.jsonl", GOOD)).modes == ("direct",)


@pytest.mark.parametrize(
    "line, message",
    [
        ("{", "line 2: Expecting property name"),
        ("[1]", "line 2: not a JSON object"),
        ({**GOOD, "answre": "a"}, "line 2: There is no key 'answre'. Did you mean 'answer'?"),
        ({key: value for key, value in GOOD.items() if key != "answer"}, "line 2: 'answer' is missing"),
        ({key: value for key, value in GOOD.items() if key != "state"}, "line 2: 'state' is missing"),
        ({**GOOD, "answer": "c"}, "line 2: the answer is 'c', which is none of the options"),
        ({**GOOD, "answer": 1}, "line 2: the answer is 1"),
        ({**GOOD, "options": ["a"]}, "line 2: 1 option given"),
        ({**GOOD, "options": ["a", "a"]}, "line 2: Option 'a' is given twice"),
        ({**GOOD, "options": "ab"}, "line 2: The options are one string"),
        ({**GOOD, "options": None}, "line 2: The options are None"),
        ({**GOOD, "question": " "}, "line 2: The question is blank"),
        ({**GOOD, "state": None}, "line 2: The state is None"),
        ({**GOOD, "state": 3}, "line 2: The state is an int"),
        ({**GOOD, "translated": 3}, "line 2: The state is an int"),
        ({**GOOD, "id": 3}, "line 2: id is 3, not a text"),
        ({**GOOD, "language": ""}, "line 2: language is '', not a text"),
        ({**GOOD, "id": "line 1"}, "line 2: the id 'line 1' was used before"),
        (
            '{"state": "s", "question": "q", "options": {"a": "1", "a": "2"}, "answer": "a"}',
            "the key 'a' is there twice",
        ),
    ],
)
def test_bad_lines_are_named(tmp_path: Path, line: object, message: str) -> None:
    name = write(tmp_path / "mine.jsonl", GOOD, line)
    with pytest.raises(InvalidRequest) as caught:
        read_set(name)
    assert message in str(caught.value)
    assert name in str(caught.value)


def test_bytes_that_are_not_text(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_bytes(json.dumps(GOOD).encode() + b"\n\xff\n")
    with pytest.raises(InvalidRequest, match="line 2: not UTF-8"):
        read_set(str(path))


def test_nothing_to_ask(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="holds no line"):
        read_set(write(tmp_path / "mine.jsonl", "", " "))
    with pytest.raises(InvalidRequest, match="cannot be read"):
        read_set(str(tmp_path / "none.jsonl"))
