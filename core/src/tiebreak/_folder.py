"""A model as a folder in Hugging Face format: whether it is whole, and what identifies it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from tiebreak.errors import ModelUnavailable

__all__ = ["check", "files", "sha256"]

_CONFIG, _INDEX, _ONE = "config.json", "model.safetensors.index.json", "model.safetensors"
_TOKENIZER = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "chat_template.jinja",
    "tokenizer.model",
    "vocab.json",
    "merges.txt",
)


def check(folder: Path) -> None:
    """Refuse a folder that does not hold a whole model in Hugging Face format, before anything is loaded from it.

    Raises:
        ModelUnavailable: naming the folder and what is missing.
    """
    if not folder.is_dir():
        raise ModelUnavailable(f"There is no folder {folder}.", remedy="Check the path.")
    if not (folder / _CONFIG).is_file():
        raise _lacks(folder, _CONFIG)
    weights = _weights(folder)
    for name in weights:
        if not (folder / name).is_file():
            raise _lacks(folder, name)


def files(folder: Path) -> list[Path]:
    """The files that answers depend on: configuration, tokenizer and weights, in a fixed order.

    Raises:
        ModelUnavailable: the index of the weights cannot be read.
    """
    names = [_CONFIG, *_TOKENIZER, *_weights(folder)]
    return [folder / name for name in names if (folder / name).is_file()]


def sha256(folder: Path) -> str:
    """One hash of all those files, with their names.

    Raises:
        ModelUnavailable: a file cannot be read.
    """
    from tiebreak import _store

    digest = hashlib.sha256()
    for file in files(folder):
        digest.update(f"{file.name} {_store.sha256(file)}\n".encode())
    return digest.hexdigest()


def _weights(folder: Path) -> list[str]:
    """Names of the files with weights: one, or those that an index lists."""
    index = folder / _INDEX
    if not index.is_file():
        return [_ONE]
    try:
        listed = json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()
        names = sorted({Path(name).name for name in listed})  # an index cannot point out of its folder
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelUnavailable(
            f"{index} is not an index of weights: {error}.", remedy="Fetch or copy the folder again."
        ) from error
    return names


def _lacks(folder: Path, name: str) -> ModelUnavailable:
    return ModelUnavailable(
        f"{folder} has no {name}, so it is not a model in Hugging Face format.",
        remedy="Name a folder with config.json, a tokenizer and safetensors weights, or a GGUF file.",
    )
