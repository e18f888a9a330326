"""Whole datasets: what `tiebreak map` costs over a bare engine, what it holds in memory, and that kills change nothing.

    python benchmarks/datasets.py rate  [--rows 100000] [--places 8] [--delay-ms 5]
    python benchmarks/datasets.py kills [--rows 20000] [--times 20] [--form jsonl|csv|parquet] [--on-ray]
    python benchmarks/datasets.py real  [--rows 2000] [--engine NAME] [--option NAME=VALUE ...]

`rate` and `kills` use a stub engine whose answers are a function of the prompt and take as long as is asked; each row
is another one, so nothing is saved by asking the same once. The bare engine is asked the same prompts, laid out
before, by as many threads as it has places. `real` asks one schema about every row on a real engine, and prints what
a row takes beside the median and the best of single calls, made just before and just after.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tiebreak import Decider, Question, Registry, Request, choice, yes_no
from tiebreak.answers import CacheReport
from tiebreak.engine import Capabilities, EngineInfo, LocalEngine, OptionSpec, Vocabulary
from tiebreak.evidence import Outcome, TokenScores
from tiebreak.hookspecs import hookimpl
from tiebreak.plan import Plan
from tiebreak.pool import Pool

ASKED = {
    "columns": "text",
    "questions": {
        "team": {"kind": "choice", "question": "Which team?", "options": ["roads", "waste", "noise"]},
        "urgent": {"kind": "yes_no", "question": "Is it urgent?"},
    },
}
QUESTIONS: dict[str, Question] = {
    "team": choice("Which team?", ["roads", "waste", "noise"]),
    "urgent": yes_no("Is it urgent?"),
}
PLACES, DELAY = int(os.environ.get("STUB_PLACES", "8")), float(os.environ.get("STUB_DELAY_MS", "5")) / 1e3

INFO = EngineInfo(
    name="waiting",
    summary="Answers from a hash, after a while.",
    capabilities=Capabilities(concurrency=PLACES),
    needs_model=False,
    options=(OptionSpec(name="unused", help="Nothing."),),
)


class Waiting(LocalEngine):
    """Sleeps as long as an engine would compute, which leaves the interpreter to others as native code does."""

    ready = True

    def __init__(self) -> None:
        self.info, self.limits, self.capabilities = INFO, INFO.limits, INFO.capabilities
        self.vocabulary = Vocabulary()

    def start(self) -> None:
        """See `LocalEngine.start`."""

    def close(self) -> None:
        """See `LocalEngine.close`."""

    def evidence(self, plans: Any, cancelled: Callable[[], bool]) -> list[Outcome]:
        """See `LocalEngine.evidence`."""
        time.sleep(DELAY)
        return [self._outcome(plan) for plan in plans]

    @staticmethod
    def _outcome(plan: Plan) -> Outcome:
        scores = []
        for row in plan.rows:
            seed = hash_of(row.text())
            scores.append(
                TokenScores(logprobs=tuple(-1.0 - (seed >> 8 * i) % 256 / 64 for i, _ in enumerate(row.labels)))
            )
        return Outcome(
            evidence=tuple(scores), cache=CacheReport(scope="schema", status="unknown"), engine_ms=DELAY * 1e3
        )


def hash_of(text: str) -> int:
    """A number that is the same in every process."""
    import zlib

    return zlib.crc32(text.encode())


class Plugin:
    """The hooks, as a module would have them."""

    @staticmethod
    @hookimpl
    def tiebreak_engine() -> EngineInfo:
        """See the hook."""
        return INFO

    @staticmethod
    @hookimpl
    def tiebreak_load() -> Waiting:
        """See the hook."""
        return Waiting()


def write(path: Path, rows: int) -> None:
    """Complaints, each another one; with some bad lines among them."""
    with path.open("w", encoding="utf-8") as file:
        for number in range(rows):
            text = f"Complaint {number:07d}: the bar downstairs plays techno until four"
            file.write("{\n" if number % 997 == 996 else json.dumps({"id": number, "text": text}) + "\n")


def install(folder: Path) -> dict[str, str]:
    """This file as a plugin that every process finds; the environment for them."""
    info = folder / "site" / "waiting-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: waiting\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[tiebreak.engines]\nwaiting = datasets_benchmark:Plugin\n")
    (info.parent / "datasets_benchmark.py").write_bytes(Path(__file__).read_bytes())
    (folder / "q.json").write_text(json.dumps(ASKED))
    return {**os.environ, "PYTHONPATH": str(info.parent), "RAY_USAGE_STATS_ENABLED": "0"}


def command(*arguments: str) -> list[str]:
    """`tiebreak map` on the stub."""
    return [sys.executable, "-m", "tiebreak", "map", "q.json", *arguments, "--engine", "waiting"]


def bare(rows: int) -> float:
    """Rows per second of the engine alone, with as many threads as it has places."""
    engine = Waiting()
    registry = Registry()
    registry.add(Plugin, "waiting")
    with Decider("waiting", registry=registry, pool=Pool()) as decider:
        layout = decider.session.stages.layout
        plans = [layout.plan(Request.of(f"row {number}", QUESTIONS), Vocabulary()) for number in range(1000)]
    left = iter(range(rows))
    lock = threading.Lock()

    def work() -> None:
        while True:
            with lock:
                number = next(left, None)
            if number is None:
                return
            engine.evidence([plans[number % 1000]], lambda: False)

    threads = [threading.Thread(target=work) for _ in range(PLACES)]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return rows / (time.perf_counter() - started)


def sampled(process: subprocess.Popen[bytes]) -> Iterator[int]:
    """The resident memory of a process, in KiB, ten times a second while it runs."""
    import psutil

    watched = psutil.Process(process.pid)
    while process.poll() is None:
        try:
            yield watched.memory_info().rss // 1024
        except psutil.Error:
            return
        time.sleep(0.1)


def rate(arguments: argparse.Namespace, folder: Path) -> None:
    """Print rate and memory of `tiebreak map` beside the bare engine's rate."""
    environment = install(folder)
    write(folder / "in.jsonl", arguments.rows)
    alone = bare(min(arguments.rows, 10_000))
    started = time.perf_counter()
    process = subprocess.Popen(
        command("in.jsonl", "-o", "out.jsonl"), cwd=folder, env=environment, stderr=subprocess.DEVNULL
    )
    memory: list[int] = []
    marks: dict[str, float] = {}
    for size in sampled(process):
        memory.append(size)
        for name in ("out.jsonl.journal", "out.jsonl.unfinished"):
            if (folder / name).exists():
                marks.setdefault(name, time.perf_counter())
    assert process.returncode == 0
    whole = arguments.rows / (time.perf_counter() - started)
    answering = arguments.rows / (marks["out.jsonl.unfinished"] - marks["out.jsonl.journal"])
    print(f"bare engine, {PLACES} places x {DELAY * 1e3:g} ms: {alone:,.0f} rows/s")
    print(f"tiebreak map, answering: {answering:,.0f} rows/s = {answering / alone:.3f} of that")
    print(f"tiebreak map, with start, check and writing the output: {whole:,.0f} rows/s = {whole / alone:.3f} of that")
    print(f"memory: {memory[10] / 1024:.0f} MB after a second, {max(memory) / 1024:.0f} MB at most")


