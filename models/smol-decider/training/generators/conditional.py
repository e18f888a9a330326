"""Rules applied to cases: the rule in the question, in the state, or in the descriptions of the options."""

from __future__ import annotations

import random

from tiebreak.questions import JSON

from ..examples import Example
from .domains import DOMAINS
from .domains_abroad import DOMAINS as ABROAD
from .drawing import capital, coin, listed, shuffled
from .generator import Generator, generator
from .rules import Domain, condition, fact, facts, filler, headed, rule
from .shapes import answer, pick, pick_described
from .surfaces import as_json, prose, record

ENGLISH = DOMAINS
ALL = DOMAINS + ABROAD


def bare_question(r: random.Random, said: str) -> str:
    """Asks whether the clause holds, without naming an outcome."""
    return r.choice(
        (
            f"Does this hold: {said}?",
            f"Is it true that {said}?",
            f"Condition: {said}. Is it met?",
            f"Check: {said}.",
            f"{capital(said)}. True of this case?",
            f"Is the following requirement fulfilled? {capital(said)}.",
            f"Can it be said here that {said}?",
            f"Evaluate for the record: {said}",
        )
    )


@generator(4)
def rule_in_question(r: random.Random) -> Example:
    """The case is the state, the rule is the question."""
    truth, domain = coin(r), r.choice(ENGLISH)
    law, case = rule(r, domain, truth)
    state = record(r, facts(r, domain, case))
    if coin(r, 0.4):
        return answer(r, state, bare_question(r, law.said), truth)
    sentence, question = headed(r, domain, law), r.choice(domain.questions)
    return answer(
        r, state, r.choice((f"{sentence} {question}", f"{question} {sentence}", f"{sentence}\n{question}")), truth
    )


@generator(3)
def rule_in_state(r: random.Random) -> Example:
    """The rule and the case are the state, the question is short."""
    truth, domain = coin(r), r.choice(ENGLISH)
    law, case = rule(r, domain, truth)
    known, sentence = facts(r, domain, case), headed(r, domain, law)
    state: JSON
    if coin(r, 0.35):
        keys = r.choice((("rule", "case"), ("policy", "application"), ("condition", "data"), ("guideline", "facts")))
        body = as_json(r, known) if coin(r) else prose(r, known)
        state = dict(shuffled(r, [(keys[0], sentence), (keys[1], body)]))
    else:
        body = prose(r, known)
        state = r.choice((f"{sentence}\n\n{body}", f"{body}\n\n{sentence}", f"RULE\n{sentence}\n\nCASE\n{body}"))
    return answer(r, state, r.choice(domain.questions), truth)


@generator(1.5)
def rule_abroad(r: random.Random) -> Example:
    """A rule and a case in German, French or Spanish."""
    truth, domain = coin(r), r.choice(ABROAD)
    law, case = rule(r, domain, truth)
    known, sentence, question = facts(r, domain, case), headed(r, domain, law), r.choice(domain.questions)
    if coin(r):
        return answer(r, as_json(r, known) if coin(r) else prose(r, known, 0), f"{sentence} {question}", truth)
    return answer(r, f"{sentence}\n{prose(r, known, 0)}", question, truth)


def condition_negated(r: random.Random, said: str) -> str:
    """Asks whether the clause fails."""
    return r.choice(
        (
            f"Is it false that {said}?",
            f"Does this fail to hold: {said}?",
            f"Is the following requirement violated? {capital(said)}.",
            f"Would you say that the statement '{said}' is wrong here?",
            f"Requirement: {said}. Is it unmet?",
            f"Is there a breach of this rule: {said}?",
            f"Statement: {said}. Is it untrue of this case?",
            f"It is required that {said}. Must the case be rejected?",
        )
    )


@generator(1.5)
def rule_violated(r: random.Random) -> Example:
    """Whether a requirement is broken: yes means that the condition does not hold."""
    truth, domain = coin(r), r.choice(ENGLISH)
    law, case = rule(r, domain, not truth, most=2)
    return answer(r, record(r, facts(r, domain, case)), condition_negated(r, law.said), truth)


