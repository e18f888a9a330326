"""What is computed packed, padded, behind prefixes and in any company is what transformers computes for a row alone."""

from __future__ import annotations

import random
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from tiebreak import EngineStartError, ModelUnavailable, Unsupported
from tiebreak_transformers.graphs import Graphs, Shape, _up
from tiebreak_transformers.loading import load
from tiebreak_transformers.network import Network
from tiebreak_transformers.passes import Job, Pass, passes
from tiebreak_transformers.prefixes import Prefix, Prefixes

KINDS: dict[str, dict[str, Any]] = {
    "llama": {},
    "qwen2": {},
    "qwen3": {},
    "mistral": {"sliding_window": 24},
    "gemma3_text": {"sliding_window": 16, "layer_types": ["sliding_attention", "full_attention"]},
}


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="module", params=KINDS)
def network(
    request: pytest.FixtureRequest, write: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory
) -> Network:
    folder = write(tmp_path_factory.mktemp("kinds") / request.param, kind=request.param, **KINDS[request.param])
    return Network(load(folder, "cpu", "float32"), 256)


def rows(*lengths: int) -> list[tuple[int, ...]]:
    dice = random.Random(7)
    return [tuple(dice.randrange(5, 300) for _ in range(length)) for length in lengths]


def alone(network: Network, ids: tuple[int, ...], wanted: tuple[int, ...]) -> tuple[list[float], int]:
    """From transformers' own forward with its own attention and mask."""
    model = network._model
    own = model.config._attn_implementation
    model.set_attn_implementation("eager")
    with torch.inference_mode():
        logits = model(torch.tensor([ids]), use_cache=False).logits[0, -1].double()
    model.set_attn_implementation(own)
    logprobs = logits.log_softmax(0)
    return [float(logprobs[token]) for token in wanted], int(logits.argmax())


def agree(network: Network, jobs: list[Job]) -> None:
    for job in jobs:
        assert job.targets is not None
        right, top = alone(network, job.ids, job.targets)
        assert job.logprobs == pytest.approx(right, abs=2e-4)
        assert job.top == top


def test_rows_of_any_length_in_one_pass_are_the_rows_alone(network: Network) -> None:
    jobs = [Job(ids=ids, targets=(9, 40, 41)[: 1 + n % 3]) for n, ids in enumerate(rows(50, 31, 31, 3, 1))]
    network.run(jobs)
    agree(network, jobs)


def test_rows_behind_prefixes_are_the_rows_whole(network: Network) -> None:
    beginnings = rows(33, 20)
    kept = [Job(ids=ids, targets=None, mark=len(ids), keep=True) for ids in beginnings]
    network.run(kept)
    prefixes = [Prefix(ids=job.ids, states=job.states, bytes=0) for job in kept]
    ends = rows(7, 12, 1, 30)
    jobs = [
        Job(ids=prefix.ids + end, targets=(9, 40), prefix=prefix)
        for prefix, end in zip([prefixes[0], prefixes[0], prefixes[1], prefixes[1]], ends, strict=True)
    ]
    jobs.append(Job(ids=rows(25)[0], targets=(5,)))
    network.run(jobs)
    agree(network, jobs)


def test_a_beginning_that_was_kept_in_passing_serves_as_one_computed_alone(network: Network) -> None:
    (ids,) = rows(30)
    passing = Job(ids=ids, targets=(9,), mark=18, keep=True)
    network.run([passing, Job(ids=rows(22)[0], targets=(9,))])
    prefix = Prefix(ids=ids[:18], states=passing.states, bytes=0)
    longer = Job(ids=ids[:24], targets=None, mark=24, prefix=prefix, keep=True)
    network.run([longer])
    job = Job(ids=ids, targets=(9, 3), prefix=Prefix(ids=ids[:24], states=longer.states, bytes=0))
    network.run([job])
    agree(network, [job])


def test_no_place_but_the_slots_meets_the_vocabulary(network: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    logits = network._logits
    monkeypatch.setattr(network, "_logits", lambda states: seen.append(len(states)) or logits(states))
    network.run([Job(ids=ids, targets=(9,)) for ids in rows(60, 50, 40)])
    assert sum(seen) == 3


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_sixteen_bits_are_read_in_thirty_two(dtype: str, tiny: Path) -> None:
    network = Network(load(tiny, "cpu", dtype), 256)
    job = Job(ids=rows(20)[0], targets=(9, 40))
    network.run([job])
    right, _ = alone(network, job.ids, (9, 40))
    assert job.logprobs == pytest.approx(right, abs=0.2)


def test_a_pass_holds_what_fits_and_rows_of_about_one_length() -> None:
    jobs = [Job(ids=(1,) * length, targets=()) for length in (5, 90, 100, 30, 300, 6)]
    found = [[job.new for job in dealt] for dealt in passes(jobs, 200, padded=True)]
    assert found == [[300], [100, 90], [30], [6, 5]]
    assert [[job.new for job in dealt] for dealt in passes(jobs, 200, padded=False)] == [[300], [100, 90], [30, 6, 5]]


def test_a_model_whose_logits_are_of_another_kind_is_refused(write: Callable[..., Path], tmp_path: Path) -> None:
    folder = write(tmp_path / "scaled", kind="granite", logits_scaling=3.0)
    with pytest.raises(EngineStartError, match=r"Granite.*apart"):
        Network(load(folder, "cpu", "float32"), 256)


def test_recurrent_layers_are_refused_by_name(write: Callable[..., Path], tmp_path: Path) -> None:
    folder = write(tmp_path / "recurrent", kind="lfm2", layer_types=["conv", "full_attention"])
    with pytest.raises(Unsupported, match="conv"):
        load(folder, "cpu", "float32")


def test_damaged_weights_are_refused_with_the_reason(tiny: Path, tmp_path: Path) -> None:
    for file in tiny.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "model.safetensors").write_bytes(b"nothing")
    with pytest.raises(ModelUnavailable, match="transformers cannot load"):
        load(tmp_path, "cpu", "float32")