def kills(arguments: argparse.Namespace, folder: Path) -> None:
    """Kill runs at random moments, and compare what they end with."""
    environment = install(folder)
    write(folder / "in.jsonl", arguments.rows)
    whole, out = folder / f"whole.{arguments.form}", folder / f"out.{arguments.form}"
    more = ("--on", "ray", "--workers", "2") if arguments.on_ray else ()
    started = time.perf_counter()
    subprocess.run(command("in.jsonl", "-o", whole.name), cwd=folder, env=environment, check=True)
    takes = time.perf_counter() - started
    dice, killed = random.Random(arguments.seed), 0
    while killed < arguments.times:
        process = subprocess.Popen(
            command("in.jsonl", "-o", out.name, "--resume", *more),
            cwd=folder,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        try:
            _, said = process.communicate(timeout=dice.uniform(0.2, 2.5 * takes / arguments.times + 1.0))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.communicate()
            killed += 1
            continue
        assert process.returncode == 0, said.decode()
        assert out.read_bytes() == whole.read_bytes(), "the bytes differ"
        print(f"{killed} kills so far; the output is the same, {len(whole.read_bytes()):,} bytes")
        out.unlink()
    if not out.exists():
        subprocess.run(command("in.jsonl", "-o", out.name, "--resume"), cwd=folder, env=environment, check=True)
    assert out.read_bytes() == whole.read_bytes(), "the bytes differ"
    print(f"{killed} kills; the output is the same, {len(whole.read_bytes()):,} bytes")


def real(arguments: argparse.Namespace, folder: Path) -> None:
    """Rows of one schema on a real engine, beside single calls of the same."""
    options = dict(each.split("=", 1) for each in arguments.option)
    texts = [f"Complaint {number:07d}: the bar downstairs plays techno until four" for number in range(arguments.rows)]
    with Decider(
        arguments.engine, layout=arguments.layout, **{k: json.loads(v) for k, v in options.items()}
    ) as decider:
        decider.start()

        def single(count: int, offset: int) -> list[float]:
            took = []
            for number in range(count):
                begun = time.perf_counter()
                decider.decide(f"Complaint {offset + number:07d}: the bar upstairs plays techno until four", QUESTIONS)
                took.append((time.perf_counter() - begun) * 1e3)
            return took

        single(10, 0)
        before = single(100, 100)
        begun = time.perf_counter()
        count = sum(1 for _ in decider.decide_many((text, QUESTIONS) for text in texts))
        each = (time.perf_counter() - begun) * 1e3 / count
        after = single(100, 1000)
    print(f"single calls: median {statistics.median(before + after):.2f} ms, best {min(before + after):.2f} ms")
    print(f"decide_many: {each:.2f} ms per row over {count:,} rows, {decider.info.name}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("rate", "kills", "real"))
    parser.add_argument("--rows", type=int)
    parser.add_argument("--places", type=int, default=8)
    parser.add_argument("--delay-ms", type=float, default=None)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--form", default="jsonl", choices=("jsonl", "csv", "parquet"))
    parser.add_argument("--on-ray", action="store_true")
    parser.add_argument("--engine", default="embedded")
    parser.add_argument("--layout", default="schema-first")
    parser.add_argument("--option", action="append", default=[], metavar="NAME=JSON")
    arguments = parser.parse_args()
    arguments.rows = arguments.rows or {"rate": 100_000, "kills": 20_000, "real": 2_000}[arguments.what]
    delay = arguments.delay_ms if arguments.delay_ms is not None else {"kills": 1.0}.get(arguments.what, 5.0)
    os.environ |= {"STUB_PLACES": str(arguments.places), "STUB_DELAY_MS": str(delay)}
    global PLACES, DELAY
    PLACES, DELAY = arguments.places, delay / 1e3
    with tempfile.TemporaryDirectory() as folder:
        {"rate": rate, "kills": kills, "real": real}[arguments.what](arguments, Path(folder))


if __name__ == "__main__":
    main()
