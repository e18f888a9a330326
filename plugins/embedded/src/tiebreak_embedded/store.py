"""`CheckpointStore`: a folder of checkpoint files, found by the tokens that they hold.

A file's name is a digest of its tokens and of what its state depends on, so a program that starts
looks for the few prefixes of its own prompt and reads nothing else.
"""

from __future__ import annotations

import hashlib
from array import array
from pathlib import Path

import attrs

from tiebreak.errors import InvalidRequest
from tiebreak_embedded.checkpoint_file import Binding, CheckpointRefused, read_checkpoint, write_checkpoint

__all__ = ["CheckpointStore"]

_SUFFIX = ".checkpoint"


class CheckpointStore:
    """Reads and writes the checkpoints of one model in one build.

    Args:
        folder: made if it is missing, readable by its owner only.
        binding: what the states depend on.
        max_bytes: of all checkpoint files in the folder, whoever wrote them; the oldest go first.

    Raises:
        InvalidRequest: the folder is a file, or cannot be made.
    """

    def __init__(self, folder: Path, binding: Binding, max_bytes: int) -> None:
        self.folder = folder
        self.max_bytes = max_bytes
        self.refused: list[str] = []
        """Why files were not used, since somebody last asked and emptied it."""
        self._binding = binding
        self._salt = repr(sorted(attrs.asdict(binding).items())).encode()
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise InvalidRequest(
                f"The folder of checkpoints {folder} cannot be made: {error}.",
                remedy="Name another with the option checkpoints.",
                engine="embedded",
            ) from error

    def get(self, tokens: array[int]) -> bytearray | None:
        """The state of exactly these tokens, None where there is none that can be used."""
        path = self._path(tokens)
        try:
            found, state = read_checkpoint(path, self._binding)
        except FileNotFoundError:
            return None
        except (OSError, CheckpointRefused) as error:
            self.refused.append(f"checkpoint file: {error}")
            return None
        return state if found == tuple(tokens) else None

    def put(self, tokens: array[int], state: bytearray) -> None:
        """Keep a state, unless it is there or larger than the folder may be.

        Raises:
            OSError: it cannot be written.
        """
        path = self._path(tokens)
        if path.exists() or len(state) > self.max_bytes:
            return
        write_checkpoint(path, tokens, state, self._binding)
        self._prune(path)

    def discard(self, tokens: array[int]) -> None:
        """Delete the state of exactly these tokens: llama.cpp did not take it."""
        self._path(tokens).unlink(missing_ok=True)

    def _path(self, tokens: array[int]) -> Path:
        digest = hashlib.blake2b(tokens.tobytes(), digest_size=16, key=hashlib.sha256(self._salt).digest())
        return self.folder / f"{digest.hexdigest()}{_SUFFIX}"

    def _prune(self, newest: Path) -> None:
        files = []
        for path in self.folder.glob(f"*{_SUFFIX}"):
            try:
                info = path.stat()
            except FileNotFoundError:  # another program was faster
                continue
            files.append((path == newest, info.st_mtime, info.st_size, path))
        total = sum(size for _, _, size, _ in files)
        for _, _, size, path in sorted(files)[:-1]:
            if total <= self.max_bytes:
                return
            path.unlink(missing_ok=True)
            total -= size
