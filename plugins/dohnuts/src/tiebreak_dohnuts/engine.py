"""`DohnutsEngine`: starts or reaches a dohnuts-cli server, sends it System One questions and reads the answers."""

from __future__ import annotations

import json
import os
from collections.abc import Generator, Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs

from tiebreak.answers import CacheReport
from tiebreak.command import Command, Readiness
from tiebreak.engine import Call, Reply, WireEngine
from tiebreak.errors import BadReply, ContextOverflow, InvalidRequest, TiebreakError, Unsupported
from tiebreak.evidence import Outcome
from tiebreak.memory import Footprint
from tiebreak.models import Model
from tiebreak.plan import Plan
from tiebreak.questions import dumps
from tiebreak.refusal import message_of, refusal
from tiebreak_dohnuts import program
from tiebreak_dohnuts._wire import Health, Predicted, Result
from tiebreak_dohnuts.encoding import bodies, plain_state
from tiebreak_dohnuts.info import INFO, WINDOW
from tiebreak_dohnuts.profiles import PROFILES, Chosen, choose
from tiebreak_dohnuts.reading import evidence
from tiebreak_dohnuts.vocabulary import USUAL_CONTROL, vocabulary

__all__ = ["DohnutsEngine"]

TOO_LONG = "token budget"
TEMPLATE_BYTES = 512  # what a cutting profile's own words may take of its budget, at one byte a token


class DohnutsEngine(WireEngine):
    """A dohnuts-cli server with one model and one profile, a process of ours or reached by its URL.

    Args:
        model: the model; None where a running server's own is meant.
        options: every option with its value, and `url`.

    Raises:
        InvalidRequest: no such profile, or a head that is missing.
    """

    def __init__(self, model: Model | None, options: Mapping[str, Any]) -> None:
        self.info = INFO
        self.url = options["url"]
        self.headers = _key(options["api_key_env"]) if self.url else {}
        self.load_timeout = options["load_timeout"]
        self._options = options
        self._model = model
        self._build = ""
        self._header = model.header if model else None
        self.model_sha256 = model.sha256 if model else None
        self.vocabulary = vocabulary(self._header)
        self._at_once: int = options["max_questions"]
        self._named = options["profile"] is not None or not self.url
        self._use(choose(options["profile"], model))
        _check_head(self._chosen, options["head"], self.url)

    def launch(self) -> Command:
        """See `WireEngine.launch`."""
        if self._model is None or self._model.path is None:
            raise InvalidRequest("No model file was named.", remedy="Pass model=.", engine=INFO.name)
        found = program.find(self._options["binary"])
        self._build = program.version(found)
        written = program.MetadataFile(self, self._chosen.metadata)
        setup = program.Setup(program=found, model=self._model.path, metadata=written.path, options=self._options)
        return program.command(setup)

    def footprint(self) -> Footprint:
        """See `WireEngine.footprint`."""
        return program.footprint(self._header, self._options["head"])

    def ready_call(self) -> Call:
        """See `WireEngine.ready_call`."""
        return Call(method="GET", path="/health")

    def readiness(self, reply: Reply) -> Readiness:
        """See `WireEngine.readiness`."""
        try:
            health = Health.model_validate_json(reply.body)
        except ValueError:
            return Readiness(state="stranger", text=f"HTTP {reply.status}, and not what dohnuts says of its health")
        wanted = self._chosen.profile.name if self._named else health.model
        if health.model != wanted or health.model not in PROFILES:
            return Readiness(state="stranger", text=f"it runs the profile {health.model!r}, not {wanted!r}")
        return Readiness(state="ready")

    def greeting(self) -> Generator[Call, Reply, None]:
        """See `WireEngine.greeting`; a running server says which profile it runs and how much it takes at once."""
        reply = yield self.ready_call()
        health = _read(reply, Health)
        self._at_once = min(self._options["max_questions"], health.max_questions)
        if self.url:
            self._use(Chosen(profile=PROFILES[health.model], metadata={}))
        self.version = self._described(f"{self._build or 'dohnuts'}, {health.backend}")

    def exchange(self, plan: Plan) -> Generator[Call, Reply, Outcome]:
        """See `WireEngine.exchange`; one call per `max_questions` questions."""
        self._check(plan)
        state, spelt = plain_state(plan.request, self.vocabulary.control or USUAL_CONTROL)
        # All bodies are made first: a question that cannot be asked is found before the first is sent.
        groups = tuple(bodies(plan.request, state, self._chosen.profile, self._at_once))
        results: list[Result] = []
        computed, request_id = 0.0, None
        for _, body in groups:
            reply = yield Call(method="POST", path="/predict", body=body)
            if reply.status != 200:
                raise _refusal(reply)
            predicted: Predicted = _read(reply, Predicted)
            results += predicted.results
            computed += predicted.elapsed_ms
            request_id = reply.headers.get("x-typesafe-request-id")
        answers = {name: read for result in results for name, read in result.answers.items()}
        tokens = sum(result.usage.input_tokens for result in results)
        return Outcome(
            evidence=tuple(evidence(answers, row, plan.request.questions[row.question]) for row in plan.rows),
            cache=CacheReport(status="unknown"),
            engine_ms=computed,
            phases={"elapsed_ms": computed},
            prompt_tokens=tokens,
            request_id=request_id,
            usage={"input_tokens": tokens},
            warnings=tuple(self._warnings(spelt, len(groups))),
        )

    def _use(self, chosen: Chosen) -> None:
        profile = chosen.profile
        self._chosen = chosen
        self.limits = attrs.evolve(INFO.limits, options=profile.options)
        self.capabilities = attrs.evolve(INFO.capabilities, independent=self._at_once == 1)

    def _described(self, build: str) -> str:
        """The build with what else decides how it answers; a temperature there is applied by the program."""
        parts = [build, f"profile {self._chosen.profile.name}"]
        parts += [f"{key} {value}" for key, value in self._chosen.temperatures.items()]
        return ", ".join(parts)

    def _check(self, plan: Plan) -> None:
        """Refuse a layout that does not run here, and a state that a server of somebody else might cut."""
        profile, metadata = self._chosen.profile, self._chosen.metadata
        if plan.layout not in ("profile", profile.name):
            raise Unsupported(
                f"The layout is {plan.layout!r}, but the engine runs the profile {profile.name!r}.",
                remedy=f"Pass profile={plan.layout!r}, or layout='profile' for whatever it runs.",
                engine=INFO.name,
            )
        if plan.layout == "decider" and metadata.get("isolated_levels", True) is False:
            raise Unsupported(
                "The layout 'decider' judges every level on its own, but the profile says isolated_levels false.",
                remedy="Pass layout='profile'.",
                engine=INFO.name,
            )
        if self.url and profile.cuts:
            self._check_cut(plan, min(profile.cuts.values()))

    def _check_cut(self, plan: Plan, budget: int) -> None:
        """A token is at least one byte, so what has fewer bytes than the budget has tokens is not cut."""
        # jet cuts the whole prompt, the others the state.
        text = _jet_bound(plan) if self._chosen.profile.name == "jet" else dumps(plan.request.state)
        size = len(text.encode())
        if size > budget - TEMPLATE_BYTES:
            safe = budget - TEMPLATE_BYTES
            raise InvalidRequest(
                f"The text is {size:,} bytes, and a server with the profile {self._chosen.profile.name} that was not "
                f"started here may cut it after {budget:,} tokens without saying so.",
                remedy=f"Let it be started here (model= instead of url=), or keep it under {safe:,} bytes.",
                engine=INFO.name,
            )

    def _warnings(self, spelt: int, exchanges: int) -> Iterator[str]:
        if spelt:
            yield (
                f"control: {spelt} spellings of control tokens in the state were sent with a space after their first "
                "character, so that they stay text"
            )
        if exchanges > 1 and not self._chosen.profile.independent:
            yield (
                f"split: the questions went into {exchanges} exchanges; with the profile {self._chosen.profile.name} "
                "a question sees those before it in its own exchange only"
            )


