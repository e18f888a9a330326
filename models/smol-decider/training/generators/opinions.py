"""Opinions: praise and blame, contrast (but, although), aspects, sarcasm-free negation, and how strong it is."""

from __future__ import annotations

import random

from tiebreak.questions import JSON

from ..examples import Example
from .drawing import capital, coin, other, some
from .generator import Generator, generator
from .shapes import answer, level, pick
from .surfaces import framed
from .words import CITIES, NAMES, PRODUCTS

# aspect: (good, bad), each as a clause
ASPECTS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "price": (
        (
            "the price is very fair",
            "it costs next to nothing",
            "you get a lot for your money",
            "it is cheaper than elsewhere",
        ),
        ("it is far too dear", "the price is a joke", "not worth half of what I paid", "they ask too much money"),
    ),
    "service": (
        (
            "the staff could not have been kinder",
            "every question was answered politely",
            "the waiters were attentive",
            "support solved it on the phone",
        ),
        (
            "nobody answered my letters",
            "the staff was rude",
            "the clerk was bored and unhelpful",
            "support hung up on me",
        ),
    ),
    "quality": (
        (
            "it is solidly built",
            "after two years it still works like new",
            "everything fits and nothing rattles",
            "it is made to last",
        ),
        (
            "it fell apart after a week",
            "it feels flimsy",
            "the seams came off on the first day",
            "one part was broken when I opened the box",
        ),
    ),
    "place": (
        (
            "it lies right at the sea",
            "everything is within walking distance",
            "the view is breathtaking",
            "it is wonderfully quiet there",
        ),
        (
            "it is next to the motorway",
            "it is miles from anything",
            "the view is of a car park",
            "you hear the trains all night",
        ),
    ),
    "food": (
        (
            "the soup was delicious",
            "I have rarely eaten so well",
            "breakfast left nothing to be desired",
            "the cake was a dream",
        ),
        ("the fish was cold", "the coffee was undrinkable", "there was a hair in the salad", "the bread was stale"),
    ),
    "speed": (
        (
            "it came the very next day",
            "it starts in a blink",
            "it was done before I had my coat off",
            "it took no time at all",
        ),
        (
            "it took five weeks to arrive",
            "it is painfully slow",
            "it needs minutes to start",
            "the delivery dragged on for ages",
        ),
    ),
    "use": (
        (
            "a child could operate it",
            "everything is where you expect it",
            "I understood it at once",
            "the manual is clear",
        ),
        (
            "I still do not understand the buttons",
            "nothing is where you expect it",
            "the manual is useless",
            "you need a degree to switch it on",
        ),
    ),
}
GENERAL = (
    (
        "all in all I would come again",
        "I recommend it warmly",
        "I am glad that I bought it",
        "my favourite of the year",
        "five stars from me",
    ),
    (
        "all in all I would not come again",
        "I advise against it",
        "I regret that I bought it",
        "the worst of the year",
        "no star from me",
    ),
)
TWISTED = (
    (
        "I have nothing to complain about",
        "not bad at all",
        "it never let me down",
        "I cannot say anything bad about it",
        "I had feared the worst and was wrong",
        "nicht zu beanstanden, gern wieder",
        "rien à redire",
        "no me arrepiento",
    ),
    (
        "I have never been so disappointed",
        "not good at all",
        "it is anything but pleasant",
        "I had hoped for more",
        "nothing of what they promised was true",
        "leider gar nicht zu empfehlen",
        "je ne le reprendrais pas",
        "no lo volvería a comprar",
    ),
)
CONTRASTS = (
    "{X}, but {y}.",
    "Although {x}, {y}.",
    "{X}. However, {y}.",
    "{X}; still, {y}.",
    "Even though {x}, in the end {y}.",
    "Yes, {x}. Yet {y}.",
    "{X}, which is true, but {y}.",
    "True, {x}. Nevertheless {y}.",
)
SENTIMENT_ASKS = (
    "What is the writer's overall verdict?",
    "Is the review positive or negative as a whole?",
    "Overall opinion?",
    "How does the writer feel in the end?",
    "Polarity of the verdict?",
    "Classify the opinion.",
)
SENTIMENT_WORDS = (
    ("positive", "negative"),
    ("satisfied", "dissatisfied"),
    ("recommends it", "advises against it"),
    ("good", "bad"),
    ("thumbs up", "thumbs down"),
    ("happy", "unhappy"),
)
GOOD_ASKS = (
    "Is the writer satisfied on the whole?",
    "Is the verdict favourable?",
    "Would the writer do it again?",
    "Does the writer recommend it?",
    "Good feedback in the end?",
    "Does the positive outweigh the negative for the writer?",
)
BAD_ASKS = (
    "Is the writer dissatisfied on the whole?",
    "Is the verdict unfavourable?",
    "Does the writer advise against it?",
    "Would the shop rather not show this review?",
    "Is the final word a negative one?",
    "Was it a disappointment in the end?",
)


