"""Brings a file or a whole Hugging Face repository into that library's own cache."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tiebreak.errors import ModelUnavailable
from tiebreak.references import HubReference, RepositoryReference

__all__ = ["cached", "hub_file", "hub_folder"]

_WANTED = ("*.json", "*.safetensors", "*.model", "*.jinja", "*.txt")
"""Of a repository: configuration, tokenizer and weights, never pickles or other formats of the same weights."""


def hub_file(reference: HubReference) -> Path:
    """The path of a hub file, downloaded by huggingface-hub unless its cache has it.

    Locks, resuming, the progress bar and credentials are that library's own.

    Raises:
        ModelUnavailable: huggingface-hub is not installed, or it cannot get the file.
    """
    return _fetched(
        reference,
        lambda hub: hub.hf_hub_download(
            repo_id=reference.repository, filename=reference.file, revision=reference.revision
        ),
    )


def hub_folder(reference: RepositoryReference) -> Path:
    """The folder of a hub repository with its configuration, tokenizer and weights; see `hub_file`.

    Raises:
        ModelUnavailable: huggingface-hub is not installed, or it cannot get the repository.
    """
    return _fetched(
        reference,
        lambda hub: hub.snapshot_download(
            repo_id=reference.repository, revision=reference.revision, allow_patterns=list(_WANTED)
        ),
    )


def _fetched(reference: HubReference | RepositoryReference, fetch: Callable[[Any], str]) -> Path:
    try:
        import huggingface_hub
    except ImportError as error:
        raise ModelUnavailable(
            f"{reference} needs the package huggingface-hub: {error}.",
            remedy="Run `python -m pip install huggingface-hub`.",
        ) from error
    try:
        found = fetch(huggingface_hub)
    except Exception as error:  # its HTTP client's errors are no part of its interface
        first_line = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ModelUnavailable(
            f"huggingface-hub could not get {reference}: {first_line}",
            remedy="Check the name, the revision, the network, and access (`hf auth login`).",
        ) from error
    return Path(found)


def cached(reference: HubReference) -> Path | None:
    """The path of a hub file that is already in that library's cache, None where it is not or the library is not."""
    try:
        from huggingface_hub import try_to_load_from_cache
    except ImportError:
        return None
    found = try_to_load_from_cache(reference.repository, reference.file, revision=reference.revision)
    return Path(found) if isinstance(found, str) else None
