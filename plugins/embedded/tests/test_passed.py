"""What a context does about its own check: it is done once for a kind of context, and again when anything is new."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tiebreak_embedded import context as context_module
from tiebreak_embedded.context import Context, ContextOptions
from tiebreak_embedded.library import Library
from tiebreak_embedded.passed import Passed

SMALL = ContextOptions(window=256, sequences=2, threads=1)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TIEBREAK_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def model(hybrid_path: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(hybrid_path, tmp_path / "model.gguf"))


def checks(library: Library, model: Path, options: ContextOptions = SMALL) -> bool:
    """Whether a new context was checked; it must be exact either way."""
    context = Context(library, model, options)
    try:
        assert context.exact
        return context.decoded_tokens > 0
    finally:
        context.close()


def test_a_context_is_checked_once(library: Library, model: Path, cache: Path) -> None:
    assert [checks(library, model) for _ in range(3)] == [True, False, False]
    assert len(list((cache / "checked").iterdir())) == 1


def test_other_options_are_checked_again(library: Library, model: Path, cache: Path) -> None:
    assert checks(library, model)
    assert checks(library, model, ContextOptions(window=256, sequences=3, threads=1))
    assert checks(library, model, ContextOptions(window=256, sequences=2, threads=2))


def test_a_file_that_was_written_to_is_checked_again(library: Library, model: Path, cache: Path) -> None:
    assert checks(library, model)
    before = model.stat()
    with model.open("r+b") as file:
        first = file.read(1)
        file.seek(0)
        file.write(first)
    os.utime(model, ns=(before.st_atime_ns, before.st_mtime_ns))  # as if nothing had happened
    assert checks(library, model)


def test_another_build_is_checked_again(library: Library, model: Path, cache: Path) -> None:
    build = Passed(library, model, SMALL, 1)
    build.note()
    assert build.noted()
    call = {**library.call, "llama_print_system_info": lambda: b"CPU : AVX2 = 0"}
    other = Library(location=library.location, call=call, layout=library.layout, log=library.log, wait="", backends=())
    assert not Passed(other, model, SMALL, 1).noted()


def test_with_a_gpu_nothing_is_noted(library: Library, model: Path, cache: Path) -> None:
    passed = Passed(library, model, ContextOptions(gpu_layers=1), 1)
    passed.note()
    assert not passed.noted()
    assert not cache.exists()


def test_a_context_that_is_not_exact_is_never_noted(
    library: Library, model: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(context_module, "repeats", lambda _context: False)
    for _ in range(2):
        context = Context(library, model, SMALL)
        assert not context.exact
        context.close()
    assert not cache.exists()


def test_a_cache_that_cannot_be_written_costs_a_check_and_no_more(library: Library, model: Path, cache: Path) -> None:
    cache.write_text("not a folder")
    assert [checks(library, model) for _ in range(2)] == [True, True]
