"""Generated families: balanced, repeatable, and right where the answer can be worked out another way."""

from __future__ import annotations

import itertools
import json
import random
import re
from collections import Counter

import pytest
from training.examples import Example
from training.generators import GENERATORS, Generator
from training.generators.claims import CONTRADICTED, FOLLOWS, OPEN, relation
from training.generators.domains import DOMAINS
from training.generators.domains_abroad import DOMAINS as ABROAD
from training.generators.rules import RELATIONS, condition, fact, rule

from tiebreak.questions import Request

DRAWS = 200
BY_NAME = {generator.name: generator for generator in GENERATORS}


def drawn(generator: Generator, seed: int, count: int) -> list[Example]:
    r = random.Random(seed)
    return [generator(r) for _ in range(count)]


def shown(state: object) -> str:
    return state if isinstance(state, str) else json.dumps(state, ensure_ascii=False)


def test_names_are_unique_and_there_are_many() -> None:
    assert len(BY_NAME) == len(GENERATORS) >= 60


@pytest.mark.parametrize("generator", GENERATORS, ids=lambda generator: generator.name)
def test_examples_are_valid_and_repeatable(generator: Generator) -> None:
    examples = drawn(generator, 1, DRAWS)
    assert examples == drawn(generator, 1, DRAWS)
    assert len({(shown(example.state), example.question.text) for example in examples}) > DRAWS / 2
    for example in examples:
        Request.of(example.state, {"q": example.question})  # as a user's request would be checked
        assert example.family == generator.name
        assert shown(example.state).strip() and example.question.text.strip()
        assert 2 <= len(example.question.options) <= 20
        assert 0 <= example.gold < len(example.question.options)
        said = " ".join((shown(example.state), example.question.text, *(o.text for o in example.question.options)))
        if generator.name not in ("fault_present", "fault_kind", "better_version"):  # code has braces of its own
            assert not re.search(r"\{[a-zA-Z_]{1,4}\}", said), said


@pytest.mark.parametrize("generator", GENERATORS, ids=lambda generator: generator.name)
def test_answers_are_balanced(generator: Generator) -> None:
    """The seeds are fixed: the bounds (4.5 standard deviations) are no matter of luck."""
    examples = drawn(generator, 2, 1000)
    answers = [example.gold for example in examples if example.kind == "yes_no"]
    if len(answers) > 50:
        assert abs(sum(answers) - len(answers) / 2) < 4.5 * (len(answers) / 4) ** 0.5
    sizes: dict[int, Counter[int]] = {}
    for example in examples:
        if example.kind == "choice" and generator.name not in (
            "how_many",
            "ranges",
        ):  # these are in the order of numbers
            sizes.setdefault(len(example.question.options), Counter())[example.gold] += 1
    for size, places in sizes.items():
        count = sum(places.values())
        for place in range(size):
            spread = (count * (size - 1)) ** 0.5 / size
            assert abs(places[place] - count / size) < 4.5 * spread + 1, (size, places)


def test_a_rule_is_judged_by_its_conditions() -> None:
    """The truth that was asked for is that of the words: every condition is read back and compared."""
    r = random.Random(3)
    for _ in range(2000):
        domain, truth = r.choice(DOMAINS + ABROAD), r.random() < 0.5
        law, case = rule(r, domain, truth)
        assert law.holds(case) is truth
        for part in law.conditions:
            assert part.said in law.said
            assert f"{domain.name}:{part.key}" in {f"{domain.name}:{field.key}" for field in domain.fields}


def test_a_condition_on_a_number_says_what_it_tests() -> None:
    said_as = {
        ">=": ("at least", "or more", "not below", "no less"),
        "<=": ("at most", "or less", "not above", "not exceed"),
        ">": ("more than", " above", " exceeds", " over"),
        "<": ("less than", " below", " under"),
    }
    words = {word: relation for relation, several in said_as.items() for word in several}
    r = random.Random(4)
    seen = set()
    for _ in range(3000):
        field = r.choice(r.choice(DOMAINS).fields)
        truth = r.random() < 0.5
        drawn_condition, value = condition(r, field, truth)
        assert drawn_condition.holds({field.key: value}) is truth
        said = fact(field, value).sentence
        if drawn_condition.relation in (">=", "<=", ">", "<"):
            word = next(word for word in words if word in drawn_condition.said)
            assert words[word] == drawn_condition.relation, drawn_condition.said
            limit = int(re.findall(r"\d+", drawn_condition.said)[-1])
            assert limit == drawn_condition.value and int(re.findall(r"\d+", said)[-1]) == value
            seen.add(word)
    assert len(seen) > 10 and set(RELATIONS) >= set(words.values())


def test_a_relation_is_that_of_the_worlds() -> None:
    for premise, claim in itertools.product(range(1, 16), range(16)):
        worlds = [place for place in range(4) if premise >> place & 1]
        truths = {bool(claim >> place & 1) for place in worlds}
        assert relation(premise, claim) == (OPEN if len(truths) == 2 else FOLLOWS if True in truths else CONTRADICTED)
    with pytest.raises(ValueError, match="no world"):
        relation(0, 1)