def _check_head(chosen: Chosen, head: str | None, url: str | None) -> None:
    profile = chosen.profile
    if url is None and profile.head and head is None:
        raise InvalidRequest(
            f"The profile {profile.name} needs a head.", remedy="Pass head= with its file.", engine=INFO.name
        )
    if head is not None and not Path(head).expanduser().is_file():
        raise InvalidRequest(f"The head {head} does not exist.", remedy="Correct the path.", engine=INFO.name)


def _key(variable: str) -> Mapping[str, str]:
    """The header for a server that asks for a key; nothing where the variable is not set."""
    key = os.environ.get(variable)
    return {"authorization": f"Bearer {key}"} if key else {}


def _jet_bound(plan: Plan) -> str:
    """Text at least as long as the longest prompt that jet makes of a plan."""
    state = plan.request.state
    shown = state if isinstance(state, str) else json.dumps(state, ensure_ascii=False, indent=2)
    asked = (
        question.text + "".join(f"{option.text}{' ' * 8}" for option in question.options)
        for question in plan.request.questions.values()
    )
    return shown + max(asked, key=lambda text: len(text.encode()))


def _read(reply: Reply, kind: type[Any]) -> Any:
    if reply.status != 200:
        raise refusal(reply, INFO.name)
    try:
        return kind.model_validate_json(reply.body)
    except ValueError as error:
        raise BadReply(f"A reply is not a {kind.__name__}: {error}", engine=INFO.name) from None


def _refusal(reply: Reply) -> TiebreakError:
    said = message_of(reply)
    if reply.status == 413 and TOO_LONG in said:
        return ContextOverflow(
            f"HTTP {reply.status}: {said}",
            window=WINDOW,
            remedy=f"Shorten the state: one question with its state has to fit {WINDOW:,} tokens, which is fixed.",
            engine=INFO.name,
        )
    return refusal(reply, INFO.name)
