"""The commands about the installation, help texts and usage errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tiebreak import __version__, cli

COMMANDS = ("choose", "check", "rate", "decide", "explain", "engines", "models", "pull", "doctor")


def test_version_and_help(run: Any, site: Any) -> None:
    assert run("--version").out == f"tiebreak {__version__}\n"
    result = run("--help")
    assert result.code == 0
    for command in COMMANDS:
        assert f"  {command} " in result.out
        assert run(command, "--help").out.startswith(f"Usage: tiebreak {command} ")
    for form in COMMANDS[:4]:
        assert run("explain", form, "--help").out.startswith(f"Usage: tiebreak explain {form} ")


@pytest.mark.parametrize(
    "arguments, said",
    [
        (("choos",), "No such command 'choos'"),
        (("--nothing",), "See `tiebreak --help`."),
        (("pull",), "Missing argument 'MODEL'. See `tiebreak pull --help`."),
        (("engines", "--timeout", "x"), "'x' is not a valid float"),
        (("engines", "extra"), "unexpected extra argument"),
    ],
)
def test_usage_errors_are_one_line(run: Any, arguments: tuple[str, ...], said: str) -> None:
    result = run(*arguments)
    assert (result.code, result.out) == (2, "")
    assert said in result.err and result.err.count("\n") == 1


def test_nothing_asked_shows_the_help(run: Any) -> None:
    result = run()
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("Usage: tiebreak")


def test_main_ends_the_process(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["--version"])
    assert ended.value.code == 0


def test_engines(fake: Any, run: Any) -> None:
    result = run("engines")
    assert result.code == 0
    header, *rows = (line.split("\t") for line in result.out.splitlines())
    assert header == ["NAME", "STATE", "DISTRIBUTION", "DETAIL"]
    assert ["fake", "ok", "dist-of-fake 1.5", "Fixed evidence."] in rows


def test_models(fake: Any, run: Any) -> None:
    result = run("models")
    assert result.code == 0
    header, *rows = (line.split("\t") for line in result.out.splitlines())
    assert header == ["NAME", "SIZE", "LICENCE", "WHERE", "SUMMARY"]
    by_name = {row[0]: row for row in rows}
    assert by_name["fake-model"][1:4] == ["?", "MIT", "hosted"]
    assert by_name["smollm2-135m"][1:4] == ["98 MB", "Apache-2.0", "not here; tiebreak pull smollm2-135m"]


def test_pull_checks_a_file(site: Any, run: Any, tmp_path: Path, make_gguf: Any) -> None:
    file = tmp_path / "tiny.gguf"
    file.write_bytes(make_gguf())
    assert run("pull", str(file)).out == f"{file}\n"
    record = json.loads(run("pull", str(file), "--json").out)
    assert record["path"] == str(file) and record["bytes"] == file.stat().st_size and len(record["sha256"]) == 64
    file.write_bytes(b"GGUF")
    result = run("pull", str(file))
    assert (result.code, result.out) == (3, "")
    assert str(file) in result.err and result.err.count("\n") == 1


def test_pull_of_what_has_no_file_or_no_name(fake: Any, run: Any) -> None:
    hosted = run("pull", "fake-model")
    assert (hosted.code, hosted.out) == (0, "")
    assert "hosted" in hosted.err
    assert run("pull", "nosuch").code == 2


def test_progress_goes_to_standard_error(site: Any, run: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from tiebreak import models

    def resolve(reference: str, registered: object, *, progress: Any) -> models.Model:
        for done in (0, 50, 100):
            progress(done, 100, "fetching it")
        return models.Model(reference=reference, name="x", path=tmp_path)

    monkeypatch.setattr(models, "resolve", resolve)
    result = run("pull", "x")
    assert result.out == f"{tmp_path}\n"
    assert result.err == "tiebreak: fetching it (100 bytes)\n"


@pytest.mark.parametrize("state, code", [("ok", 0), ("warn", 0), ("fail", 3)])
def test_doctor_ends_by_the_worst_finding(
    fake: Any, run: Any, monkeypatch: pytest.MonkeyPatch, state: str, code: int
) -> None:
    monkeypatch.setenv("FAKE_STATE", state)
    result = run("doctor", "fake")
    assert result.code == code
    header, *rows = (line.split("\t") for line in result.out.splitlines())
    assert header == ["SUBJECT", "STATE", "DETAIL", "REMEDY"]
    assert [row[0] for row in rows] == ["tiebreak", "cache", "fake", "fake: binary"]
    assert rows[-1][1:] == [state, "it was looked at", "Do something."]


def test_doctor_of_an_unknown_engine(fake: Any, run: Any) -> None:
    result = run("doctor", "fakee")
    assert (result.code, result.out) == (3, "")
    assert "Did you mean 'fake'?" in result.err


def test_doctor_finds_a_cache_that_is_no_directory(
    fake: Any, run: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TIEBREAK_CACHE", str(tmp_path / "file" / "cache"))
    result = run("doctor", "fake")
    assert result.code == 3
    assert "TIEBREAK_CACHE" in result.out


def test_where_a_registered_model_lies(site: Any, tmp_path: Path, make_gguf: Any) -> None:
    from tiebreak.models import ModelInfo, cached

    file = tmp_path / "tiny.gguf"
    known = ModelInfo(name="tiny", summary="s", licence="MIT", source=str(file))
    assert cached(known) is None
    file.write_bytes(make_gguf())
    assert cached(known) == file
    wheel = ModelInfo(name="tiny", summary="s", licence="MIT", source="pypi:no-such-dist==1.0/tiny.gguf")
    assert cached(wheel) is None
    place = tmp_path / "cache" / "models" / "no-such-dist-1.0" / "tiny.gguf"
    place.parent.mkdir(parents=True)
    place.write_bytes(make_gguf())
    assert cached(wheel) == place
    assert cached(ModelInfo(name="tiny", summary="s", licence="MIT", source="hf:no-such/repository/tiny.gguf")) is None
