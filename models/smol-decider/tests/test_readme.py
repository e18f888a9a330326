"""The examples of README.md, run as they are printed there on a real engine."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tiebreak.models import Model

pytestmark = pytest.mark.live

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def example(language: str) -> str:
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    return str(found)


def run(model: Model, *command: str) -> str:
    """In an environment whose cache holds the model, and nothing else to look for it in."""
    assert model.path is not None
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_command_line_example(model: Model) -> None:
    program, *arguments = shlex.split(example("sh").replace("\\\n", " "))
    assert run(model, "-m", program, *arguments).strip() == "noise"


def test_the_python_example(model: Model) -> None:
    assert run(model, "-c", example("python")).split() == ["billing", "technical"]
