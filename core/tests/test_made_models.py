"""Models that a plugin's code makes: real files, real processes that wait, die and disagree."""

from __future__ import annotations

import errno
import hashlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tiebreak import _make, hookimpl, models
from tiebreak.decider import Decider
from tiebreak.engine import EngineInfo, LocalEngine
from tiebreak.errors import InvalidRequest, MemoryRefused, ModelUnavailable
from tiebreak.evidence import Outcome
from tiebreak.models import ModelInfo, resolve
from tiebreak.plan import Plan
from tiebreak.pool import Pool
from tiebreak.references import MadeReference, parse
from tiebreak.registry import MODELS, Registry

MakeGguf = Callable[..., bytes]
MODULE = "acme_maker"
SOURCE = f"made:{MODULE}:make"
DEADLINE = 60

# What a plugin brings. It notes each call, says that it began, and waits for a file where it is told of one.
MAKER = """
import os, pathlib, time
from tiebreak.errors import MemoryRefused

here = pathlib.Path(__file__).parent
content = here / "content"

def make(path, progress):
    with (here / "calls").open("a") as calls:
        calls.write("x")
    total = content.stat().st_size
    progress(0, total, "making acme")
    path.write_bytes(content.read_bytes()[:100])
    gate = os.environ.get("ACME_GATE")
    while gate and not pathlib.Path(gate).exists():
        time.sleep(0.01)
    path.write_bytes(content.read_bytes())
    progress(total, total, "making acme")

def nothing(path, progress):
    pass

def fails(path, progress):
    path.write_bytes(b"half")
    raise ZeroDivisionError("of course")

def refuses(path, progress):
    raise MemoryRefused("Too large.")

def full(path, progress):
    raise OSError(%d, "No space left on device")
"""

CHILD = f"""
import sys
from tiebreak.models import ModelInfo, resolve
info = ModelInfo(name="acme", summary="s", licence="MIT", source={SOURCE!r}, sha256=sys.argv[1], bytes=int(sys.argv[2]))
print(resolve("acme", {{"acme": info}}, progress=lambda *said: print(said[2], flush=True)).path, flush=True)
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TIEBREAK_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def plugin(tmp_path: Path, make_gguf: MakeGguf, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of an installed plugin: its module, and the bytes that it makes."""
    folder = tmp_path / "plugin"
    folder.mkdir()
    (folder / f"{MODULE}.py").write_text(MAKER % errno.ENOSPC)
    (folder / "content").write_bytes(make_gguf(None, [("w", (4096,), 0, 0, os.urandom(16384))]))
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, MODULE, raising=False)
    return folder


def acme(plugin: Path, **changes: Any) -> dict[str, ModelInfo]:
    content = (plugin / "content").read_bytes()
    given: dict[str, Any] = {
        "name": "acme",
        "summary": "made here",
        "licence": "MIT",
        "source": SOURCE,
        "sha256": hashlib.sha256(content).hexdigest(),
        "bytes": len(content),
    }
    return {"acme": ModelInfo(**{**given, **changes})}


def calls(plugin: Path) -> int:
    noted = plugin / "calls"
    return len(noted.read_text()) if noted.exists() else 0


def left(cache: Path) -> Sequence[Path]:
    return [*cache.glob("partial/*"), *cache.glob("models/**/*.gguf")]


def test_a_made_source_is_parsed() -> None:
    parsed = parse("made:acme.weights.merge:make_it")
    assert parsed == MadeReference(module="acme.weights.merge", function="make_it")
    assert str(parsed) == "made:acme.weights.merge:make_it"


@pytest.mark.parametrize(
    "text", ["made:", "made:acme", "made:acme:", "made::make", "made:a.b:c.d", "made:a/b:c", "made:..a:b"]
)
def test_a_malformed_one_says_the_right_form(text: str) -> None:
    with pytest.raises(InvalidRequest, match=r"made:PACKAGE\.MODULE:FUNCTION"):
        parse(text)


def test_a_reference_alone_never_runs_code(plugin: Path, cache: Path) -> None:
    with pytest.raises(InvalidRequest, match="No installed plugin registered"):
        resolve(SOURCE)
    with pytest.raises(InvalidRequest, match="No installed plugin registered"):
        resolve(f"made:{MODULE}:fails", acme(plugin))
    assert MODULE not in sys.modules
    assert not cache.exists()


