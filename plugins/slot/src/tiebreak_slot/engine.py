"""`SlotEngine`: decisions from any llama-server, one token of evidence at a time.

Protocol facts (routes, fields, defaults) are those of llama.cpp's server, `tools/server/README.md`.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import attrs

from tiebreak.answers import CacheReport
from tiebreak.command import Command, Readiness
from tiebreak.engine import Call, Capabilities, Limits, Reply, Vocabulary, WireEngine
from tiebreak.errors import BadReply, ContextOverflow, InvalidRequest, TiebreakError
from tiebreak.evidence import Outcome, TokenScores
from tiebreak.memory import Footprint
from tiebreak.models import Model
from tiebreak.plan import Plan, Row
from tiebreak.refusal import refusal
from tiebreak_slot import program
from tiebreak_slot._wire import Completion, Properties, completions
from tiebreak_slot.greeting import Greeting
from tiebreak_slot.info import INFO
from tiebreak_slot.prompt import Prompt, Prompts
from tiebreak_slot.scores import scores

__all__ = ["SlotEngine"]

WHOLE_VOCABULARY = 1_000_000
"""More candidates than any vocabulary has: llama-server then lists them all."""

TOLERANCE = 0.1
"""How far repeats may be apart where reuse is not exact, or where slots work side by side (0.026 was seen under 50
threads; the likely cause is a token left over in a shared batch, which other kernels compute)."""

FORCED = 1e4
"""Logit bias that makes a label the generated token: the reported probabilities are taken before it, but a reply
whose generated token ends the text or is half a character would come without them."""


class SlotEngine(WireEngine):
    """A llama-server of our own, or one at a URL.

    Args:
        model: the model to serve; None where a URL says who serves one.
        options: every option of `INFO`, and `url`.
    """

    def __init__(self, model: Model | None, options: Mapping[str, Any]) -> None:
        self.info = INFO
        self.url = options["url"]
        self.load_timeout = options["load_timeout"]
        self.capabilities: Capabilities = attrs.evolve(INFO.capabilities, concurrency=options["parallel"])
        self.limits: Limits = attrs.evolve(INFO.limits, window_tokens=options["context"])
        self.vocabulary = Vocabulary()
        self.model_sha256 = model.sha256 if model else None
        key = os.environ.get(options["api_key_env"] or "", "")
        self.headers = {"authorization": f"Bearer {key}"} if key else {}
        self._model = model
        self._options = options
        self._exact = False
        self._turn = count()
        self._prompts = Prompts(control=model.header.control_tokens() if model and model.header else None)
        if model is None and self.url is None:
            raise InvalidRequest("No model and no url was given.", remedy="Name a model.", engine=INFO.name)

    def launch(self) -> Command:
        """See `WireEngine.launch`."""
        found = program.find(self._options["binary"])
        self.version = program.version(found)
        return program.command(found, self._file(), self._options)

    def footprint(self) -> Footprint:
        """See `WireEngine.footprint`: weights, KV of all slots, prompts in host memory, compute buffers."""
        header = self._model.header if self._model else None
        tokens = self._options["context"] * self._options["parallel"]
        return Footprint(
            weights=self._file().stat().st_size,
            kv=((header.kv_bytes_per_token() if header else None) or 0) * tokens,
            cache=self._options["cache_mib"] << 20,
            compute=256 << 20,
        )

    def ready_call(self) -> Call:
        """See `WireEngine.ready_call`: `/props`, which says who it is, too."""
        return Call(method="GET", path="/props")

    def readiness(self, reply: Reply) -> Readiness:
        """See `WireEngine.readiness`."""
        if reply.status == 503:
            return Readiness(state="loading", text="loading the model")
        if reply.status in (401, 403):
            raise refusal(reply, INFO.name)
        if reply.status != 200:
            return Readiness(state="stranger", text=f"GET /props answers HTTP {reply.status}")
        try:
            served = Properties.model_validate_json(reply.body).model_path
        except ValueError:
            return Readiness(state="stranger", text="GET /props is not llama-server's")
        if self.url is None and not _same_file(served, self._file()):
            return Readiness(state="stranger", text=f"it serves {served or 'no model'}")
        return Readiness(state="ready")

    def greeting(self) -> Generator[Call, Reply, None]:
        """See `WireEngine.greeting`: window, slots, labels, chat template, and whether reuse is exact."""
        greeting = Greeting(top_n=self._options["top_n"])
        learnt = yield from greeting.run()
        # A build that was not numbered says "b0-unknown"; where we started it, we know more.
        numbered = learnt.build and not learnt.build.startswith("b0-")
        self.version = learnt.build if numbered else self.version or f"llama-server {learnt.build}".strip()
        self.vocabulary = attrs.evolve(
            learnt.vocabulary, control=tuple(sorted(self._prompts.control)) if self._prompts.control else ()
        )
        self.limits = attrs.evolve(self.limits, window_tokens=learnt.window)
        self._exact = learnt.exact
        self._prompts.first = learnt.bos
        self.capabilities = attrs.evolve(
            self.capabilities,
            concurrency=learnt.slots,
            prefix_cache=learnt.reuses,
            tolerance=0.0 if learnt.slots == 1 and (learnt.exact or self._options["reuse"] == "exact") else TOLERANCE,
        )

    def exchange(self, plan: Plan) -> Generator[Call, Reply, Outcome]:
        """See `WireEngine.exchange`: one completion for all rows; another for labels that it did not list."""
        prompts = yield from self._prompts.of(plan.rows)
        reuse = [self._may_reuse(row, prompt) for row, prompt in zip(plan.rows, prompts, strict=True)]
        top_n = max(self._options["top_n"], 2 * max(len(row.labels) for row in plan.rows))
        replies = yield from self._complete(plan.rows, prompts, top_n, all(reuse))
        spent = [reply.timings for reply in replies]
        found = self._scores(plan.rows, replies)
        # A prompt of which all but one token were reused took other kernels: not what a fresh one says.
        again = [i for i, r in enumerate(replies) if self._options["reuse"] == "exact" and _single(r)]
        if self._options["missing"] == "ask":
            again += [i for i, each in enumerate(found) if each.bounds and i not in again]
        if again:
            rows = [plan.rows[i] for i in again]
            wide = WHOLE_VOCABULARY if any(found[i].bounds for i in again) else top_n
            fresh = yield from self._complete(rows, [prompts[i] for i in again], wide, reuse=False)
            spent += [reply.timings for reply in fresh]
            for i, reply, each in zip(again, fresh, self._scores(rows, fresh), strict=True):
                replies[i], found[i] = reply, each
        prefill = sum(t.prompt_ms for t in spent)
        predicted = sum(t.predicted_ms for t in spent)
        return Outcome(
            evidence=tuple(found),
            cache=self._cache(plan, prompts, replies, any(reuse)),
            prefill_ms=prefill,
            engine_ms=prefill + predicted,
            phases={"prompt_ms": prefill, "predicted_ms": predicted, "calls": 1.0 + bool(again)},
            prompt_tokens=sum(r.timings.cache_n + r.timings.prompt_n for r in replies),
        )

    def tokens(self, plan: Plan) -> Generator[Call, Reply, Sequence[Sequence[Sequence[int]]]]:
        """See `WireEngine.tokens`."""
        return (yield from self._prompts.tokens(plan.rows))

    def _complete(
        self, rows: Sequence[Row], prompts: Sequence[Prompt], top_n: int, reuse: bool
    ) -> Generator[Call, Reply, list[Completion]]:
        body = {
            "prompt": prompts[0].parts if len(prompts) == 1 else [prompt.parts for prompt in prompts],
            "n_predict": 1,
            "n_probs": top_n,
            "cache_prompt": reuse,
            # Rows of a request share a prefix: one slot works them off one after another and reuses it.
            **({"id_slot": next(self._turn) % self.capabilities.concurrency} if len(prompts) > 1 else {}),
            "logit_bias": [[self.vocabulary.labels[rows[0].labels[0]], FORCED]],
            **PINNED,
        }
        reply = yield Call.post("/completion", body)
        if reply.status != 200:
            raise self._refused(reply)
        try:
            replies = completions(reply.body)
        except ValueError as error:
            raise BadReply(f"/completion answered what it should not: {error}", engine=INFO.name) from None
        if len(replies) != len(prompts):
            raise BadReply(f"{len(replies)} completions for {len(prompts)} prompts.", engine=INFO.name)
        for reply_ in replies:
            if reply_.truncated:
                raise ContextOverflow("The server cut the prompt.", remedy="Raise context.", engine=INFO.name)
        return replies

    def _may_reuse(self, row: Row, prompt: Prompt) -> bool:
        if not row.cut:
            return False
        # The same prompt again would leave one token to compute, see `exchange`: compute it whole at once.
        return self._options["reuse"] == "always" or (self._exact and not self._prompts.repeated(prompt))

    def _scores(self, rows: Sequence[Row], replies: Sequence[Completion]) -> list[TokenScores]:
        return [scores(row, reply, self.vocabulary.labels) for row, reply in zip(rows, replies, strict=True)]

    def _cache(self, plan: Plan, prompts: Sequence[Prompt], replies: Sequence[Completion], reuse: bool) -> CacheReport:
        if not any(row.cut for row in plan.rows) or not (self._exact or self._options["reuse"] == "always"):
            return CacheReport(status="off", reused_tokens=sum(r.timings.cache_n for r in replies))
        reused = sum(r.timings.cache_n for r in replies)
        whole = [
            t.cache_n >= prompt.prefix(t.cache_n + t.prompt_n)
            for prompt, t in zip(prompts, (reply.timings for reply in replies), strict=True)
        ]
        return CacheReport(status="hit" if reuse and any(whole) else "miss", reused_tokens=reused)

    def _refused(self, reply: Reply) -> TiebreakError:
        body = reply.json(INFO.name) if reply.body[:1] == b"{" else {}
        error = body.get("error", {}) if isinstance(body, dict) else {}
        if isinstance(error, dict) and error.get("type") == "exceed_context_size_error":
            tokens, window = error.get("n_prompt_tokens"), error.get("n_ctx")
            slots = self.capabilities.concurrency
            return ContextOverflow(
                f"The prompt is {tokens} tokens long; one request has {window} (of {slots} slots).",
                tokens=tokens,
                window=window,
                remedy="Shorten the state, or raise the option context (for a server of yours: --ctx-size).",
                engine=INFO.name,
            )
        return refusal(reply, INFO.name)

    def _file(self) -> Path:
        if self._model is None or self._model.path is None:
            raise InvalidRequest(
                "This engine needs a GGUF file.",
                remedy="Name a model that has one, or attach with url=.",
                engine=INFO.name,
            )
        return self._model.path


PINNED: Mapping[str, Any] = {
    "temperature": 0.0,
    "samplers": ["temperature"],
    "repeat_penalty": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
    "dry_multiplier": 0.0,
    "mirostat": 0,
    "grammar": "",
    "stop": [],
    "ignore_eos": False,
    "post_sampling_probs": False,
    "stream": False,
    "n_keep": 0,
    "response_fields": ["index", "completion_probabilities", "timings", "truncated"],
}
"""Everything that a server's own defaults could change, set for each request."""


def _single(reply: Completion) -> bool:
    return reply.timings.cache_n > 0 and reply.timings.prompt_n == 1


def _same_file(served: str, ours: Path) -> bool:
    try:
        return os.path.samefile(served, ours)
    except OSError:
        return False