def test_prefixes_are_bounded_in_bytes_and_number_and_pins_stay() -> None:
    held = Prefixes(max_bytes=100, max_entries=3)

    def prefix(number: int, size: int = 30) -> Prefix:
        return Prefix(ids=(number,), states=None, bytes=size)

    assert all(held.put(prefix(number)) for number in range(3))
    assert held.pin((0,))
    assert held.get((1,)) is not None
    assert held.put(prefix(3))
    assert (len(held), held.bytes, held.evictions) == (3, 90, 1)
    assert held.get((2,)) is None, "the least recently used of those that are not pinned"
    assert held.get((0,)) is not None
    assert not held.put(prefix(4, 80)), "no room beside what is pinned"
    held.unpin((0,))
    assert held.put(prefix(4, 80))
    assert len(held) == 1
    assert not held.pin((0,))


def test_graphs_are_refused_where_rows_need_padding(tiny: Path) -> None:
    with pytest.raises(Unsupported, match="on cpu in bfloat16"):
        Network(load(tiny, "cpu", "bfloat16"), 256, record=True)


def test_shapes_of_graphs_are_the_next_sizes_up() -> None:
    assert [_up(size, 64) for size in (1, 64, 65, 97, 129, 200)] == [64, 64, 96, 128, 192, 256]
    this = Pass.of([Job(ids=ids, targets=(1, 2)) for ids in rows(50, 40)])
    shape = Shape.of(this)
    assert (shape.tokens, shape.whole, shape.stored, shape.rows) == (96, 0, 0, 8)


def flash(
    queries: Any,
    keys: Any,
    values: Any,
    ends_q: Any,
    ends_k: Any,
    longest_q: int,
    longest_k: int,
    *rest: Any,
    **how: Any,
) -> tuple[Any]:
    """What PyTorch's flash attention computes for rows of unequal length, row by row: causal from their ends backwards.

    Places behind the last row are left as they were in memory: here NaN, so that nobody reads them unseen.
    """
    assert rest == (0.0, True, False)
    shared = queries.shape[1] // keys.shape[1]
    found = torch.full_like(queries, float("nan"))
    back = how.get("window_size_left")
    for q0, q1, k0, k1 in zip(ends_q[:-1], ends_q[1:], ends_k[:-1], ends_k[1:], strict=True):
        if q0 == q1:
            continue
        assert q1 - q0 <= longest_q
        assert k1 - k0 <= longest_k
        place = torch.arange(int(q1 - q0))[:, None] + int(k1 - k0) - int(q1 - q0)
        seen = torch.arange(int(k1 - k0)) <= place
        if back is not None:
            seen &= torch.arange(int(k1 - k0)) >= place - back
        q, k, v = (part.transpose(0, 1) for part in (queries[q0:q1], keys[k0:k1], values[k0:k1]))
        k, v = k.repeat_interleave(shared, 0), v.repeat_interleave(shared, 0)
        row = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=seen, scale=how["scale"])
        found[q0:q1] = row.transpose(0, 1)
    return (found,)


class Replays(Graphs):
    """Graphs where there is no CUDA: what was recorded is computed anew, into the same tensors."""

    def __init__(self, compute: Any) -> None:
        self._torch, self._compute, self._device = torch, compute, torch.device("cpu")
        self._known = OrderedDict()
        self.recorded = 0

    def _capture(self, compute: Callable[[], Any]) -> tuple[Any, Any]:
        self.recorded += 1
        read = compute()

        class Graph:
            def replay(self) -> None:
                for old, new in zip(read, compute(), strict=True):
                    old.copy_(new)

        return Graph(), read


@pytest.mark.parametrize("graphs", [False, True])
def test_rows_without_any_padding_are_the_rows_alone(
    graphs: bool, network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The path of a CUDA GPU, its kernel replaced by its definition: laying out and, with graphs, filling up."""
    monkeypatch.setattr("torch.ops.aten._flash_attention_forward", flash)
    monkeypatch.setattr(network, "kernel", "flash")
    replays = Replays(network._compute)
    monkeypatch.setattr(network, "_graphs", replays if graphs else None)
    kept = [Job(ids=ids, targets=None, mark=len(ids), keep=True) for ids in rows(33, 20)]
    network.run(kept)
    prefixes = [Prefix(ids=job.ids, states=job.states, bytes=0) for job in kept]
    for lengths in ((7, 12, 1, 30), (9, 2, 4, 21), (50, 49, 3, 2)):
        ends = rows(*lengths)
        jobs = [Job(ids=end, targets=(9, 40)) for end in ends]
        network.run(jobs)
        agree(network, jobs)
        jobs = [
            Job(ids=prefix.ids + end, targets=(9, 40, 41), prefix=prefix)
            for prefix, end in zip([prefixes[0], prefixes[0], prefixes[1], prefixes[0]], ends, strict=True)
        ]
        network.run(jobs)
        agree(network, jobs)
    assert replays.recorded == (4 if graphs else 0), "shapes that are alike share a recording"