def test_it_is_made_once_and_checked(plugin: Path, cache: Path) -> None:
    info = acme(plugin)
    assert models.cached(info["acme"]) is None
    said: list[tuple[int, int | None, str]] = []
    model = resolve("acme", info, progress=lambda *args: said.append(args))
    size = info["acme"].bytes
    assert said == [(0, size, "making acme"), (size, size, "making acme")]
    assert model.path is not None
    assert model.path.read_bytes() == (plugin / "content").read_bytes()
    assert (model.sha256, model.name, model.info) == (info["acme"].sha256, "acme", info["acme"])
    assert resolve(SOURCE, info).path == resolve("acme", info).path == models.cached(info["acme"]) == model.path
    assert calls(plugin) == 1
    assert left(cache) == [model.path]


def test_a_damaged_file_is_made_again(plugin: Path) -> None:
    path = resolve("acme", acme(plugin)).path
    assert path is not None
    path.write_bytes(b"damaged")
    assert models.cached(acme(plugin)["acme"]) is None
    assert resolve("acme", acme(plugin)).path == path
    assert path.read_bytes() == (plugin / "content").read_bytes()


def test_two_versions_lie_side_by_side(plugin: Path) -> None:
    first = resolve("acme", acme(plugin)).path
    content = (plugin / "content").read_bytes()
    (plugin / "content").write_bytes(content[:-1] + bytes([content[-1] ^ 1]))  # another byte, whatever it was
    second = resolve("acme", acme(plugin)).path
    assert first is not None and second is not None
    assert first != second and first.is_file() and second.is_file()


def test_another_file_than_promised_is_refused_and_removed(plugin: Path, cache: Path) -> None:
    with pytest.raises(ModelUnavailable, match="not the file that was registered") as caught:
        resolve("acme", acme(plugin, sha256="0" * 64))
    assert hashlib.sha256((plugin / "content").read_bytes()).hexdigest() in str(caught.value)
    assert "report this" in str(caught.value)
    assert left(cache) == []


@pytest.mark.parametrize(
    "source, said",
    [
        (f"made:{MODULE}:fails", "ZeroDivisionError: of course"),
        (f"made:{MODULE}:nothing", "it wrote no file"),
        (f"made:{MODULE}:other", "AttributeError"),
        ("made:acme_that_is_not_there:make", "ModuleNotFoundError"),
    ],
)
def test_code_that_fails_is_named(plugin: Path, cache: Path, source: str, said: str) -> None:
    with pytest.raises(ModelUnavailable, match=said) as caught:
        resolve("acme", acme(plugin, source=source))
    assert "'acme' could not be made by" in str(caught.value)
    assert left(cache) == []


def test_an_error_of_ours_passes_as_it_is(plugin: Path) -> None:
    with pytest.raises(MemoryRefused, match=r"^Too large\.$"):
        resolve("acme", acme(plugin, source=f"made:{MODULE}:refuses"))


def test_a_full_disk_is_said_to_be_full(plugin: Path, monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    with pytest.raises(ModelUnavailable, match="no space for acme"):
        resolve("acme", acme(plugin, source=f"made:{MODULE}:full"))
    too_large = acme(plugin, bytes=1 << 60)
    with pytest.raises(ModelUnavailable, match=f"{1 << 60:,} bytes and .* are free"):
        resolve("acme", too_large)
    assert calls(plugin) == 0
    assert left(cache) == []


def test_a_cache_that_is_no_directory_is_named(plugin: Path, cache: Path) -> None:
    cache.write_bytes(b"")
    with pytest.raises(ModelUnavailable, match="cannot be used for acme"):
        resolve("acme", acme(plugin))


def start(plugin: Path, gate: Path) -> subprocess.Popen[str]:
    info = acme(plugin)["acme"]
    path = os.pathsep.join([str(Path(models.__file__).parents[1]), str(plugin)])
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, str(info.sha256), str(info.bytes)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path, "ACME_GATE": str(gate)},
    )


def read_until(process: subprocess.Popen[str], line: str) -> None:
    assert process.stdout is not None
    for said in process.stdout:
        if said.strip() == line:
            return
    pytest.fail(f"the child ended before it said {line!r}")


def test_two_processes_make_it_once(plugin: Path, tmp_path: Path, cache: Path) -> None:
    gate = tmp_path / "gate"
    with start(plugin, gate) as first:
        read_until(first, "making acme")
        with start(plugin, gate) as second:
            read_until(second, "waiting for another process that makes acme")
            assert list(cache.glob("models/**/*.gguf")) == []  # half a file is nowhere to be seen
            gate.touch()
            outputs = [process.communicate(timeout=DEADLINE)[0].splitlines()[-1] for process in (first, second)]
    assert [first.returncode, second.returncode] == [0, 0]
    assert outputs[0] == outputs[1] == str(resolve("acme", acme(plugin)).path)
    assert calls(plugin) == 1


