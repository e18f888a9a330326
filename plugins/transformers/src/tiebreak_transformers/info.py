"""What the `transformers` engine says about itself."""

from __future__ import annotations

from tiebreak.engine import Capabilities, EngineInfo, Limits, OptionSpec

__all__ = ["INFO", "TOLERANCE"]

TOLERANCE = {"float32": 1e-4, "bfloat16": 0.1, "float16": 0.02}
"""By dtype: how far cold, warm and batched answers may be apart (largest difference of a probability).

Shapes of the matrices choose the kernels, and those sum in another order: up to 9e-6 in float32, measured with a 135M
model on a CPU. `benchmarks/transformers_tolerance.py` measures it for any model, dtype and device."""

INFO = EngineInfo(
    name="transformers",
    summary="PyTorch and Hugging Face transformers on CPU or GPU; in float32 the reference for all others.",
    capabilities=Capabilities(
        evidence="tokens",
        coverage=True,
        independent=True,
        prefix_cache=True,
        sees_cache=True,
        tolerance=TOLERANCE["float32"],
        cancels=False,
        concurrency=64,
        pins=True,
    ),
    limits=Limits(options=255),
    layouts=("decider", "schema-first", "chat"),
    readouts=("letters",),
    caches=("prefix", "off"),
    stages={"load": "fixed", "layout": "open", "readout": "open", "cache": "named"},
    formats=("gguf", "folder"),
    default_model="smollm2-135m",
    options=(
        OptionSpec(
            name="dtype",
            default="float32",
            choices=("float32", "bfloat16", "float16"),
            help="Type of weights and activations; the slot itself is read in float32 whatever it is.",
            affects_answers=True,
        ),
        OptionSpec(
            name="device",
            default="auto",
            choices=("auto", "cpu", "cuda", "mps"),
            help="Where it computes; auto takes a CUDA GPU where there is one, then Apple's, then the CPU.",
            affects_answers=True,
        ),
        OptionSpec(
            name="threads",
            type=int,
            minimum=1,
            help="Compute threads of the CPU, for the whole process; by default as many as torch chooses.",
        ),
        OptionSpec(
            name="context",
            type=int,
            minimum=16,
            help="Tokens that fit in one prompt; by default what the model was trained with, at most 8192.",
        ),
        OptionSpec(
            name="batch_tokens",
            type=int,
            minimum=16,
            help="Tokens that are computed in one pass; by default 2048 on a CPU, 65536 on a GPU.",
        ),
        OptionSpec(
            name="cache_mib",
            type=int,
            default=256,
            minimum=0,
            help="MiB of keys and values of prefixes that are kept, in the memory of the device.",
        ),
        OptionSpec(name="cache_entries", type=int, default=1024, minimum=1, help="Prefixes that are kept at most."),
        OptionSpec(
            name="compile",
            type=bool,
            default=False,
            help="Have torch.compile fuse the layers: faster in large batches, the first passes wait for the compiler.",
            affects_answers=True,
        ),
        OptionSpec(
            name="graphs",
            type=bool,
            default=False,
            help="Record passes of few tokens as CUDA graphs and replay them; needs a CUDA GPU and a 16-bit dtype.",
        ),
    ),
)
