"""Which average of adapters is best: `python -m training.pick --base BASE.gguf A-1.safetensors B-1.safetensors ...`.

Averages are tried in torch, unreduced, on the set `h` in both layouts, and ranked by the mean of its kinds' accuracies;
figures of the other sets are printed beside, and no choice is made on them. With `--four-bits` each is tried with its
matrices rounded as well, and ranked by the mean of both. The arguments that the best one needs are printed for
training.average.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch

from tiebreak_smol_decider.adapter import Adapter
from training import adapters, base
from training.answers import Answered, flips, save
from training.heldout import FOLDER, Case, cases, router
from training.judging import Asked, judge
from training.lowrank import changed
from training.model import Model, Weights
from training.prompts import Encoder, Form
from training.rounding import rounded_weights
from training.tokenizer import load

__all__ = ["Mix", "candidates", "main"]

LAYOUTS: tuple[Form, ...] = ("decider", "schema-first")
LONGEST = 2048
Mix = dict[str, float]


def candidates(runs: Sequence[str], start: str | None, old: Sequence[float] = (0.15, 0.3)) -> Iterator[Mix]:
    """The averages that are tried: each alone, all, the last of each run, and those with shares of the old one."""
    for one in runs:
        yield {one: 1.0}
    groups: list[Sequence[str]] = [runs] if len(runs) > 1 else []
    by_run: dict[str, list[str]] = {}
    for one in runs:
        by_run.setdefault(one.rsplit("-", 1)[0], []).append(one)
    if len(by_run) > 1:
        groups += [checkpoints for checkpoints in by_run.values() if len(checkpoints) > 1]
        groups.append([checkpoints[-1] for checkpoints in by_run.values()])
        groups.append([checkpoints[0] for checkpoints in by_run.values()])
    tried: list[Mix] = []
    for group in groups:
        mix = {one: 1 / len(group) for one in group}
        if mix not in tried:
            tried.append(mix)
    yield from tried
    if start is not None:
        yield {start: 1.0}
        for mix in tried or [{one: 1.0} for one in runs]:
            for kept in old:
                yield {**{one: share * (1 - kept) for one, share in mix.items()}, start: kept}


def macro(answers: Sequence[Answered], name: str) -> dict[str, float]:
    """Accuracy of one set by kind, options as written and turned alike."""
    return {
        kind: statistics.fmean(one.right for one in answers if one.set == name and one.kind == kind)
        for kind in sorted({one.kind for one in answers if one.set == name})
    }


class Trial:
    """Tries averages on held-out cases.

    Args:
        path: the base.
        found: adapters by name.
        sets: cases.
        device: where to compute.
    """

    def __init__(self, path: Path, found: dict[str, Adapter], sets: Sequence[Case], device: torch.device) -> None:
        loaded = base.read(path)
        self._model = Model(loaded, device, compiled=False, longest=LONGEST)
        self._weights = Weights.of(loaded, device)
        encoder = Encoder(load(path))
        self._asked = [Asked(encoder, sets, layout) for layout in LAYOUTS]
        self._found = found

    @torch.no_grad()
    def answers(self, mix: Mix, *, four_bits: bool) -> list[list[Answered]]:
        """All cases in both layouts: as the mix is, and, where asked for, with its matrices rounded to 4 bits."""
        shape = self._model.shape
        weights = changed(self._weights, shape, [(share, self._found[name]) for name, share in mix.items()])
        forms = [weights, rounded_weights(weights)] if four_bits else [weights]
        return [[one for asked in self._asked for one in judge(self._model, form, asked)] for form in forms]


def figures(answers: Sequence[Answered]) -> dict[str, dict[str, float]]:
    """Accuracy of each set in each layout by kind, and the share of its choices whose answer the order changes."""
    found = {}
    for name in sorted({one.set for one in answers}):
        for layout in LAYOUTS:
            own = [one for one in answers if (one.set, one.layout) == (name, layout)]
            flipped, of = flips(one for one in own if one.kind == "choice")
            found[f"{name} {layout}"] = {kind: round(value, 3) for kind, value in macro(own, name).items()}
            if of:
                found[f"{name} {layout}"]["flips"] = round(flipped / of, 3)
    return found


def ranked(some: dict[str, dict[str, float]]) -> float:
    """What averages are ranked by: the mean accuracy of the kinds of `h`."""
    return statistics.fmean(
        value for key, kinds in some.items() if key[0] == "h" for kind, value in kinds.items() if kind != "flips"
    )


def main() -> None:
    """Tries, prints a line for each average, and names the best."""
    options = argparse.ArgumentParser(prog="training.pick", description=__doc__)
    options.add_argument(
        "adapters", type=Path, nargs="+", help="checkpoints, STEM.safetensors, in one file or in parts"
    )
    options.add_argument("--base", type=Path, required=True)
    options.add_argument("--start", type=Path, help="the adapter that training began with")
    options.add_argument("--heldout", type=Path, default=FOLDER, help="folder of held-out files")
    options.add_argument("--router", action="store_true", help="ask the router set too")
    options.add_argument("--answers", type=Path, help="write the best one's answers here (STEM-4bit: those rounded)")
    options.add_argument("--four-bits", action="store_true", help="try each rounded to 4 bits, too")
    options.add_argument("--old", type=float, nargs="*", default=[0.15, 0.3], help="shares of --start that are tried")
    options.add_argument("--rotations", type=int, default=4)
    options.add_argument("--device")
    given = options.parse_args()
    device = torch.device(given.device or ("cuda" if torch.cuda.is_available() else "cpu"))
    sets = [case for path in sorted(given.heldout.glob("*.txt")) for case in cases(path, rotations=given.rotations)]
    sets += router() if given.router else []
    names = [str(path) for path in given.adapters]
    found = {str(path): adapters.read(path) for path in given.adapters}
    start = str(given.start) if given.start else None
    if start is not None:
        found[start] = adapters.read(given.start)
    trial = Trial(given.base, found, sets, device)
    best: tuple[float, Mix, list[list[Answered]]] = (-1.0, {}, [])
    for mix in candidates(names, start, given.old):
        began = time.monotonic()
        answers = trial.answers(mix, four_bits=given.four_bits)
        found_figures = [figures(some) for some in answers]
        rank = statistics.fmean(map(ranked, found_figures))
        line = {"mix": {name: round(share, 4) for name, share in mix.items()}, "rank": round(rank, 4)}
        line |= found_figures[0] | ({"four bits": found_figures[1]} if given.four_bits else {})
        print(json.dumps({**line, "seconds": round(time.monotonic() - began, 1)}), flush=True)
        if rank > best[0]:
            best = rank, mix, answers
    if given.answers is not None:
        for name, some in zip(("", "-4bit"), best[2], strict=False):
            save(some, given.answers.with_stem(f"{given.answers.stem}{name}"))
    print("best on h: " + " ".join(f"{share:.4f}:{name}" for name, share in best[1].items()))


if __name__ == "__main__":
    main()
