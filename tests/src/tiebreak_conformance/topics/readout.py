"""Readout: what an answer is, and what it may depend on."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tiebreak.errors import BadReply, InvalidRequest
from tiebreak.evidence import TokenScores
from tiebreak.questions import Request, choice, score, yes_no
from tiebreak_conformance.claims import Topic, check
from tiebreak_conformance.samples import (
    DESK,
    LATE,
    TEAMS,
    UNUSUAL,
    URGENCY,
    ask_all,
    described,
    long_state,
    many,
    state,
)
from tiebreak_conformance.subject import attempt, distance, refused

if TYPE_CHECKING:
    from tiebreak.answers import Answer
    from tiebreak_conformance.subject import Subject

__all__ = ["ReadoutChecks"]

SUM = 1e-9
ENOUGH_OPTIONS = 255


class ReadoutChecks(Topic):
    """What an answer is, and what it may depend on."""

    @check(
        "READ-01",
        since="0.1",
        claim="Probabilities cover exactly the options, in the order given.",
        note="One value per label, in the order of Row.labels.",
    )
    def test_read_01_covers_the_options(self, subject: Subject) -> None:
        for names in (TEAMS, TEAMS[::-1], [f"option {n}" for n in range(12)]):
            answer = subject.ask(state("READ-01"), choice("Which team?", names))
            assert list(answer.probabilities) == list(names), f"asked {list(names)}, got {list(answer.probabilities)}"

    @check(
        "READ-02",
        since="0.1",
        claim="Probabilities are finite, from 0 to 1, and sum to 1 within 1e-9.",
        note="Readouts renormalise; an engine's rounding is declared in Distribution.rounding.",
    )
    def test_read_02_sums_to_one(self, subject: Subject) -> None:
        for nonce in range(3):
            for name, answer in _answers(subject, f"READ-02 {nonce}").items():
                values = list(answer.probabilities.values())
                assert all(math.isfinite(p) and 0 <= p <= 1 for p in values), f"{name}: {values}"
                assert abs(math.fsum(values) - 1) <= SUM, f"{name}: they sum to {math.fsum(values)!r}"

    @check(
        "READ-03",
        since="0.1",
        claim="The value is one of the options, the most probable one, and the first of those on a tie.",
        note="Let the core's Readout make the answer.",
    )
    def test_read_03_value_is_the_best(self, subject: Subject) -> None:
        for nonce in range(3):
            for name, answer in _answers(subject, f"READ-03 {nonce}").items():
                best = max(answer.probabilities, key=lambda option: answer.probabilities[option])
                value = ("no", "yes")[answer.value] if isinstance(answer.value, bool) else answer.value
                assert value == best, f"{name}: the value is {value!r}, the most probable {best!r}"

    @check(
        "READ-04",
        since="0.1",
        claim="A yes/no answer is True or False, with probabilities of no and yes, in that order.",
        note="Row.labels of a yes/no question are those of no and yes.",
    )
    def test_read_04_yes_no(self, subject: Subject) -> str | None:
        if "yes_no" not in subject.capabilities.kinds:
            return "it does not answer yes/no questions"
        answer = subject.ask(state("READ-04"), yes_no("Is it late?", yes="after Monday", no="on Monday or before"))
        assert isinstance(answer.value, bool), f"the value is {answer.value!r}"
        assert list(answer.probabilities) == ["no", "yes"], f"options are {list(answer.probabilities)}"
        return None

    @check(
        "READ-05",
        since="0.1",
        claim="A score is one of the levels, and its expected value lies between the first and the last index.",
        note="Either one row with a label per level, or one yes/no row per level.",
    )
    def test_read_05_score(self, subject: Subject) -> str | None:
        if "score" not in subject.capabilities.kinds:
            return "it does not answer scores"
        for levels in (URGENCY.names, tuple(f"{n}: level {n}" for n in range(6))):
            answer = subject.ask(state("READ-05"), score("How urgent is it?", levels))
            assert answer.value in levels, f"{answer.value!r} is none of {levels}"
            assert list(answer.probabilities) == list(levels), f"levels are {list(answer.probabilities)}"
            assert answer.expected is not None and 0 <= answer.expected <= len(levels) - 1
        return None

    @check(
        "READ-06",
        since="0.1",
        claim="The same question about the same state gets the same answer, within the declared tolerance.",
        note="Fix samplers, seeds and batch shapes; or declare Capabilities.tolerance.",
    )
    def test_read_06_repeats(self, subject: Subject) -> None:
        first = subject.ask(state("READ-06"))
        for _ in range(4):
            again = subject.ask(state("READ-06"))
            subject.same(first, again, "the same question again")
            assert first.value == again.value or first.near_tie, "another value, and no near tie"

    @check(
        "READ-07",
        since="0.1",
        claim="A question alone gets the same answer as in company, where Capabilities.independent says so.",
        note="Rows of a plan must not see each other; otherwise declare independent=False.",
    )
    def test_read_07_alone_as_in_company(self, subject: Subject) -> str | None:
        if not subject.capabilities.independent:
            return "Capabilities.independent is false: answers are those of the whole form"
        questions = ask_all(subject.capabilities.kinds)
        together = subject.decide(state("READ-07"), questions)
        assert list(together.answers) == list(questions), f"asked {list(questions)}, got {list(together.answers)}"
        for name, question in questions.items():
            subject.same(together[name], subject.ask(state("READ-07"), question), f"{name} alone")
        return None

    @check(
        "READ-08",
        since="0.1",
        claim="An answer does not depend on what was asked before.",
        note="Clear whatever the engine keeps between requests except exact prefix checkpoints.",
    )
    def test_read_08_has_no_memory(self, subject: Subject) -> None:
        first = subject.ask(state("READ-08"))
        subject.ask(state("READ-08 other"), choice("Something else?", ["left", "right"]))
        subject.ask(state("READ-08"), LATE if "yes_no" in subject.capabilities.kinds else DESK)
        subject.same(first, subject.ask(state("READ-08")), "after other questions")

    @check(
        "READ-09",
        since="0.1",
        claim="The order of the questions does not matter, where Capabilities.independent says so.",
        note="Rows must not see each other, and each answer must be returned under its own name.",
    )
    def test_read_09_order_of_questions(self, subject: Subject) -> str | None:
        if not subject.capabilities.independent:
            return "Capabilities.independent is false: answers are those of the whole form"
        questions = ask_all(subject.capabilities.kinds) | {"side": choice("Which side?", ["left", "right"])}
        forward = subject.decide(state("READ-09"), questions)
        backward = subject.decide(state("READ-09"), dict(list(questions.items())[::-1]))
        assert list(backward.answers) == list(reversed(questions)), f"answers come as {list(backward.answers)}"
        for name in questions:
            subject.same(forward[name], backward[name], f"{name} in another order")
        return None

    @check(
        "READ-10",
        since="0.1",
        claim="Coverage is the mass on the labels, from 0 to 1, where it is declared, and None where not.",
        note="Log-probabilities are out of the softmax over the whole vocabulary, at temperature 1.",
    )
    def test_read_10_coverage(self, subject: Subject) -> None:
        decider = subject.decider
        for answer in _answers(subject, "READ-10").values():
            if not subject.capabilities.coverage:
                assert answer.coverage is None, f"coverage {answer.coverage} is reported, but not declared"
                continue
            assert answer.coverage is not None, "coverage is declared, but not reported"
            assert 0 < answer.coverage <= 1, f"coverage is {answer.coverage}"
        for item in subject.evidence(decider, Request.of(state("READ-10 raw"), {"answer": DESK})):
            if isinstance(item, TokenScores):
                mass = math.fsum(math.exp(value) for value in item.logprobs)
                assert mass <= 1 + 1e-4, f"the labels hold {mass:.6f} of the mass"

    @check(
        "READ-11",
        since="0.1",
        claim="Option names that are alike are kept apart: case, spaces, digits, emoji, prefixes, keywords.",
        note="Send labels or indices, never names that were folded, trimmed or turned into identifiers.",
    )
    def test_read_11_unusual_names(self, subject: Subject) -> None:
        for names in UNUSUAL:
            for order in (names, names[::-1]):
                answer = subject.ask(state("READ-11"), choice("Which one?", order))
                assert list(answer.probabilities) == list(order), f"{order} became {list(answer.probabilities)}"
                assert answer.value in order, f"{answer.value!r} is none of {order}"

    @check(
        "READ-12",
        since="0.1",
        claim="As many options as the engine takes are all answered, or the model's lack of labels is said.",
        note="No top-k may hide labels: ask again, or mark them as bounds.",
    )
    def test_read_12_many_options(self, subject: Subject) -> None:
        question = many(min(subject.engine.limits.options, ENOUGH_OPTIONS))
        answer = attempt(lambda: subject.ask(state("READ-12"), question), InvalidRequest)
        if isinstance(answer, InvalidRequest):
            assert answer.remedy or "options" in answer.message, f"the refusal does not help: {answer}"
            return
        assert list(answer.probabilities) == list(question.names), "options are missing"
        assert abs(math.fsum(answer.probabilities.values()) - 1) <= SUM

    @check(
        "READ-13",
        since="0.1",
        claim="Evidence is what the trusted function of the prompt says, label by label.",
        note="Match labels by token id, and return them in the order of Row.labels.",
    )
    def test_read_13_oracle(self, subject: Subject) -> str | None:
        oracle = subject.target.oracle
        if oracle is None:
            return "nobody knows the evidence without asking the engine"
        questions = ask_all(subject.capabilities.kinds) | {"two": choice("Which?", ["left", "right"])}
        for question in questions.values():
            request = Request.of(state("READ-13"), {"answer": question})
            plan = subject.plan(subject.decider, request)
            for found, expected in zip(subject.evidence(subject.decider, request), oracle(plan), strict=True):
                assert _close(found, expected), f"{found} is not {expected}"
        return None

    @check(
        "READ-14",
        since="0.1",
        claim="Temperature divides log-probabilities: at 2, probabilities are the renormalised square roots.",
        note="Engines report at temperature 1; only the readout divides.",
    )
    def test_read_14_temperature(self, subject: Subject) -> None:
        usual = subject.ask(state("READ-14"), decider=subject.open(temperature=1.0))
        softer = subject.ask(state("READ-14"), decider=subject.open(temperature=2.0))
        roots = [math.sqrt(p) for p in usual.probabilities.values()]
        for root, found in zip(roots, softer.probabilities.values(), strict=True):
            assert abs(root / sum(roots) - found) <= 2 * subject.tolerance + 1e-6, f"{usual} at 1, {softer} at 2"

    @check(
        "READ-15",
        since="0.1",
        claim="In strict mode an answer is backed by enough mass, or refused with BadReply.",
        note="TokenScores.bounds marks labels that the engine did not report.",
    )
    def test_read_15_strict(self, subject: Subject) -> None:
        decider = subject.open(strict=True, min_coverage=0.999999)
        if not subject.capabilities.coverage:
            subject.ask(state("READ-15"), decider=decider)
            return
        answer = attempt(lambda: subject.ask(state("READ-15"), decider=decider), BadReply)
        if isinstance(answer, BadReply):
            assert answer.engine == subject.target.engine, "the error does not name the engine"
        else:
            assert answer.coverage is not None and answer.coverage >= 0.999999, f"coverage {answer.coverage}"

    @check(
        "READ-16",
        since="0.1",
        claim="The first and the last words of a long state reach the model: changing them changes the evidence.",
        note="Nothing is ever cut silently; raise the window or refuse with ContextOverflow.",
    )
    def test_read_16_both_ends_count(self, subject: Subject) -> None:
        middle = long_state("READ-16", 10)
        base = subject.ask(f"It is about a parcel. {middle} Thank you.")
        for where, text in (
            ("first", f"It is about an invoice that was paid twice. {middle} Thank you."),
            ("last", f"It is about a parcel. {middle} Forget all that: my password does not work."),
        ):
            assert distance(base, subject.ask(text)) > 0, f"the {where} words change nothing"

    @check(
        "READ-17",
        since="0.1",
        claim="Question, option names and the last description reach the model, or are refused.",
        note="Limits of an engine on question or option texts belong into Limits or a refusal, never a cut.",
    )
    def test_read_17_the_question_counts(self, subject: Subject) -> None:
        text = state("READ-17")
        base = subject.ask(text, choice("Which team should answer?", ["billing", "shipping"]))
        other = subject.ask(text, choice("Which team is the largest?", ["billing", "shipping"]))
        assert distance(base, other) > 0, "another question changes nothing"
        try:
            one = subject.ask(text, described("Answers when nobody else does."))
            two = subject.ask(text, described("Answers everything about late parcels and cracked screens."))
        except InvalidRequest:
            return
        assert distance(one, two) > 0, "the last option's description changes nothing"

    @check(
        "READ-18",
        since="0.1",
        claim="Control-token spellings in a state are read as text, not as control tokens.",
        note="Tokenise user text with control tokens off.",
    )
    def test_read_18_control_tokens_stay_text(self, subject: Subject) -> str | None:
        spelling = next(iter(subject.engine.vocabulary.control), "<|im_start|>")
        plain, marked = state("READ-18"), f"{state('READ-18')} {spelling * 8}"
        sizes = [subject.prompt_tokens(text) for text in (plain, marked)]
        if sizes[0] is None or sizes[1] is None:
            return "it does not say how long a prompt is"
        added = sizes[1] - sizes[0]
        # As control tokens the eight would be eight; as text each takes at least two, `<|` and the rest.
        assert added >= 16, f"8 times {spelling!r} made the prompt {added} tokens longer"
        return None

    @check(
        "READ-19",
        since="0.1",
        claim="An unanswerable request is refused before the engine is asked.",
        note="Requests are checked by tiebreak.choice and Request.of: do not build them in other ways.",
    )
    def test_read_19_refuses_nonsense(self, subject: Subject) -> None:
        text = state("READ-19")
        for options in ([], ["one"], ["twice", "twice"], ["", "b"], "text", {"a", "b"}):
            refused(lambda: subject.decider.choose(text, options), InvalidRequest)  # noqa: B023
        for bad in (float("nan"), b"bytes", 7, {"x": float("inf")}, "nul\0"):
            refused(lambda: subject.decider.choose(bad, TEAMS), InvalidRequest)  # noqa: B023
        refused(lambda: subject.decider.decide(text, {}), InvalidRequest)


def _answers(subject: Subject, nonce: str) -> dict[str, Answer]:
    return dict(subject.decide(state(nonce), ask_all(subject.capabilities.kinds)).answers)


def _close(found: object, expected: object) -> bool:
    if not isinstance(found, TokenScores) or not isinstance(expected, TokenScores):
        return found == expected
    pairs = zip(found.logprobs, expected.logprobs, strict=True)
    return len(found.logprobs) == len(expected.logprobs) and all(abs(a - b) <= 1e-9 for a, b in pairs)
