"""Words: definitions, topics, kinds, synonyms, opposites, gaps, senses, and whether a passage answers a query."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

import attrs

from tiebreak.questions import JSON

from ..examples import Example
from ..wordnet import Word
from .drawing import coin, other
from .generator import Generator, bound
from .shapes import answer, pick


@attrs.frozen
class Lexicon:
    """Word senses, and the lists of them that the generators draw from."""

    words: tuple[Word, ...]
    common: tuple[Word, ...]
    by_topic: dict[str, list[Word]]
    by_part: dict[str, list[Word]]
    kinds: tuple[Word, ...]
    synonyms: tuple[Word, ...]
    opposites: tuple[Word, ...]
    gaps: tuple[Word, ...]

    @classmethod
    def of(cls, words: Sequence[Word]) -> Lexicon:
        """The lexicon of the word senses."""
        by_topic: dict[str, list[Word]] = {}
        by_part: dict[str, list[Word]] = {}
        for word in words:
            by_topic.setdefault(word.topic, []).append(word)
            by_part.setdefault(word.part, []).append(word)
        return cls(
            words=tuple(words),
            common=tuple(word for word in words if word.common),
            by_topic=by_topic,
            by_part=by_part,
            kinds=tuple(word for word in words if word.part == "n" and word.kind_of and word.common),
            synonyms=tuple(word for word in words if len(word.words) > 1 and word.common),
            opposites=tuple(word for word in words if word.opposite),
            gaps=tuple(word for word in words if _gap(word)),
        )


TOPICS = {
    "noun.act": "acts and actions",
    "noun.animal": "animals",
    "noun.artifact": "things made by people",
    "noun.body": "parts of the body",
    "noun.communication": "language and messages",
    "noun.feeling": "feelings",
    "noun.food": "food and drink",
    "noun.location": "places",
    "noun.person": "people",
    "noun.plant": "plants",
    "noun.possession": "money and property",
    "noun.shape": "shapes",
    "noun.substance": "substances",
    "noun.time": "times and dates",
    "noun.quantity": "amounts and measures",
    "noun.process": "natural processes",
    "noun.phenomenon": "natural phenomena",
    "noun.group": "groups",
    "noun.event": "events",
    "noun.motive": "motives",
}


def _gap(word: Word) -> str:
    """The example with a gap where one of the words stood; empty where none stands there as it is."""
    for lemma in word.words:
        text, count = re.subn(rf"\b{re.escape(lemma)}\b", "____", word.example, count=1)
        if count:
            return text
    return ""


def _lemma(r: random.Random, word: Word) -> str:
    return r.choice(word.words)


def _unlike(r: random.Random, pool: Sequence[Word], word: Word, most: int) -> list[Word]:
    """Senses that share no word with this one."""
    drawn = r.sample(pool, min(len(pool), most + 3))
    return [one for one in drawn if not set(one.words) & set(word.words)][: r.randint(1, most)]


def _near(r: random.Random, book: Lexicon, word: Word, most: int) -> list[Word]:
    """Senses of the same topic or the same part of speech."""
    return _unlike(r, book.by_topic[word.topic] if coin(r) else book.by_part[word.part], word, most) or [
        other(r, book.words, word)
    ]


def word_for_definition(book: Lexicon, r: random.Random) -> Example:
    """Which word is defined, or which definition fits the word."""
    word = r.choice(book.common if coin(r, 0.7) else book.words)
    lemma, wrong = _lemma(r, word), _near(r, book, word, 6)
    if coin(r, 0.3):
        truth = coin(r)
        shown = word if truth else wrong[0]
        return answer(
            r,
            {"word": lemma, "definition": shown.definition} if coin(r) else f"{lemma}: {shown.definition}",
            r.choice(
                (
                    "Does the definition fit the word?",
                    "Is the word explained correctly?",
                    "Is this what the word can mean?",
                    "Would a dictionary give this meaning?",
                )
            ),
            truth,
        )
    if coin(r, 0.6):
        return pick(
            r,
            word.definition,
            r.choice(
                (
                    "Which word matches the definition?",
                    "What is being described?",
                    "Which word means this?",
                    "Find the word.",
                    "Choose the term that is defined.",
                    "Name it.",
                )
            ),
            lemma,
            [one.words[0] for one in wrong if one.words[0] != lemma] or ["none of the words"],
        )
    return pick(
        r,
        lemma,
        r.choice(
            (
                "What does the word mean?",
                "Choose the right definition.",
                "Which meaning is correct?",
                "How would a dictionary explain it?",
            )
        ),
        word.definition,
        [one.definition for one in wrong],
    )


def topic_of_word(book: Lexicon, r: random.Random) -> Example:
    """Which broad topic a noun belongs to."""
    topic = r.choice(list(TOPICS))
    word = r.choice(book.by_topic[topic])
    state = r.choice(
        (word.words[0], f"{word.words[0]}: {word.definition}", word.definition, f"{word.words[0]} ({word.definition})")
    )
    wrong = r.sample([name for key, name in TOPICS.items() if key != topic], r.randint(1, 8))
    if coin(r, 0.4):
        truth = coin(r)
        return answer(
            r,
            state,
            r.choice(
                (
                    "Does it belong to the category '{t}'?",
                    "Is it one of these: {t}?",
                    "Category {t}: right or not?",
                    "Would you look for it under '{t}'?",
                )
            ).format(t=TOPICS[topic] if truth else wrong[0]),
            truth,
        )
    return pick(
        r,
        state,
        r.choice(
            (
                "Which category does it belong to?",
                "What sort of thing is it?",
                "Category?",
                "Assign a topic.",
                "Where in a thesaurus does it stand?",
            )
        ),
        TOPICS[topic],
        wrong,
    )


def kind_of_thing(book: Lexicon, r: random.Random) -> Example:
    """What a thing is a kind of."""
    word = r.choice(book.kinds)
    near = {word.kind_of, *word.words}
    wrong = list(
        dict.fromkeys(
            one.kind_of for one in r.sample(book.kinds, 6) if one.kind_of not in near and one.topic != word.topic
        )
    )
    if not wrong:
        wrong = ["musical instrument" if word.topic != "noun.artifact" else "bird"]
    state = r.choice((word.words[0], f"{word.words[0]}: {word.definition}", f"{word.words[0]}: {word.definition}"))
    if coin(r, 0.55):
        truth = coin(r)
        return answer(
            r,
            state,
            r.choice(
                (
                    "Is it a kind of {k}?",
                    "Can it be called a sort of {k}?",
                    "Does it fall under '{k}'?",
                    "Is '{k}' the wider term for it?",
                )
            ).format(k=word.kind_of if truth else wrong[0]),
            truth,
        )
    return pick(
        r,
        state,
        r.choice(("What is it a kind of?", "Which wider term fits?", "It is a sort of ...", "Choose the class.")),
        word.kind_of,
        wrong,
    )


def synonym_or_opposite(book: Lexicon, r: random.Random) -> Example:
    """Which word means the same, or the opposite."""
    same = coin(r)
    word = r.choice(book.synonyms if same else book.opposites)
    shown, right = r.sample(word.words, 2) if same else (word.words[0], word.opposite)
    wrong = [one.words[0] for one in _near(r, book, word, 5) if not {shown, right} & set(one.words)]
    if not wrong:
        wrong = ["something else"]
    if coin(r, 0.35):
        truth = coin(r)
        ask = "Does it have nearly the same meaning as '{w}'?" if same else "Is '{w}' its opposite?"
        return answer(
            r, f"{shown}: {word.definition}" if coin(r) else shown, ask.format(w=right if truth else wrong[0]), truth
        )
    ask = r.choice(
        ("Which word has the same meaning?", "Choose the synonym.", "Which option means nearly the same?")
        if same
        else ("Which word is the opposite?", "Choose the antonym.", "What is the contrary?")
    )
    return pick(r, shown, ask, right, wrong)


def gap_in_sentence(book: Lexicon, r: random.Random) -> Example:
    """Which word fits the gap, or what a word means in a sentence."""
    word = r.choice(book.gaps)
    text = _gap(word)
    lemma = next(
        lemma for lemma in word.words if text == re.sub(rf"\b{re.escape(lemma)}\b", "____", word.example, count=1)
    )
    if coin(r, 0.6):
        wrong = [one.words[0] for one in _unlike(r, book.by_part[word.part], word, 5)] or ["nothing"]
        return pick(
            r,
            text,
            r.choice(
                (
                    "Which word fits the gap?",
                    "Fill in the blank.",
                    "Complete the sentence.",
                    "What belongs in the empty place?",
                )
            ),
            lemma,
            wrong,
        )
    senses = [one.definition for one in _near(r, book, word, 4)]
    return pick(
        r,
        word.example,
        r.choice(
            (
                f"What does '{lemma}' mean here?",
                f"In which sense is '{lemma}' used?",
                f"Meaning of '{lemma}' in this sentence?",
            )
        ),
        word.definition,
        senses,
    )


QUERIES = (
    "What is {w}?",
    "meaning of {w}",
    "tell me about {w}",
    "{w} definition",
    "explain {w}",
    "what does {w} stand for",
    "{w}",
    "Can you say in one line what {w} is?",
)


def passage_for_query(book: Lexicon, r: random.Random) -> Example:
    """Does a passage answer a query; which passage does?"""
    word = r.choice(book.common)
    wrong = _near(r, book, word, 5)
    query = r.choice(QUERIES).format(w=word.words[0])
    if coin(r, 0.6):
        truth = coin(r)
        passage = (word if truth else wrong[0]).definition
        state: JSON = (
            {"query": query, "passage": passage}
            if coin(r)
            else r.choice(
                ("Query: {q}\nPassage: {p}", "Question: {q}\nDocument: {p}", "Search: {q}\nHit: {p}", "{q}\n---\n{p}")
            ).format(q=query, p=passage)
        )
        return answer(
            r,
            state,
            r.choice(
                (
                    "Does the passage answer the query?",
                    "Is the document relevant to the search?",
                    "Would this passage help the searcher?",
                    "Is it the right hit?",
                    "Relevant?",
                    "Should this result be shown?",
                )
            ),
            truth,
        )
    return pick(
        r,
        query,
        r.choice(
            (
                "Which passage answers the query?",
                "Which text is most relevant?",
                "Select the document to show.",
                "Which hit comes first?",
            )
        ),
        word.definition,
        [one.definition for one in wrong],
    )


def generators(words: Sequence[Word]) -> tuple[Generator, ...]:
    """The generators that draw from word senses."""
    book = Lexicon.of(words)
    return (
        bound(word_for_definition, book, 3),
        bound(topic_of_word, book, 2),
        bound(kind_of_thing, book, 2),
        bound(synonym_or_opposite, book, 1.5),
        bound(gap_in_sentence, book, 2),
        bound(passage_for_query, book, 2.5),
    )