def single(r: random.Random, domain: Domain, field: int, truth: bool) -> tuple[str, str, JSON]:
    """A condition on one field: its key, its words and a value for which it has the truth."""
    drawn, value = condition(r, domain.fields[field], truth, domain.language)
    return drawn.key, drawn.said, value


OUTCOMES = (
    ("approve", "ask_manager", "reject", "park"),
    ("lane 1", "lane 2", "lane 3", "lane 4"),
    ("accept", "review", "decline", "wait"),
    ("green", "amber", "red", "grey"),
    ("A", "B", "C", "D"),
    ("continue", "notify", "stop", "log_only"),
    ("standard", "priority", "special", "manual"),
    ("tier_1", "tier_2", "tier_3", "tier_4"),
)


@generator(3)
def decision_list(r: random.Random) -> Example:
    """If this then X, else if that then Y, else Z: which comes out."""
    domain, size = r.choice(ENGLISH), r.randint(1, 3)
    fires = r.randint(0, size)  # the first condition that holds; `size` is the last else
    places = r.sample(range(len(domain.fields)), size)
    words = r.choice(OUTCOMES)
    names = r.sample(words, size + 1)
    case: dict[str, JSON] = {}
    said = []
    for number, place in enumerate(places):
        key, text, value = single(r, domain, place, number == fires or (number > fires and coin(r)))
        said.append(text)
        case[key] = value
    steps = [f"if {text}, {name}" for text, name in zip(said, names, strict=False)]
    chain = r.choice(("; else ", "; otherwise ", "; if not, but ")).join(steps)
    last = r.choice(("; else", "; otherwise", "; in every other case")) + f" {names[-1]}"
    lines = "\n".join(f"{number}. {capital(step)}" for number, step in enumerate(steps, 1))
    text = r.choice((chain + last, f"{lines}\n{len(steps) + 1}. Otherwise {names[-1]}\n(the first match counts)"))
    question = r.choice(
        (
            "Which outcome follows from the rules?",
            "Apply the rules.",
            "What is the result?",
            "Choose the right outcome.",
            "Go through the steps in order. Where does it end?",
            "Which branch is taken?",
            "Decide.",
            "What must be done?",
        )
    )
    known, wrong = facts(r, domain, case), [name for name in names if name != names[fires]]
    if coin(r, 0.25) and len(names) < len(words):
        wrong.append(next(name for name in words if name not in names))
    if coin(r):
        return pick(
            r, record(r, known), f"{question}\n{text}" if coin(r) else f"Rules: {text}. {question}", names[fires], wrong
        )
    return pick(r, f"{text}\n\n{prose(r, known)}", question, names[fires], wrong)


@generator(2)
def rules_as_options(r: random.Random) -> Example:
    """Every option says in its description when it applies; one of them does."""
    domain, size = r.choice(ENGLISH), r.randint(2, 4)
    place = r.randrange(len(domain.fields))
    right = r.randrange(size)
    names = r.sample([word for words in OUTCOMES for word in words], size)
    options: dict[str, str] = {}
    case: dict[str, JSON] = {}
    for number in range(size):
        field = domain.fields[(place + number) % len(domain.fields)]
        drawn, value = condition(r, field, number == right)
        case[drawn.key] = value
        options[names[number]] = r.choice(
            ("when {}", "applies if {}", "choose this if {}", "{}", "for cases in which {}")
        ).format(drawn.said)
    question = r.choice(
        (
            "Which option's condition is met?",
            "Which of these applies?",
            "Choose the option whose condition holds.",
            "Select the action.",
            "What should the system do?",
            "Which path does the case take?",
            "Exactly one applies. Which?",
        )
    )
    return pick_described(r, record(r, facts(r, domain, case, 1)), question, names[right], options)


