"""`Prompt`: an example as the token ids that the model sees in the product, and the tokens among which it picks.

The prompts of the forms `decider` and `schema-first` are laid out by the product's own layouts, so they cannot differ.
The form `pcd` is what pcdServer writes around the fields that `tiebreak_pcdserver` sends it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from itertools import accumulate
from random import Random
from typing import TYPE_CHECKING, Literal

import attrs

from tiebreak.engine import Vocabulary
from tiebreak.plan import Row, Segment
from tiebreak.questions import JSON, Option, Question, Request, dumps
from tiebreak.stages.decider import DeciderLayout, SchemaFirstLayout, level_questions
from tiebreak.stages.layout import Layout
from training.examples import Example
from training.tokenizer import label_tokens

if TYPE_CHECKING:
    from tokenizers import Tokenizer

__all__ = ["FORMS", "Encoder", "Form", "Prompt", "pcd_field"]

Form = Literal["decider", "schema-first", "pcd"]
FORMS: tuple[Form, ...] = ("decider", "schema-first", "pcd")

_LAYOUTS: Mapping[Form, Layout] = {"decider": DeciderLayout(), "schema-first": SchemaFirstLayout()}
_FIELDS = "answer label category decision result intent type x".split()
_PCD_SYSTEM = (
    "You are a precise structured-data extraction engine. Read the user's text and decide the value of every field "
    "below. Each field must be set to exactly one of its allowed values. Respond only with a JSON object containing "
    "every field.\n\nFields:\n"
)


@attrs.frozen(kw_only=True)
class Prompt:
    """One row: a prompt, the tokens that may follow it, and which of them is right.

    Attributes:
        form: which layout wrote it.
        tokens: ids of the prompt; the answer is read behind the last one.
        candidates: ids of the labels, in the order of the options.
        gold: index of the right one.
        ends: for each option the position of the token that ends it; empty in the form `pcd`.
        order: which option of the example each candidate stands for; empty where they stand as in the example.
    """

    form: Form
    tokens: tuple[int, ...]
    candidates: tuple[int, ...]
    gold: int
    ends: tuple[int, ...]
    order: tuple[int, ...] = ()


class Encoder:
    """Turns examples into prompts.

    Args:
        tokenizer: the model's.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # prompts are short and workers many
        self._tokenizer = tokenizer
        self._labels = label_tokens(tokenizer)
        self._vocabulary = Vocabulary(labels=self._labels)

    def drawn(self, example: Example, form: Form, rng: Random) -> Prompt:
        """One training row of an example: for a score, of one level, the right one in 45 of 100 draws.

        An example that pcdServer's form cannot tell apart at the first token gets the form `decider`.
        """
        if form == "pcd":
            prompt = self._pcd(example, rng.choice(_FIELDS))
            if prompt is not None:
                return prompt
            form = "decider"
        if example.kind != "score":
            return self._laid_out(example.state, example.question, example.gold, form)
        return self._laid_out(example.state, *_level(example, rng), form)

    def pair(self, example: Example, rng: Random) -> tuple[Prompt, Prompt]:
        """Two training rows of an example that should get the same answer.

        A choice is asked again with its options in another order, one time in three in the other layout as well.
        Yes and no have one order in the product, so yes/no questions and levels are asked in both layouts.
        """
        forms: list[Form] = ["decider", "schema-first"]
        rng.shuffle(forms)
        if example.kind == "score":
            question, gold = _level(example, rng)
            first, second = (self._laid_out(example.state, question, gold, form) for form in forms)
            return first, second
        if example.kind == "yes_no":
            first, second = (self._laid_out(example.state, example.question, example.gold, form) for form in forms)
            return first, second
        if rng.random() < 2 / 3:
            forms[1] = forms[0]
        order = _other_order(len(example.question.options), rng)
        turned = attrs.evolve(example.question, options=tuple(example.question.options[option] for option in order))
        second = self._laid_out(example.state, turned, order.index(example.gold), forms[1])
        first = self._laid_out(example.state, example.question, example.gold, forms[0])
        return first, attrs.evolve(second, order=tuple(order))

    def rows(self, example: Example, form: Form) -> list[Prompt]:
        """All rows that the product asks for an example: one, or for a score one per level, gold being yes or no.

        Raises:
            ValueError: pcdServer's form cannot tell the options apart at the first token.
        """
        if form == "pcd":
            prompt = self._pcd(example, "answer")
            if prompt is None:
                raise ValueError(f"{example.family}: two options begin alike")
            return [prompt]
        if example.kind != "score":
            return [self._laid_out(example.state, example.question, example.gold, form)]
        return [
            self._laid_out(example.state, question, int(level == example.gold), form)
            for level, question in enumerate(_levels(example))
        ]

    def _laid_out(self, state: JSON, question: Question, gold: int, form: Form) -> Prompt:
        plan = _LAYOUTS[form].plan(Request(state=state, questions={"q": question}), self._vocabulary)
        (row,) = plan.rows
        tokens, ends = self._row(row, question.options)
        labels = tuple(self._labels[label] for label in row.labels)
        return Prompt(form=form, tokens=tokens, candidates=labels, gold=gold, ends=ends)

    def _row(self, row: Row, options: Sequence[Option]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Tokens of a row, piece by piece as engines tokenise it, and the token behind each option's last character."""
        tokens: list[int] = []
        ends: list[int] = []
        text, marks = "", list[int]()
        for segment in row.segments:
            if not segment.join:
                self._take(text, marks, tokens, ends)
                text, marks = "", []
            if segment.role == "options":
                marks += _option_ends(segment, len(text), row.labels, options)
            text += segment.text
        self._take(text, marks, tokens, ends)
        return tuple(tokens), tuple(ends)

    def _take(self, text: str, marks: Sequence[int], tokens: list[int], ends: list[int]) -> None:
        encoded = self._tokenizer.encode(text, add_special_tokens=False)
        for mark in marks:
            within = encoded.char_to_token(mark) if mark < len(text) else len(encoded.ids)
            assert within is not None
            ends.append(len(tokens) + within)
        tokens += encoded.ids

    def _pcd(self, example: Example, field: str) -> Prompt | None:
        """The prompt that pcdServer writes for one field; None where two values begin with the same token."""
        description, choices = pcd_field(example.question)
        boolean = example.kind == "yes_no"
        values = ", ".join(choices if boolean else (json.dumps(choice, ensure_ascii=False) for choice in choices))
        shared = "" if boolean else _shared_start(choices)
        opened = "" if boolean else f'"{shared}'
        pieces = (
            f'<|im_start|>system\n{_PCD_SYSTEM}- "{field}": {description.rstrip(".")}. Allowed values: {values}\n\n'
            f'Output format:\n{{\n  "{field}": <value>\n}}<|im_end|>\n<|im_start|>user\n',
            dumps(example.state),
            "<|im_end|>\n<|im_start|>assistant\n{\n",
            f'  "{field}": {opened}',
        )
        firsts = [self._ids(choice[len(shared) :])[:1] for choice in choices]
        if not all(firsts) or len({first[0] for first in firsts}) < len(firsts):
            return None
        return Prompt(
            form="pcd",
            tokens=tuple(token for piece in pieces for token in self._ids(piece)),
            candidates=tuple(first[0] for first in firsts),
            gold=example.gold,
            ends=(),
        )

    def _ids(self, text: str) -> list[int]:
        return list(self._tokenizer.encode(text, add_special_tokens=False).ids)


def pcd_field(question: Question) -> tuple[str, tuple[str, ...]]:
    """Description and allowed values of a question's field, as `tiebreak_pcdserver` sends them in the layout `pcd`."""
    options: Sequence[Option] = question.options
    if question.kind == "yes_no":
        options = [attrs.evolve(option, name=name) for name, option in zip(("false", "true"), options, strict=True)]
    elif question.kind == "score":
        options = [Option(name=str(level), description=option.text) for level, option in enumerate(options)]
    lines = [option.text for option in options if option.description]
    return "\n".join([question.text, *lines]), tuple(option.name for option in options)


def _shared_start(texts: Sequence[str]) -> str:
    low, high = min(texts), max(texts)  # what these two begin with, all begin with
    size = next((at for at, pair in enumerate(zip(low, high, strict=False)) if pair[0] != pair[1]), len(low))
    return low[:size]


def _other_order(count: int, rng: Random) -> list[int]:
    """Half of the time turned by some places, as options are in an evaluation, else shuffled; never as it was."""
    where = rng.randrange(1, count)
    order = [*range(where, count), *range(where)]
    if rng.random() < 0.5:
        shuffled = rng.sample(order, count)
        return order if shuffled == sorted(order) else shuffled
    return order


def _level(example: Example, rng: Random) -> tuple[Question, int]:
    """One level of a score as a yes/no question, the right one in 45 of 100 draws, and whether it is right."""
    level = example.gold
    if rng.random() >= 0.45:
        level = rng.choice([other for other in range(len(example.question.options)) if other != level])
    return _levels(example)[level], int(level == example.gold)


def _levels(example: Example) -> list[Question]:
    request = Request(state="", questions={"q": example.question})
    return [question for _, _, question in level_questions(request)]


def _option_ends(segment: Segment, start: int, labels: Sequence[str], options: Sequence[Option]) -> list[int]:
    """Where options end in the text of which the segment begins at `start`."""
    if segment.join:  # all options are one segment
        lengths = [len(f"\n({label}) {option.text}") for label, option in zip(labels, options, strict=True)]
        return [start + end for end in accumulate(lengths)]
    return [start + len(segment.text)] if segment.text.startswith(") ") else []  # the last of three segments an option
