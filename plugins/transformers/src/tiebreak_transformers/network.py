"""`Network`: a model computes jobs in passes, and each is read at its slot alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tiebreak.errors import BadReply, EngineError, EngineStartError, Unsupported
from tiebreak_transformers.attention import Kernel, Packed, of_pass
from tiebreak_transformers.graphs import MOST_TOKENS, Graphs
from tiebreak_transformers.info import INFO
from tiebreak_transformers.loading import Placed
from tiebreak_transformers.passes import Job, Pass, passes
from tiebreak_transformers.prefixes import Prefix

__all__ = ["Network"]

_READ_ROWS = 256
_CHECKED = {"float32": 1e-3, "bfloat16": 0.25, "float16": 0.05}
"""By dtype: how far logits of the packed computation may be from transformers' own, in units of their spread."""


class Network:
    """Runs a model. Use it from one thread at a time.

    Args:
        placed: the model.
        room: new tokens of one pass.
        fuse: have torch.compile fuse its layers.
        record: record passes of few tokens as CUDA graphs, where rows need no padding.

    Attributes:
        device: where it computes.
        kernel: what computes attention.

    Raises:
        EngineStartError: packed rows come out different from the same rows by themselves.
        Unsupported: `record`, but rows need padding here.
    """

    def __init__(self, placed: Placed, room: int, *, fuse: bool = False, record: bool = False) -> None:
        import torch

        self._torch = torch
        self._model = placed.model
        self._base = placed.model.get_decoder()
        self._head = placed.model.get_output_embeddings()
        self._room = room
        self.device = torch.device(placed.device)
        self.kernel: Kernel = "padded"
        self._graphs: Graphs | None = None
        self._choose(placed.dtype)
        if fuse:
            self._fuse()
        if record:
            if self.kernel != "flash":
                raise Unsupported(
                    f"CUDA graphs need rows without padding; on {placed.device} in {placed.dtype} they are padded.",
                    remedy="Leave graphs out, or use a CUDA GPU and a 16-bit dtype.",
                    engine=INFO.name,
                )
            self._graphs = Graphs(self._compute, self.device)

    def run(self, jobs: Sequence[Job]) -> None:
        """Compute jobs and fill in what was read and kept.

        Raises:
            BadReply: a logit is not a number, or infinite.
            EngineError: the device ran out of memory, or failed.
        """
        torch = self._torch
        try:
            with torch.inference_mode():
                pending = [
                    (dealt, self._pass(dealt)) for dealt in passes(jobs, self._room, padded=self.kernel == "padded")
                ]
                for dealt, read in pending:  # only now is the device waited for
                    if read is not None:
                        _fill(dealt, *(part.tolist() for part in read))
        except torch.OutOfMemoryError as error:
            raise EngineError(
                f"The {self.device.type} device ran out of memory: {str(error).splitlines()[0]}",
                remedy="Lower batch_tokens or cache_mib.",
                engine=INFO.name,
            ) from error

    def upload(self, array: Any) -> Any:
        """A tensor on the device."""
        return self._torch.from_numpy(array).to(self.device, non_blocking=True)

    def _pass(self, jobs: Sequence[Job]) -> tuple[Any, Any, Any] | None:
        """Compute jobs in one pass; what was read is still on the device, None where nothing was to be read."""
        this = Pass.of(jobs)
        keeps = any(job.keep for job in jobs)
        if self._graphs is not None and not keeps and len(this.ids) <= MOST_TOKENS:
            return self._graphs.run(this)
        packed = of_pass(this, self.kernel, self.upload)
        if keeps:
            packed.kept = {}
        hidden = self._forward(self.upload(this.ids), self.upload(this.positions), packed)
        if packed.kept is not None:
            self._keep(jobs, this, packed)
        if not len(this.slots):
            return None
        return self._read(hidden, self.upload(this.slots), self.upload(this.targets))

    def _compute(self, ids: Any, positions: Any, slots: Any, targets: Any, packed: Packed) -> tuple[Any, Any, Any]:
        """A whole pass on the device."""
        return self._read(self._forward(ids, positions, packed), slots, targets)

    def _forward(self, ids: Any, positions: Any, packed: Packed) -> Any:
        """The last layer's states, normalised, of every new token: (tokens, width)."""
        return self._base(
            input_ids=ids[None], position_ids=positions[None].long(), use_cache=False, packed=packed
        ).last_hidden_state[0]

    def _read(self, hidden: Any, slots: Any, targets: Any) -> tuple[Any, Any, Any]:
        """Log-probabilities of targets, log-sum-exp and most probable token at each slot, in float32 from here on."""
        torch = self._torch
        found = []
        for first in range(0, len(slots), _READ_ROWS):
            logits = self._logits(hidden.index_select(0, slots[first : first + _READ_ROWS]))
            total = logits.logsumexp(1)
            wanted = logits.gather(1, targets[first : first + _READ_ROWS].long()) - total[:, None]
            found.append((wanted, total, logits.argmax(1)))
        wanted, total, top = (torch.cat(parts) for parts in zip(*found, strict=True))
        return wanted, total, top

    def _logits(self, states: Any) -> Any:
        """(rows, vocabulary) in float32: a sum of products in 16 bits would round scores to a tenth."""
        torch = self._torch
        weight, bias = self._head.weight, getattr(self._head, "bias", None)
        states = states.float()
        parts = [states @ part.float().T for part in weight.split(1 << 15)]
        logits = torch.cat(parts, 1) if len(parts) > 1 else parts[0]
        return logits if bias is None else logits + bias.float()

    def _keep(self, jobs: Sequence[Job], this: Pass, packed: Packed) -> None:
        """Copy the states of each beginning that is to be kept, that of its prefix included."""
        torch = self._torch
        assert packed.kept is not None
        layers = [packed.kept[layer] for layer in sorted(packed.kept)]
        for index, job in enumerate(jobs):
            if not job.keep:
                continue
            start = int(this.ends_q[index])
            stop = start + job.mark - job.known
            states = torch.stack([torch.stack([keys[start:stop], values[start:stop]]) for keys, values in layers])
            job.states = states if job.prefix is None else torch.cat([job.prefix.states, states], dim=2)

    def _fuse(self) -> None:
        """Compile the layers one by one: all of a kind share what was compiled for the first."""
        kinds = set(self._model._no_split_modules or ())  # transformers' own list of what a layer is
        for module in self._base.modules():
            if type(module).__name__ in kinds:
                module.compile(dynamic=True)

    def _choose(self, dtype: str) -> None:
        """Take the quickest kernel whose packed rows come out as transformers computes each row alone.

        Models differ in more than their weights (scaled or capped logits, sinks, windows): one whose packed rows come
        out different is refused rather than answered for wrongly.

        Raises:
            EngineStartError: no kernel does.
        """
        torch = self._torch
        kernels = ("flash", "padded") if self.device.type == "cuda" and dtype != "float32" else ("padded",)
        found = {}
        for kernel in kernels:
            self.kernel = kernel
            try:
                with torch.inference_mode():
                    apart = self._apart()
                if apart <= _CHECKED[dtype]:
                    return
                found[kernel] = f"logits are {apart:.2g} of their spread apart"
            except (RuntimeError, TypeError) as error:  # a build without it, or a width that it does not take
                found[kernel] = str(error).splitlines()[0]
        raise EngineStartError(
            f"Rows of this {type(self._model).__name__} that are computed packed are not what they are by themselves: "
            f"{'; '.join(f'{kernel}: {why}' for kernel, why in found.items())}.",
            remedy="Its attention or its logits are of a kind that is not computed here; use another engine.",
            engine=INFO.name,
        )

    def _apart(self) -> float:
        """How far logits of two packed rows, one behind a prefix, are from those of each alone, in their spread."""
        torch = self._torch
        own = self._model.config._attn_implementation
        size = int(self._head.weight.shape[0])
        rows = [
            tuple((17 + 31 * at * at + 7 * row) % size for at in range(length)) for row, length in enumerate((21, 13))
        ]
        self._model.set_attn_implementation("sdpa")
        alone = torch.cat(
            [self._model(torch.tensor([row], device=self.device), use_cache=False).logits[0, -1:] for row in rows]
        ).float()
        self._model.set_attn_implementation(own)
        first = Job(ids=rows[0], targets=None, mark=8, keep=True)
        self._pass([first])
        prefix = Prefix(ids=rows[0][:8], states=first.states, bytes=0)
        this = Pass.of([Job(ids=rows[0], targets=(), prefix=prefix), Job(ids=rows[1], targets=())])
        hidden = self._forward(
            self.upload(this.ids), self.upload(this.positions), of_pass(this, self.kernel, self.upload)
        )
        packed = self._logits(hidden.index_select(0, self.upload(this.slots)))
        return float((packed - alone).abs().max() / alone.std())


def _fill(jobs: Sequence[Job], wanted: list[list[float]], total: list[float], top: list[int]) -> None:
    read = [job for job in jobs if job.targets is not None]
    for job, logprobs, mass, best in zip(read, wanted, total, top, strict=False):
        if not math.isfinite(mass):
            raise BadReply(
                f"The model's logits are not finite (their log-sum-exp is {mass}).",
                remedy="The weights may be damaged, or this dtype overflows; use float32.",
                engine=INFO.name,
            )
        job.logprobs = tuple(logprobs[: len(job.targets or ())])
        job.top = best
