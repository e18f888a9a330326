"""How the child process of an isolated engine is started: without its model, which it is told over its link."""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Mapping
from typing import Any

from tiebreak.command import Command, ProcessOptions
from tiebreak.keepers import TOKEN
from tiebreak_embedded.link import SECRET
from tiebreak_embedded.recent import Recent

__all__ = ["child_command", "process_options"]

_ENVIRONMENT = {
    "GGML_NO_BACKTRACE": "1",
    "OPENBLAS_NUM_THREADS": "1",  # numpy is there to read logits: threads for its linear algebra would only cost time
}

# The child's paths are this process's own, whatever its environment or its main module did to them.
_BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[2]); "
    "from tiebreak_embedded.child import main; main(int(sys.argv[1]), sys.argv[3])"
)


def child_command(options: Mapping[str, Any], reference: str) -> Command:
    """The command line of a child: equal for equal options and references in one process.

    Args:
        options: every option of `INFO`; of these, the child loads its library before it is told the rest.
        reference: the model as the user named it: where it led to a small file last time, that is loaded, too.
    """
    paths = [path or os.getcwd() for path in sys.path]
    ahead = {name: options[name] for name in ("library", "wait", "gpu_layers")}
    likely = None if options["gpu_layers"] else _likely(reference)
    return Command(
        argv=(sys.executable, "-I", "-c", _BOOT, "{port}", json.dumps(paths), json.dumps({**ahead, "likely": likely})),
        env={SECRET: TOKEN, **_ENVIRONMENT},
    )


def process_options(options: Mapping[str, Any]) -> ProcessOptions:
    """The limits that the child runs under."""
    return ProcessOptions(load_timeout=options["load_timeout"])


@functools.lru_cache(maxsize=64)  # commands of one reference are equal, even if it leads elsewhere meanwhile
def _likely(reference: str) -> tuple[str, bool] | None:
    guess = Recent(reference).guess()
    return None if guess is None else (str(guess[0]), guess[1])
