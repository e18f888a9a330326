"""Broken plugins: every command lives, and each plugin is reported by name, distribution and cause."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tiebreak import __version__

NAMED = "from tiebreak import hookimpl\nfrom tiebreak.engine import EngineInfo\n"
BROKEN: dict[str, tuple[str | None, str]] = {
    "importing": ("import no_such_module_anywhere", "ModuleNotFoundError: No module named 'no_such_module_anywhere'"),
    "syntax": ("def (", "SyntaxError"),
    "exiting": ("raise SystemExit(0)", "SystemExit: 0"),
    "ending": ("import os\nos._exit(7)", "exit status 7"),
    "crashing": ("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)", "signal SIGSEGV"),
    "strange": ("class Odd(BaseException): pass\nraise Odd('so')", "Odd: so"),
    "sleeping": ("import time\ntime.sleep(60)", "not done within 3 s"),
    "removed": (None, "ModuleNotFoundError"),
    "unhooked": ("x = 1", "tiebreak_engine returned None"),
    "unknown-hook": (
        f"{NAMED}\n@hookimpl\ndef tiebreak_engin():\n    pass\n",
        "unknown hook 'tiebreak_engin'",
    ),
    "wrong-argument": (
        f"{NAMED}\n@hookimpl\ndef tiebreak_load(info, modl):\n    pass\n",
        "modl",
    ),
    "misnamed": (
        f"{NAMED}\n@hookimpl\ndef tiebreak_engine():\n    return EngineInfo(name='other', summary='s')\n",
        "it calls its engine 'other'",
    ),
    "exit-in-hook": (
        f"{NAMED}\n@hookimpl\ndef tiebreak_engine():\n    raise SystemExit(0)\n",
        "tiebreak_engine raised SystemExit",
    ),
}
PRINTING = f"print('hello from import')\n{NAMED}\n@hookimpl\ndef tiebreak_engine():\n" + (
    "    return EngineInfo(name='printing', summary='It prints.')\n"
)
BAD_METADATA = {
    "no-name": (b"Metadata-Version: 2.1\nVersion: 1\n", None),
    "empty": (b"", None),
    "binary": (b"\xff\xfe\x00", None),
    "no-value": (None, b"[tiebreak.engines]\njust-a-name\n"),
    "not-text": (None, b"\xff\xfe[tiebreak.engines]\nx = y\n"),
    "not-a-target": (None, b"[tiebreak.engines]\nnot-a-target = this is no module!\n"),
}


def _rows(run: Any, *arguments: str) -> dict[str, Any]:
    result = run("engines", "--json", *arguments)
    assert result.code == 0, result.err
    return {row["name"]: row for row in json.loads(result.out)["engines"]}


def test_every_kind_of_broken_plugin_is_a_row(fake: Any, run: Any) -> None:
    names = {name: fake.add(name, code) for name, (code, _) in BROKEN.items()}
    fake.add("printing", PRINTING)
    rows = _rows(run, "--timeout", "3")
    for name, (_, cause) in BROKEN.items():
        row = rows[name]
        assert row["state"] == "fail", name
        assert cause in row["detail"], (name, row["detail"])
        assert row["distribution"] == names[name] and names[name] in row["detail"]
    assert rows["printing"]["state"] == "warn"
    assert "hello from import" in rows["printing"]["detail"]
    assert rows["fake"]["state"] == "ok"
    assert rows["fake"]["info"]["kinds"] == ["choice", "yes_no", "score"]
    unchecked = _rows(run, "--no-check")
    assert {unchecked[name]["state"] for name in (*BROKEN, "printing", "fake")} == {"unchecked"}


def test_broken_plugins_disturb_nothing_else(fake: Any, spawn: Any) -> None:
    for name, (code, _) in BROKEN.items():
        fake.add(name, code)
    fake.add("printing", PRINTING)
    for number, (metadata, points) in enumerate(BAD_METADATA.values()):
        fake.add(f"bad{number}", "x = 1", metadata=metadata, entry_points=points)
    assert spawn("--version").out == f"tiebreak {__version__}\n"
    assert "Commands:" in spawn("--help").out
    result = spawn("choose", "s", "a", "b", "--engine", "fake")
    assert (result.code, result.out) == (0, "b\n")
    assert "broken" not in result.err


@pytest.mark.parametrize(
    "name", ["importing", "syntax", "exiting", "strange", "removed", "unknown-hook", "exit-in-hook"]
)
def test_a_broken_plugin_that_is_asked_for(fake: Any, run: Any, name: str) -> None:
    code, cause = BROKEN[name]
    distribution = fake.add(name, code)
    result = run("choose", "s", "a", "b", "--engine", name)
    assert (result.code, result.out) == (3, "")
    assert f"Plugin '{name}' of {distribution} 1.5 is broken" in result.err
    assert cause in result.err and "uninstall" in result.err
    assert "Traceback" not in result.err


def test_printing_at_import_does_not_reach_the_result(site: Any, fake: Any, run: Any) -> None:
    site.add("printing", PRINTING)
    result = run("choose", "s", "a", "b", "--engine", "printing")
    assert result.out == ""
    assert "hello from import" in result.err


@pytest.mark.parametrize("kind", BAD_METADATA)
def test_bad_metadata_is_a_row_or_nothing(fake: Any, run: Any, kind: str) -> None:
    metadata, points = BAD_METADATA[kind]
    fake.add("odd", None, distribution=kind, metadata=metadata, entry_points=points)
    rows = _rows(run)
    assert rows["fake"]["state"] == "ok"
    odd = rows["odd" if metadata is not None else kind]
    assert odd["state"] == "fail"
    assert kind in odd["distribution"] or "unreadable metadata" in odd["distribution"]


def test_a_name_taken_twice(fake: Any, run: Any) -> None:
    fake.add("twice", "x = 1", distribution="first-dist")
    fake.add("twice", "x = 1", distribution="second-dist")
    result = run("engines", "--json")
    rows = [row for row in json.loads(result.out)["engines"] if row["name"] == "twice"]
    assert [row["state"] for row in rows] == ["fail", "fail"]
    assert "second-dist" in rows[0]["detail"] and "first-dist" in rows[1]["detail"]
    asked = run("choose", "s", "a", "b", "--engine", "twice")
    assert asked.code == 3
    assert "first-dist" in asked.err and "second-dist" in asked.err


def test_a_name_taken_from_its_owner(fake: Any, run: Any) -> None:
    fake.add("mine", "x = 1", distribution="tiebreak-mine")
    fake.add("mine", "x = 1", distribution="thief")
    rows = [row for row in json.loads(run("engines", "--json", "--no-check").out)["engines"] if row["name"] == "mine"]
    assert {row["distribution"]: row["state"] for row in rows} == {"thief": "fail", "tiebreak-mine": "unchecked"}


def test_models_and_doctor_with_broken_plugins(fake: Any, run: Any) -> None:
    fake.add("importing", BROKEN["importing"][0])
    fake.add("no-list", f"{NAMED}\n@hookimpl\ndef tiebreak_models():\n    return 5\n")
    models = run("models", "--json")
    assert models.code == 0
    assert {"smollm2-135m", "fake-model"} <= {model["name"] for model in json.loads(models.out)["models"]}
    assert "dist-of-importing" in models.err
    assert "tiebreak_models returned 5, not a list of ModelInfo" in models.err
    doctor = run("doctor", "--json")
    assert doctor.code == 3
    findings = {finding["subject"]: finding for finding in json.loads(doctor.out)["findings"]}
    assert findings["importing"]["state"] == "fail" and "dist-of-importing" in findings["importing"]["detail"]
    assert findings["fake"]["state"] == "ok" and findings["fake: binary"]["detail"] == "it was looked at"
