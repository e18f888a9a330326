"""Rules over a case: conditions on its fields, joined by and, or, unless, two of. Each can be said and judged."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence

import attrs

from tiebreak.questions import JSON

from .drawing import coin, listed
from .surfaces import Fact

Case = Mapping[str, JSON]


@attrs.frozen
class Flag:
    """A field that is true or false, with the sentence for each."""

    key: str
    true: str
    false: str


@attrs.frozen
class Number:
    """A field that holds a whole number between `low` and `high`; `unit` may be empty."""

    key: str
    noun: str
    unit: str
    low: int
    high: int


@attrs.frozen
class Kind:
    """A field that holds one of a few words."""

    key: str
    noun: str
    values: tuple[str, ...]


Field = Flag | Number | Kind


@attrs.frozen
class Domain:
    """A world that rules are made for.

    Args:
        name: What it is about.
        outcome: What the rule decides, as a clause: `the refund is granted`.
        questions: Yes/no questions for that outcome.
        fields: What a case has.
        language: Of the clauses: en, de, fr or es.
    """

    name: str
    outcome: str
    questions: tuple[str, ...]
    fields: tuple[Field, ...]
    language: str = "en"


@attrs.frozen
class Condition:
    """One condition on one field: how it is said, and its test."""

    key: str
    said: str
    relation: str
    value: JSON

    def holds(self, case: Case) -> bool:
        """Whether the case fulfils it."""
        return RELATIONS[self.relation](case[self.key], self.value)


RELATIONS: dict[str, Callable[..., bool]] = {
    "is": lambda a, b: bool(a == b),
    "is not": lambda a, b: bool(a != b),
    "in": lambda a, b: a in b,
    ">=": lambda a, b: bool(a >= b),
    "<=": lambda a, b: bool(a <= b),
    ">": lambda a, b: bool(a > b),
    "<": lambda a, b: bool(a < b),
}

COMPARED: dict[str, dict[str, tuple[str, ...]]] = {
    "en": {
        ">=": ("is at least {}", "is {} or more", "is not below {}", "is no less than {}"),
        "<=": ("is at most {}", "is {} or less", "is not above {}", "does not exceed {}"),
        ">": ("is more than {}", "is above {}", "exceeds {}", "is over {}"),
        "<": ("is less than {}", "is below {}", "is under {}"),
        "is": ("is {}", "equals {}"),
        "is not": ("is not {}", "is anything but {}", "differs from {}"),
        "in": ("is {} or {}", "is either {} or {}", "is one of {}, {}"),
    },
    "de": {
        ">=": ("beträgt mindestens {}", "liegt nicht unter {}"),
        "<=": ("beträgt höchstens {}", "liegt nicht über {}"),
        ">": ("beträgt mehr als {}", "liegt über {}"),
        "<": ("beträgt weniger als {}", "liegt unter {}"),
        "is": ("ist {}",),
        "is not": ("ist nicht {}",),
        "in": ("ist {} oder {}",),
    },
    "fr": {
        ">=": ("est d'au moins {}", "n'est pas inférieur à {}"),
        "<=": ("est d'au plus {}", "ne dépasse pas {}"),
        ">": ("est de plus de {}", "dépasse {}"),
        "<": ("est de moins de {}", "est inférieur à {}"),
        "is": ("est : {}",),
        "is not": ("n'est pas : {}",),
        "in": ("est : {} ou {}",),
    },
    "es": {
        ">=": ("es de al menos {}", "no es menor de {}"),
        "<=": ("es como máximo de {}", "no supera {}"),
        ">": ("es de más de {}", "supera {}"),
        "<": ("es de menos de {}", "es menor de {}"),
        "is": ("es {}",),
        "is not": ("no es {}",),
        "in": ("es {} o {}",),
    },
}
STATES = {"en": "{} is {}", "de": "{} ist {}", "fr": "{} : {}", "es": "{}: {}"}


def amount(number: int, unit: str) -> str:
    """`3 days`, `$3` or `3`."""
    if unit in ("$", "£"):
        return f"{unit}{number}"
    return f"{number} {unit}".strip() if unit != "%" else f"{number}%"


def number_condition(r: random.Random, field: Number, truth: bool, language: str) -> tuple[Condition, int]:
    """A condition on a number that is near the limit half of the time, with the number of the case."""
    relation = r.choice((">=", "<=", ">", "<"))
    width = field.high - field.low
    limit = field.low + max(1, round(width * r.uniform(0.15, 0.85)))
    if width > 400:
        limit = limit // 50 * 50
    elif width > 60:
        limit = limit // 5 * 5
    limit = max(field.low + 1, limit)
    upper = (relation in (">=", ">")) == truth  # the number lies on the upper side
    on_limit = (relation in (">=", "<=")) == truth
    if on_limit and coin(r, 0.15):
        number = limit
    else:
        room = (field.high - limit) if upper else (limit - field.low)
        near = max(1, min(room, max(1, width // 20)))
        step = r.randint(1, near) if coin(r, 0.4) else r.randint(1, max(1, room))
        number = limit + step if upper else limit - step
    said = f"{field.noun} {r.choice(COMPARED[language][relation]).format(amount(limit, field.unit))}"
    return Condition(field.key, said, relation, limit), number


def condition(r: random.Random, field: Field, truth: bool, language: str = "en") -> tuple[Condition, JSON]:
    """A condition on the field and a value of the case, such that the condition has the given truth."""
    if isinstance(field, Flag):
        is_so = coin(r)
        wanted = is_so == truth
        return Condition(field.key, field.true if wanted else field.false, "is", wanted), is_so
    if isinstance(field, Number):
        return number_condition(r, field, truth, language)
    value = r.choice(field.values)
    rest = [word for word in field.values if word != value]
    relation = r.choice(("is", "is", "is not", "in") if len(rest) > 2 else ("is", "is not"))
    if relation == "in":
        pair = [value, r.choice(rest)] if truth else r.sample(rest, 2)
        r.shuffle(pair)
        said = r.choice(COMPARED[language]["in"]).format(*pair)
        return Condition(field.key, f"{field.noun} {said}", "in", tuple(pair)), value
    named = value if (relation == "is") == truth else r.choice(rest)
    said = r.choice(COMPARED[language][relation]).format(named)
    return Condition(field.key, f"{field.noun} {said}", relation, named), value


def fact(field: Field, value: JSON, language: str = "en") -> Fact:
    """What a case says about the field."""
    if isinstance(field, Flag):
        return Fact(field.key, value, field.true if value else field.false)
    if isinstance(field, Number):
        assert isinstance(value, int)
        shown = amount(value, field.unit)
        label = f"{bare(field.noun)} ({field.unit})" if field.unit else bare(field.noun)
        return Fact(field.key, value, STATES[language].format(field.noun, shown), label)
    return Fact(field.key, value, STATES[language].format(field.noun, value), bare(field.noun))


def bare(noun: str) -> str:
    """The noun without its English article."""
    return noun.removeprefix("the ")


def filler(r: random.Random, field: Field) -> JSON:
    """Any value of the field."""
    if isinstance(field, Flag):
        return coin(r)
    return r.randint(field.low, field.high) if isinstance(field, Number) else r.choice(field.values)


# ---- how conditions are joined: name, number of conditions, test, and wordings per language
Test = Callable[..., bool]
JOINED: tuple[tuple[int, Test, dict[str, tuple[str, ...]]], ...] = (
    (1, lambda a: a, {"en": ("{a}",), "de": ("{a}",), "fr": ("{a}",), "es": ("{a}",)}),
    (
        2,
        lambda a, b: a and b,
        {
            "en": ("{a} and {b}", "{a} and, in addition, {b}", "both of these hold: {a}; {b}", "{a} as long as {b}"),
            "de": ("{a} und {b}", "beides gilt: {a}; {b}"),
            "fr": ("{a} et {b}", "les deux sont vrais : {a} ; {b}"),
            "es": ("{a} y {b}", "se cumplen las dos cosas: {a}; {b}"),
        },
    ),
    (
        2,
        lambda a, b: a or b,
        {
            "en": ("{a} or {b}", "at least one of these holds: {a}; {b}", "{a}, or else {b}"),
            "de": ("{a} oder {b}", "mindestens eines gilt: {a}; {b}"),
            "fr": ("{a} ou {b}", "au moins l'un des deux est vrai : {a} ; {b}"),
            "es": ("{a} o {b}", "se cumple al menos una: {a}; {b}"),
        },
    ),
    (
        2,
        lambda a, b: a and not b,
        {
            "en": (
                "{a}, unless {b}",
                "{a}, except when {b}",
                "{a}, but never if {b}",
                "{a} and it is not the case that {b}",
            ),
            "de": ("{a}, außer in diesem Fall: {b}", "{a} und nicht gilt: {b}"),
            "fr": ("{a}, sauf dans ce cas : {b}",),
            "es": ("{a}, salvo en este caso: {b}",),
        },
    ),
    (
        2,
        lambda a, b: not a and not b,
        {"en": ("neither of these holds: {a}; {b}", "none of the following is true: {a}; {b}")},
    ),
    (2, lambda a, b: a != b, {"en": ("exactly one of these holds: {a}; {b}",)}),
    (3, lambda a, b, c: a and b and c, {"en": ("{a}, {b}, and {c}", "all three hold: (1) {a}; (2) {b}; (3) {c}")}),
    (3, lambda a, b, c: a or b or c, {"en": ("{a}, {b}, or {c}", "any of these holds: (1) {a}; (2) {b}; (3) {c}")}),
    (
        3,
        lambda a, b, c: a and (b or c),
        {"en": ("{a} and at least one of these holds: {b}; {c}", "{a} and, besides, ({b} or {c})")},
    ),
    (3, lambda a, b, c: (a and b) or c, {"en": ("({a} and {b}) or {c}", "{c}; or both {a} and {b}")}),
    (3, lambda a, b, c: a and b and not c, {"en": ("{a} and {b}, unless {c}", "{a} and {b}; not, however, if {c}")}),
    (3, lambda a, b, c: (a or b) and not c, {"en": ("one of these holds: {a}; {b}; and it is not so that {c}",)}),
    (
        3,
        lambda a, b, c: a + b + c >= 2,
        {"en": ("at least two of these three hold: {a}; {b}; {c}", "two or more are true of: {a} / {b} / {c}")},
    ),
    (3, lambda a, b, c: a and not (b and c), {"en": ("{a}, except when both {b} and {c}",)}),
)


@attrs.frozen
class Rule:
    """A clause over conditions, with its test."""

    said: str
    conditions: tuple[Condition, ...]
    test: Test

    def holds(self, case: Case) -> bool:
        """Whether the case fulfils the rule."""
        return self.test(*(condition.holds(case) for condition in self.conditions))


def rule(r: random.Random, domain: Domain, truth: bool, most: int = 3) -> tuple[Rule, dict[str, JSON]]:
    """A rule of one to `most` conditions and a case for which it has the given truth."""
    language = domain.language
    size, test, wordings = r.choice([joint for joint in JOINED if joint[0] <= most and language in joint[2]])
    rows = [row for row in _rows(size) if test(*row) == truth]
    truths = r.choice(rows)
    fields = r.sample(domain.fields, size)
    drawn = [condition(r, field, wanted, language) for field, wanted in zip(fields, truths, strict=True)]
    parts = {name: condition.said for name, (condition, _) in zip("abc", drawn, strict=False)}
    case = {condition.key: value for condition, value in drawn}
    said = r.choice(wordings[language]).format(**parts)
    return Rule(said, tuple(condition for condition, _ in drawn), test), case


def _rows(size: int) -> list[tuple[bool, ...]]:
    return [tuple(bool(bits >> place & 1) for place in range(size)) for bits in range(2**size)]


def facts(r: random.Random, domain: Domain, case: Case, extra: int = 2) -> list[Fact]:
    """The facts of a case, with up to `extra` more fields of its domain."""
    spare = [field for field in domain.fields if field.key not in case]
    shown = [field for field in domain.fields if field.key in case]
    more = r.sample(spare, min(len(spare), r.randint(0, extra)))
    known = [fact(field, case[field.key], domain.language) for field in shown]
    return known + [fact(field, filler(r, field), domain.language) for field in more]


def headed(r: random.Random, domain: Domain, rule: Rule) -> str:
    """The rule as a full sentence that decides the outcome both ways."""
    if domain.language == "de":
        return f"Regel: {domain.outcome} genau dann, wenn Folgendes gilt: {rule.said}."
    if domain.language == "fr":
        return f"Règle : {domain.outcome} si, et seulement si, ceci est vrai : {rule.said}."
    if domain.language == "es":
        return f"Regla: {domain.outcome} si, y solo si, se cumple lo siguiente: {rule.said}."
    said, outcome = rule.said, domain.outcome
    return r.choice(
        (
            f"Rule: {outcome} if {said}; otherwise not.",
            f"{outcome[:1].upper()}{outcome[1:]} exactly when {said}.",
            f"Policy: {outcome} if and only if {said}.",
            f"{outcome[:1].upper()}{outcome[1:]} under one condition: {said}.",
            f"It is decided like this: if {said}, {outcome}; in every other case it is refused.",
            f"Condition under which {outcome}: {said}.",
            f"Only this counts: {outcome} when {said}.",
            f"IF {said} THEN {outcome} ELSE not",
        )
    )


def joined(parts: Sequence[str]) -> str:
    """Several clauses as one."""
    return listed(list(parts))
