"""`Passed`: which contexts have passed their own check on this machine, so that only the first of a kind is checked."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
from pathlib import Path

from tiebreak.models import cache_folder
from tiebreak_embedded.context_options import ContextOptions
from tiebreak_embedded.file_state import file_state
from tiebreak_embedded.library import KERNELS, Library

__all__ = ["Passed"]


class Passed:
    """A note in the user's cache that a context has passed its own check.

    It holds for the code of this package and one build of llama.cpp as their files are now, this machine and its
    processor, one model file as it is now, and one set of options. "As it is now" is size, inode and both times of
    change, one of which no program can set: a file that was written to, replaced or copied is another one. With a GPU
    nothing is noted: its driver may change without a trace here.

    Args:
        library: the build.
        model: the file.
        options: how the context is made.
        threads: that it computes with.
    """

    def __init__(self, library: Library, model: Path, options: ContextOptions, threads: int) -> None:
        location = library.location
        ours = Path(__file__).parent.glob("*.py")
        files = {model, location.llama, location.ggml, *location.backends.values(), *ours}
        parts = (
            library.build,
            platform.node(),
            [(str(path), file_state(path)) for path in sorted(files)],
            options,
            threads,
            [(name, os.environ.get(name)) for name in KERNELS],
        )
        key = hashlib.sha256(repr(parts).encode()).hexdigest()[:32]
        self._note = None if options.gpu_layers else cache_folder() / "checked" / key

    def noted(self) -> bool:
        """Whether such a context has passed before."""
        return self._note is not None and self._note.exists()

    def note(self) -> None:
        """Note that it has; in a cache that cannot be written the next one is checked again."""
        if self._note is not None:
            with contextlib.suppress(OSError):
                self._note.parent.mkdir(parents=True, exist_ok=True)
                self._note.touch()
