"""What the `pcdserver` engine says about itself."""

from __future__ import annotations

from tiebreak.engine import Capabilities, EngineInfo, Limits, OptionSpec

__all__ = ["CACHE_BYTES", "INFO", "WINDOW"]

CACHE_BYTES = 512 << 20
WINDOW = 8192  # tokens; compiled in

INFO = EngineInfo(
    name="pcdserver",
    summary="pcdServer: all questions in one pass, the answers read at their allowed values; reuses the questions.",
    capabilities=Capabilities(
        evidence="distribution",
        coverage=False,
        independent=False,  # every field sees the whole schema
        prefix_cache=True,
        sees_cache=True,
        tolerance=0.0,
        cancels=False,
        concurrency=1,  # one lock around the model
    ),
    limits=Limits(options=256, state_bytes=65_536, min_state_bytes=1, window_tokens=WINDOW),
    layouts=("pcd", "pcd-levels", "disambiguate"),
    readouts=("distribution",),
    caches=("prefix",),
    stages={"load": "fixed", "layout": "named", "readout": "fixed", "cache": "fixed"},
    default_model="smollm2-135m",
    options=(
        OptionSpec(name="binary", help="Path of a pcd_server program."),
        OptionSpec(
            name="cache_entries",
            type=int,
            default=32,
            minimum=0,
            help="Question sets whose checkpoint is kept; 0 switches reuse off.",
        ),
        OptionSpec(
            name="cache_bytes",
            type=int,
            default=CACHE_BYTES,
            minimum=0,
            help="Bytes of all checkpoints together; a larger checkpoint is never kept.",
        ),
        OptionSpec(
            name="gpu_layers",
            type=int,
            default=-1,
            minimum=-1,
            help="Layers on the GPU, -1 for all.",
            affects_answers=True,
        ),
        OptionSpec(
            name="cpu", type=bool, default=False, help="Keep everything off the GPU, whatever.", affects_answers=True
        ),
        OptionSpec(name="load_timeout", type=float, default=180.0, minimum=1, help="Seconds from start to ready."),
    ),
)
