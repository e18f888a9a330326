"""`TransformersEngine`: decisions from PyTorch in this process."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from tiebreak.engine import Capabilities, Engine, Limits, LocalEngine, Vocabulary
from tiebreak.errors import EngineError, InvalidRequest
from tiebreak.evidence import Outcome
from tiebreak.inprocess import refuse_fork, with_weights
from tiebreak.ledger import Budget
from tiebreak.memory import Footprint
from tiebreak.models import Model
from tiebreak.plan import Plan
from tiebreak_transformers.footprint import footprint
from tiebreak_transformers.info import INFO, TOLERANCE

if TYPE_CHECKING:
    from tiebreak_transformers.loaded import Loaded

__all__ = ["TransformersEngine", "open_engine"]

_AT_ONCE_ON_GPU = 256
"""Requests that are let in together where a GPU computes: one pass of it takes that many with ease."""


def open_engine(model: Model | None, options: Mapping[str, Any]) -> Engine:
    """The engine for these options; nothing is loaded yet.

    Raises:
        InvalidRequest: no model, a URL, or options that exclude each other.
    """
    model = with_weights(model, options, INFO.name, "weights: a GGUF file, or a folder in Hugging Face format")
    if options["graphs"] and (options["dtype"] == "float32" or options["device"] in ("cpu", "mps")):
        raise InvalidRequest(
            f"CUDA graphs need a CUDA GPU and a 16-bit dtype, not {options['dtype']} on {options['device']}.",
            remedy="Leave graphs out, or set dtype='bfloat16' and device='cuda'.",
            engine=INFO.name,
        )
    return TransformersEngine(model, options)


class TransformersEngine(LocalEngine):
    """A Hugging Face model on PyTorch; requests of several threads are computed together.

    Args:
        model: with a path.
        options: every option of `INFO`.
    """

    def __init__(self, model: Model, options: Mapping[str, Any]) -> None:
        self.info = INFO
        self.capabilities: Capabilities = attrs.evolve(INFO.capabilities, tolerance=TOLERANCE[options["dtype"]])
        self.limits: Limits = attrs.evolve(INFO.limits, window_tokens=options["context"])
        self.vocabulary = Vocabulary()
        self.model_sha256 = model.sha256
        self.cache_budget = Budget(
            bytes=options["cache_mib"] << 20,
            entries=options["cache_entries"],
            option="cache_mib",
            entries_option="cache_entries",
            unit=1 << 20,
        )
        self._model = model
        self._options = options
        self._lock = threading.Lock()
        self._loaded: Loaded | None = None
        self._process = os.getpid()

    @property
    def ready(self) -> bool:
        """See `LocalEngine.ready`."""
        return self._loaded is not None and self._process == os.getpid()

    def footprint(self) -> Footprint:
        """See `LocalEngine.footprint`."""
        return footprint(self._model, self._options)

    def start(self) -> None:
        """See `LocalEngine.start`.

        Raises:
            EngineUnavailable: torch or another package is missing, the device is not there, or the process was forked.
            ModelUnavailable: the weights cannot be loaded.
            Unsupported: a model or a tokenizer of a kind that is not computed here.
            EngineStartError: the device has no room, or the model failed its check.
        """
        if self.ready:
            return
        refuse_fork(self._process, INFO.name)
        with self._lock:
            if self._loaded is not None:
                return
            from tiebreak_transformers.loaded import Loaded  # torch takes seconds to import: not before it is needed

            loaded = Loaded(self._model, self._options)
            self.version = loaded.version
            self.vocabulary = loaded.vocabulary
            self.limits = attrs.evolve(self.limits, window_tokens=loaded.window)
            if loaded.device == "cuda":
                self.capabilities = attrs.evolve(self.capabilities, concurrency=_AT_ONCE_ON_GPU)
            self._loaded = loaded

    def evidence(self, plans: Sequence[Plan], cancelled: Callable[[], bool]) -> Sequence[Outcome]:
        """See `LocalEngine.evidence`.

        Raises:
            ContextOverflow: a prompt is longer than the window; nothing was computed.
            Unsupported: a label takes several tokens.
            EngineHung: it was cancelled before its turn came.
            EngineError, BadReply: computing failed.
        """
        return self._ready().evidence(plans, cancelled)

    def tokens(self, plan: Plan) -> Sequence[Sequence[Sequence[int]]]:
        """See `LocalEngine.tokens`."""
        tokens = self._ready().tokens
        return [[list(tokens.piece(piece)) for piece in row.pieces()] for row in plan.rows]

    def pin(self, plan: Plan) -> None:
        """See `LocalEngine.pin`."""
        self._ready().pin(plan)

    def unpin(self, plan: Plan) -> None:
        """See `LocalEngine.unpin`."""
        self._ready().unpin(plan)

    def close(self) -> None:
        """See `LocalEngine.close`: the memory goes back to the system, or to torch's pool of the GPU."""
        with self._lock:
            self._loaded = None

    def _ready(self) -> Loaded:
        refuse_fork(self._process, INFO.name)
        loaded = self._loaded
        if loaded is None:
            raise EngineError("It is closed, or was never started.", remedy="Call start().", engine=INFO.name)
        return loaded