def verdict(r: random.Random, good: bool) -> str:
    """A text whose final verdict is good or bad, often with a concession to the other side before."""
    end = r.choice(GENERAL[not good]) if coin(r, 0.6) else r.choice(TWISTED[not good][:5])
    if coin(r, 0.55):
        aspect = r.choice(list(ASPECTS))
        concession = r.choice(ASPECTS[aspect][good])
        return r.choice(CONTRASTS).format(x=concession, X=capital(concession), y=end)
    if coin(r, 0.3):
        return capital(r.choice(TWISTED[not good])) + "."
    aspect = r.choice(list(ASPECTS))
    support = r.choice(ASPECTS[aspect][not good])
    return r.choice(
        (
            f"{capital(support)}. {capital(end)}.",
            f"{capital(support)}, so {end}.",
            f"{capital(end)}: {support}.",
            f"{capital(support)} and {end}.",
        )
    )


@generator(3)
def overall_verdict(r: random.Random) -> Example:
    """The verdict as a whole, in spite of concessions."""
    good = coin(r)
    text = verdict(r, good)
    state = framed(r, f"{capital(r.choice(PRODUCTS))}: {text}" if coin(r, 0.2) else text)
    if coin(r, 0.55):
        ask_good = coin(r)
        return answer(r, state, r.choice(GOOD_ASKS if ask_good else BAD_ASKS), good == ask_good)
    words = r.choice(SENTIMENT_WORDS)
    extra = ["neutral"] if words[0] in ("positive", "good") and coin(r, 0.3) else []
    return pick(r, state, r.choice(SENTIMENT_ASKS), words[not good], [words[good], *extra])


@generator(3)
def aspect_opinion(r: random.Random) -> Example:
    """A review of several aspects: which is praised, which is blamed?"""
    aspects = r.sample(list(ASPECTS), r.randint(2, 4))
    praised = [coin(r) for _ in aspects]
    clauses = [r.choice(ASPECTS[aspect][not good]) for aspect, good in zip(aspects, praised, strict=True)]
    text = " ".join(capital(clause) + "." for clause in clauses)
    if len(clauses) == 2 and praised[0] != praised[1]:
        text = r.choice(CONTRASTS).format(x=clauses[0], X=capital(clauses[0]), y=clauses[1])
    place = r.randrange(len(aspects))
    name = {"use": "ease of use", "place": "location"}.get(aspects[place], aspects[place])
    state = framed(r, text)
    kind = r.random()
    if kind < 0.55:
        ask_good = coin(r)
        ask = r.choice(
            (
                "Is the writer happy with the {a}?",
                "Is the {a} praised?",
                "Does the {a} get a good mark?",
                "Positive about the {a}?",
            )
            if ask_good
            else (
                "Is the writer unhappy with the {a}?",
                "Is the {a} criticised?",
                "Does the {a} get a bad mark?",
                "Negative about the {a}?",
            )
        )
        return answer(r, state, ask.format(a=name), praised[place] == ask_good)
    if kind < 0.8 and praised.count(praised[place]) == 1:
        names = [{"use": "ease of use", "place": "location"}.get(aspect, aspect) for aspect in aspects]
        return pick(
            r,
            state,
            "Which aspect is praised?" if praised[place] else "Which aspect is criticised?",
            name,
            [one for one in names if one != name],
        )
    right = "positive" if praised[place] else "negative"
    return pick(
        r, state, f"Opinion on the {name}?", right, ["negative" if praised[place] else "positive", "not mentioned"]
    )


