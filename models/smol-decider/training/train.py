"""Trains an adapter on one GPU: `python -m training.train --base BASE.gguf --rows rows.npz --out DIR --seconds 460`.

Low-rank factors of all matrices and the norms are trained with AdamW; the rate follows cosine cycles, and each cycle
ends in a checkpoint `DIR/NAME-N`, in two files. Two GPUs are two runs with CUDA_VISIBLE_DEVICES and seeds of their own:
their mean is better than a longer run. With `--steps` instead of `--seconds` a run on one device repeats.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import attrs
import torch

from training import adapters, base
from training.batches import Batches
from training.lowrank import LowRank
from training.model import Model, Weights
from training.objective import Objective, Outcome
from training.rounding import Rounds, rounded_weights
from training.rows import Rows

__all__ = ["Schedule", "main"]

WARM_STEPS = 60
NORM_RATE = 0.3
"""Rate of the norms, relative to that of the factors."""
PROBE_RATE, PAIR_RATE = 3e-3, 2e-3
TIMED_FROM = 15
"""The clock starts after as many steps: the first ones compile."""
SAID_EVERY = 50


@attrs.frozen(kw_only=True)
class Schedule:
    """When a run ends, and the learning rate until then.

    Attributes:
        seconds: length of the run; ignored where `steps` is given.
        steps: length of the run in steps, or None.
        cycles: ends of the cosine cycles as shares of the run, rising, the last one 1.
        again: peak of the later cycles, relative to the first.
    """

    seconds: float
    steps: int | None
    cycles: Sequence[float] = attrs.field(default=(1.0,))
    again: float = 0.6

    def __attrs_post_init__(self) -> None:
        ends = list(self.cycles)
        if ends != sorted(set(ends)) or not ends or ends[0] <= 0 or ends[-1] != 1:
            raise ValueError(f"cycles {ends} do not rise from above 0 to 1")

    def progress(self, step: int, seconds: float) -> float:
        """Share of the run that is done."""
        return step / self.steps if self.steps is not None else seconds / self.seconds

    def cycle(self, progress: float) -> int:
        """Index of the cycle that `progress` lies in."""
        return next((index for index, end in enumerate(self.cycles) if progress < end), len(self.cycles) - 1)

    def factor(self, step: int, progress: float) -> float:
        """The learning rate relative to its peak: a short climb, then cosine to 2 % in every cycle."""
        cycle = self.cycle(progress)
        start = self.cycles[cycle - 1] if cycle else 0.0
        within = min(1.0, (progress - start) / (self.cycles[cycle] - start))
        cosine = 0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * within))
        return min(1.0, (step + 1) / WARM_STEPS) * cosine * (self.again if cycle else 1.0)


class Run:
    """One training run.

    Args:
        given: the command line.
    """

    def __init__(self, given: argparse.Namespace) -> None:
        self._given = given
        self._device = torch.device(given.device or ("cuda" if torch.cuda.is_available() else "cpu"))
        rows = Rows.load(given.rows)
        loaded = base.read(given.base)
        compiled = self._device.type == "cuda" and not given.eager
        longest = int(rows.lengths.max()) + 16
        self._model = Model(loaded, self._device, compiled=compiled, longest=longest)
        weights = Weights.of(loaded, self._device)
        self._change = LowRank(weights, given.rank, given.seed)
        if given.start is not None:
            self._change.load(adapters.read(given.start))
        self._objective = Objective(
            self._model,
            smoothing=given.smoothing,
            coverage=given.coverage,
            pointer=given.pointer,
            consistency=given.consistency,
            seed=given.seed,
        )
        self._rounds = Rounds(bits=given.fake, start=given.fake_from, share=given.fake_share)
        self._batches = Batches(rows, given.tokens, self._device, given.seed)
        self._schedule = Schedule(
            seconds=given.seconds, steps=given.steps, cycles=tuple(given.cycles), again=given.again
        )
        self._optimizer = torch.optim.AdamW(
            [
                {"params": self._change.thin, "lr": given.rate, "weight_decay": given.decay},
                {"params": self._change.norms, "lr": given.rate * NORM_RATE, "weight_decay": 0.0},
                {"params": [self._objective.probe], "lr": PROBE_RATE, "weight_decay": 0.0},
                {"params": self._objective.pair, "lr": PAIR_RATE, "weight_decay": 0.0},
            ],
            betas=(0.9, 0.98),
            fused=True,
        )
        self._rows = len(rows)

    def train(self) -> Iterator[Path]:
        """Train to the end, yielding each checkpoint when it is written."""
        rates = [group["lr"] for group in self._optimizer.param_groups]
        log = Log(self._given.out / f"{self._given.name}.jsonl", self._rows)
        progress, cycle = 0.0, 0
        for step, rows in enumerate(self._batches):
            factor = self._schedule.factor(step, progress)
            for group, rate in zip(self._optimizer.param_groups, rates, strict=True):
                group["lr"] = rate * factor
            weights = self._change.weights()
            if self._rounds.now(step, progress):
                weights = rounded_weights(weights)
            outcome = self._objective(rows, weights, progress)
            outcome.loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(
                [one for group in self._optimizer.param_groups for one in group["params"]], 1.0
            )
            self._optimizer.step()
            self._optimizer.zero_grad(set_to_none=True)
            log.took(step, rows.tokens.numel(), outcome, rows.schema_first, rates[0] * factor)
            progress = self._schedule.progress(step + 1, log.seconds)
            if progress >= 1 or self._schedule.cycle(progress) > cycle:
                cycle += 1
                yield self._save(cycle)
            if progress >= 1:
                return

    def _save(self, cycle: int) -> Path:
        path: Path = self._given.out / f"{self._given.name}-{cycle}.safetensors"
        adapters.write(self._change.adapter(), path, parts=2)
        return path


class Log:
    """Writes a JSON line every so many steps, to a file and to the terminal.

    Args:
        path: the file.
        rows: rows of an epoch.
    """

    def __init__(self, path: Path, rows: int) -> None:
        self._path, self._rows = path, rows
        path.write_text("")
        self._started: float | None = None
        self._tokens = self._seen = 0
        self._kept: list[Outcome] = []
        self._schema_first: list[torch.Tensor] = []

    @property
    def seconds(self) -> float:
        """Since the steps that compile were over."""
        return 0.0 if self._started is None else time.monotonic() - self._started

    def took(self, step: int, tokens: int, outcome: Outcome, schema_first: torch.Tensor, rate: float) -> None:
        """One step is done. Nothing here waits for the device except when a line is due."""
        if step == TIMED_FROM:
            if outcome.loss.is_cuda:
                torch.cuda.synchronize()
            self._started = time.monotonic()
            self._tokens = 0
        self._tokens += tokens
        self._seen += len(schema_first)
        if step % 5 == 0:
            self._kept.append(attrs.evolve(outcome, loss=outcome.loss.detach()))
            self._schema_first.append(schema_first)
        if (step + 1) % SAID_EVERY == 0:
            self._say(step + 1, rate)

    def _say(self, step: int, rate: float) -> None:
        right = torch.cat([one.right for one in self._kept]).float()
        agree = torch.cat([one.agree for one in self._kept]).float()
        order = torch.cat(self._schema_first)
        line = {
            "step": step,
            "loss": _mean([one.loss for one in self._kept]),
            "answer": _mean([one.answer for one in self._kept]),
            "pointer": _mean([one.pointer for one in self._kept]),
            "apart": _mean([one.apart for one in self._kept]),
            "agree": round(agree.mean().item(), 4) if len(agree) else None,
            "right": round(right.mean().item(), 4),
            "right schema-first": round(right[order].mean().item(), 4) if order.any() else None,
            "rate": float(f"{rate:.2e}"),
            "seconds": round(self.seconds, 1),
            "tokens a second": round(self._tokens / self.seconds) if self.seconds else None,
            "epoch": round(self._seen / self._rows, 3),
        }
        self._kept, self._schema_first = [], []
        text = json.dumps(line)
        with self._path.open("a") as file:
            file.write(text + "\n")
        print(text, flush=True)


def _mean(values: Sequence[torch.Tensor]) -> float:
    return round(torch.stack(list(values)).mean().item(), 4)


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    options = argparse.ArgumentParser(prog="training.train", description=__doc__)
    options.add_argument("--base", type=Path, required=True, help="GGUF of the base model")
    options.add_argument("--rows", type=Path, required=True, help="what training.build wrote")
    options.add_argument("--out", type=Path, required=True, help="folder for checkpoints and the log")
    options.add_argument("--name", default="run", help="how files of this run begin")
    options.add_argument("--start", type=Path, help="adapter to begin with, instead of the base alone")
    options.add_argument("--rank", type=int, default=64)
    options.add_argument("--rate", type=float, default=1e-3, help="peak learning rate")
    options.add_argument("--decay", type=float, default=0.0, help="weight decay of the factors")
    options.add_argument("--seconds", type=float, default=460.0)
    options.add_argument("--steps", type=int, help="length in steps instead of seconds: repeatable")
    options.add_argument("--cycles", type=float, nargs="+", default=[0.6, 0.8, 1.0], help="ends of the rate's cycles")
    options.add_argument("--again", type=float, default=0.6, help="peak of the later cycles")
    options.add_argument("--tokens", type=int, default=20_480, help="tokens of a step, padding included")
    options.add_argument("--smoothing", type=float, default=0.05, help="label smoothing")
    options.add_argument("--coverage", type=float, default=0.0, help="weight of the loss on the mass of the labels")
    options.add_argument("--pointer", type=float, default=0.5, help="weight of the pointer loss at the start")
    options.add_argument("--consistency", type=float, default=2.0, help="weight of the divergence of pairs; 0: none")
    options.add_argument("--fake", type=int, default=0, help="4: steps at the end see matrices rounded to 4 bits")
    options.add_argument("--fake-from", type=float, default=0.8, help="share of the run after which they do")
    options.add_argument("--fake-share", type=float, default=0.5, help="share of the steps from there on that do")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--device", help="cuda or cpu; found out where it is not given")
    options.add_argument("--eager", action="store_true", help="do not compile on a GPU")
    return options


def main() -> None:
    """Trains, and names each checkpoint when it is there."""
    given = arguments().parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    for path in Run(given).train():
        print(f"checkpoint {path}", flush=True)


if __name__ == "__main__":
    main()
