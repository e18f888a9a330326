"""The training from texts to figures, a few steps of it, on a model of the same architecture with two small layers."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from gguf import GGMLQuantizationType as Type
from gguf import GGUFReader, GGUFValueType, GGUFWriter
from gguf.quants import quantize

from tiebreak.engine import Vocabulary
from tiebreak.questions import Request
from tiebreak.stages.decider import DeciderLayout, SchemaFirstLayout
from tiebreak.stages.layout import Layout

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from training.prompts import Form

PACKAGE = Path(__file__).parent.parent
WIDTH, FEED, HEADS, KV_HEADS, LAYERS = 96, 192, 3, 1, 2
SMALL = {
    "llama.block_count": LAYERS,
    "llama.embedding_length": WIDTH,
    "llama.feed_forward_length": FEED,
    "llama.attention.head_count": HEADS,
    "llama.attention.head_count_kv": KV_HEADS,
    "llama.rope.dimension_count": WIDTH // HEADS,
}


@pytest.fixture(scope="module", autouse=True)
def importable() -> Any:
    """The training is run from its folder; it is no part of what is installed."""
    sys.path.insert(0, str(PACKAGE))
    yield
    sys.path.remove(str(PACKAGE))


@pytest.fixture(scope="module")
def small(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The base's metadata and tokenizer over random weights of two narrow layers."""
    path = tmp_path_factory.mktemp("small") / "small.gguf"
    writer = GGUFWriter(path, "llama")
    for field in GGUFReader(base).fields.values():
        if field.name.startswith("GGUF.") or field.name == "general.architecture":
            continue
        kind = field.types[0]
        inner = field.types[-1] if kind == GGUFValueType.ARRAY else None
        writer.add_key_value(field.name, SMALL.get(field.name, field.contents()), kind, sub_type=inner)
    random = np.random.default_rng(1)

    def matrix(name: str, rows: int, columns: int, kind: Type = Type.Q4_1) -> None:
        weights: NDArray[np.float32] = (random.standard_normal((rows, columns)) / columns**0.5).astype(np.float32)
        writer.add_tensor(f"{name}.weight", quantize(weights, kind), raw_dtype=kind)

    matrix("token_embd", 49_152, WIDTH, Type.Q8_0)
    kv = WIDTH // HEADS * KV_HEADS
    for layer in range(LAYERS):
        for name, rows, columns in (
            *(("attn_q", WIDTH, WIDTH), ("attn_k", kv, WIDTH), ("attn_v", kv, WIDTH), ("attn_output", WIDTH, WIDTH)),
            *(("ffn_gate", FEED, WIDTH), ("ffn_up", FEED, WIDTH), ("ffn_down", WIDTH, FEED)),
        ):
            matrix(f"blk.{layer}.{name}", rows, columns)
        for name in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"blk.{layer}.{name}.weight", np.ones(WIDTH, np.float32))
    writer.add_tensor("output_norm.weight", np.ones(WIDTH, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def run(module: str, *arguments: object) -> str:
    """A command of the training as its README has it; what it printed."""
    command = [sys.executable, "-m", f"training.{module}", *map(str, arguments)]
    # Of matrices this small, threads cost more than they save.
    done = subprocess.run(
        command, cwd=PACKAGE, env=os.environ | {"OMP_NUM_THREADS": "1"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def rows(small: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A handful of training rows."""
    path = tmp_path_factory.mktemp("rows") / "rows.npz"
    run("build", "--base", small, "--out", path, "--rows", 1500, "--seed", 3, "--workers", 1)
    return path


def test_from_texts_to_figures(small: Path, rows: Path, tmp_path: Path) -> None:
    common = ("--base", small, "--rows", rows, "--out", tmp_path, "--rank", 4, "--tokens", 1024, "--device", "cpu")
    run("train", *common, "--steps", 3, "--cycles", 0.5, 1, "--name", "a")
    run("train", *common, "--steps", 3, "--cycles", 1, "--name", "b", "--seed", 2)
    mean = tmp_path / "mean.safetensors"
    parts = [f"0.5:{tmp_path / name}" for name in ("a-2.safetensors", "b-1.safetensors")]
    lost = json.loads(run("average", mean, *parts, "--rank", 4))["energy lost"]
    assert 0 < lost["most"] < 1
    fake = ("--fake", 4, "--fake-from", 0, "--fake-share", 1)
    run("train", *common, "--steps", 1, "--cycles", 1, "--name", "c", "--start", mean, *fake)
    merged, small_file = tmp_path / "merged.gguf", tmp_path / "small.gguf"
    assert json.loads(run("export", small, mean, small_file, "--bits", 4))["bytes"] == small_file.stat().st_size
    exported = json.loads(run("export", small, mean, merged))
    assert exported["bytes"] == merged.stat().st_size > small_file.stat().st_size
    run("evaluate", merged, tmp_path / "figures", "--first", 3, "--layouts", "schema-first", "--rotations", 1)
    figures = json.loads((tmp_path / "figures" / "report.json").read_text())
    assert figures["schema-first"]["sets"]["g"]["choice"]["right"]["of"] == 3
    assert "| g, choice | 3 |" in (tmp_path / "figures" / "report.md").read_text()


def test_averages_are_ranked_in_both_precisions(small: Path, rows: Path, tmp_path: Path) -> None:
    held = tmp_path / "held"
    held.mkdir()
    colours = "## colours choice\nQ: which?\nred | like blood\n- It is red.\nblue | like the sky\n- It is blue.\n"
    asked = "## warm yes_no\nQ: is it warm?\nyes\n- It is hot.\nno\n- It is icy.\n"
    (held / "h.txt").write_text(colours + asked)
    common = ("--base", small, "--device", "cpu")
    for name in ("a", "b"):
        sizes = ("--rank", 4, "--tokens", 1024, "--steps", 1, "--cycles", 1, "--rate", 0.01)
        run("train", *common, "--rows", rows, "--out", tmp_path, "--name", name, "--seed", ord(name), *sizes)
    a, b = (tmp_path / f"{name}-1.safetensors" for name in "ab")
    answers = tmp_path / "answers.jsonl"
    *lines, best = run(
        "pick", *common, "--heldout", held, "--four-bits", "--start", a, "--old", 0.5, "--answers", answers, b
    ).splitlines()
    tried = [json.loads(line) for line in lines]
    assert [one["mix"] for one in tried] == [{str(b): 1}, {str(a): 1}, {str(b): 0.5, str(a): 0.5}]
    for one in tried:
        both = [one["h decider"], one["h schema-first"]], [*one["four bits"].values()]
        assert all(set(kinds) == {"choice", "yes_no", "flips"} for some in both for kinds in some)
    assert best.startswith("best on h: ")
    assert len(answers.read_text().splitlines()) == 12  # two states in two orders, two yes/no, in two layouts
    assert len((tmp_path / "answers-4bit.jsonl").read_text().splitlines()) == 12


def test_training_learns_and_repeats(small: Path, tmp_path: Path) -> None:
    few = tmp_path / "few.npz"
    run("build", "--base", small, "--out", few, "--rows", 60, "--workers", 1)
    logs = []
    for name in ("one", "two"):
        sizes = ("--rank", 8, "--tokens", 2048, "--steps", 100, "--cycles", 1, "--rate", 0.01, "--device", "cpu")
        run("train", "--base", small, "--rows", few, "--out", tmp_path / name, *sizes)
        lines = (tmp_path / name / "run.jsonl").read_text().splitlines()
        logs.append([json.loads(line) for line in lines])
    first, second = logs
    assert first[-1]["answer"] < 0.8 * first[0]["answer"]
    assert [line["loss"] for line in first] == [line["loss"] for line in second]


def test_the_rows_depend_on_the_seed_and_not_on_the_workers(small: Path, tmp_path: Path) -> None:
    from training.build import SHARD
    from training.rows import Rows

    made = []
    for name, seed, workers in (("a", 3, 1), ("b", 3, 2), ("c", 4, 2)):
        path = tmp_path / f"{name}.npz"
        count = SHARD + 10  # more than one shard, so that there is something to divide
        run("build", "--base", small, "--out", path, "--rows", count, "--seed", seed, "--workers", workers)
        made.append(Rows.load(path))
    assert np.array_equal(made[0].tokens, made[1].tokens)
    assert np.array_equal(made[0].gold, made[1].gold)
    assert not np.array_equal(made[1].tokens[:1000], made[2].tokens[:1000])


def test_the_rows_are_mixed_as_they_should_be(small: Path, tmp_path: Path) -> None:
    path = tmp_path / "rows.npz"
    said = run("build", "--base", small, "--out", path, "--rows", 4000, "--workers", 1)
    shares = json.loads(said)["shares"]
    assert shares["kind yes_no"] >= 0.4
    assert 0.45 < shares["yes"] < 0.55
    assert 0.45 < shares["form schema-first"] < 0.55
    assert 0.05 < shares["form pcd"] < 0.09


@pytest.mark.parametrize("options", [2, 12])
def test_prompts_are_those_of_the_product(small: Path, options: int) -> None:
    from training.examples import choice
    from training.prompts import Encoder
    from training.tokenizer import label_tokens, load

    tokenizer = load(small)
    labels = label_tokens(tokenizer)
    named = {f"option {place}": f"what it is: {place}" if place % 2 else None for place in range(options)}
    example = choice("test", {"text": "größer  than\n\n 42", "日本": [1, 2]}, "Which one?", named, 1)
    request = Request.of(example.state, {"q": example.question})
    layouts: dict[Form, Layout] = {"decider": DeciderLayout(), "schema-first": SchemaFirstLayout()}
    for form, layout in layouts.items():
        (row,) = layout.plan(request, Vocabulary(labels=labels)).rows
        pieces = [tokenizer.encode(piece.text, add_special_tokens=False).ids for piece in row.pieces()]
        (prompt,) = Encoder(tokenizer).rows(example, form)
        assert prompt.tokens == tuple(token for piece in pieces for token in piece)
        assert prompt.candidates == tuple(labels[label] for label in row.labels)
        # What stands before an option's end is the option, and at its end begins a line.
        for end, option in zip(prompt.ends, example.question.options, strict=True):
            assert tokenizer.decode(list(prompt.tokens[:end])).endswith(option.text)
            assert tokenizer.decode([prompt.tokens[end]]).startswith("\n")


def test_a_pair_asks_one_example_in_two_ways(small: Path) -> None:
    from training.examples import choice, score, yes_no
    from training.prompts import Encoder
    from training.tokenizer import load

    encoder = Encoder(load(small))
    options = ["red", "green", "blue", "black"]
    some = (
        choice("test", "It is green.", "Which colour?", options, 1),
        yes_no("test", "It is green.", "Is it?", True),
        score("test", "It hurts.", "How much?", ["little", "much", "very much"], 1),
    )
    for example in some:
        forms = set()
        for seed in range(40):
            first, second = encoder.pair(example, Random(seed))
            forms.add((first.form, second.form))
            assert first.tokens != second.tokens
            if example.kind == "choice":
                assert sorted(second.order) == [0, 1, 2, 3] != list(second.order)
                assert second.order[second.gold] == first.gold == example.gold
                text = encoder._tokenizer.decode(list(second.tokens))
                lines = [f"({label}) {options[option]}\n" for label, option in zip("ABCD", second.order, strict=True)]
                assert "".join(lines) in text
            else:
                assert first.form != second.form
                assert (first.gold, second.order) == (second.gold, ())
        assert len(forms) == (4 if example.kind == "choice" else 2)


def test_partners_stay_in_one_batch_and_equal_rows_part(rows: Path) -> None:
    import torch
    from training.batches import Batches, batch
    from training.rows import ALONE, Rows

    made = Rows.load(rows)
    paired = np.flatnonzero(made.partner != ALONE)
    assert 0.2 < len(paired) / len(made) < 0.45
    assert np.array_equal(made.partner[made.partner[paired]], paired)
    chosen = Batches(made, 2048, torch.device("cpu"), 1)._chosen()
    seen: list[int] = []
    while len(seen) < len(made):
        here = next(chosen)
        partners = made.partner[here]
        assert set(partners[partners != ALONE]) <= set(here)
        assert len(batch(made, here, torch.device("cpu")).pairs) == (partners != ALONE).sum() // 2
        seen += here.tolist()
    assert sorted(seen) == list(range(len(made)))
    twice = Rows.joined([made, made])
    assert np.array_equal(twice.partner, made.partner)
    assert np.array_equal(twice.order, made.order)


def test_answers_of_a_pair_are_compared_option_by_option() -> None:
    import torch
    from training.batches import Batch
    from training.objective import _FAR, _apart

    def pair(second: list[float], order: list[int]) -> tuple[float, bool]:
        logits = torch.tensor([[2.0, 0.0, 1.0, _FAR], [*second, _FAR]])
        nothing = torch.zeros(2, dtype=torch.long)
        one = Batch(
            tokens=nothing,
            last=nothing,
            candidates=nothing,
            ends=nothing,
            gold=nothing,
            schema_first=nothing,
            order=torch.tensor([[0, 1, 2, 3], [*order, 3]]),
            pairs=torch.tensor([[0, 1]]),
        )
        apart, agree = _apart(logits, one)
        return apart.item(), bool(agree)

    assert pair([1.0, 2.0, 0.0], [2, 0, 1]) == pytest.approx((0, True), abs=1e-6)
    apart, agree = pair([2.0, 0.0, 1.0], [2, 0, 1])
    assert not agree
    p, q = (np.exp(row) / np.exp(row).sum() for row in (np.array([2.0, 0.0, 1.0]), np.array([0.0, 1.0, 2.0])))
    assert apart == pytest.approx(((p - q) * np.log(p / q)).sum() / 2, abs=1e-6)


def test_rounding_in_training_is_that_of_the_file() -> None:
    import torch
    from training.rounding import Rounds, rounded

    from tiebreak_smol_decider.blocks import from_q4_1, to_q4_1

    weights = np.random.default_rng(3).normal(size=(4, 96, 64)).astype(np.float32)
    weights[0, 0] = 0.25
    here = rounded(torch.from_numpy(weights)).numpy()
    there = from_q4_1(to_q4_1(weights.reshape(-1, 32).astype(np.float64))).reshape(weights.shape)
    assert np.mean(np.abs(here - there) > 1e-6) < 1e-3  # the middles of steps
    half = Rounds(bits=4, start=0.5, share=0.5)
    assert [half.now(step, step / 8) for step in range(8)] == [False] * 5 + [True, False, True]
    assert not any(Rounds().now(step, 1.0) for step in range(8))
    with pytest.raises(ValueError, match="not 3"):
        Rounds(bits=3)


def test_a_score_is_asked_level_by_level(small: Path) -> None:
    from training.examples import score
    from training.prompts import Encoder
    from training.tokenizer import load

    encoder = Encoder(load(small))
    example = score("test", "It hurts.", "How much?", ["little", "much", "very much"], 1)
    rows = encoder.rows(example, "decider")
    assert [row.gold for row in rows] == [0, 1, 0]
    drawn = [encoder.drawn(example, "decider", Random(seed)) for seed in range(50)]
    assert all(prompt in rows for prompt in drawn)
    assert {prompt.gold for prompt in drawn} == {0, 1}


def test_fields_of_pcdserver_are_those_that_its_plugin_sends() -> None:
    from training.examples import choice, score, yes_no
    from training.prompts import pcd_field

    from tiebreak_pcdserver.layout import FieldLayout

    for example in (
        choice("test", "a", "Which?", {"one": "the first", "two": None}, 0),
        yes_no("test", "a", "Is it?", True, yes="it is"),
        score("test", "a", "How much?", ["little", "much"], 1),
    ):
        plan = FieldLayout("pcd").plan(Request.of("a", {"q": example.question}), Vocabulary())
        (field,) = json.loads(plan.rows[0].segments[0].text)
        description, values = pcd_field(example.question)
        assert field["description"] == description
        assert [json.dumps(value) if isinstance(value, bool) else value for value in field["choices"]] == list(values)


@pytest.mark.parametrize(
    "text, complaint",
    [
        ("- a state", "x.txt:1: before the first"),
        ("## name maybe", "x.txt:1: .* kind of choice"),
        ("## name choice\nQ: which?\na\n- one\nb", "x.txt:5: 'b' has no state"),
        ("## name choice\nQ: which?\na\n- one\nb\n- one", "x.txt:5: .* twice"),
        ("## name choice\na\n- one\nb\n- two", "x.txt:1: .* no 'Q: '"),
        ("## name yes_no\nQ: is it?\nyes\n- one\nmaybe\n- two", "x.txt:1: .* not yes and no"),
        ("## name yes_no\nS: one\nyes? is it?", "x.txt:1: questions of one answer"),
        ("## name score\nQ: how much?\n0 | none\n- one\n2 | much\n- two", "x.txt:1: .* not 0, 1"),
        ("## name score\nQ: how much?\n0\n- one\n1 | much\n- two", "x.txt:3: level 0 has no name"),
    ],
)
def test_a_mistake_in_a_task_file_is_named(text: str, complaint: str) -> None:
    from training.tasks import TaskError, parse

    with pytest.raises(TaskError, match=complaint):
        parse(text, "x.txt")


def test_no_held_out_text_is_trained_on() -> None:
    assert run("overlap", "--samples", 20).endswith("0 shared runs\n")


def test_shared_text_is_found() -> None:
    from training.overlap import Index

    index = Index([("held out", "The swing by the river has a broken chain.")], ["the swing by the river"])
    hit = index.search("Der Nachbar: 'swing by the RIVER has a rope'", "training")
    assert hit is not None
    assert hit.shared == "swing by the river has a"
    assert index.search("The swing by the river is new.", "training") is None


def test_the_readme_names_commands_that_exist() -> None:
    text = (PACKAGE / "training" / "README.md").read_text()
    modules = set(re.findall(r"training\.([a-z]+)", text))
    assert {"build", "train", "pick", "average", "export", "evaluate", "overlap"} <= modules
    assert all((PACKAGE / "training" / f"{module}.py").exists() for module in modules)
