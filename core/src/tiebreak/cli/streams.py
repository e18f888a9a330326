"""Standard output and standard error: results on one, everything else on the other."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import warnings
from collections.abc import Iterator
from typing import Any, TextIO

from tiebreak.errors import TiebreakError

__all__ = [
    "OutputClosedError",
    "complain",
    "emit",
    "emit_json",
    "is_terminal",
    "output_closed",
    "plain",
    "prepare",
    "reserved",
    "settle",
    "warnings_as_lines",
]


class OutputClosedError(Exception):
    """The reader of standard output went away."""


def prepare() -> None:
    """Make both streams able to carry any text: what their encoding lacks is written as an escape.

    A descriptor that the caller closed is opened to nowhere: otherwise the next file or socket would get its number,
    and with it whatever a library or a child process writes to "standard output".
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            # The lowest free number is this one; a child process gets it too.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def is_terminal() -> bool:
    """Whether somebody looks at standard output."""
    return sys.stdout is not None and sys.stdout.isatty()


def emit(text: str) -> None:
    """Write a result to standard output, with a line break at its end.

    Raises:
        OutputClosedError: nobody reads it any more.
        TiebreakError: it cannot be written, for example because a disk is full.
    """
    if sys.stdout is None:  # closed by the caller: nothing is wanted
        return
    try:
        with output_closed():
            sys.stdout.write(text if text.endswith("\n") else f"{text}\n")
            sys.stdout.flush()
    except OSError as error:
        raise TiebreakError(
            f"Standard output cannot be written: {error.strerror or error}.", remedy="Write it somewhere else."
        ) from error


@contextlib.contextmanager
def output_closed() -> Iterator[None]:
    """Around whatever writes to standard output: tells a reader that went away from any other broken pipe.

    Raises:
        OutputClosedError: in place of BrokenPipeError.
    """
    try:
        yield
    except BrokenPipeError:
        raise OutputClosedError from None


def emit_json(value: Any) -> None:
    """Write one JSON value: one line where a program reads it, indented where a person does."""
    # JSON has its own escapes: better those than Python's where the stream is not Unicode.
    ascii_only = "utf" not in (getattr(sys.stdout, "encoding", None) or "").lower()
    emit(json.dumps(value, ensure_ascii=ascii_only, allow_nan=False, indent=2 if is_terminal() else None))


def complain(text: str) -> None:
    """Write one line to standard error, under the program's name."""
    _to_stderr(f"tiebreak: {text}\n")


def settle() -> None:
    """Write what is left of standard output, or let go of it, so that the interpreter's own last flush cannot fail."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        with contextlib.suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, sys.stdout.fileno())
            os.close(nowhere)


def plain(text: str) -> str:
    """Text that cannot do anything to a terminal or a table: control characters become visible escapes."""
    return "".join(char if char.isprintable() else _escape(char) for char in text)


def _escape(char: str) -> str:
    # Not every unprintable character is a danger: the ideographic space is one that belongs to ordinary text.
    return char if char.isspace() and ord(char) >= 0xA0 else char.encode("unicode_escape").decode()


@contextlib.contextmanager
def reserved() -> Iterator[None]:
    """Keep standard output for results: what plugins, libraries and their children write there meanwhile goes to
    standard error.
    """
    with contextlib.ExitStack() as stack:
        settle()  # a result that could not be written has said so already
        stack.enter_context(contextlib.redirect_stdout(sys.stderr))
        with contextlib.suppress(OSError):  # one of the two is closed: nothing to protect
            kept = os.dup(1)
            stack.callback(os.close, kept)
            os.dup2(2, 1)
            stack.callback(os.dup2, kept, 1)
        try:
            yield
        except BrokenPipeError as error:  # a pipe of the engine's: not to be taken for the reader of the output
            raise RuntimeError(f"a pipe broke: {error}") from error


@contextlib.contextmanager
def warnings_as_lines() -> Iterator[None]:
    """Show Python warnings as one line each on standard error."""
    with warnings.catch_warnings():
        warnings.showwarning = _show
        yield


def _show(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    kind = "" if issubclass(category, UserWarning) else f"{category.__name__}: "
    complain(f"warning: {kind}{plain(' '.join(str(message).split()))}")


def _to_stderr(text: str) -> None:
    with contextlib.suppress(OSError, ValueError):  # a closed standard error is no reason to fail
        if sys.stderr is not None:
            sys.stderr.write(text)
            sys.stderr.flush()
