"""What the `embedded` engine says about itself."""

from __future__ import annotations

from tiebreak.engine import Capabilities, EngineInfo, Limits, OptionSpec

__all__ = ["INFO"]

INFO = EngineInfo(
    name="embedded",
    summary="llama.cpp in this process: no server, and answers that no cache can change.",
    capabilities=Capabilities(
        evidence="tokens",
        coverage=True,
        independent=True,
        prefix_cache=True,
        sees_cache=True,
        tolerance=0.0,
        cancels=False,
        concurrency=8,
        pins=True,
    ),
    limits=Limits(options=255),
    layouts=("decider", "schema-first", "chat", "names"),
    readouts=("letters",),
    caches=("prefix", "off"),
    stages={"load": "fixed", "layout": "open", "readout": "open", "cache": "named"},
    # A crash in native code must not end a command without a word, and one question needs no room for eight.
    once={"isolate": True, "sequences": 2},
    default_model="smol-decider",
    options=(
        OptionSpec(
            name="threads",
            type=int,
            minimum=1,
            help="Compute threads; by default the physical cores that are free when it starts.",
        ),
        OptionSpec(
            name="wait",
            default="auto",
            choices=("auto", "spin", "passive"),
            help="How its threads wait for each other; holds for the whole process, from the first load on.",
        ),
        OptionSpec(
            name="context",
            type=int,
            minimum=16,
            help="Tokens that fit in one prompt; by default what the model was trained with, at most 2048.",
        ),
        OptionSpec(
            name="sequences",
            type=int,
            default=8,
            minimum=1,
            maximum=64,
            help="Prompts that are in memory side by side; each takes memory for the longest that came.",
        ),
        OptionSpec(
            name="cache_mib",
            type=int,
            default=256,
            minimum=0,
            help="MiB of checkpoints that are kept beside the prompts in memory.",
        ),
        OptionSpec(name="cache_entries", type=int, default=1024, minimum=1, help="Checkpoints that are kept at most."),
        OptionSpec(
            name="answer_cache",
            type=bool,
            default=True,
            help="Keep what was read in whole prompts (up to 256 KiB), so that the same one again is not computed.",
        ),
        OptionSpec(
            name="checkpoints",
            help="Folder of checkpoint files, so that a program that starts cold is warm at once; cache_mib bounds it.",
        ),
        OptionSpec(
            name="gpu_layers",
            type=int,
            default=0,
            minimum=-1,
            help="Layers on the GPU, -1 for all; needs a build with a GPU backend.",
            affects_answers=True,
        ),
        OptionSpec(
            name="exact",
            type=bool,
            default=True,
            help="Answers do not depend on what was cached or batched; false takes flash attention: a little faster.",
            affects_answers=True,
        ),
        OptionSpec(
            name="library",
            default="auto",
            help="Which llama.cpp: auto, mineru, llama-cpp-python, or the path of a libllama file.",
        ),
        OptionSpec(
            name="isolate",
            type=bool,
            default=False,
            help="Run it in a child process, so that a crash in native code does not end this one.",
        ),
        OptionSpec(
            name="load_timeout",
            type=float,
            default=180.0,
            minimum=1,
            help="Seconds that a child process may take to load the model.",
        ),
    ),
)
