"""The engine as a user has it, on a tiny model; the default model's answers are in the `live` tests."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tiebreak import (
    ContextOverflow,
    Decider,
    EngineUnavailable,
    InvalidRequest,
    MemoryRefused,
    ModelUnavailable,
    Unsupported,
    choice,
    models,
    score,
    yes_no,
)
from tiebreak.memory import MemoryGuard, MemoryLimits
from tiebreak.pool import Pool
from tiebreak.stages.decider import DeciderLayout
from tiebreak_transformers.info import TOLERANCE

Make = Callable[..., Decider]
QUESTIONS = {
    "team": choice("Which team?", {"roads": "holes", "waste": "bins", "noise": "music"}),
    "today": yes_no("Is it urgent?"),
    "anger": score("How angry?", ["calm", "annoyed", "furious"]),
}
BAR = "The bar plays techno."


def numbers(decision: Any) -> list[float]:
    return [value for answer in decision.answers.values() for value in answer.probabilities.values()]


def test_every_kind_is_answered_with_an_account_of_it(make: Make) -> None:
    decision = make().decide(BAR, QUESTIONS)
    assert decision.timings.prefill is not None
    assert 0 < decision.timings.prefill < decision.timings.total
    phases = decision.timings.engine
    assert set(phases) == {"tokenise_ms", "compute_ms", "batch_requests", "batch_rows", "batch_tokens"}
    assert phases["batch_rows"] == 5
    assert decision.receipt.model_sha256 is not None
    assert "float32 on cpu" in decision.receipt.engine_version
    assert all(0 < answer.coverage <= 1 for answer in decision.answers.values() if answer.coverage is not None)


@pytest.mark.parametrize("layout", ["decider", "schema-first", "chat"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_cold_warm_and_in_company_are_within_the_declared_tolerance(layout: str, dtype: str, make: Make) -> None:
    cold, warm = (make(layout=layout, dtype=dtype, cache=cache) for cache in ("off", "prefix"))
    first = cold.decide(BAR, QUESTIONS)
    assert first.cache.status == "off"
    found = [warm.decide(BAR, QUESTIONS) for _ in range(3)]
    assert found[0].cache.status in ("miss", "hit")
    assert found[2].cache.status == "hit"
    assert 0 < (found[2].cache.reused_tokens or 0) < (found[2].receipt.prompt_tokens or 0)
    tolerance = warm.session.engine.capabilities.tolerance
    assert tolerance == TOLERANCE[dtype]
    for decision in found:
        assert numbers(decision) == pytest.approx(numbers(first), abs=tolerance)


def test_requests_that_wait_are_computed_together(make: Make) -> None:
    decider = make(cache="off").start()
    states = [f"{n}: the bins are full" for n in range(12)]
    right = [numbers(decider.decide(state, QUESTIONS)) for state in states]
    engine: Any = decider.session.engine
    loaded = engine._ready()
    with concurrent.futures.ThreadPoolExecutor(12) as threads:
        with loaded._lock:  # the first of them holds the others up
            futures = [threads.submit(decider.decide, state, QUESTIONS) for state in states]
            while len(loaded._turns._queue) < 11:
                pass
        found = [future.result() for future in futures]
    for decision, expected in zip(found, right, strict=True):
        assert numbers(decision) == pytest.approx(expected, abs=TOLERANCE["float32"])
    assert max(decision.timings.engine["batch_requests"] for decision in found) == 11


def test_a_stream_is_answered_in_order_by_few_passes(make: Make) -> None:
    decider = make(layout="schema-first")
    rows = [(f"state {n}", {"today": QUESTIONS["today"]}) for n in range(40)]
    found = list(decider.decide_many(rows))
    for decision, (state, questions) in zip(found, rows, strict=True):
        assert numbers(decision) == pytest.approx(numbers(decider.decide(state, questions)), abs=1e-4)
    assert found[-1].cache.status == "hit"  # type: ignore[union-attr]


def test_a_shared_beginning_is_computed_once(make: Make) -> None:
    decider = make(layout="schema-first", cache_entries=77).start()
    session = decider.session
    from tiebreak.questions import Request

    plans = [
        session.stages.cache.cut(
            DeciderLayout().plan(
                Request.of("one state", {"q": choice(f"Question {n}?", ["a", "b"])}), session.engine.vocabulary
            )
        )
        for n in range(4)
    ]
    engine: Any = session.engine
    outcomes = engine.evidence(plans, lambda: False)
    whole = sum(outcome.prompt_tokens for outcome in outcomes)
    prefix = 3 * len(engine._ready()._reader.prompt(plans[0].rows[0])[0][: plans[0].rows[0].cut])
    assert outcomes[0].phases["batch_tokens"] <= whole - prefix
    assert {outcome.cache.status for outcome in outcomes} == {"miss"}, "what this batch computed itself is no hit"


def test_pins_outlast_others_and_do_not_fit_everywhere(make: Make) -> None:
    decider = make(cache_mib=1, cache_entries=2)
    decider.pin(state=BAR)
    for number in range(4):
        decider.decide(f"Another state {number}", {"today": QUESTIONS["today"]})
    decision = decider.decide(BAR, {"today": QUESTIONS["today"]})
    assert decision.cache.status == "hit"
    assert decision.cache.entries == 2
    with pytest.raises(InvalidRequest, match="do not fit into the cache of 1 MiB"):
        decider.pin(state="word " * 1500)
    with pytest.raises(Unsupported, match="state-first"):
        decider.pin(questions=QUESTIONS)
    decider.unpin(state=BAR)
    with pytest.raises(InvalidRequest, match="cache is 'off'"):
        make(cache="off").pin(state=BAR)


def test_an_overlong_prompt_is_refused_before_anything_is_computed(make: Make) -> None:
    with pytest.raises(ContextOverflow, match="the window has 64") as caught:
        make(context=64).choose("word " * 200, ["a", "b"])
    assert caught.value.tokens is not None
    assert caught.value.tokens > 200


@pytest.mark.parametrize(
    "options, message",
    [
        ({"dtype": "int8"}, "dtype"),
        ({"device": "tpu"}, "device"),
        ({"batch_tokens": 0}, "batch_tokens"),
        ({"graphs": True}, "CUDA graphs need"),
        ({"url": "http://127.0.0.1:1"}, "no server to attach to"),
    ],
)
def test_bad_options_are_refused_before_anything_is_loaded(options: dict[str, Any], message: str, make: Make) -> None:
    with pytest.raises(InvalidRequest, match=message):
        make(**options).session  # noqa: B018  opened


def test_a_device_that_is_not_there_says_which_are(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(EngineUnavailable, match=r"sees no cuda device here\. It sees: .*cpu"):
        make(device="cuda").start()


def test_labels_of_several_tokens_are_refused(make: Make) -> None:
    class Words(DeciderLayout):
        name = "words"

        def plan(self, request: Any, vocabulary: Any) -> Any:
            import attrs

            plan = super().plan(request, vocabulary)
            return attrs.evolve(plan, rows=tuple(attrs.evolve(row, labels=("several", "tokens")) for row in plan.rows))

    with pytest.raises(Unsupported, match="several tokens"):
        make(layout=Words()).check(BAR, "Is it?")


def test_a_folder_that_is_no_model_names_what_is_missing(tmp_path: Path, tiny: Path, make: Make) -> None:
    with pytest.raises(ModelUnavailable, match=r"has no config\.json"):
        make(model=tmp_path).start()
    (tmp_path / "config.json").write_bytes((tiny / "config.json").read_bytes())
    with pytest.raises(ModelUnavailable, match=r"has no model\.safetensors"):
        make(model=tmp_path).start()
    (tmp_path / "model.safetensors.index.json").write_text("[]")
    with pytest.raises(ModelUnavailable, match="not an index of weights"):
        make(model=tmp_path).start()


def test_only_engines_that_read_folders_are_given_one(tiny: Path) -> None:
    with pytest.raises(ModelUnavailable, match="director"):
        models.resolve(tiny)
    assert models.resolve(tiny, formats=("gguf", "folder")).path == tiny
    with pytest.raises(InvalidRequest, match="which file of the repository"):
        models.resolve("hf:owner/repository")


def test_the_hash_of_a_folder_is_that_of_its_files(tiny: Path, tmp_path: Path) -> None:
    formats = ("gguf", "folder")
    for file in tiny.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    first, second = (models.resolve(folder, formats=formats).sha256 for folder in (tiny, tmp_path))
    assert first == second
    (tmp_path / "config.json").write_text((tmp_path / "config.json").read_text() + "\n")
    assert models.resolve(tmp_path, formats=formats).sha256 != first


def test_what_would_not_fit_is_not_loaded(tiny: Path) -> None:
    pool = Pool(MemoryGuard(MemoryLimits(reserve=1 << 60)))
    with pytest.raises(MemoryRefused, match=r"weights .* cache budget"):
        Decider("transformers", tiny, pool=pool, device="cpu").start()
    pool.close()


def _child(decider: Decider, queue: Any) -> None:
    try:
        decider.check(BAR, "Is it?")
    except EngineUnavailable as error:
        queue.put(str(error))


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_is_told_why_it_cannot_go_on(make: Make) -> None:
    decider = make().start()
    fork = multiprocessing.get_context("fork")
    queue = fork.Queue()
    process = fork.Process(target=_child, args=(decider, queue))
    process.start()
    assert "before this process was forked" in queue.get(timeout=60)
    process.join(60)
    assert threading.active_count() >= 1


def test_the_doctor_names_versions_and_device() -> None:
    from tiebreak_transformers.findings import findings

    found = {finding.subject: finding for finding in findings()}
    assert found["version"].state == found["device"].state == "ok"
    assert "torch" in found["version"].detail


def test_the_tables_of_the_manual_are_the_engines_own() -> None:
    tool = Path(__file__).parents[3] / "docs" / "tools" / "engine_tables.py"
    result = subprocess.run(
        [sys.executable, str(tool), "--check", "transformers"], capture_output=True, text=True, encoding="utf-8"
    )
    assert result.returncode == 0, result.stdout + result.stderr
