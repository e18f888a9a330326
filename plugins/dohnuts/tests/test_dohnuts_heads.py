"""The profiles with a head on the real program, with a model made to fit: markers renamed, head drawn at random."""

from __future__ import annotations

import json
import random
import struct
from pathlib import Path
from typing import Any

import attrs
import pytest

from tiebreak import ContextOverflow, Decider, EngineStartError, choice, models, score, yes_no
from tiebreak_dohnuts import program
from tiebreak_dohnuts.engine import DohnutsEngine
from tiebreak_dohnuts.info import INFO

pytestmark = pytest.mark.live

# Control tokens that the model never needs -> the markers of these profiles, of the same length.
MARKERS = {
    b"<jupyter_text>": b"<|fim_prefix|>",
    b"<jupyter_code>": b"<|fim_middle|>",
    b"<empty_output>": b"<|fim_suffix|>",
    b"<issue_start>": b"<|box_start|>",
    b"<repo_name>": b"<|box_end|>",
}
POINTER, WIDTH = 16, 576


@attrs.frozen
class Made:
    """A model with the markers, and a head for it."""

    model: Path
    head: Path


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    source = models.resolve("smollm2-135m").path
    assert source is not None
    content = bytearray(source.read_bytes())
    for old, new in MARKERS.items():
        at = content.index(struct.pack("<Q", len(old)) + old) + 8
        content[at : at + len(new)] = new
    directory = tmp_path_factory.mktemp("heads")
    model, head = directory / "marked.gguf", directory / "head.f32"
    model.write_bytes(content)
    draw = random.Random(3)
    count = 2 * POINTER * (WIDTH + 1)
    head.write_bytes(struct.pack(f"<{count}f", *(draw.gauss(0, 0.02) for _ in range(count))))
    return Made(model, head)


@pytest.mark.parametrize("profile", ["kev", "neohorsejev"])
def test_profiles_with_a_head_answer_and_never_cut(made: Made, profile: str, tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    path.write_text(json.dumps({"profile": profile, "pointer_dim": POINTER}))
    asked = {
        "u": yes_no("Wet?", yes="water"),
        "s": score("How wet?", ["dry", "wet", "soaked"]),
        "c": choice(None, {"rain": "x", "sun": None}),
    }
    options: dict[str, Any] = {"profile": str(path), "head": str(made.head), "threads": 1, "timeout": 300.0}
    with Decider("dohnuts", made.model, **options) as decider:
        decision = decider.decide("It rains.", asked)
        assert [tuple(answer.probabilities) for answer in decision.answers.values()] == [
            question.names for question in asked.values()
        ]
        with pytest.raises(ContextOverflow, match="token budget"):
            decider.check("word " * 4200, "Wet?")


def test_a_head_that_does_not_fit_is_a_start_error_with_the_reason(made: Made, tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    path.write_text(json.dumps({"profile": "kev", "pointer_dim": POINTER * 2}))
    with (
        Decider("dohnuts", made.model, profile=str(path), head=str(made.head), threads=1) as decider,
        pytest.raises(EngineStartError) as caught,
    ):
        decider.start()
    assert "head" in caught.value.log.lower()


def test_the_footprint_counts_all_that_is_loaded(made: Made) -> None:
    options = {**INFO.check_options({"profile": "kev", "head": str(made.head)}), "url": None}
    needed = DohnutsEngine(models.resolve(made.model), options).footprint()
    assert needed.weights == made.model.stat().st_size + made.head.stat().st_size
    assert needed.kv == 4096 * 23_040
    assert needed.cache == program.CACHE_BYTES
    assert needed.compute > 4096 * 49_152 * 4
