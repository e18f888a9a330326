"""How close the transformers engine comes to what a card can do, on the router set's prompts.

    python benchmarks/transformers_gpu.py --prepare FOLDER --model smol.gguf     what to carry: configuration, tokenizer
    python benchmarks/transformers_gpu.py --model FOLDER [--prompts FILE] [--out FILE]
    python benchmarks/transformers_gpu.py --model FOLDER --device cpu --tiny     the same code, in a minute, on a CPU

A FOLDER without weights gets random ones of its shape: speed does not depend on their values. Measured are batches of
1, 8, 64 and 512 decisions in bfloat16: the whole prompt computed (`whole`), and questions and options as a prefix
that is computed already (`shared`). `decisions/s` counts everything from plan to evidence, `compute` the passes alone.
Beside them stand two limits, from published rates of the card and from those measured here:

    arithmetic   2 x parameters x new tokens / rate of bfloat16 matrix products
    memory       bytes that must move once / rate: weights, and what each fused step reads and writes per token

and `share`, the larger of the two measured limits over the measured time of `compute`.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import count, cycle, islice
from pathlib import Path
from typing import Any

import tiebreak
from tiebreak.engine import LocalEngine
from tiebreak.models import Model
from tiebreak.plan import Plan
from tiebreak.questions import Request, choice
from tiebreak.stages.cache import NoCache, PrefixCache
from tiebreak.stages.decider import DeciderLayout, SchemaFirstLayout
from tiebreak_transformers.asked import Asked
from tiebreak_transformers.engine import open_engine
from tiebreak_transformers.info import INFO

QUESTION = choice(
    "This message was sent to the assistant built into FontLab, the font editor. What is the user asking the assistant "
    "to do? Pick the single best match.",
    {
        "docs": "Explain how something in FontLab works.",
        "python": "Write a Python script that automates FontLab.",
        "fea": "Write OpenType feature code.",
        "vfj": "Write a glyph as FontLab JSON (VFJ).",
        "sample": "Give sample text for looking at the font.",
    },
)
SPEC_FLOPS, SPEC_BYTES = 989e12, 4.8e12
"""Of one H200, dense bfloat16 and memory, by its data sheet."""
VARIANTS: dict[str, dict[str, Any]] = {
    "padded": {},
    "flash": {},
    "compiled": {"compile": True},
    "graphs": {"compile": True, "graphs": True},
}
BATCHES = (1, 8, 64, 512)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--prepare", type=Path)
    parser.add_argument("--prompts", type=Path)
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--tiny", action="store_true", help="two layers, small batches, no compiler")
    parser.add_argument("--variants", nargs="*", default=list(VARIANTS), choices=tuple(VARIANTS))
    parser.add_argument("--budget", type=float, default=300.0, help="seconds after which no further variant begins")
    parser.add_argument("--out", type=Path)
    flags = parser.parse_args()
    if flags.prepare:
        prepare(flags.model, flags.prepare)
        return
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        path = weighted(flags.model, Path(scratch), tiny=flags.tiny)
        card = measure_card(flags.device, tiny=flags.tiny)
        report: dict[str, Any] = {"card": card, "rows": [], "notes": []}
        chosen = flags.variants if flags.device == "cuda" else ["padded"]
        for variant in chosen:
            if time.monotonic() - began > flags.budget:
                report["notes"].append(f"{variant}: not begun, the time was up")
                continue
            measure_variant(variant, path, flags, report)
    best = max(report["rows"], key=lambda row: row["share"], default=None)
    report["best"] = best
    report["seconds"] = round(time.monotonic() - began, 1)
    show(report)
    if flags.out:
        flags.out.write_text(json.dumps(report, indent=1))
    print(json.dumps(report))


def prepare(model: Path, folder: Path) -> None:
    """Write configuration and tokenizer of a GGUF file to a folder, without weights."""
    from transformers import AutoConfig

    from tiebreak import gguf
    from tiebreak_transformers.gguf_tokenizer import gguf_tokenizer

    folder.mkdir(parents=True, exist_ok=True)
    config = AutoConfig.from_pretrained(str(model.parent), gguf_file=model.name)
    config.architectures = ["LlamaForCausalLM"]
    config.save_pretrained(folder)
    written = json.loads((folder / "config.json").read_text())
    written.pop("quantization_config", None)
    (folder / "config.json").write_text(json.dumps(written, indent=1))
    gguf_tokenizer(gguf.read(model)).save(str(folder / "tokenizer.json"))
    print(f"{folder}: {', '.join(sorted(file.name for file in folder.iterdir()))}")


def weighted(model: Path, scratch: Path, *, tiny: bool) -> Path:
    """The model itself, or where it has no weights a copy with random ones."""
    if model.is_file() or ((model / "model.safetensors").is_file() and not tiny):
        return model
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    config = AutoConfig.from_pretrained(model)
    if tiny:
        config.num_hidden_layers = 2
    torch.manual_seed(1)
    AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16).save_pretrained(scratch)
    (scratch / "tokenizer.json").write_bytes((model / "tokenizer.json").read_bytes())
    return scratch


def measure_card(device: str, *, tiny: bool) -> dict[str, Any]:
    """What matrix products and copies reach here, whatever the data sheet says."""
    import torch

    size, moved = (512, 1 << 22) if tiny or device == "cpu" else (8192, 1 << 30)
    dtype = getattr(torch, _dtype(device))
    left, right = (torch.randn(size, size, device=device, dtype=dtype) for _ in range(2))
    product = median_seconds(lambda: left @ right, device, 10)
    source = torch.zeros(moved, device=device, dtype=dtype)
    target = torch.empty_like(source)
    copied = median_seconds(lambda: target.copy_(source), device, 10)
    return {
        "name": torch.cuda.get_device_name() if device == "cuda" else "cpu",
        "torch": torch.__version__,
        "bf16_flops": 2 * size**3 / product,
        "bytes_per_s": 2 * source.nbytes / copied,
        "spec_bf16_flops": SPEC_FLOPS,
        "spec_bytes_per_s": SPEC_BYTES,
    }


def _dtype(device: str) -> str:
    """Of weights and products: many CPUs have no arithmetic of 16 bits."""
    return "bfloat16" if device == "cuda" else "float32"


def median_seconds(act: Callable[[], object], device: str, times: int) -> float:
    """Median wall clock of an act that is waited for, after two to warm up."""
    import torch

    took = []
    for _ in range(times + 2):
        started = time.perf_counter()
        act()
        if device == "cuda":
            torch.cuda.synchronize()
        took.append(time.perf_counter() - started)
    return statistics.median(took[2:])


def measure_variant(variant: str, path: Path, flags: argparse.Namespace, report: dict[str, Any]) -> None:
    """All batches of one variant, added to the report; a variant that fails is a note."""
    options = INFO.check_options(
        {"dtype": _dtype(flags.device), "device": flags.device, "batch_tokens": 131072, **VARIANTS[variant]}
    )
    engine = open_engine(Model(reference=str(path), name=path.name, path=path), options)
    assert isinstance(engine, LocalEngine)
    try:
        started = time.perf_counter()
        engine.start()
        network = engine._loaded.network
        if variant == "padded":
            network.kernel = "padded"
        elif network.kernel == "padded":
            report["notes"].append(f"{variant}: no flash kernel passed its check, so rows are padded")
        report["notes"].append(
            f"{variant}: loaded in {time.perf_counter() - started:.1f} s, attention {network.kernel}"
        )
        for shared in (False, True):
            for size in BATCHES if not flags.tiny else (1, 8):
                row = measure_batch(engine, size, shared, flags, report["card"])
                report["rows"].append({"variant": variant, **row})
                print(line(report["rows"][-1]), file=sys.stderr, flush=True)
        if variant in ("compiled", "graphs") or flags.tiny:
            report[f"profile_{variant}"] = profile(engine, flags)
    except Exception as error:  # noqa: BLE001  what one variant cannot do must not hide the others
        report["notes"].append(f"{variant}: {type(error).__name__}: {str(error)[:400]}")
    finally:
        engine.close()
        if flags.device == "cuda":
            import torch

            torch.cuda.empty_cache()


def measure_batch(
    engine: Any, size: int, shared: bool, flags: argparse.Namespace, card: dict[str, Any]
) -> dict[str, Any]:
    """Decisions per second of one batch size, and the limits beside it."""
    loaded = engine._loaded
    fresh = planner(engine, flags, shared)
    engine.evidence([next(fresh)], lambda: False)  # a shared prefix is there from now on
    times = 3 if flags.tiny else max(3, min(30, 2000 // size))
    batches = [list(islice(fresh, size)) for _ in range(times)]
    for batch in batches[:2]:
        engine.evidence(batch, lambda: False)
    batches = batches[2:] + [list(islice(fresh, size)) for _ in range(2)]
    ends = [timed(lambda batch=batch: engine.evidence(batch, lambda: False)) for batch in batches]
    prepared = [[Asked(loaded._reader, plan) for plan in islice(fresh, size)] for _ in range(times)]
    jobs = [[job for one in asked for job in one.jobs] for asked in prepared]
    passes = [timed(lambda given=given: loaded._runner.run(given)) for given in jobs]
    tokens = sum(job.new for job in jobs[-1])
    compute = statistics.median(passes)
    needs = requirements(loaded.network, tokens, size, jobs[-1])
    limits = {
        "arithmetic_spec_s": needs["flops"] / SPEC_FLOPS,
        "arithmetic_s": needs["flops"] / card["bf16_flops"],
        "memory_spec_s": needs["bytes"] / SPEC_BYTES,
        "memory_s": needs["bytes"] / card["bytes_per_s"],
    }
    nearer = max(limits["arithmetic_s"], limits["memory_s"])
    nearer_spec = max(limits["arithmetic_spec_s"], limits["memory_spec_s"])
    return {
        "shared": shared,
        "batch": size,
        "new_tokens": tokens / size,
        "decisions_per_s": size / statistics.median(ends),
        "compute_decisions_per_s": size / compute,
        "compute_ms": compute * 1e3,
        "ms": statistics.median(ends) * 1e3,
        **limits,
        "layers_only_arithmetic_s": needs["layer_flops"] / card["bf16_flops"],
        "share": nearer / compute,
        "share_of_spec": nearer_spec / compute,
        "arithmetic_share_of_spec": limits["arithmetic_spec_s"] / compute,
    }


def planner(engine: Any, flags: argparse.Namespace, shared: bool) -> Any:
    """An endless stream of plans; no two are alike, and those that share a prefix share all of the question."""
    layout = SchemaFirstLayout() if shared else DeciderLayout()
    cache = PrefixCache() if shared else NoCache()
    texts = queries(flags.prompts)
    for number, text in zip(count(1), cycle(texts), strict=False):
        request = Request.of(f"{text} ({number})", {"task": QUESTION})
        plan: Plan = cache.cut(layout.plan(request, engine.vocabulary))
        yield plan


def queries(file: Path | None) -> Sequence[str]:
    """The queries of the router set that ships with tiebreak, or of a file like it."""
    file = file or Path(tiebreak.__file__).parent / "bench" / "data" / "router-67.jsonl"
    return [json.loads(text)["query"] for text in file.read_text(encoding="utf-8").splitlines() if text.strip()]


def timed(act: Callable[[], object]) -> float:
    """Seconds; what is read comes back to the CPU, so the device is done then."""
    started = time.perf_counter()
    act()
    return time.perf_counter() - started


def requirements(network: Any, tokens: int, rows: int, jobs: Sequence[Any]) -> dict[str, float]:
    """Operations and bytes that a batch cannot do without, by the shape of the model."""
    config = network._model.config.get_text_config()
    width, hidden, layers = config.hidden_size, config.intermediate_size, config.num_hidden_layers
    head = getattr(config, "head_dim", None) or width // config.num_attention_heads
    q, kv = head * config.num_attention_heads, head * config.num_key_value_heads
    parameters = sum(weight.numel() for weight in network._model.parameters())
    per_layer = width * (q + 2 * kv) + q * width + 3 * width * hidden
    # Elements that each step reads and writes once per token, where neighbours that need no other token are fused.
    moved = (
        (width + width)  # norm
        + (width + q + 2 * kv)  # queries, keys, values
        + 2 * (q + kv)  # rotation
        + (q + 2 * kv + q)  # attention
        + (q + width)  # its output
        + 4 * width  # sum and norm
        + (width + 2 * hidden)  # gate and up
        + 3 * hidden  # activation and product
        + (hidden + width)  # down
        + 3 * width  # sum
    )
    stored = sum(job.known for job in jobs)
    size = network._head.weight.element_size()
    return {
        "flops": 2.0 * parameters * tokens,
        "layer_flops": 2.0 * per_layer * layers * tokens + 2.0 * rows * width * config.vocab_size,
        "bytes": float(size * (parameters + layers * (tokens * moved + stored * 2 * kv))),
    }


def profile(engine: Any, flags: argparse.Namespace) -> list[dict[str, Any]]:
    """Where the time goes in the largest batch, by kernel."""
    import torch

    loaded = engine._loaded
    fresh = planner(engine, flags, shared=False)
    size = 8 if flags.tiny else 512
    jobs = [[job for plan in islice(fresh, size) for job in Asked(loaded._reader, plan).jobs] for _ in range(2)]
    loaded._runner.run(jobs[0])
    with torch.profiler.profile() as seen:
        loaded._runner.run(jobs[1])
    kind = "self_device_time_total" if flags.device == "cuda" else "self_cpu_time_total"
    events = sorted(seen.key_averages(), key=lambda event: -getattr(event, kind))
    total = sum(getattr(event, kind) for event in events) or 1
    return [
        {
            "name": event.key[:90],
            "calls": event.count,
            "ms": getattr(event, kind) / 1e3,
            "share": getattr(event, kind) / total,
        }
        for event in events[:14]
    ]


def line(row: dict[str, Any]) -> str:
    """One row of the table."""
    return (
        f"| {row['variant']} | {'shared' if row['shared'] else 'whole'} | {row['batch']} | {row['new_tokens']:.1f} | "
        f"{row['decisions_per_s']:,.0f} | {row['compute_decisions_per_s']:,.0f} | {row['compute_ms']:.2f} | "
        f"{row['arithmetic_spec_s'] * 1e3:.3f} | {row['arithmetic_s'] * 1e3:.3f} | {row['memory_s'] * 1e3:.3f} | "
        f"{row['share']:.1%} | {row['arithmetic_share_of_spec']:.1%} |"
    )


def show(report: dict[str, Any]) -> None:
    """Print the table, the profiles and the notes."""
    card = report["card"]
    print(
        f"{card['name']}, torch {card['torch']}: {card['bf16_flops'] / 1e12:,.0f} TFLOP/s bfloat16 and "
        f"{card['bytes_per_s'] / 1e12:.2f} TB/s measured"
    )
    print(
        "| variant | prompt | batch | new tokens | decisions/s | compute | compute ms | arithmetic ms, data sheet | "
        "arithmetic ms, measured | memory ms | share | of data-sheet arithmetic |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|---|")
    for row in report["rows"]:
        print(line(row))
    for name, events in report.items():
        if name.startswith("profile_"):
            print(f"\n{name}")
            for event in events:
                print(f"  {event['share']:6.1%} {event['ms']:9.3f} ms {event['calls']:5d}x  {event['name']}")
    print("\n".join(report["notes"]))


if __name__ == "__main__":
    main()
