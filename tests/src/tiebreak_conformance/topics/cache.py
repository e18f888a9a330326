"""Cache: it may save time and must never change an answer or claim a hit that nobody saw."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tiebreak.questions import choice
from tiebreak_conformance.claims import Topic, check
from tiebreak_conformance.samples import DESK, TEAMS, long_state, state

if TYPE_CHECKING:
    from tiebreak.answers import CacheReport
    from tiebreak_conformance.subject import Subject

__all__ = ["CacheChecks"]

SCOPES = {"state-first": "state", "schema-first": "schema"}
OTHERS = 12
"""Other states that are asked about to push a checkpoint out."""


class CacheChecks(Topic):
    """It may save time and must never change an answer or claim a hit that nobody saw."""

    @check(
        "CACH-01",
        since="0.1",
        claim="A warm answer is the cold one, within the declared tolerance.",
        note="Restored state must be complete (recurrent layers, too) and cut where the layout says.",
    )
    def test_cach_01_warm_is_cold(self, subject: Subject) -> None:
        text = long_state("CACH-01", 5)
        cold = subject.ask(text, decider=subject.cold)
        subject.ask(text, choice("Something else?", ["left", "right"]))
        subject.ask(long_state("CACH-01 other", 2))
        subject.same(cold, subject.ask(text), "warm, after another question")
        subject.same(cold, subject.ask(text), "warm, after the same question")

    @check(
        "CACH-02",
        since="0.1",
        claim="An answer after eviction is the cold one.",
        note="An evicted entry is gone, with its key; nothing is restored from what took its place.",
    )
    def test_cach_02_after_eviction(self, subject: Subject) -> None:
        text = long_state("CACH-02", 3)
        first = subject.ask(text)
        for number in range(OTHERS):
            subject.ask(state(f"CACH-02 {number}"), choice(f"Question {number}?", ["left", "right"]))
        subject.same(first, subject.ask(text), "after eviction")

    @check(
        "CACH-03",
        since="0.1",
        claim="States that take turns do not leak into each other.",
        note="The key of a checkpoint is the whole prefix, and each request restores its own.",
    )
    def test_cach_03_states_do_not_leak(self, subject: Subject) -> None:
        texts = [state(f"CACH-03 {number}") for number in range(3)] + [long_state("CACH-03", 4)]
        cold = [subject.ask(text, decider=subject.cold) for text in texts]
        for _ in range(2):
            for text, expected in zip(texts, cold, strict=True):
                subject.same(expected, subject.ask(text), f"alternating, {text[:20]!r}")

    @check(
        "CACH-04",
        since="0.1",
        claim="Schemas that take turns do not leak into each other.",
        note="The key of a schema checkpoint holds every question, option and description.",
    )
    def test_cach_04_schemas_do_not_leak(self, subject: Subject) -> None:
        text = state("CACH-04")
        schemas = [DESK, choice("Which team should answer this?", TEAMS), choice(DESK.text, TEAMS[::-1])]
        cold = [subject.ask(text, schema, subject.cold) for schema in schemas]
        for _ in range(2):
            for schema, expected in zip(schemas, cold, strict=True):
                subject.same(expected, subject.ask(text, schema), f"alternating, {schema.names}")

    @check(
        "CACH-05",
        since="0.1",
        claim="A prefix that was never seen is not reported as a hit.",
        note="Report hit only where the engine says that tokens of the prefix were restored.",
    )
    def test_cach_05_no_hit_unseen(self, subject: Subject) -> None:
        for number in range(3):
            question = choice(f"CACH-05 {number}: where to?", [f"here {number}", f"there {number}"])
            report = subject.decide(f"{number} CACH-05 unseen. {state(number)}", {"answer": question}).cache
            assert report.status != "hit", f"a hit at the first look: {report}"

    @check(
        "CACH-06",
        since="0.1",
        claim="With cache='off' nothing is reused, and the report says off (or unknown).",
        note="Row.cut is 0 then: pass on to the engine that nothing may be reused.",
    )
    def test_cach_06_off_is_off(self, subject: Subject) -> str | None:
        if not subject.switches_off:
            return "it has no cache policy 'off'"
        for _ in range(2):
            report = subject.decide(long_state("CACH-06", 3), {"answer": DESK}, subject.cold).cache
            assert report.status in ("off", "unknown"), f"the report says {report.status}"
            assert not report.reused_tokens, f"{report.reused_tokens} tokens were reused"
        return None

    @check(
        "CACH-07",
        since="0.1",
        claim="A seen prefix is reported as what was seen: a hit where the engine reuses and says so, never else.",
        note="sees_cache=False means status unknown or off; prefix_cache=False means never a hit.",
    )
    def test_cach_07_reports_what_it_sees(self, subject: Subject) -> None:
        decider, can = subject.decider, subject.capabilities
        text = long_state("CACH-07", 8)
        subject.decide(text, {"answer": DESK})
        other = choice("Another question, then?", ["left", "right"])
        schema_first = decider.session.stages.layout.direction == "schema-first"
        report = (
            subject.decide(long_state("CACH-07 other", 8), {"answer": DESK}).cache
            if schema_first
            else subject.decide(text, {"answer": other}).cache
        )
        if not can.sees_cache:
            assert report.status in ("unknown", "off"), f"it cannot see its cache, but says {report.status}"
        elif can.prefix_cache is False:
            assert report.status != "hit", "it has no prefix cache, but reports a hit"
        elif can.prefix_cache:
            assert report.status in ("hit", "off"), f"a prefix that was just seen is reported as {report.status}"

    @check(
        "CACH-08",
        since="0.1",
        claim="The figures of a cache report are possible, and a hit has tokens that were reused.",
        note="None where a figure is unknown; reused tokens are some of the prompt's.",
    )
    def test_cach_08_figures(self, subject: Subject) -> None:
        text = long_state("CACH-08", 4)
        direction = subject.decider.session.stages.layout.direction
        for question in (DESK, DESK, choice("Another?", ["left", "right"])):
            decision = subject.decide(text, {"answer": question})
            report = decision.cache
            _possible(report)
            total = decision.receipt.prompt_tokens
            if report.reused_tokens is not None and total is not None:
                assert report.reused_tokens <= total, f"{report.reused_tokens} of {total} tokens reused"
            if report.status == "hit":
                assert report.reused_tokens is None or report.reused_tokens > 0, "a hit of no tokens"
                assert report.scope == SCOPES.get(direction, report.scope), f"scope {report.scope} in {direction}"
            elif report.status == "off":
                assert not report.reused_tokens, f"off, but {report.reused_tokens} tokens were reused"

    @check(
        "CACH-09",
        since="0.1",
        claim="A state that another begins with, or that differs in its last character, is told apart.",
        note="Compare whole prefixes; a hash or a length alone is no key.",
    )
    def test_cach_09_near_misses(self, subject: Subject) -> None:
        text = long_state("CACH-09", 2)
        near = [text, text[:-1], f"{text[:-1]}!", f"{text} And more.", text.swapcase()]
        cold = [subject.ask(item, decider=subject.cold) for item in near]
        for item, expected in [*zip(near, cold, strict=True), *zip(near[::-1], cold[::-1], strict=True)]:
            subject.same(expected, subject.ask(item), f"of a near miss, ...{item[-12:]!r}")

    @check(
        "CACH-10",
        since="0.1",
        claim="After any sequence of opening, asking, swapping, evicting, killing and closing, answers are cold ones.",
        note="The failing sequence is printed, as short as it was found; replay it by hand.",
    )
    def test_cach_10_any_order(self, subject: Subject) -> str | None:
        if not subject.is_live:
            return "random sequences need the engine itself"
        from tiebreak_conformance.machine import explore

        explore(subject)
        return None


def _possible(report: CacheReport) -> None:
    for name in ("reused_tokens", "checkpoint_bytes", "entries", "resident_bytes", "evictions"):
        value = getattr(report, name)
        assert value is None or value >= 0, f"{name} is {value}"
