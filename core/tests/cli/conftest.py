"""Fake distributions on the path, one of them a working engine: the command line is tested without a model."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import attrs
import pytest

from tiebreak import cli, shutdown

COUNTER = itertools.count()

ENGINE = """
import os, signal, sys, time
from tiebreak import errors, hookimpl
from tiebreak.doctor import Finding
from tiebreak.engine import Capabilities, EngineInfo, Limits, LocalEngine, OptionSpec, Vocabulary
from tiebreak.evidence import Outcome, TokenScores
from tiebreak.models import ModelInfo

INFO = EngineInfo(
    name="fake",
    summary="Fixed evidence.",
    capabilities=Capabilities(kinds=("choice", "yes_no", "score"), evidence="tokens"),
    limits=Limits(options=9),
    options=(
        OptionSpec(name="mode", help="What happens when it is asked."),
        OptionSpec(name="count", type=int, minimum=0, help="A whole number."),
        OptionSpec(name="ratio", type=float, help="A number."),
        OptionSpec(name="flag", type=bool, help="True or false."),
        OptionSpec(name="many", type=tuple, help="A list."),
    ),
    needs_model=False,
)


class Fake(LocalEngine):
    ready = True

    def __init__(self, info, options):
        self.info, self.capabilities, self.limits = info, info.capabilities, info.limits
        self.vocabulary, self.version, self.options = Vocabulary(), "7", options

    def start(self):
        mode = self.options["mode"]
        if mode == "start":
            raise errors.EngineStartError("It never became ready.", remedy="Look.", log="one\\n\\ntwo\\x1b[31m")
        if mode == "memory":
            raise errors.MemoryRefused("It needs 9 GB and 1 GB is free.", remedy="Take a smaller model.")

    @property
    def phases(self):
        return {"warm": 1.5}

    def close(self):
        awaited = os.environ.get("FAKE_CLOSES_WITH")
        while awaited and not os.path.exists(awaited):
            time.sleep(0.01)
        marker = os.environ.get("FAKE_CLOSED")
        if marker:
            open(marker, "w").close()

    def evidence(self, plans, cancelled):
        mode = self.options["mode"]
        print("noise from the engine")
        os.system("echo noise from its child")
        if mode == "died":
            raise errors.EngineDied("It ended with SIGSEGV.", remedy="Report it.", engine="fake")
        if mode == "auth":
            raise errors.AuthError("HTTP 401: the key was refused.", remedy="Check FAKE_KEY.", engine="fake")
        if mode == "bug":
            raise ZeroDivisionError("divided by nothing")
        if mode == "pipe":
            raise BrokenPipeError(32, "Broken pipe")
        if mode == "exit":
            sys.exit(0)
        if mode in ("SIGINT", "SIGTERM"):
            print("asked", file=sys.stderr, flush=True)
            os.kill(os.getpid(), getattr(signal, mode))
            time.sleep(60)
        if mode == "options":
            raise errors.BadReply(repr({k: v for k, v in self.options.items() if k not in ("mode", "url")}))
        scale = -9.0 if mode == "low" else -0.5
        return [
            Outcome(
                evidence=tuple(
                    TokenScores(logprobs=tuple(scale - abs(i - 1) for i, _ in enumerate(row.labels)))
                    for row in plan.rows
                ),
                prompt_tokens=3,
            )
            for plan in plans
        ]

    def tokens(self, plan):
        if self.options["mode"] == "blind":
            raise errors.Unsupported("It does not show its tokens.", engine="fake")
        return [[[ord(c) for c in piece.text] for piece in row.pieces()] for row in plan.rows]


@hookimpl
def tiebreak_engine():
    return INFO


@hookimpl
def tiebreak_load(info, model, options):
    return Fake(info, options)


@hookimpl
def tiebreak_models():
    return [ModelInfo(name="fake-model", summary="None at all.", licence="MIT")]


@hookimpl
def tiebreak_doctor():
    state = os.environ.get("FAKE_STATE", "ok")
    return [Finding(subject="binary", state=state, detail="it was looked at", remedy="Do something.")]
"""


@attrs.frozen
class Site:
    """A directory on the path that looks like site-packages."""

    path: Path

    def add(
        self,
        engine: str,
        code: str | None,
        *,
        distribution: str | None = None,
        entry_points: bytes | None = None,
        metadata: bytes | None = None,
    ) -> str:
        """Install a plugin; without code only its metadata stays behind. Returns the distribution's name."""
        module = f"fake_plugin_{next(COUNTER)}"
        name = distribution or f"dist-of-{engine}"
        info = self.path / f"{name.replace('-', '_')}-1.5.dist-info"
        info.mkdir()
        default = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.5\n".encode()
        (info / "METADATA").write_bytes(default if metadata is None else metadata)
        points = f"[tiebreak.engines]\n{engine} = {module}\n".encode()
        (info / "entry_points.txt").write_bytes(points if entry_points is None else entry_points)
        if code is not None:
            (self.path / f"{module}.py").write_text(textwrap.dedent(code), encoding="utf-8")
        return name


@attrs.frozen(kw_only=True)
class Result:
    """What a command left behind."""

    code: int
    out: str
    err: str


Run = Callable[..., Result]


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    """A place to install fake distributions, in front of everything that is installed."""
    path = tmp_path / "site"
    path.mkdir()
    monkeypatch.syspath_prepend(str(path))
    monkeypatch.setenv("PYTHONPATH", str(path))
    monkeypatch.setenv("TIEBREAK_CACHE", str(tmp_path / "cache"))
    return Site(path)


@pytest.fixture
def fake(site: Site) -> Site:
    """The same, with a working engine called `fake` in it."""
    site.add("fake", ENGINE)
    return site


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Iterator[Run]:
    """The command line in this process, on real file descriptors."""

    def call(*arguments: str) -> Result:
        capfd.readouterr()
        code = cli.run(arguments)
        captured = capfd.readouterr()
        return Result(code=code, out=captured.out, err=captured.err)

    yield call
    shutdown()


@pytest.fixture
def spawn(site: Site) -> Run:
    """The command line in a process of its own."""

    def call(*arguments: str, stdin: bytes = b"", **environment: str) -> Result:
        done = subprocess.run(
            [sys.executable, "-m", "tiebreak", *arguments],
            input=stdin,
            capture_output=True,
            timeout=120,
            check=False,
            env={**os.environ, **environment},
            cwd=site.path,
        )
        return Result(code=done.returncode, out=done.stdout.decode(), err=done.stderr.decode())

    return call
