"""Brings one file of a Hugging Face repository into that library's own cache."""

from __future__ import annotations

from pathlib import Path

from tiebreak.errors import ModelUnavailable
from tiebreak.references import HubReference

__all__ = ["cached", "hub_file"]


def hub_file(reference: HubReference) -> Path:
    """The path of a hub file, downloaded by huggingface-hub unless its cache has it.

    Locks, resuming, the progress bar and credentials are that library's own.

    Raises:
        ModelUnavailable: huggingface-hub is not installed, or it cannot get the file.
    """
    try:
        from huggingface_hub import hf_hub_download
    except ImportError as error:
        raise ModelUnavailable(
            f"{reference} needs the package huggingface-hub: {error}.",
            remedy="Run `python -m pip install huggingface-hub`.",
        ) from error
    try:
        found = hf_hub_download(repo_id=reference.repository, filename=reference.file, revision=reference.revision)
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
