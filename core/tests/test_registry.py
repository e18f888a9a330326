"""Plugins: found without an import, loaded by name, and each failure reported by name."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tiebreak import Decider, EngineUnavailable, InvalidRequest, Registry, hookimpl
from tiebreak.engine import EngineInfo
from tiebreak.names import unknown

Install = Callable[..., None]

GOOD = """
from tiebreak import hookimpl
from tiebreak.engine import EngineInfo
@hookimpl
def tiebreak_engine():
    return EngineInfo(name={name!r}, summary="test")
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Writes a distribution with one entry point into a folder on the path."""
    monkeypatch.syspath_prepend(str(tmp_path))
    modules = set(sys.modules)

    def make(dist: str, name: str, source: str, group: str = "tiebreak.engines", metadata: str | None = None) -> None:
        module = f"fake_{dist.replace('-', '_')}"
        (tmp_path / f"{module}.py").write_text(source)
        info = tmp_path / f"{dist.replace('-', '_')}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(metadata or f"Metadata-Version: 2.1\nName: {dist}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[{group}]\n{name} = {module}\n")

    yield make
    for name in set(sys.modules) - modules:
        if name.startswith("fake_"):
            del sys.modules[name]


def test_listing_imports_nothing(install: Install) -> None:
    install("boom", "boom", "raise RuntimeError('imported')")
    entries = {entry.name: entry for entry in Registry().entries()}
    assert entries["boom"].distribution == "boom"
    assert entries["boom"].version == "1.0"
    assert "fake_boom" not in sys.modules


@pytest.mark.parametrize(
    "source, says",
    [
        ("import nowhere_to_be_found", "ModuleNotFoundError"),
        ("def broken(:", "SyntaxError"),
        ("raise SystemExit(3)", "SystemExit"),
        ("class Odd(BaseException): pass\nraise Odd('odd')", "Odd"),
        ("from tiebreak import hookimpl\n@hookimpl\ndef tiebreak_engin(): pass", "tiebreak_engin"),
        ("from tiebreak import hookimpl\n@hookimpl\ndef tiebreak_engine(nonsense): pass", "nonsense"),
        ("from tiebreak import hookimpl\n@hookimpl\ndef tiebreak_engine(): return 7", "not an EngineInfo"),
        ("from tiebreak import hookimpl\n@hookimpl\ndef tiebreak_engine(): return 1/0", "ZeroDivisionError"),
        ("x = 1", "not an EngineInfo"),
        (GOOD.format(name="other"), "calls its engine 'other'"),
    ],
)
def test_a_broken_plugin_is_one_typed_error_that_names_it(source: str, says: str, install: Install) -> None:
    install("stranger", "strange", source)
    install("neighbour", "good", GOOD.format(name="good"))
    registry = Registry()
    with pytest.raises(EngineUnavailable, match=says) as caught:
        Decider("strange", registry=registry)
    assert "stranger 1.0" in str(caught.value)
    assert Decider("good", registry=registry).info.name == "good"


def test_what_a_plugin_prints_at_import_stays_off_stdout(install: Install, capsys: pytest.CaptureFixture[str]) -> None:
    install("loud", "loud", "print('noise')\n" + GOOD.format(name="loud"))
    Decider("loud", registry=Registry())
    assert capsys.readouterr().out == ""


def test_a_name_claimed_twice_names_both(install: Install) -> None:
    install("one", "dup", GOOD.format(name="dup"))
    install("two", "dup", GOOD.format(name="dup"))
    with pytest.raises(EngineUnavailable, match=r"one 1\.0 and two 1\.0"):
        Registry().plugin("dup")
    problems = {e.distribution: e.problem for e in Registry().entries() if e.name == "dup"}
    assert problems["one"].endswith("claimed by two")
    assert problems["two"].endswith("claimed by one")


def test_a_distribution_named_after_its_engine_owns_the_name(install: Install) -> None:
    install("tiebreak-mine", "mine", GOOD.format(name="mine"))
    install("thief", "mine", "raise RuntimeError('never imported')")
    assert Registry().plugin("mine").entry.distribution == "tiebreak-mine"
    problems = {e.distribution: e.problem for e in Registry().entries() if e.name == "mine"}
    assert problems == {"tiebreak-mine": "", "thief": "the name 'mine' is also claimed by tiebreak-mine"}


def test_unreadable_metadata_is_a_row_and_not_a_crash(install: Install) -> None:
    install("bad", "bad", GOOD.format(name="bad"), metadata="\x00\x01 not metadata")
    assert "bad" in Registry().names()


def test_an_unknown_engine_suggests_the_nearest_and_lists_what_there_is(install: Install) -> None:
    install("a", "alpha", GOOD.format(name="alpha"))
    with pytest.raises(EngineUnavailable, match="Did you mean 'alpha'") as caught:
        Decider("alhpa", registry=Registry())
    assert "Known: " in str(caught.value)


def test_an_engine_of_ours_that_is_not_installed_says_how(monkeypatch: pytest.MonkeyPatch) -> None:
    import tiebreak.registry

    monkeypatch.setattr(tiebreak.registry, "FIRST_PARTY", ("nowhere",))
    with pytest.raises(EngineUnavailable, match="pip install tiebreak-nowhere"):
        Registry().plugin("nowhere")


def test_an_extension_is_asked_only_when_it_is_named(install: Install) -> None:
    source = (
        "from tiebreak import hookimpl\nfrom tiebreak.stages.decider import DeciderLayout\n"
        "class Compact(DeciderLayout):\n    name = 'acme:compact'\n"
        "@hookimpl\ndef tiebreak_layout(name):\n    return Compact() if name in ('compact', 'decider') else None\n"
    )
    install("acme", "acme", source, group="tiebreak.extensions")
    registry = Registry()
    assert registry.plugin("acme", "tiebreak.extensions").entry.group == "tiebreak.extensions"


def test_an_option_that_is_none_is_refused_with_the_nearest() -> None:
    info = EngineInfo(name="e", summary="s")

    class Plugin:
        @staticmethod
        @hookimpl
        def tiebreak_engine() -> EngineInfo:
            return info

    registry = Registry()
    registry.add(Plugin, "e")
    with pytest.raises(InvalidRequest, match="Did you mean 'timeout'"):
        Decider("e", registry=registry, timeut=3)
    for bad in ({"timeout": "3"}, {"timeout": -1}, {"strict": 1}, {"min_coverage": 2}, {"queue_limit": 1.5}):
        with pytest.raises(InvalidRequest, match=next(iter(bad))):
            Decider("e", registry=registry, **bad)
    for temperature in (0, -1, "1", {"choise": 1.0}, True):
        with pytest.raises(InvalidRequest):
            Decider("e", registry=registry, temperature=temperature)  # type: ignore[arg-type]


def test_unknown_names_the_nearest() -> None:
    assert unknown("layout", "decidre", ["decider", "chat"]) == (
        "There is no layout 'decidre'. Did you mean 'decider'? Known: chat, decider."
    )
    assert unknown("engine", "x", []) == "There is no engine 'x'. None is installed."