@generator(1)
def aspect_mentioned(r: random.Random) -> Example:
    """Which aspect a remark is about."""
    aspect = r.choice(list(ASPECTS))
    text = capital(r.choice(r.choice(ASPECTS[aspect]))) + "."
    names = {one: {"use": "ease of use", "place": "location"}.get(one, one) for one in ASPECTS}
    if coin(r, 0.4):
        truth = coin(r)
        return answer(
            r,
            framed(r, text),
            f"Is the remark about the {names[aspect] if truth else other(r, list(names.values()), names[aspect])}?",
            truth,
        )
    return pick(
        r,
        framed(r, text),
        r.choice(("What is the remark about?", "Which aspect is judged?", "Aspect?")),
        names[aspect],
        some(r, [name for one, name in names.items() if one != aspect], 1, 6),
    )


STRENGTHS = (
    (
        "very unhappy",
        (
            "A disgrace. I want my money back and I will tell everyone.",
            "Never in my life have I seen such rubbish.",
            "Absolutely terrible from start to finish!",
        ),
    ),
    (
        "rather unhappy",
        (
            "I had expected somewhat more, to be honest.",
            "A few things went wrong, so I am a bit let down.",
            "It works, but the noise bothers me a good deal.",
        ),
    ),
    (
        "neither happy nor unhappy",
        (
            "It does what it says, no more and no less.",
            "Average. I have no strong feelings about it.",
            "Some good, some bad; it evens out.",
        ),
    ),
    (
        "rather happy",
        (
            "Quite nice, I might buy it again.",
            "Good on the whole, with small flaws.",
            "A decent piece of work, thank you.",
        ),
    ),
    (
        "very happy",
        (
            "Perfect in every way, I am over the moon!",
            "The best I have ever had, ten out of ten.",
            "I love it, love it, love it.",
        ),
    ),
)


@generator(1.5)
def strength_of_opinion(r: random.Random) -> Example:
    """How happy the writer is, on a scale of five or three."""
    gold = r.randrange(5)
    text = r.choice(STRENGTHS[gold][1])
    state = framed(r, f"{text} ({r.choice(PRODUCTS)}, bought in {r.choice(CITIES)})" if coin(r, 0.3) else text)
    ask = r.choice(
        ("How happy is the writer?", "Rate the satisfaction.", "How content does the customer sound?", "Satisfaction?")
    )
    if coin(r, 0.35):
        levels = ["unhappy", "neutral", "happy"]
        return level(state, ask, levels, (0, 0, 1, 2, 2)[gold])
    levels = [name for name, _ in STRENGTHS]
    return (
        level(state, ask, levels, gold)
        if coin(r, 0.6)
        else pick(r, state, ask, levels[gold], [one for one in levels if one != levels[gold]])
    )


@generator(1.5)
def which_is_better(r: random.Random) -> Example:
    """Two reviews: which is the more favourable?"""
    names = r.choice((("A", "B"), ("first", "second"), tuple(r.sample(NAMES, 2)), ("review 1", "review 2")))
    best = coin(r)
    texts = [verdict(r, best), verdict(r, not best)]
    state: JSON = (
        dict(zip(names, texts, strict=True))
        if coin(r)
        else "\n".join(f"{name}: {text}" for name, text in zip(names, texts, strict=True))
    )
    good = coin(r)
    right = names[0] if best == good else names[1]
    ask = (
        r.choice(("Which review is more favourable?", "Who is more satisfied?", "Which one recommends it?"))
        if good
        else r.choice(
            ("Which review is less favourable?", "Who is more disappointed?", "Which one would keep buyers away?")
        )
    )
    if coin(r, 0.3):
        truth = coin(r)
        return answer(r, state, f"{ask} Is it {right if truth else other(r, names, right)}?", truth)
    return pick(r, state, ask, right, [other(r, names, right)])


GENERATORS: tuple[Generator, ...] = (
    overall_verdict,
    aspect_opinion,
    aspect_mentioned,
    strength_of_opinion,
    which_is_better,
)
