"""`JevEngine`: one POST per request to a server that speaks System One."""

from __future__ import annotations

import threading
from collections.abc import Generator, Mapping
from typing import Any

import attrs
from pydantic import ValidationError

from tiebreak.command import Command, Readiness
from tiebreak.engine import Call, Limits, Reply, Vocabulary, WireEngine
from tiebreak.errors import BadReply, EngineUnavailable, InvalidRequest
from tiebreak.evidence import Outcome
from tiebreak.memory import Footprint
from tiebreak.models import Model
from tiebreak.names import unknown
from tiebreak.pace import Pace
from tiebreak.plan import Plan
from tiebreak.questions import KINDS, Kind
from tiebreak.transport import is_loopback
from tiebreak_jev._wire import Response, Usage, problems
from tiebreak_jev.info import INFO
from tiebreak_jev.key import Bearer
from tiebreak_jev.layout import wire_question
from tiebreak_jev.providers import Target, target
from tiebreak_jev.refused import refused
from tiebreak_jev.reply import evidence

__all__ = ["JevEngine"]

PATH = "/v1/systemone"
LEVELS = 10
# Measured by several client authors: about 270 tokens of fixed overhead; English JSON runs to four bytes per token.
OVERHEAD_TOKENS, BYTES_PER_TOKEN = 270, 4


class JevEngine(WireEngine):
    """Asks a System One server; there is never anything to start.

    Args:
        model: the model id, handed to the server as it is; None asks for `jev-latest`.
        options: the engine's options with their values, and `url`.

    Raises:
        AuthError: the provider wants a key and there is none.
        InvalidRequest: no URL, or `kinds` names what is no question kind.
    """

    def __init__(self, model: Model | None, options: Mapping[str, Any]) -> None:
        self._target = target(options)
        self._model = model.reference if model else "jev-latest"
        self._retries: int = options["retries"]
        self._seen = _Seen()
        self.info = INFO
        self.url = self._target.url
        self.headers = Bearer(self._target.key, {"user-agent": "tiebreak-jev"})
        self.capabilities = attrs.evolve(
            INFO.capabilities, kinds=_kinds(options["kinds"]), hosted=not is_loopback(self.url)
        )
        self.limits: Limits = INFO.limits
        self.vocabulary = Vocabulary()
        # Nobody says which build runs there: the protocol is known here, the model with each reply.
        self.version = "systemone v1"
        if options["requests_per_minute"] or options["tokens_per_second"]:
            self.pace = Pace(
                INFO.name,
                requests_per_minute=options["requests_per_minute"],
                tokens_per_second=options["tokens_per_second"],
            )

    def launch(self) -> Command:
        """See `WireEngine.launch`."""
        raise EngineUnavailable("It runs elsewhere; there is nothing to start.", engine=INFO.name)

    def footprint(self) -> Footprint:
        """See `WireEngine.footprint`."""
        return Footprint(weights=0)

    def ready_call(self) -> Call:
        """See `WireEngine.ready_call`."""
        return Call(method="GET", path="/v1/models")

    def readiness(self, reply: Reply) -> Readiness:
        """Any server that answers is ready, unless it says that it loads: the list of models is optional.

        What is wrong with the key or the URL is said by the first decision, whose status is defined.
        """
        said = reply.body[:300].decode(errors="replace").lower()
        if reply.status == 503 and "load" in said and "overload" not in said:
            return Readiness(state="loading", text="it says that it loads its model")
        return Readiness(state="ready", text="")

    def greeting(self) -> Generator[Call, Reply, None]:
        """Nothing needs to be learnt before the first question."""
        yield from ()

    def exchange(self, plan: Plan) -> Generator[Call, Reply, Outcome]:
        """See `WireEngine.exchange`."""
        questions = plan.request.questions
        for name, question in questions.items():
            if question.kind == "score" and len(question.options) > LEVELS:
                raise InvalidRequest(
                    f"Question {name!r} has {len(question.options)} levels; System One takes {LEVELS}.",
                    remedy="Use fewer levels, or ask for a choice.",
                    engine=INFO.name,
                )
        body = {
            "model": self._model,
            "state": plan.request.state,
            "questions": {name: wire_question(question) for name, question in questions.items()},
        }
        call = Call.post(PATH, body, retries=self._retries)
        reply = yield attrs.evolve(call, tokens=OVERHEAD_TOKENS + len(call.body) // BYTES_PER_TOKEN)
        if self._target.key is not None:
            reply = self._target.key.scrub(reply)
        if reply.status != 200:
            raise refused(reply, self._target, self._model)
        try:
            response = Response.model_validate(reply.json(INFO.name))
        except ValidationError as error:
            raise BadReply(
                f"The reply is not a System One answer: {problems(error)}.",
                remedy="Nothing was guessed from it; is this URL a System One server?",
                engine=INFO.name,
            ) from None
        note = self._seen.changed(response.model)
        usage = response.usage or Usage()
        return Outcome(
            evidence=evidence(questions, response.answers),
            prompt_tokens=usage.input_tokens,
            resolved_model=response.model,
            request_id=reply.headers.get("x-typesafe-request-id") or response.id,
            usage=_account(usage, self._target),
            warnings=(note,) if note else (),
        )


class _Seen:
    """The model that answered last, over all threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._model: str | None = None

    def changed(self, model: str | None) -> str:
        """A note where another model answers than before, else ""."""
        with self._lock:
            before, self._model = self._model, model or self._model
        if model is None or before in (None, model):
            return ""
        return f"the resolved model changed from {before} to {model}: thresholds tuned on one may not fit the other"


def _account(usage: Usage, target: Target) -> dict[str, Any]:
    """Tokens as the server counts them, and the price: its own figure, else the provider's list price."""
    account: dict[str, Any] = {}
    if usage.input_tokens is not None:
        account["input_tokens"] = usage.input_tokens
    if usage.output_tokens is not None:
        account["output_tokens"] = usage.output_tokens
    if usage.cost is not None:
        account |= {"price_usd": usage.cost, "price_source": "reported by the server"}
    elif target.provider.price is not None and usage.input_tokens is not None and target.url == target.provider.url:
        account["price_usd"] = usage.input_tokens * target.provider.price / 1e6
        account["price_source"] = f"list price, USD {target.provider.price:g} per million input tokens"
    return account


def _kinds(text: str) -> tuple[Kind, ...]:
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in KINDS:
            raise InvalidRequest(unknown("question kind", name, KINDS), engine=INFO.name)
    return tuple(kind for kind in KINDS if kind in names)
