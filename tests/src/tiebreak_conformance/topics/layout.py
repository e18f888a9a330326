"""Layout: all that was asked is in the prompt, in order, and what a user wrote stays text."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING

import attrs

from tiebreak.errors import InvalidRequest
from tiebreak.plan import Plan
from tiebreak.questions import JSON, Question, Request, choice
from tiebreak_conformance.claims import Topic, check
from tiebreak_conformance.samples import DESK, ask_all, described, many, state
from tiebreak_conformance.subject import attempt, refused

if TYPE_CHECKING:
    from tiebreak_conformance.subject import Subject

__all__ = ["LayoutChecks"]

OPAQUE = "the engine lays out the prompt itself"
DIRECTIONS = ("state-first", "schema-first", "opaque")
TREE: JSON = {"ticket": {"subject": "übersetzt", "lines": [1.5, True, None, "zwei"]}, "priority": 3}


class LayoutChecks(Topic):
    """All that was asked is in the prompt, in order, and what a user wrote stays text."""

    @check(
        "LAYO-01",
        since="0.1",
        claim="A layout is pure: the same request gives the same plan, and the request stays as it was.",
        note="No counters, clocks or random numbers in Layout.plan.",
    )
    def test_layo_01_is_pure(self, subject: Subject) -> None:
        request = _request(subject)
        before = repr(request)
        assert _plan(subject, request) == _plan(subject, request), "two plans of one request differ"
        assert repr(request) == before, "the request was changed"

    @check(
        "LAYO-02",
        since="0.1",
        claim="Every question has rows, in the order asked, with one label per option or yes and no per level.",
        note="Rows of one question stand side by side; Row.level numbers the levels of a score.",
    )
    def test_layo_02_rows_match_questions(self, subject: Subject) -> None:
        request = _request(subject)
        plan = _plan(subject, request)
        order = [row.question for row in plan.rows]
        assert list(dict.fromkeys(order)) == list(request.questions), f"rows are for {order}"
        for name, question in request.questions.items():
            rows = [plan.rows[index] for index in plan.rows_of(name)]
            indices = plan.rows_of(name)
            assert list(indices) == list(range(indices[0], indices[-1] + 1)), f"rows of {name!r} are apart"
            for row in rows:
                assert len(set(row.labels)) == len(row.labels), f"labels repeat: {row.labels}"
            if len(rows) == 1:
                assert len(rows[0].labels) == len(question.options), f"{rows[0].labels} for {question.names}"
            else:
                levels = [row.level for row in rows]
                assert levels == list(range(len(question.options))), f"levels are {levels}"
                assert all(len(row.labels) == 2 for row in rows), "a level row is not a yes or no"

    @check(
        "LAYO-03",
        since="0.1",
        claim="State, question, option names and descriptions stand in the prompt whole.",
        note="A layout refuses what does not fit; it never shortens.",
    )
    def test_layo_03_nothing_is_left_out(self, subject: Subject) -> str | None:
        ending = "It ends with these words: quince, sloe, medlar."
        text = f"{state('LAYO-03')} {'More text. ' * 120}The last words: juniper, rowan."
        said = 0
        for question in (
            described(ending),
            choice("Which team should answer?", {"billing": "Money.", "other": ending}),
        ):
            plan = attempt(partial(_plan, subject, Request.of(text, {"team": question})), InvalidRequest)
            if isinstance(plan, InvalidRequest):
                continue
            if _opaque(plan):
                return OPAQUE
            said += 1
            whole = "".join(row.text() for row in plan.rows)
            assert question.text in whole, "the question is not there as it was given"
            assert text in whole, "the state is not there as it was given"
            for option in question.options:
                told = option.description is None or option.description in whole
                assert option.name in whole, f"option {option.name!r} is missing"
                assert told, f"{option.name!r} lost its description"
        assert said, "it refuses two options that are described by a sentence each"
        return None

    @check(
        "LAYO-04",
        since="0.1",
        claim="What a user wrote is never in a segment whose control-token spellings become control tokens.",
        note="Segment.control is for the layout's own text only.",
    )
    def test_layo_04_user_text_stays_text(self, subject: Subject) -> str | None:
        marks = {"state": "mark-st", "question": "mark-qu", "option": "mark-op", "description": "mark-de"}
        question = choice(marks["question"], {marks["option"]: marks["description"], "other": None})
        seen = False
        for layout in subject.layouts:
            with subject.open(layout=layout) as decider:
                stages = decider.session.stages
                if subject.engine.vocabulary.chat is None and layout == "chat":
                    continue
                plan = stages.layout.plan(Request.of(marks["state"], {"q": question}), subject.engine.vocabulary)
            for row in plan.rows:
                for piece in row.pieces():
                    seen = True
                    inside = [what for what, mark in marks.items() if mark in piece.text]
                    assert not (piece.control and inside), f"layout {layout!r}: {inside} may become control tokens"
        return None if seen else OPAQUE

    @check(
        "LAYO-05",
        since="0.1",
        claim="The reusable prefix ends at a piece border before the slot, and equal parts give equal prefixes.",
        note="See PrefixCache; a prefix must not hold anything that changes between the requests it serves.",
    )
    def test_layo_05_cuts_at_borders(self, subject: Subject) -> str | None:
        policy = subject.decider.session.stages.cache
        first = policy.cut(_plan(subject, Request.of("A state of its own.", {"q": DESK})))
        if _opaque(first):
            return OPAQUE
        for row in first.rows:
            assert 0 <= row.cut < len(row.segments), f"cut {row.cut} of {len(row.segments)} segments"
            assert not row.segments[row.cut].join, "the cut lies inside a piece"
        same_state = choice("Another question?", ["left", "right"])
        if first.direction == "state-first":
            second = policy.cut(_plan(subject, Request.of("A state of its own.", {"q": same_state})))
        else:
            second = policy.cut(_plan(subject, Request.of("Another state.", {"q": DESK})))
        assert first.rows[0].prefix() == second.rows[0].prefix(), "the prefix changes though its part did not"
        return None

    @check(
        "LAYO-06",
        since="0.1",
        claim="Options stand in the prompt in the order given.",
        note="Never sort options or put them into a set.",
    )
    def test_layo_06_keeps_order(self, subject: Subject) -> str | None:
        names = ["zebra", "apple", "mango", "cherry"]
        for order in (names, names[::-1]):
            plan = _plan(subject, Request.of("Pick a fruit.", {"q": choice("Which?", order)}))
            if _opaque(plan):
                return OPAQUE
            text = plan.rows[0].text()
            found = sorted(order, key=text.index)
            assert found == order, f"asked {order}, laid out {found}"
        return None

    @check(
        "LAYO-07",
        since="0.1",
        claim="More options than the engine takes are refused with InvalidRequest.",
        note="Limits.options is checked by the core; a layout also refuses when it runs out of labels.",
    )
    def test_layo_07_refuses_too_many(self, subject: Subject) -> None:
        count = subject.engine.limits.options + 1
        error = refused(lambda: subject.ask(state("LAYO-07"), many(count)), InvalidRequest)
        assert str(count) in str(error), f"the error does not say how many were given: {error}"

    @check(
        "LAYO-08",
        since="0.1",
        claim="Every leaf of a JSON state stands in the prompt, non-ASCII text as it is.",
        note="See questions.dumps: models were trained on JSON that is not escaped.",
    )
    def test_layo_08_lays_out_json(self, subject: Subject) -> str | None:
        plan = _plan(subject, Request.of(TREE, {"q": DESK}))
        if _opaque(plan):
            return OPAQUE
        text = plan.rows[0].text()
        for leaf in ("übersetzt", 1.5, True, None, "zwei", 3, "ticket", "subject", "lines", "priority"):
            spelt = leaf if isinstance(leaf, str) else json.dumps(leaf)
            assert spelt in text, f"{spelt} is missing"
        return None

    @check(
        "LAYO-09",
        since="0.1",
        claim="A plan names its layout and direction, and holds the request that it lays out.",
        note="Engines that lay out the prompt themselves send Plan.request.",
    )
    def test_layo_09_says_what_it_is(self, subject: Subject) -> None:
        request = _request(subject)
        plan = _plan(subject, request)
        layout = subject.decider.session.stages.layout
        assert plan.layout == layout.name, f"the plan calls its layout {plan.layout!r}, which is {layout.name!r}"
        assert plan.direction == layout.direction and plan.direction in DIRECTIONS, f"direction {plan.direction!r}"
        assert plan.request == request, "the plan holds another request"


def _request(subject: Subject) -> Request:
    return Request.of(state("layout"), ask_all(subject.info.capabilities.kinds))


def _plan(subject: Subject, request: Request) -> Plan:
    copy = Request(state=request.state, questions={name: _copy(q) for name, q in request.questions.items()})
    return subject.decider.session.stages.layout.plan(copy, subject.engine.vocabulary)


def _copy(question: Question) -> Question:
    return attrs.evolve(question)


def _opaque(plan: Plan) -> bool:
    """Whether the plan has no prompt: its rows are empty, or there are none."""
    return not any(segment.text for row in plan.rows for segment in row.segments)