def test_a_process_that_is_killed_leaves_nothing_in_the_way(plugin: Path, tmp_path: Path, cache: Path) -> None:
    with start(plugin, tmp_path / "never") as child:
        read_until(child, "making acme")
        deadline = time.monotonic() + DEADLINE
        while not list(cache.glob("partial/*/file")) and time.monotonic() < deadline:
            time.sleep(0.01)
        child.send_signal(signal.SIGKILL if sys.platform != "win32" else signal.SIGTERM)
        child.wait(DEADLINE)
    assert list(cache.glob("partial/*/file"))
    path = resolve("acme", acme(plugin)).path
    assert left(cache) == [path]


def test_what_was_made_meanwhile_is_not_made_again(plugin: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = resolve("acme", acme(plugin)).path
    monkeypatch.setattr(_make, "here", lambda *_: None)  # as seen just before the other process finished
    assert resolve("acme", acme(plugin)).path == path
    assert calls(plugin) == 1


@pytest.mark.parametrize("missing", ["sha256", "bytes"])
def test_a_made_model_must_say_what_it_becomes(plugin: Path, missing: str) -> None:
    with pytest.raises(InvalidRequest, match=f"{missing} is None"):
        acme(plugin, **{missing: None})


def tempered(**changes: Any) -> ModelInfo:
    given: dict[str, Any] = {
        "name": "acme",
        "summary": "hosted",
        "licence": "MIT",
        "layouts": ("decider", "schema-first"),
        "temperatures": {"choice": 1.5, "score": 1.2},
        "layout_temperatures": {"schema-first": {"choice": 1.25}},
    }
    return ModelInfo(**{**given, **changes})


def test_a_layout_may_have_temperatures_of_its_own() -> None:
    info = tempered()
    assert info.temperatures_in("decider") == {"choice": 1.5, "score": 1.2}
    assert info.temperatures_in("schema-first") == {"choice": 1.25, "score": 1.2}
    assert info.temperatures_in("chat") == {}


@pytest.mark.parametrize(
    "given", [{"chat": {"choice": 1.0}}, {"decider": {"guess": 1.0}}, {"decider": {"choice": 0.0}}]
)
def test_temperatures_of_a_layout_are_checked(given: dict[str, dict[str, float]]) -> None:
    with pytest.raises(InvalidRequest, match="layout_temperatures is"):
        tempered(layout_temperatures=given)


class _Idle(LocalEngine):
    """An engine that is only ever opened."""

    info = EngineInfo(name="idle", summary="does nothing", layouts=("decider", "schema-first", "chat"))
    capabilities, limits = info.capabilities, info.limits
    ready = True

    def start(self) -> None:
        pass

    def close(self) -> None:
        pass

    def evidence(self, plans: Sequence[Plan], cancelled: Callable[[], bool]) -> Sequence[Outcome]:
        raise AssertionError("nobody asks it")


class _IdleHooks:
    @hookimpl
    def tiebreak_engine(self) -> EngineInfo:
        return _Idle.info

    @hookimpl
    def tiebreak_load(self) -> LocalEngine:
        return _Idle()


class _Models:
    @hookimpl
    def tiebreak_models(self) -> Sequence[ModelInfo]:
        return [tempered()]


@pytest.mark.parametrize(
    "layout, temperature, calibrated",
    [
        (None, {"choice": 1.5, "yes_no": 1.0, "score": 1.2}, ["choice", "score"]),
        ("schema-first", {"choice": 1.25, "yes_no": 1.0, "score": 1.2}, ["choice", "score"]),
        ("chat", {"choice": 1.0, "yes_no": 1.0, "score": 1.0}, []),
    ],
)
def test_a_decider_reads_with_the_temperatures_of_its_layout(
    monkeypatch: pytest.MonkeyPatch, layout: str | None, temperature: dict[str, float], calibrated: Sequence[str]
) -> None:
    registry = Registry()
    registry.add(_IdleHooks(), "idle")
    plugin = registry.add(_Models(), "acme", MODELS)
    monkeypatch.setattr(registry, "models", lambda: ({info.name: info for info in plugin.models()}, []))
    with Decider("idle", "acme", layout=layout, registry=registry, pool=Pool()) as decider:
        reading = decider.session.stages.reading
        assert reading.temperature == temperature
        assert reading.calibrated == dict.fromkeys(calibrated, "model card of acme")
