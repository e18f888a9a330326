"""Gateways on a stub engine: as an ASGI application in this process, or as a process of their own."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
import pytest

from tiebreak.serve.app import create_app
from tiebreak.serve.settings import Settings

STUB = Path(__file__).parent.parent / "stubs" / "gateway_stub.py"
LOCAL = "http://127.0.0.1:8765"


def _module(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def gateway_stub() -> ModuleType:
    """The module of the stub engine."""
    return _module("gateway_stub", STUB)


# `tiebreak serve` is tested like every other command, but needs the extra: the fixtures are those of the others.
_command_line = _module("command_line_fixtures", Path(__file__).parent.parent / "cli" / "conftest.py")
site, fake, run = _command_line.site, _command_line.fake, _command_line.run


class Gateway:
    """One application, asked without a network."""

    def __init__(self, decider: Any, settings: Settings) -> None:
        self.decider = decider
        self.app = create_app(decider, settings)

    def ask(self, body: Any, **more: Any) -> httpx.Response:
        """POST /v1/systemone: a value as JSON, bytes as they are."""
        content = body if isinstance(body, bytes) else json.dumps(body, ensure_ascii=False).encode()
        headers = {"content-type": "application/json", **more.pop("headers", {})}
        return self.call("POST", "/v1/systemone", content=content, headers=headers, **more)

    def call(self, method: str, path: str, base_url: str = LOCAL, **more: Any) -> httpx.Response:
        """Any request."""

        async def send() -> httpx.Response:
            wire = httpx.ASGITransport(self.app, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=wire, base_url=base_url) as client:
                return await client.request(method, path, **more)

        return asyncio.run(send())


@pytest.fixture
def gateway(gateway_stub: ModuleType) -> Iterator[Callable[..., Gateway]]:
    """Make a gateway: `gateway(Settings(...), delay_ms=...)`."""
    made: list[Gateway] = []

    def make(settings: Settings | None = None, **options: Any) -> Gateway:
        made.append(Gateway(gateway_stub.decider(**options), settings or Settings()))
        return made[-1]

    yield make
    for each in made:
        each.decider.close()


@pytest.fixture
def serving() -> Iterator[Callable[..., tuple[subprocess.Popen[str], str]]]:
    """Start a gateway process on the stub; returns it and its URL."""
    started: list[subprocess.Popen[str]] = []

    def start(options: dict[str, Any], **settings: Any) -> tuple[subprocess.Popen[str], str]:
        arguments = [sys.executable, str(STUB), json.dumps(options), json.dumps({"port": 0, **settings})]
        process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert url.startswith("http"), process.communicate()
        return process, url

    yield start
    for process in started:
        process.kill()
        process.communicate()
