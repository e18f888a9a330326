"""What the `jev` engine says about itself."""

from __future__ import annotations

from tiebreak.engine import Capabilities, EngineInfo, Limits, OptionSpec

__all__ = ["INFO"]

INFO = EngineInfo(
    name="jev",
    summary="Hosted System One models (TypeSafe, OpenRouter) and any server that speaks their protocol.",
    capabilities=Capabilities(
        evidence="distribution",
        coverage=False,
        independent=True,
        prefix_cache=False,
        sees_cache=False,
        # The hosted model repeats itself within about this much (published repeats: 0.59 to 0.69 on one ambiguous
        # question, and probabilities are rounded to two decimals).
        tolerance=0.05,
        cancels=False,
        concurrency=32,
        json_state=True,
        hosted=True,
    ),
    limits=Limits(options=255),
    layouts=("systemone",),
    readouts=("distribution",),
    caches=("off",),
    stages={"load": "fixed", "layout": "fixed", "readout": "named", "cache": "fixed"},
    default_model="jev-latest",
    options=(
        OptionSpec(
            name="provider",
            choices=("typesafe", "openrouter", "systemone"),
            affects_answers=True,
            help="Who is asked; by default typesafe, or systemone (any compatible server) where a URL is given.",
        ),
        OptionSpec(
            name="api_key_env",
            help="Environment variable that holds the key; by default the provider's own.",
        ),
        OptionSpec(
            name="retries",
            type=int,
            default=2,
            minimum=0,
            maximum=10,
            help="How often a call is sent again after 408, 429, 529, 5xx or a lost connection, within the timeout.",
        ),
        OptionSpec(
            name="requests_per_minute",
            type=float,
            minimum=0.001,
            help="Calls that are started within a minute; no limit of ours by default.",
        ),
        OptionSpec(
            name="tokens_per_second",
            type=float,
            minimum=0.001,
            help="Estimated tokens that are sent per second; no limit of ours by default.",
        ),
        OptionSpec(
            name="kinds",
            default="choice,yes_no,score",
            help="Question kinds that the model answers, with commas between them.",
        ),
    ),
)
