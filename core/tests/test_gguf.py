"""GGUF headers: the real model, every kind of file that is not one, and hostile bytes."""

from __future__ import annotations

import os
import struct
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tiebreak import gguf
from tiebreak.errors import ModelUnavailable

MakeGguf = Callable[..., bytes]
HEADER = 1_785_664  # where the tensor data of the real model starts
WHOLE = 98_362_432


@pytest.fixture
def sparse(smol: Path, tmp_path: Path) -> Path:
    """The real model's header with a hole for its weights: right in length, cheap to make."""
    path = tmp_path / "copy.gguf"
    with smol.open("rb") as source, path.open("wb") as sink:
        sink.write(source.read(HEADER))
        sink.truncate(WHOLE)
    return path


def write(tmp_path: Path, content: bytes) -> Path:
    path = tmp_path / "model.gguf"
    path.write_bytes(content)
    return path


def test_the_real_model_says_what_it_is(smol: Path) -> None:
    header = gguf.check_file(smol)
    assert header.version == 3
    assert header.architecture == "llama"
    assert header.expected_size == header.actual_size == WHOLE
    assert header.data_offset == HEADER
    assert header.context_length == 8192
    assert (header.n_layers, header.embedding_length) == (30, 576)
    assert header.kv_heads == (3,) * 30
    # 30 layers x 3 heads x (64 + 64) numbers x 2 bytes
    assert header.kv_bytes_per_token() == 23_040
    assert header.is_recurrent is False
    assert (header.bos_id, header.eos_id, header.add_bos) == (1, 2, False)
    assert header.chat_template is not None
    assert "<|im_start|>" in header.chat_template


def test_the_real_vocabulary_is_read_on_demand(smol: Path) -> None:
    header = gguf.read(smol)
    assert isinstance(header.metadata["tokenizer.ggml.tokens"], gguf.Array)
    assert len(header.tokens) == len(header.token_types) == 49_152
    control = header.control_tokens()
    assert {"<|endoftext|>", "<|im_start|>", "<|im_end|>"} <= set(control)
    assert len(control) == 17
    assert header.user_defined_tokens() == ()


def test_a_file_of_the_right_length_passes(sparse: Path) -> None:
    assert gguf.check_file(sparse).actual_size == WHOLE