def plain(name: str, count: int = 400) -> list[Example]:
    return [example for example in drawn(BY_NAME[name], 5, count) if example.kind == "yes_no"]


MORE = {
    "is taller than",
    "is older than",
    "runs faster than",
    "earns more than",
    "arrived after",
    "lives farther north than",
    "scored higher than",
    "has more books than",
}
LESS = {
    "is shorter than",
    "is younger than",
    "runs more slowly than",
    "earns less than",
    "arrived before",
    "lives farther south than",
    "scored lower than",
    "has fewer books than",
}
MOST = {
    "is the tallest",
    "is the oldest",
    "is the fastest",
    "earns the most",
    "arrived last",
    "lives farthest north",
    "scored highest",
    "has the most books",
}
LEAST = {
    "is the shortest",
    "is the youngest",
    "is the slowest",
    "earns the least",
    "arrived first",
    "lives farthest south",
    "scored lowest",
    "has the fewest books",
}


def holds(sentence: str, rank: dict[str, int]) -> bool | None:
    """The truth of a sentence on an order, read from its words; None where it is about something else."""
    for words, sign in ((MORE, 1), (LESS, -1)):
        for word in words:
            if match := re.fullmatch(rf"(\w+) {word} (\w+)", sentence):
                return (rank[match[1]] - rank[match[2]]) * sign > 0
    for words, place in ((MOST, max), (LEAST, min)):
        for word in words:
            if match := re.fullmatch(rf"(\w+) {word} of them", sentence):
                return rank[match[1]] == place(rank.values())
    return None


def test_orderings_by_trying_every_order() -> None:
    checked = 0
    for example in plain("orderings", 800):
        match = re.search(
            r"(?:This is about |^|[\s\"])([A-Z]\w+(?:, [A-Z]\w+)* and [A-Z]\w+)(?: are compared|\.)",
            shown(example.state),
        )
        if match is None or not re.search(
            r"follow from the text|certain that|prove this claim|Must this be true|safe conclusion",
            example.question.text,
        ):
            continue
        names = re.split(r", | and ", match[1])
        sentences = [part.strip() for part in re.split(r"[.\n]", shown(example.state))]
        claims = re.findall(
            rf"((?:{'|'.join(names)}) [a-z ]+?(?: (?:{'|'.join(names)})| of them))[.?]", example.question.text
        )
        ranks = [dict(zip(names, order, strict=True)) for order in itertools.permutations(range(len(names)))]
        said = [sentence for sentence in sentences if holds(sentence, ranks[0]) is not None]
        assert said and len(claims) == 1, example
        open_worlds = [rank for rank in ranks if all(holds(sentence, rank) for sentence in said)]
        assert open_worlds
        assert example.gold == all(holds(claims[0], rank) for rank in open_worlds), example
        checked += 1
    assert checked > 30


def test_limits_by_comparing_the_numbers() -> None:
    from training.generators.comparisons import LIMITS

    checked = 0
    for example in plain("limits"):
        for key_a, key_b, _, above, below in LIMITS:
            if not isinstance(example.state, dict) or example.question.text not in above + below:
                continue
            flat = {
                key: value
                for part in (example.state, *(v for v in example.state.values() if isinstance(v, dict)))
                for key, value in part.items()
            }
            if key_a in flat and key_b in flat:
                assert example.gold == ((flat[key_b] > flat[key_a]) == (example.question.text in above)), example
                checked += 1
    assert checked > 30


def test_ages_by_counting_birthdays() -> None:
    checked = 0
    for example in plain("ages"):
        if not isinstance(example.state, dict) or "born" not in example.state:
            continue
        born, today = (str(example.state[key]).split("-") for key in ("born", "today"))
        limit = int(re.search(r"\d+", example.question.text)[0])  # type: ignore[index]
        age = int(today[0]) - int(born[0]) - (today[1:] < born[1:])
        assert example.gold == (age >= limit), example
        checked += 1
    assert checked > 20


def test_opening_hours_by_reading_the_timetable() -> None:
    checked = 0
    for example in plain("opening_hours"):
        if not isinstance(example.state, dict):
            continue
        day, time = str(example.state["now"]).split(" ")
        hours = example.state["hours"].get(day)
        is_open = bool(hours) and hours[0] <= time <= hours[1]
        asked_open = "closed" not in example.question.text and "outside" not in example.question.text
        assert example.gold == (is_open == asked_open), example
        checked += 1
    assert checked > 50


def test_the_last_value_wins() -> None:
    checked = 0
    for example in drawn(BY_NAME["last_value"], 6, 600):
        text = shown(example.state)
        if example.kind != "choice" or "What is" not in example.question.text or "\n" not in text:
            continue
        key = re.search(r"What is (\w+) now", example.question.text)[1]  # type: ignore[index]
        last = next(line for line in reversed(text.split("\n")) if re.search(rf"\b{key}\b", line, re.IGNORECASE))
        right = example.question.options[example.gold].name
        assert re.search(rf"(?<![\w]){re.escape(right)}$", last), example
        checked += 1
    assert checked > 20
