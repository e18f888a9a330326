"""One model in one context: exact tokens in, log-probabilities out, whole sequence states kept.

Every answer is bit-identical whatever was cached, batched or asked before. Five settings make it so:
flash attention off (the only one that is an option, `exact`), a KV cache per sequence, no chunk of
one token (see `schedule`), one kernel for K-quants (see `library`), and no repacked ones (`model`).
"""

from __future__ import annotations

import ctypes as c
import importlib
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from tiebreak.errors import ContextOverflow, EngineError, EngineStartError, InvalidRequest
from tiebreak_embedded.abi import Params
from tiebreak_embedded.batch import Item, Packer
from tiebreak_embedded.canary import repeats
from tiebreak_embedded.context_options import ContextOptions, cells
from tiebreak_embedded.cores import count
from tiebreak_embedded.library import Library
from tiebreak_embedded.model import Model
from tiebreak_embedded.passed import Passed
from tiebreak_embedded.reading import Reader, Reading
from tiebreak_embedded.schedule import FILL_MAX, Step, schedule

__all__ = ["Context", "ContextOptions", "Item", "StateRefused"]

_FLASH_OFF, _FLASH_AUTO = 0, -1
_FIRST_ROOM = 760  # tokens: 768 cells with fill


class StateRefused(EngineError):
    """A sequence state could not be saved or restored. The sequence is empty: prefill it cold."""


