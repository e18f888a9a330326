"""What the `dohnuts` engine says about itself."""

from __future__ import annotations

from tiebreak.engine import Capabilities, EngineInfo, Limits, OptionSpec

__all__ = ["INFO", "WINDOW"]

WINDOW = 4096  # tokens of one prompt; compiled in

INFO = EngineInfo(
    name="dohnuts",
    summary="dohnuts.cpp: trained decision models, read by the profile that they were trained with.",
    capabilities=Capabilities(
        evidence="distribution",
        coverage=False,
        # Questions in company take their state from a checkpoint, a lone one computes it in one piece, which changes
        # the numbers; repeats are equal. True where max_questions is 1.
        independent=False,
        prefix_cache=None,
        sees_cache=False,
        tolerance=0.0001,  # the least that four decimals can show
        cancels=False,
        concurrency=1,  # one worker
        json_state=True,
    ),
    limits=Limits(options=255, window_tokens=WINDOW),
    layouts=("profile", "decider", "kev", "thisthat", "tev1", "jet", "jpt", "neohorsejev", "dohnuts"),
    readouts=("distribution",),
    caches=("prefix",),
    stages={"load": "fixed", "layout": "named", "readout": "fixed", "cache": "fixed"},
    default_model="smollm2-135m",
    options=(
        OptionSpec(name="binary", help="Path of a dohnuts-cli program."),
        OptionSpec(
            name="profile",
            help="A profile's name or a metadata file (JSON); by default the model's own, else decider.",
            affects_answers=True,
        ),
        OptionSpec(name="head", help="Path of the head that kev, neohorsejev and dohnuts need.", affects_answers=True),
        OptionSpec(
            name="threads",
            type=int,
            minimum=1,
            help="Compute threads; by default the physical cores that are free to us.",
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
            name="device",
            help="Devices to use, NAME or NAME,NAME, as --list-devices prints them.",
            affects_answers=True,
        ),
        OptionSpec(
            name="flash_attn",
            default="auto",
            choices=("auto", "on", "off"),
            help="Flash attention.",
            affects_answers=True,
        ),
        OptionSpec(
            name="max_questions",
            type=int,
            default=64,
            minimum=1,
            help="Questions of one exchange; more are split. With 1 no answer depends on other questions.",
        ),
        OptionSpec(
            name="batching",
            type=bool,
            default=False,
            help="Let it gather the requests of other clients for 2 ms and answer them together.",
        ),
        OptionSpec(name="load_timeout", type=float, default=180.0, minimum=1, help="Seconds from start to ready."),
        OptionSpec(
            name="api_key_env",
            default="TIEBREAK_DOHNUTS_API_KEY",
            help="Environment variable that holds the key of a running server that asks for one.",
        ),
    ),
)
