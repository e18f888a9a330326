"""Fixtures that several test modules share."""

from __future__ import annotations

import importlib.util
import struct
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tiebreak import Decider, models
from tiebreak.pool import Pool

MakeGguf = Callable[..., bytes]


@pytest.fixture(scope="session")
def http_stub() -> ModuleType:
    """The module of the stub engine and its server."""
    return _stub("http_stub")


def _stub(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, Path(__file__).parent / "stubs" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # so that what it defines can be pickled and looked up
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def browser_driver() -> Iterator[tuple[ModuleType, Any]]:
    """The module of the browser, and its driver, running."""
    module = _stub("browser")
    with module.driver() as wire:
        yield module, wire


@pytest.fixture
def browser(browser_driver: tuple[ModuleType, Any]) -> Iterator[Callable[..., Any]]:
    """Opens tabs of so many pixels, light or dark, and closes them."""
    module, wire = browser_driver
    opened: list[Any] = []

    def start(width: int = 1280, dark: bool = False) -> Any:
        opened.append(module.Browser(wire, width, dark))
        return opened[-1]

    yield start
    for each in opened:
        each.close()


@pytest.fixture
def stub(http_stub: ModuleType) -> Iterator[Any]:
    """A running stub server."""
    server = http_stub.Server()
    yield server
    server.stop()


@pytest.fixture
def decider(http_stub: ModuleType, stub: Any) -> Iterator[Callable[..., Decider]]:
    """Makes Deciders on the stub server, in a pool of their own, and closes them."""
    pool = Pool()

    def make(**options: Any) -> Decider:
        options.setdefault("url", stub.url)
        return Decider("stub", registry=http_stub.registry(), pool=pool, **options)

    yield make
    pool.close()


@pytest.fixture(scope="session")
def smol() -> Path:
    """The registered model, fetched into the user's cache where it is not there yet."""
    path = models.resolve("smollm2-135m").path
    assert path is not None
    return path


@pytest.fixture(scope="session")
def make_gguf() -> MakeGguf:
    """A writer of small GGUF files, independent of the reader under test."""
    return _gguf


def _gguf(
    metadata: Mapping[str, Any] | None = None,
    tensors: Sequence[tuple[str, tuple[int, ...], int, int, bytes]] | None = None,
    *,
    version: int = 3,
    alignment: int = 32,
) -> bytes:
    """`tensors` are (name, shape, ggml type, offset, data); one F32 tensor of 8 where not given."""
    if metadata is None:
        metadata = {"general.architecture": "llama", "general.name": "tiny"}
    if tensors is None:
        tensors = [("output.weight", (8,), 0, 0, bytes(range(32)))]
    out = bytearray(b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(metadata)))
    for key, value in metadata.items():
        out += _text(key) + _typed(value)
    for name, shape, kind, offset, _ in tensors:
        out += _text(name) + struct.pack("<I", len(shape)) + struct.pack(f"<{len(shape)}Q", *shape)
        out += struct.pack("<IQ", kind, offset)
    if tensors:
        out += bytes(-len(out) % alignment)
    start = len(out)
    for _, _, _, offset, data in tensors:
        out += bytes(start + offset - len(out)) + data
    return bytes(out)


def _text(value: str) -> bytes:
    raw = value.encode("utf-8", "surrogateescape")
    return struct.pack("<Q", len(raw)) + raw


def _typed(value: Any) -> bytes:
    if isinstance(value, bytes):  # already encoded, type number included
        return value
    if isinstance(value, str):
        return struct.pack("<I", 8) + _text(value)
    if isinstance(value, bool):
        return struct.pack("<I?", 7, value)
    if isinstance(value, int):
        return struct.pack("<II", 4, value)
    if isinstance(value, float):
        return struct.pack("<If", 6, value)
    kind = 8 if value and isinstance(value[0], str) else 5
    items = b"".join(_text(x) if kind == 8 else struct.pack("<i", x) for x in value)
    return struct.pack("<IIQ", 9, kind, len(value)) + items