class Context:
    """A loaded model, ready to decode.

    Calls from several threads are safe, one runs at a time. Hold `lock` around calls that belong
    together: sequences are shared state.

    Args:
        library: the build.
        model: a GGUF file, or one that is loaded: once there is a context, it closes with it.
        options: how the context is made.

    Attributes:
        model: tokens and facts.
        window: tokens that one prompt may have.
        room: tokens that one may have until it grows.
        threads: compute threads.
        exact: a prompt decoded whole and one restored half-way gave bit-identical logits, now or when the
            same build, file and options were first loaded on this machine. False where the options do not
            ask for it; possible on a GPU.
        phases: milliseconds that making it took (`context`) and its own check (`check`).
        decode_ms: spent in `llama_decode` since it was made, in milliseconds.
        read_ms: spent on reading logits since it was made, in milliseconds.
        decoded_tokens: new tokens since it was made, fill not counted.

    Raises:
        InvalidRequest: an impossible option.
        ModelUnavailable: no such file, or llama.cpp refused it (with the end of its log).
        EngineStartError: no context could be made, or it fails its own check.
    """

    def __init__(self, library: Library, model: Path | Model, options: ContextOptions | None = None) -> None:
        self.options = options or ContextOptions()
        self.options.check()
        self.library = library
        self.lock = threading.RLock()
        self.threads = count().threads(self.options.threads)
        self.decode_ms = self.read_ms = 0.0
        self.decoded_tokens = 0
        self._call = library.call
        self._context: int | None = None
        given = isinstance(model, Model)
        self.model = model if isinstance(model, Model) else Model(library, model, gpu_layers=self.options.gpu_layers)
        # For reading logits: its import takes about as long as a context and a short decode, and runs beside them.
        threading.Thread(target=importlib.import_module, args=("numpy",), daemon=True).start()
        try:
            started = time.perf_counter()
            self.window = self._window()
            self._context = self._open(min(self.window, _FIRST_ROOM))
            opened = time.perf_counter()
            self.exact = self._checked()
            self.phases = {"context": (opened - started) * 1e3, "check": (time.perf_counter() - opened) * 1e3}
        except BaseException:
            self._free()
            if not given:
                self.model.close()
            raise

    def decode(self, items: Sequence[Item]) -> list[list[Reading]]:
        """Decode new tokens of several sequences together and read what was asked for.

        Rows run side by side where their sequence numbers follow each other; giving the longest
        row the lowest number keeps them together to the end.

        Args:
            items: at most one per sequence.

        Returns:
            per item, one reading per read.

        Raises:
            ContextOverflow: an item reaches beyond the window.
            InvalidRequest: a sequence, position, token count or read that cannot be.
            EngineError: the decode failed; the sequences named by the items are empty.
        """
        with self.lock:
            context = self._alive()
            if len({item.sequence for item in items}) != len(items):
                raise InvalidRequest("Two items name one sequence.", engine="embedded")
            for item in items:
                self._check(item)
            steps = schedule(
                [len(item.tokens) for item in items],
                [item.keep for item in items],
                self._micro_batch,
            )
            self.decoded_tokens += sum(len(item.tokens) for item in items)
            readings: list[list[Reading]] = [[] for _ in items]
            try:
                for step in steps:
                    self._run(context, step, items, readings)
            except EngineError:
                for item in items:
                    self.drop(item.sequence)
                raise
            return readings

    def grow(self, tokens: int) -> None:
        """Make room for a prompt of so many tokens, up to the window; all sequences are empty then.

        A context takes the memory of all its cells at once, and time to clear it. So it begins with room for
        short prompts; answers do not depend on it.

        Raises:
            EngineStartError: there is not enough memory; nothing was changed.
        """
        with self.lock:
            old = self._alive()
            self._context = self._open(min(self.window, max(tokens, 2 * self.room)))
            self._call["llama_free"](old)

    def overflow(self, tokens: int) -> ContextOverflow:
        """The refusal of a prompt that is too long for the window."""
        return ContextOverflow(
            f"The prompt has {tokens} tokens; the window has {self.window}.",
            tokens=tokens,
            window=self.window,
            remedy="Raise the option context (the window), or shorten the state: nothing is ever cut.",
            engine="embedded",
        )

    def length(self, sequence: int) -> int:
        """Number of tokens in a sequence."""
        with self.lock:
            self._alive()
            last: int = self._call["llama_memory_seq_pos_max"](self._memory, sequence)
            return last + 1

    def drop(self, sequence: int) -> None:
        """Empty a sequence."""
        with self.lock:
            self._alive()
            self._call["llama_memory_seq_rm"](self._memory, sequence, -1, -1)

    def rewind(self, sequence: int, length: int) -> bool:
        """Cut a sequence back to its first `length` tokens, fill included; nothing is computed.

        Returns:
            whether it was cut. False: the model has recurrent layers, which cannot go back; the
            sequence is as it was, and only `restore` helps.
        """
        with self.lock:
            self._alive()
            cut = self._call["llama_memory_seq_rm"](self._memory, sequence, length, -1)
            return bool(cut) and self.length(sequence) == length

    def copy(self, source: int, target: int) -> None:
        """Make `target` a copy of `source`.

        With a cache per sequence llama.cpp copies the whole window, used or not: for a prefix that
        is short against it, `save` and `restore` are quicker.
        """
        with self.lock:
            self.drop(target)
            self._call["llama_memory_seq_cp"](self._memory, source, target, -1, -1)

    def save(self, sequence: int) -> bytearray:
        """The complete state of a sequence, attention and recurrent part.

        Raises:
            StateRefused: there is none, or llama.cpp wrote another number of bytes than promised.
        """
        with self.lock:
            context = self._alive()
            size: int = self._call["llama_state_seq_get_size_ext"](context, sequence, 0)
            written = 0
            state = bytearray(size)
            if self.length(sequence):
                target = (c.c_char * size).from_buffer(state)
                written = self._call["llama_state_seq_get_data_ext"](context, target, size, sequence, 0)
            if written != size:
                raise StateRefused(
                    f"Of the state of sequence {sequence}, {written} bytes of {size} were written.",
                    engine="embedded",
                    log=self.library.log.tail(),
                )
            return state

    def restore(self, sequence: int, state: bytearray, tokens: int) -> None:
        """Make a sequence what it was when its state was saved.

        Args:
            sequence: where to; what it held is dropped.
            state: from `save`.
            tokens: the number of tokens that it held.

        Raises:
            StateRefused: llama.cpp read another number of bytes, or stands at another position.
                The sequence is empty.
        """
        with self.lock:
            context = self._alive()
            self.drop(sequence)
            size = len(state)
            source = (c.c_char * size).from_buffer(state)
            read: int = self._call["llama_state_seq_set_data_ext"](context, source, size, sequence, 0)
            length = self.length(sequence)
            if read != size or length != tokens:
                self.drop(sequence)
                raise StateRefused(
                    f"A state of {size} bytes and {tokens} tokens was read as {read} bytes and {length} tokens.",
                    engine="embedded",
                    log=self.library.log.tail(),
                )

    def set_threads(self, threads: int) -> None:
        """Compute with another number of threads from now on; answers do not change."""
        with self.lock:
            self._call["llama_set_n_threads"](self._alive(), threads, threads)
            self.threads = threads

    def close(self) -> None:
        """Free context and model; a second call does nothing."""
        with self.lock:
            self._free()
            self.model.close()

    def _free(self) -> None:
        context, self._context = self._context, None
        if context is not None:
            self._call["llama_free"](context)

    def _alive(self) -> int:
        if self._context is None:
            raise EngineError("The context is closed.", engine="embedded")
        return self._context

    def _window(self) -> int:
        trained = self.model.trained_window
        window = self.options.window_of(trained)
        if window > trained:
            raise InvalidRequest(
                f"Option context is {window}; {self.model.path.name} was trained with {trained} tokens.",
                remedy="Set the option context to that or less.",
                engine="embedded",
            )
        return window

    def _open(self, tokens: int) -> int:
        """Make a native context for prompts of so many tokens, and check by its answers that it got what was set."""
        options, model = self.options, self.model
        room = cells(tokens)
        self._micro_batch = min(options.micro_batch, room * options.sequences)
        numbers = {
            "n_ctx": room * options.sequences,
            "n_batch": self._micro_batch,
            "n_ubatch": self._micro_batch,
            "n_seq_max": options.sequences,
            "n_threads": self.threads,
            "n_threads_batch": self.threads,
            "flash_attn_type": _FLASH_OFF if options.exact else _FLASH_AUTO,
        }
        offload = options.gpu_layers != 0
        flags = {"kv_unified": False, "offload_kqv": offload, "op_offload": offload}
        layout = self.library.layout
        params: Params = self._call["llama_context_default_params"]()
        for name, value in numbers.items():
            params.set_int(layout.context[name], value)
        for name, flag in flags.items():
            params.set_bool(layout.context_bools[name], flag)
        context: int | None = self._call["llama_init_from_model"](model.handle, params) or None
        if context is None:
            raise EngineStartError(
                f"llama.cpp made no context of {options.sequences} sequences of {tokens} tokens for {model.path}.",
                remedy="Lower the options context or sequences if memory is short.",
                engine="embedded",
                log=self.library.log.tail(),
            )
        asked = {
            "llama_n_ctx_seq": room,
            "llama_n_batch": self._micro_batch,
            "llama_n_ubatch": self._micro_batch,
            "llama_n_seq_max": options.sequences,
            "llama_n_threads": self.threads,
        }
        got = {name: self._call[name](context) for name in asked}
        if got != asked:
            self._call["llama_free"](context)
            raise EngineStartError(
                f"The context is {got}, not {asked}: {self.library.version} has another parameter "
                "layout than it seemed.",
                remedy="Name another library with the option library.",
                engine="embedded",
            )
        self._memory: int = self._call["llama_get_memory"](context)
        self._reader = Reader(model.vocabulary_size)
        self._packer = Packer(options.sequences, self._micro_batch)
        self.room = room - FILL_MAX
        return context

    def _checked(self) -> bool:
        """Whether it is exact; a context that has passed here before is not asked to again (see `Passed`)."""
        passed = Passed(self.library, self.model.path, self.options, self.threads)
        if passed.noted():
            return True
        exact = repeats(self) and self.options.exact
        if exact:
            passed.note()
        return exact

    def _check(self, item: Item) -> None:
        if not 0 <= item.sequence < self.options.sequences:
            raise InvalidRequest(
                f"Sequence {item.sequence} is not one of 0 to {self.options.sequences - 1}.",
                engine="embedded",
            )
        count = len(item.tokens)
        end = item.start + count
        if end > self.window:
            raise self.overflow(end)
        if end > self.room:
            raise InvalidRequest(f"There is room for {self.room} tokens, not for {end}: grow first.", engine="embedded")
        if self.length(item.sequence) != item.start:
            raise InvalidRequest(
                f"Sequence {item.sequence} holds {self.length(item.sequence)} tokens; it cannot go on at {item.start}.",
                engine="embedded",
            )
        size = self.model.vocabulary_size
        ids = [token for read in item.reads for token in read.ids]
        if ids and not 0 <= min(ids) <= max(ids) < size:
            raise InvalidRequest(f"A token to read is not one of 0 to {size - 1}.", engine="embedded")
        places = [read.at for read in item.reads]
        if any(not 0 <= at < count for at in places) or sorted(set(places)) != places:
            raise InvalidRequest(
                f"The places to read {places} are not rising within {count} tokens.",
                engine="embedded",
            )

    def _run(self, context: int, step: Step, items: Sequence[Item], readings: list[list[Reading]]) -> None:
        """One decode, and the reads of its rows before the next one overwrites the logits."""
        packed = self._packer.pack(step, items)
        started = time.perf_counter()
        status = self._call["llama_decode"](context, packed.batch)
        decoded = time.perf_counter()
        self.decode_ms += (decoded - started) * 1e3
        if status:
            raise EngineError(
                f"llama_decode returned {status} for {packed.size} tokens.",
                engine="embedded",
                log=self.library.log.tail(),
            )
        for index, row, read in packed.reads:
            address: int | None = self._call["llama_get_logits_ith"](context, row)
            if not address:
                raise EngineError(
                    f"llama.cpp has no logits for row {row} of the batch.",
                    engine="embedded",
                    log=self.library.log.tail(),
                )
            readings[index].append(self._reader.read(address, read))
        self.read_ms += (time.perf_counter() - decoded) * 1e3
