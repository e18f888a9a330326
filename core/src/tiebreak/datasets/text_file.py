"""`check_text`: a whole look at a text file before anything is made of it, and its lines afterwards."""

from __future__ import annotations

import codecs
import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path

from tiebreak.errors import InvalidRequest

__all__ = ["BOM", "Lines", "check_text", "unreadable"]

BOM = codecs.BOM_UTF8
FOREIGN = {
    # The first of UTF-32 begins like the one of UTF-16.
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}
CHUNK = 1 << 20
LONGEST_LINE = 64 << 20  # bytes: what a row may cost in memory


def check_text(path: Path, seen: Callable[[int], None]) -> str:
    """Hold a file to being UTF-8 from its first byte to its last.

    A byte order mark at its very beginning is not part of the text; at the beginning of a later line it says that
    files were put end to end, and is refused.

    Args:
        path: the file.
        seen: told how many bytes were looked at so far.

    Returns:
        its SHA-256 in hexadecimal.

    Raises:
        InvalidRequest: another encoding, or two of them; a NUL; a byte order mark inside; it cannot be read.
    """
    digest, decoder = hashlib.sha256(), codecs.getincrementaldecoder("utf-8")()
    position, tail = 0, b""
    try:
        with path.open("rb") as file:
            while chunk := file.read(CHUNK):
                if not position:
                    _refuse_foreign(path, chunk)
                digest.update(chunk)
                nul = chunk.find(b"\0")
                if nul >= 0:
                    raise InvalidRequest(
                        f"{path} holds a NUL at byte {position + nul:,}: it is no text, or not in UTF-8.",
                        remedy="Remove it, or convert the file, for example with iconv.",
                    )
                waiting = len(decoder.getstate()[0])
                try:
                    decoder.decode(chunk)
                except UnicodeDecodeError as error:
                    at = position - waiting + error.start
                    raise _not_utf8(path, at, error.object[error.start]) from None
                joined = tail + chunk
                mark = joined.find(b"\n" + BOM)
                if mark >= 0:
                    raise InvalidRequest(
                        f"{path} holds a byte order mark at byte {position - len(tail) + mark + 1:,}, at the beginning "
                        "of a line: files were put end to end.",
                        remedy="Remove it there, and see whether a header came with it.",
                    )
                tail = joined[-len(BOM) :]
                position += len(chunk)
                seen(position)
        if decoder.getstate()[0]:
            raise _not_utf8(path, position - len(decoder.getstate()[0]), decoder.getstate()[0][0])
    except OSError as error:
        raise unreadable(path, error) from error
    return digest.hexdigest()


class Lines:
    """The lines of a file that was checked, as bytes, from a byte on.

    Args:
        path: the file.
        offset: where the first line begins.

    Attributes:
        offset: where the next line begins.
    """

    def __init__(self, path: Path, offset: int = 0) -> None:
        self.offset = offset
        self._path = path

    def __iter__(self) -> Iterator[bytes]:
        try:
            with self._path.open("rb") as file:
                if not self.offset:
                    self.offset = len(BOM) if file.read(len(BOM)) == BOM else 0
                file.seek(self.offset)
                while line := file.readline(LONGEST_LINE + 1):
                    if len(line) > LONGEST_LINE:
                        raise InvalidRequest(
                            f"{self._path} holds a line of more than {LONGEST_LINE >> 20} MiB at byte {self.offset:,}.",
                            remedy="Is it one JSON array? Write one object per line.",
                        )
                    self.offset += len(line)
                    yield line
        except OSError as error:
            raise unreadable(self._path, error) from error


def unreadable(path: Path, error: OSError) -> InvalidRequest:
    """The error for a file that cannot be read."""
    return InvalidRequest(f"{path} cannot be read: {error.strerror or error}.", remedy="Check the path.")


def _refuse_foreign(path: Path, start: bytes) -> None:
    for mark, name in FOREIGN.items():
        if start.startswith(mark):
            raise InvalidRequest(
                f"{path} is {name}, by its byte order mark; only UTF-8 is read.",
                remedy="Convert it first, for example with iconv.",
            )


def _not_utf8(path: Path, position: int, byte: int) -> InvalidRequest:
    with path.open("rb") as file:
        line, left = 1, position
        while left > 0:
            chunk = file.read(min(CHUNK, left))
            line, left = line + chunk.count(b"\n"), left - len(chunk)
    return InvalidRequest(
        f"{path} is not UTF-8: byte 0x{byte:02x} at byte {position:,}, in line {line:,}.",
        remedy="Convert it first, for example with iconv; where only some lines differ, two encodings were mixed.",
    )
