"""What the `slot` engine says about itself."""

from __future__ import annotations

from tiebreak.engine import Capabilities, EngineInfo, Limits, OptionSpec

__all__ = ["INFO"]

INFO = EngineInfo(
    name="slot",
    summary="A stock llama-server, asked for one token; option letters are read at the answer slot.",
    capabilities=Capabilities(
        evidence="tokens",
        coverage=True,
        independent=True,
        prefix_cache=None,
        sees_cache=True,
        tolerance=0.0,
        cancels=True,
        concurrency=1,
    ),
    limits=Limits(options=255),
    layouts=("decider", "schema-first", "chat"),
    readouts=("letters",),
    caches=("prefix", "off"),
    stages={"load": "fixed", "layout": "open", "readout": "open", "cache": "named"},
    default_model="smollm2-135m",
    options=(
        OptionSpec(name="binary", help="Path of a llama-server program."),
        OptionSpec(
            name="parallel",
            type=int,
            default=1,
            minimum=1,
            maximum=64,
            help="Requests that it works on at once; with more than one, repeats may differ by rounding.",
        ),
        OptionSpec(name="context", type=int, default=4096, minimum=64, help="Tokens that fit in one request."),
        OptionSpec(
            name="threads",
            type=int,
            minimum=1,
            help="Compute threads; by default the physical cores that are free to us.",
        ),
        OptionSpec(
            name="wait",
            default="auto",
            choices=("auto", "spin", "passive"),
            help="How its threads wait for each other: spinning, asleep, or a moment of the first (auto).",
        ),
        OptionSpec(
            name="gpu_layers",
            type=int,
            default=0,
            minimum=-1,
            help="Layers on the GPU, -1 for all.",
            affects_answers=True,
        ),
        OptionSpec(
            name="cache_mib",
            type=int,
            default=256,
            minimum=0,
            help="MiB of prompts that it keeps in host memory beside its slots.",
        ),
        OptionSpec(name="top_n", type=int, default=100, minimum=1, help="Most probable tokens that are asked for."),
        OptionSpec(
            name="missing",
            default="ask",
            choices=("ask", "bound"),
            help="A label outside the top N is asked for again, or marked with an upper bound.",
        ),
        OptionSpec(
            name="reuse",
            default="exact",
            choices=("exact", "always"),
            affects_answers=True,
            help="Reuse prompt prefixes where that was proven to change nothing, or always.",
        ),
        OptionSpec(name="load_timeout", type=float, default=180.0, minimum=1, help="Seconds from start to ready."),
        OptionSpec(
            name="api_key_env",
            default="TIEBREAK_SLOT_API_KEY",
            help="Environment variable that holds the key of a server that asks for one.",
        ),
    ),
)
