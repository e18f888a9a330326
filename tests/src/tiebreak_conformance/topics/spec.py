"""Spec: what a plugin says about its engine, and what every decision says about itself."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

from tiebreak.errors import EngineUnavailable, InvalidRequest, TiebreakError, Unsupported
from tiebreak.questions import KINDS
from tiebreak.settings import CORE_OPTIONS
from tiebreak.stages.readout import DistributionReadout, LettersReadout
from tiebreak_conformance.claims import Topic, check
from tiebreak_conformance.samples import DESK, ask_all, state
from tiebreak_conformance.subject import attempt, refused

if TYPE_CHECKING:
    from tiebreak_conformance.subject import Subject

__all__ = ["SpecChecks"]

IMPORTS = "import sys; from tiebreak import Registry; Registry().plugin({name!r}).engine(); print(*sys.modules)"


class SpecChecks(Topic):
    """What a plugin says about its engine, and what every decision says about itself."""

    @check(
        "SPEC-01",
        since="0.1",
        claim="The plugin describes its engine: its own name and a summary of one line.",
        note="tiebreak_engine returns an EngineInfo whose name is that of the entry point.",
    )
    def test_spec_01_describes_itself(self, subject: Subject) -> None:
        info = subject.info
        assert info.name == subject.target.engine, f"it calls itself {info.name!r}"
        assert info.summary.strip(), "the summary is empty"
        assert "\n" not in info.summary, "the summary has several lines"

    @check(
        "SPEC-02",
        since="0.1",
        claim="Describing the engine imports neither its module nor an HTTP client, numpy or torch.",
        note="hooks.py imports only tiebreak and info.py; import the engine inside tiebreak_load.",
    )
    def test_spec_02_describing_is_light(self, subject: Subject) -> str | None:
        if subject.target.plugin is not None:
            return "the plugin was handed over as an object"
        program = IMPORTS.format(name=subject.target.engine)
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True)
        loaded = set(done.stdout.split())
        package = type(subject.engine).__module__
        heavy = sorted(loaded & {package, "httpx", "numpy", "torch", "pydantic"})
        assert not heavy, f"describing it imported {', '.join(heavy)}"
        return None

    @check(
        "SPEC-03",
        since="0.1",
        claim="Capabilities and limits are possible values.",
        note="Kinds come from choice, yes_no, score; a tolerance is a probability; limits are positive.",
    )
    def test_spec_03_values_are_possible(self, subject: Subject) -> None:
        for said in (subject.info, subject.engine):
            can, limits = said.capabilities, said.limits
            assert can.kinds, "no question kind is declared"
            assert set(can.kinds) <= set(KINDS), f"unknown kinds in {can.kinds}"
            assert len(set(can.kinds)) == len(can.kinds), f"kinds are repeated in {can.kinds}"
            assert 0 <= can.tolerance < 1, f"a tolerance of {can.tolerance} is no probability"
            assert can.concurrency >= 1, "it works on no request at a time"
            assert limits.options >= 2, "a decision needs two options"
            for name in ("questions", "state_bytes", "name_bytes", "option_bytes", "window_tokens"):
                value = getattr(limits, name)
                assert value is None or value > 0, f"limit {name} is {value}"

    @check(
        "SPEC-04",
        since="0.1",
        claim="Every option is explained, its default passes its own check, and no name is taken.",
        note="See OptionSpec; timeout, strict, min_coverage and queue_limit belong to the core.",
    )
    def test_spec_04_options_are_explained(self, subject: Subject) -> None:
        names = [spec.name for spec in subject.info.options]
        taken = {spec.name for spec in CORE_OPTIONS} | {"url", "layout", "readout", "cache", "temperature", "mount"}
        assert len(set(names)) == len(names), f"option names are repeated: {names}"
        assert not taken & set(names), f"the core's own: {sorted(taken & set(names))}"
        for spec in subject.info.options:
            assert spec.help.strip(), f"option {spec.name} is not explained"
            spec.check(spec.default, subject.target.engine)

    @check(
        "SPEC-05",
        since="0.1",
        claim="An unknown option is refused, before anything starts, by an error that names engine and option.",
        note="Do not take **options in tiebreak_load: the core checks them against EngineInfo.options.",
    )
    def test_spec_05_unknown_option(self, subject: Subject) -> None:
        error = refused(lambda: subject.open(no_such_option=1), InvalidRequest)
        assert "no_such_option" in str(error), "the error does not name the option"
        assert error.engine == subject.target.engine, "the error does not name the engine"

    @check(
        "SPEC-06",
        since="0.1",
        claim="Every layout, readout and cache policy that is declared can be opened.",
        note="The hooks tiebreak_layout, tiebreak_readout and tiebreak_cache must know the declared names.",
    )
    def test_spec_06_declared_stages_exist(self, subject: Subject) -> None:
        info = subject.info
        assert info.layouts and info.readouts and info.caches, "a stage has no name at all"
        for stage, names in (("layout", info.layouts), ("readout", info.readouts), ("cache", info.caches)):
            for name in names:
                with subject.open(**_only(stage, name)) as decider:
                    found = getattr(decider.session.stages, stage)
                    assert found.name == name, f"{stage} {name!r} calls itself {found.name!r}"

    @check(
        "SPEC-07",
        since="0.1",
        claim="An unknown layout, readout or cache policy is refused by name.",
        note="A stage hook returns None for names that it does not know; it never falls back to another.",
    )
    def test_spec_07_unknown_stages(self, subject: Subject) -> None:
        for stage in ("layout", "readout", "cache"):
            decider = subject.open(**_only(stage, "no-such-stage"))
            error = refused(lambda: decider.session, InvalidRequest, EngineUnavailable, Unsupported)  # noqa: B023
            assert "no-such-stage" in str(error), f"the error does not name the {stage}: {error}"

    @check(
        "SPEC-08",
        since="0.1",
        claim="A readout that needs another kind of evidence is refused when things open.",
        note="Capabilities.evidence says what exchange or evidence returns.",
    )
    def test_spec_08_stages_must_fit(self, subject: Subject) -> None:
        other = DistributionReadout() if subject.info.capabilities.evidence == "tokens" else LettersReadout()
        refused(lambda: subject.open(readout=other).session, Unsupported)

    @check(
        "SPEC-09",
        since="0.1",
        claim="Declared question kinds are answered, all others are refused with Unsupported.",
        note="Capabilities.kinds is what the core holds requests against.",
    )
    def test_spec_09_kinds(self, subject: Subject) -> None:
        for kind in KINDS:
            questions = ask_all((kind,))
            if kind in subject.info.capabilities.kinds:
                assert list(subject.decide(state("SPEC-09"), questions).answers) == list(questions)
            else:
                refused(lambda: subject.decide(state("SPEC-09"), questions), Unsupported)  # noqa: B023

    @check(
        "SPEC-10",
        since="0.1",
        claim="A loaded engine never promises more than its plugin declared.",
        note="A loaded engine may narrow kinds and limits; what is never true belongs out of EngineInfo.",
    )
    def test_spec_10_loaded_narrows(self, subject: Subject) -> None:
        declared, loaded = subject.info, subject.engine
        more = set(loaded.capabilities.kinds) - set(declared.capabilities.kinds)
        assert not more, f"loaded, it answers {sorted(more)}, too"
        assert loaded.capabilities.evidence == declared.capabilities.evidence, "loaded, its evidence is another"
        assert loaded.limits.options <= declared.limits.options, "loaded, it takes more options"

    @check(
        "SPEC-11",
        since="0.1",
        claim="Timings are finite and not negative, and no part of our clock is longer than the whole.",
        note="Report milliseconds; None where nobody can say, never a made-up zero.",
    )
    def test_spec_11_timings(self, subject: Subject) -> None:
        timings = subject.decide(state("SPEC-11"), {"answer": DESK}).timings
        figures = {name: value for name, value in timings.as_dict().items() if name != "engine"} | dict(timings.engine)
        for name, value in figures.items():
            assert value is None or (math.isfinite(value) and value >= 0), f"{name} is {value}"
        assert timings.queue + timings.layout + timings.readout <= timings.total, f"parts exceed the total: {timings}"
        assert (timings.transport or 0) <= timings.total, f"transport exceeds the total: {timings}"

    @check(
        "SPEC-12",
        since="0.1",
        claim="A receipt names engine, plugin, stages, temperature and the length of the prompt.",
        note="Set Engine.version at the latest in start or greeting; prompt_tokens is None where unknown.",
    )
    def test_spec_12_receipt(self, subject: Subject) -> None:
        receipt = subject.decide(state("SPEC-12"), {"answer": DESK}).receipt
        for name in ("engine", "engine_version", "plugin", "layout", "readout", "cache", "fingerprint"):
            assert getattr(receipt, name), f"{name} is empty"
        assert receipt.engine == subject.target.engine
        assert set(receipt.temperature) == set(KINDS), "the temperature of a kind is missing"
        assert receipt.prompt_tokens is None or receipt.prompt_tokens > 0, f"{receipt.prompt_tokens} prompt tokens"

    @check(
        "SPEC-13",
        since="0.1",
        claim="The fingerprint changes with temperature, layout and cache, and with nothing that cannot matter.",
        note="Engine.version and model_sha256 must not change between requests; see OptionSpec.affects_answers.",
    )
    def test_spec_13_fingerprint(self, subject: Subject) -> None:
        info = subject.info

        def print_of(nonce: str, **more: Any) -> str:
            with subject.open(**more) as decider:
                return decider.decide(state(nonce), {"answer": DESK}).receipt.fingerprint

        usual = print_of("SPEC-13 a")
        assert print_of("SPEC-13 b") == usual, "it changes with the state"
        assert print_of("SPEC-13 a", timeout=77.0) == usual, "it changes with the timeout"
        others: dict[str, list[Any]] = {"temperature": [2.0], "cache": list(info.caches[1:])}
        for name, values in others.items():
            for value in values:
                assert print_of("SPEC-13 a", **{name: value}) != usual, f"it does not change with {name}={value}"
        for layout in info.layouts:
            decider = subject.open(layout=layout)
            if layout != subject.decider.session.stages.layout.name and _lays_out(decider):
                # An engine that lays out the prompt itself may know layouts that it was not started with.
                found = attempt(partial(decider.decide, state("SPEC-13 a"), {"answer": DESK}), Unsupported)
                changed = isinstance(found, Unsupported) or found.receipt.fingerprint != usual
                assert changed, f"it does not change with layout={layout}"

    @check(
        "SPEC-14",
        since="0.1",
        claim="A decision is JSON as it stands, without NaN or Infinity.",
        note="Answer.native, usage and engine phases hold JSON values only.",
    )
    def test_spec_14_json(self, subject: Subject) -> None:
        decision = subject.decide(state("SPEC-14"), ask_all(subject.info.capabilities.kinds))
        text = json.dumps(decision.as_dict(), allow_nan=False)
        assert list(json.loads(text)["answers"]) == list(decision.answers)


def _lays_out(decider: Any) -> bool:
    """Whether a layout fits the model: a chat layout needs a template, say."""
    try:
        decider.explain(state("SPEC-13 a"), {"answer": DESK})
    except TiebreakError:
        return False
    return True


def _only(stage: str, name: str) -> dict[str, Any]:
    return {stage: name}
