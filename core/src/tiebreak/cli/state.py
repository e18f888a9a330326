"""The STATE argument: what a decision is about."""

from __future__ import annotations

from tiebreak.cli.document import Document
from tiebreak.questions import JSON

__all__ = ["read"]


def read(argument: str, *, as_json: bool) -> JSON:
    """The state that an argument means.

    Args:
        argument: the text itself; `-` for standard input; `@FILE` for a file; `@@...` for text that begins with @.
        as_json: parse it as JSON; otherwise it stays text, whatever it looks like.

    Raises:
        InvalidRequest: it cannot be read, is not UTF-8, or is not JSON where JSON was asked for.
    """
    if argument == "-":
        document = Document.read("-")
    elif argument.startswith("@@"):
        document = Document(text=argument[1:], source="state")
    elif argument.startswith("@"):
        document = Document.read(argument[1:])
    else:
        document = Document(text=argument, source="state")
    return document.json() if as_json else document.text
