"""`Tokens`: texts as token ids, a user's text never read as control tokens."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tiebreak.errors import InvalidRequest, ModelUnavailable
from tiebreak.gguf import Gguf
from tiebreak.plan import Piece
from tiebreak_transformers.gguf_tokenizer import gguf_tokenizer
from tiebreak_transformers.info import INFO

__all__ = ["Tokens"]

_KEPT_CHARACTERS = 1 << 20


class Tokens:
    """A model's tokenizer. Thread-safe; the tokens of pieces that repeat are remembered, bounded in characters.

    Args:
        tokenizer: a `tokenizers.Tokenizer`.
        opening: ids that every prompt begins with: BOS, or none.

    Attributes:
        opening: see there.
        control: spelling -> id of every control token.
    """

    def __init__(self, tokenizer: Any, opening: tuple[int, ...]) -> None:
        tokenizer.no_padding()
        tokenizer.no_truncation()
        self.opening = opening
        self.control: Mapping[str, int] = {
            token.content: number for number, token in tokenizer.get_added_tokens_decoder().items() if token.special
        }
        # The switch is a property of a tokenizer, not of a call: so there are two.
        self._parsing = tokenizer
        self._plain = type(tokenizer).from_str(tokenizer.to_str())
        self._plain.encode_special_tokens = True
        self._lock = threading.Lock()
        self._known: OrderedDict[Piece, tuple[int, ...]] = OrderedDict()
        self._characters = 0

    @classmethod
    def of_gguf(cls, header: Gguf) -> Tokens:
        """The tokenizer of a GGUF file.

        Raises:
            Unsupported: see `gguf_tokenizer`.
        """
        # Where the file does not say, llama.cpp opens a text with BOS for vocabularies of Llama 3's kind alone.
        whole = header.value("tokenizer.ggml.pre") in ("llama-bpe", "llama3")
        opens = header.add_bos if header.add_bos is not None else whole
        return cls(gguf_tokenizer(header), (header.bos_id,) if opens and header.bos_id is not None else ())

    @classmethod
    def of_folder(cls, folder: Path) -> Tokens:
        """The tokenizer of a folder in Hugging Face format.

        Raises:
            ModelUnavailable: it has none in the `tokenizers` library's format.
        """
        from tokenizers import Tokenizer

        file = folder / "tokenizer.json"
        try:
            tokenizer = Tokenizer.from_file(str(file))
        except Exception as error:  # the library raises bare exceptions
            raise ModelUnavailable(
                f"{file} is not a tokenizer: {error}.",
                remedy="Save the tokenizer in the format of the tokenizers library (tokenizer.json).",
                engine=INFO.name,
            ) from error
        plain = tokenizer.encode("a", add_special_tokens=False).ids
        whole = tokenizer.encode("a", add_special_tokens=True).ids
        before = next((at for at in range(len(whole)) if whole[at : at + len(plain)] == plain), 0)
        return cls(tokenizer, tuple(whole[:before]))

    def encode(self, text: str, *, special: bool) -> tuple[int, ...]:
        """The ids of a text, exactly: nothing is added before or after it.

        Args:
            text: what to tokenise.
            special: spellings of control tokens become control tokens. Only for text that a layout wrote.

        Raises:
            InvalidRequest: the text is not valid Unicode (a lone surrogate).
        """
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise InvalidRequest(
                f"The text cannot be encoded: {error.reason} at character {error.start}.",
                remedy="Remove the lone surrogate.",
                engine=INFO.name,
            ) from None
        tokenizer = self._parsing if special else self._plain
        return tuple(tokenizer.encode(text, add_special_tokens=False).ids)

    def piece(self, piece: Piece) -> tuple[int, ...]:
        """The ids of one piece of a prompt."""
        with self._lock:
            known = self._known.get(piece)
            if known is not None:
                self._known.move_to_end(piece)
                return known
        ids = self.encode(piece.text, special=piece.control)
        with self._lock:
            if piece not in self._known:
                self._known[piece] = ids
                self._characters += len(piece.text)
                while self._characters > _KEPT_CHARACTERS:
                    oldest, _ = self._known.popitem(last=False)
                    self._characters -= len(oldest.text)
        return ids

    def text(self, token: int) -> str:
        """The text of a token; bytes that are no text by themselves become replacement characters."""
        found: str = self._parsing.decode([token], skip_special_tokens=False)
        return found