@generator(2)
def unmet_condition(r: random.Random) -> Example:
    """Several conditions, all but one met: which one is not? Or the other way round."""
    domain, size = r.choice(ENGLISH), r.randint(2, 5)
    places = r.sample(range(len(domain.fields)), size)
    odd, failing = r.randrange(size), coin(r, 0.7)
    rows = [single(r, domain, place, (number == odd) != failing) for number, place in enumerate(places)]
    case = {key: value for key, _, value in rows}
    said = [text for _, text, _ in rows]
    question = r.choice(
        (
            "Which condition is not met?",
            "Which requirement fails?",
            "Which of these is untrue here?",
            "What stands in the way?",
            "Find the requirement that is violated.",
            "Exactly one statement is false. Which?",
        )
        if failing
        else (
            "Which condition is met?",
            "Which of these is true here?",
            "Only one statement holds. Which?",
            "Find the requirement that is fulfilled.",
            "Which statement fits the record?",
            "Which one is right?",
        )
    )
    return pick(r, record(r, facts(r, domain, case, 1)), question, said[odd], said[:odd] + said[odd + 1 :])


@generator(1.5)
def matching_case(r: random.Random) -> Example:
    """Several cases, one rule: which case fulfils it."""
    domain, size = r.choice(ENGLISH), r.randint(2, 4)
    law, good = rule(r, domain, True, most=2)
    cases = [good]
    while len(cases) < size:
        other = {key: filler(r, field) for field in domain.fields for key in [field.key] if key in good}
        if not law.holds(other):
            cases.append(other)
    names = r.choice(
        (
            ["A", "B", "C", "D"],
            ["case 1", "case 2", "case 3", "case 4"],
            r.sample(["Ines", "Kim", "Omar", "Zoe", "Ravi"], 4),
        )
    )
    order = shuffled(r, list(range(size)))
    texts = {
        names[place]: [fact(field, cases[index][field.key]) for field in domain.fields if field.key in good]
        for place, index in enumerate(order)
    }
    right = names[order.index(0)]
    if coin(r):
        state: JSON = {name: {known.key: known.value for known in texts[name]} for name in texts}
    else:
        state = "\n".join(
            f"{name}: {listed([known.sentence for known in known_facts])}." for name, known_facts in texts.items()
        )
    question = r.choice(
        (
            "For which of them does this hold: {}?",
            "Who or what fulfils the condition '{}'?",
            "Find the one for which {}.",
            "Only one meets the requirement: {}. Which?",
            "Select where it is true that {}.",
            "Which entry matches: {}?",
        )
    ).format(law.said)
    return pick(r, state, question, right, [name for name in texts if name != right])


@generator(1.5)
def quota(r: random.Random) -> Example:
    """A limit that is used up by a list of things: is there room for one more?"""
    truth, limit = coin(r), r.randint(2, 9)
    used = r.randint(0, limit - 1) if truth else r.randint(limit, limit + 3)
    thing, place, ask = r.choice(
        (
            ("seats", "course", "Can one more person enrol?"),
            ("desks", "room", "Is there a desk for another colleague?"),
            ("parcels", "locker", "Can another parcel be put in?"),
            ("requests per minute", "client", "Is one more request allowed?"),
            ("licences", "team", "Can one more licence be given out?"),
            ("bikes", "station", "Can another bike be parked?"),
            ("tents", "meadow", "May another tent be put up?"),
            ("downloads a month", "account", "Is a further download possible?"),
        )
    )
    sentence = r.choice(
        (
            "The {p} is limited to {n} {t}; {u} are taken.",
            "{u} of {n} {t} in use ({p}).",
            "At most {n} {t} per {p}. So far: {u}.",
            "limit={n} used={u} unit='{t}' scope={p}",
            "This {p} allows {n} {t}. We already count {u}.",
            "Per {p} no more than {n} {t} are possible, and {u} have gone.",
        )
    ).format(p=place, n=limit, t=thing, u=used)
    state: JSON = {"scope": place, "unit": thing, "limit": limit, "used": used} if coin(r, 0.35) else sentence
    if coin(r):
        return answer(r, state, ask, truth)
    return answer(
        r,
        state,
        r.choice(
            ("Is the limit reached?", "Is it full?", "Must the next one be turned away?", "Is the quota used up?")
        ),
        not truth,
    )


GENERATORS: tuple[Generator, ...] = (
    rule_in_question,
    rule_in_state,
    rule_abroad,
    rule_violated,
    decision_list,
    rules_as_options,
    unmet_condition,
    matching_case,
    quota,
)