@pytest.mark.parametrize("length", [WHOLE // 2, WHOLE - 1, HEADER])
def test_a_file_cut_in_its_weights_is_refused(sparse: Path, length: int) -> None:
    os.truncate(sparse, length)
    with pytest.raises(ModelUnavailable, match="cut short") as caught:
        gguf.check_file(sparse)
    message = str(caught.value)
    assert str(sparse) in message
    assert f"{length:,}" in message
    assert f"{WHOLE:,}" in message
    assert f"{WHOLE - length:,} are missing" in message


@pytest.mark.parametrize("length", [4, 8, 24, 1000, HEADER // 2])
def test_a_file_cut_in_its_header_is_refused(sparse: Path, length: int) -> None:
    os.truncate(sparse, length)
    with pytest.raises(ModelUnavailable, match=r"past the end|damaged") as caught:
        gguf.check_file(sparse)
    assert str(sparse) in str(caught.value)
    assert f"{length:,} bytes" in str(caught.value)


def test_appended_bytes_are_refused(sparse: Path) -> None:
    os.truncate(sparse, WHOLE + 1)
    with pytest.raises(ModelUnavailable, match="too long") as caught:
        gguf.check_file(sparse)
    assert f"{WHOLE + 1:,}" in str(caught.value)
    assert "1 do not belong" in str(caught.value)


@pytest.mark.parametrize(
    "content, said",
    [
        (b"", "empty: 0 bytes"),
        (b"<!DOCTYPE html><html><body>Sign in</body></html>", "a web page"),
        (b"\n <html>\n", "a web page"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "a Git LFS pointer"),
        (b"PK\x03\x04rest", "a zip archive"),
        (b"\x00" * 4096, "not a GGUF file"),
        (b"GGU", "not a GGUF file"),
    ],
)
def test_other_files_are_named_for_what_they_are(tmp_path: Path, content: bytes, said: str) -> None:
    path = write(tmp_path, content)
    with pytest.raises(ModelUnavailable, match=said) as caught:
        gguf.check_file(path)
    assert str(path) in str(caught.value)
    assert f"{len(content):,} bytes" in str(caught.value)


def test_places_that_are_no_files_are_refused(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.gguf"
    os.mkfifo(pipe)  # must not wait for a writer
    for path, said in (
        (tmp_path, "is a directory"),
        (pipe, "not a regular file"),
        (tmp_path / "none.gguf", "no file"),
        (tmp_path / ("x" * 5000), "cannot be read"),
    ):
        with pytest.raises(ModelUnavailable, match=said):
            gguf.check_file(path)


def test_an_unreadable_file_is_refused(tmp_path: Path, make_gguf: MakeGguf, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, make_gguf())

    def denied(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", denied)  # a mode of 000 does not stop root
    with pytest.raises(ModelUnavailable, match="cannot be read: Permission denied") as caught:
        gguf.check_file(path)
    assert str(path) in str(caught.value)


def test_versions(tmp_path: Path, make_gguf: MakeGguf) -> None:
    assert gguf.check_file(write(tmp_path, make_gguf(version=2))).version == 2
    for version, said in ((1, "Convert the model"), (4, "Update"), (3 << 24, "big-endian")):
        with pytest.raises(ModelUnavailable, match=said):
            gguf.check_file(write(tmp_path, make_gguf(version=version)))


def test_end_padding_may_be_there_or_not(tmp_path: Path, make_gguf: MakeGguf) -> None:
    content = make_gguf(None, [("w", (5,), 0, 0, bytes(20))])
    assert gguf.check_file(write(tmp_path, content)).size_bounds == (
        len(content),
        len(content) + 12,
    )
    gguf.check_file(write(tmp_path, content + bytes(12)))
    with pytest.raises(ModelUnavailable, match="too long"):
        gguf.check_file(write(tmp_path, content + bytes(13)))
    with pytest.raises(ModelUnavailable, match="cut short"):
        gguf.check_file(write(tmp_path, content[:-1]))


def test_an_unknown_tensor_type_is_not_called_wrong(tmp_path: Path, make_gguf: MakeGguf) -> None:
    known = ("a", (8,), 0, 0, bytes(32))
    header = gguf.check_file(write(tmp_path, make_gguf(None, [known, ("b", (8,), 999, 32, bytes(7))])))
    assert header.expected_size is None
    assert header.tensors[1].size is None
    # What surely belongs to it must still be there.
    with pytest.raises(ModelUnavailable, match="cut short"):
        gguf.check_file(write(tmp_path, make_gguf(None, [known, ("b", (8,), 999, 96, b"")])[:-80]))


@pytest.mark.parametrize(
    "kind, shape, size",
    [
        (0, (8,), 32),
        (1, (8, 3), 48),
        (3, (64, 2), 80),
        (8, (64, 2), 136),
        (14, (512, 2), 840),
        (39, (64,), 34),
        (0, (), 4),
    ],
)
def test_tensor_sizes(kind: int, shape: tuple[int, ...], size: int) -> None:
    assert gguf.Tensor(name="t", shape=shape, type=kind, offset=0).size == size


def test_a_vocabulary_is_no_model(tmp_path: Path, make_gguf: MakeGguf) -> None:
    with pytest.raises(ModelUnavailable, match="no tensors"):
        gguf.check_file(write(tmp_path, make_gguf(None, [])))
    # The first part of a split model may carry the metadata alone.
    gguf.check_file(write(tmp_path, make_gguf({"split.count": 3}, [])))


def test_metadata_of_every_type(tmp_path: Path, make_gguf: MakeGguf) -> None:
    numbers = {
        f"n.{kind}": struct.pack(f"<I{code}", kind, 1)
        for kind, code in zip((0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 12), "BbHhIif?Qqd", strict=True)
    }
    nothing: Any = []
    path = write(tmp_path, make_gguf({**numbers, "s": "é", "bad": "a\udcff", "none": nothing}))
    header = gguf.check_file(path)
    assert all(header.value(key) == 1 for key in numbers)
    assert header.value("s") == "é"
    assert header.value("bad") == "a\udcff"  # kept, not replaced
    assert header.value("none") == ()
    assert header.value("missing") is None
    assert header.architecture == ""


def test_a_hybrid_model(tmp_path: Path, make_gguf: MakeGguf) -> None:
    own = {
        "attention.head_count": 4,
        "attention.head_count_kv": 2,
        "attention.key_length": 32,
        "attention.value_length": 16,
        "block_count": 8,
        "embedding_length": 64,
        "full_attention_interval": 4,
        "ssm.state_size": 32,
    }
    metadata: dict[str, Any] = {f"qwen35.{key}": value for key, value in own.items()}
    metadata["general.architecture"] = "qwen35"
    header = gguf.check_file(write(tmp_path, make_gguf(metadata)))
    assert header.is_recurrent is True
    assert header.kv_heads == (0, 0, 0, 2, 0, 0, 0, 2)
    assert header.kv_bytes_per_token() == 2 * 2 * (32 + 16) * 2
    metadata["qwen35.attention.head_count_kv"] = [0, 0, 0, 2, 0, 0, 0, 1]
    header = gguf.check_file(write(tmp_path, make_gguf(metadata)))
    assert header.kv_bytes_per_token(1.0) == 3 * 48


def test_token_kinds(tmp_path: Path, make_gguf: MakeGguf) -> None:
    tokens = {
        "tokenizer.ggml.tokens": ["<unk>", "<s>", "word", "<tool>"],
        "tokenizer.ggml.token_type": [2, 3, 1, 4],
    }
    header = gguf.check_file(write(tmp_path, make_gguf(tokens)))
    assert header.control_tokens() == ("<unk>", "<s>")
    assert header.user_defined_tokens() == ("<tool>",)
    assert gguf.read(write(tmp_path, make_gguf())).control_tokens() == ()
    tokens["tokenizer.ggml.token_type"] = [2, 3]
    with pytest.raises(ModelUnavailable, match="4 tokens have 2 token types"):
        gguf.read(write(tmp_path, make_gguf(tokens))).control_tokens()


def test_a_file_that_changes_under_its_header_is_noticed(tmp_path: Path, make_gguf: MakeGguf) -> None:
    path = write(tmp_path, make_gguf({"tokenizer.ggml.tokens": ["x"] * 1000}))
    header = gguf.read(path)
    assert len(header.tokens) == 1000
    path.write_bytes(make_gguf())
    with pytest.raises(ModelUnavailable, match="bytes when it was opened"):
        _ = header.tokens


HOSTILE = {
    "tensor count": b"GGUF" + struct.pack("<IQQ", 3, 2**63, 0),
    "metadata count": b"GGUF" + struct.pack("<IQQ", 3, 0, 2**64 - 1),
    "key length": b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 2**62),
    "text length": b"GGUF" + struct.pack("<IQQQ1sIQ", 3, 0, 1, 1, b"k", 8, 2**40),
    "array count": b"GGUF" + struct.pack("<IQQQ1sIIQ", 3, 0, 1, 1, b"k", 9, 12, 2**61),
    "strings": b"GGUF" + struct.pack("<IQQQ1sIIQ", 3, 0, 1, 1, b"k", 9, 8, 2**60) + bytes(99),
    "string in array": b"GGUF" + struct.pack("<IQQQ1sIIQQ", 3, 0, 1, 1, b"k", 9, 8, 2, 2**64 - 9) + bytes(99),
    "nested arrays": b"GGUF" + struct.pack("<IQQQ1sI", 3, 0, 1, 1, b"k", 9) + struct.pack("<IQ", 9, 1) * 5000,
    "value type": b"GGUF" + struct.pack("<IQQQ1sI", 3, 0, 1, 1, b"k", 13),
    "dimensions": b"GGUF" + struct.pack("<IQQQ1sI", 3, 1, 0, 1, b"t", 2**32 - 1) + bytes(99),
    "shape": b"GGUF" + struct.pack("<IQQQ1sIQQIQ", 3, 1, 0, 1, b"t", 2, 2**63, 2**63, 0, 0) + bytes(99),
    "offset": b"GGUF" + struct.pack("<IQQQ1sIQIQ", 3, 1, 0, 1, b"t", 1, 8, 0, 7) + bytes(99),
    "empty key": b"GGUF" + struct.pack("<IQQQIB", 3, 0, 1, 0, 0, 1),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_headers_are_refused_without_believing_them(tmp_path: Path, name: str) -> None:
    path = write(tmp_path, HOSTILE[name])
    tracemalloc.start()
    try:
        with pytest.raises(ModelUnavailable, match="damaged GGUF header") as caught:
            gguf.check_file(path)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()
    assert len(str(caught.value)) < 600


def test_twice_the_same_key_is_refused(tmp_path: Path, make_gguf: MakeGguf) -> None:
    content = make_gguf({"aa": 1, "ab": 2})
    with pytest.raises(ModelUnavailable, match="appears twice"):
        gguf.check_file(write(tmp_path, content.replace(b"ab", b"aa")))


@pytest.mark.parametrize("value", [0, 3, "x"])
def test_an_alignment_that_is_no_power_of_two_is_refused(tmp_path: Path, make_gguf: MakeGguf, value: object) -> None:
    with pytest.raises(ModelUnavailable, match="alignment"):
        gguf.check_file(write(tmp_path, make_gguf({"general.alignment": value})))


def refused(path: Path) -> str | None:
    """Read all that a header offers: the refusal, or None; any other error is the test's failure."""
    try:
        header = gguf.check_file(path)
        for key in header.metadata:
            header.value(key)
        header.control_tokens()
        header.kv_bytes_per_token()
        _ = header.name, header.chat_template, header.add_bos, header.bos_id, header.is_recurrent
    except ModelUnavailable as error:
        return str(error)
    return None


@settings(
    max_examples=200,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_mutated_headers_raise_nothing_else_and_cost_no_memory(
    tmp_path: Path, make_gguf: MakeGguf, data: st.DataObject
) -> None:
    tokens: dict[str, Any] = {
        "general.architecture": "llama",
        "llama.block_count": 4,
        "llama.attention.head_count": [2, 2, 2, 2],
        "tokenizer.ggml.tokens": [f"t{i}" for i in range(300)],
        "tokenizer.ggml.token_type": [1] * 298 + [2, 3],
        "tokenizer.chat_template": "{{ messages }}",
    }
    content = bytearray(make_gguf(tokens))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        new = data.draw(st.one_of(st.binary(min_size=1, max_size=9), st.just(b"\xff" * 8)))
        content[at : at + len(new)] = new
    path = write(tmp_path, bytes(content[: data.draw(st.integers(0, 2 * len(content)))]))
    tracemalloc.start()
    try:
        refusal = refused(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert refusal is None or str(path) in refusal
    assert peak < 4 << 20


@pytest.mark.parametrize("at", range(0, 400, 20))
def test_the_real_header_with_one_word_overwritten(smol: Path, tmp_path: Path, at: int) -> None:
    path = tmp_path / "mutated.gguf"
    with smol.open("rb") as source, path.open("wb") as sink:
        sink.write(source.read(HEADER))
        sink.seek(at)
        sink.write(b"\xff" * 8)
        sink.truncate(WHOLE)
    refusal = refused(path)
    assert refusal is None or str(path) in refusal
