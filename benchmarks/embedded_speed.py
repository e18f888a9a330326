"""What a decision costs in the embedded engine: against the bare model, and against the other engines.

    python benchmarks/embedded_speed.py [--model REF] [--rounds N] [--threads N] [--engines NAME ...]

All engines load one GGUF file with one number of threads, and are asked in turns, in an order that changes from round
to round, so that the machine's mood falls on all of them alike. Five scenarios, questions and states of one length:

    1 new            1 question, state and question never seen
    3 new            3 questions (7 rows: a choice, a yes/no, a score of 5 levels), never seen
    3 same state     3 new questions about a state that was asked about before
    1 same schema    1 question that was asked before, about a new state (schema-first where the engine has it)
    3 both same      state and questions seen before, two states taking turns

Printed are medians in milliseconds with 95 % bootstrap intervals, and for the embedded engine three more lines:

    floor            one bare llama_decode of as many tokens as the decision had to decode, in the same round
    ratio            decision / floor, within the same round
    client           decision minus what llama.cpp computed; and minus all that the engine accounts for

and the ratio of the embedded engine to each of the others. Beside it stand `fast`, the same engine with exact=False
(flash attention, as the others have it), and where all is repeated `computed`, with answer_cache=False: the engine as
it is decodes nothing there, so that there is no floor either. At the end every figure stands again beside what it is
held to: at most 1.05 of the floor, a client below 0.3 ms, at most 1.02 of the best of the others where nothing can be
reused, and faster than that where something can.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from tiebreak import Decider, Question, TiebreakError, choice, models, score, yes_no
from tiebreak.pool import Pool
from tiebreak.registry import Registry
from tiebreak_embedded.context import Context, ContextOptions, Item
from tiebreak_embedded.engine import EmbeddedEngine
from tiebreak_embedded.library import open_library
from tiebreak_embedded.reading import Read

OTHERS = ("slot", "dohnuts", "pcdserver")
VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "embedded": {},
    "fast": {"exact": False},
    "computed": {"answer_cache": False},
}
"""The embedded engine with other options, by the name that they are printed under."""

SENTENCE = "The bar downstairs plays techno until four, the bins are full, and nobody answers the telephone."
WARM_UP = 3
RESAMPLES = 2000

TO_FLOOR, CLIENT_MS, NOTHING_REUSED, REUSED = 1.05, 0.3, 1.02, 1.0
"""What the figures are held to."""

Asked = tuple[str, Mapping[str, Question]]


class Words:
    """States and questions of one length that were never asked before."""

    def __init__(self, seed: str) -> None:
        self._dice = random.Random(seed)

    def _number(self) -> str:
        return f"{self._dice.randrange(10**6):06d}"

    def state(self) -> str:
        """About 120 tokens."""
        return f"Complaint {self._number()}. " + " ".join([SENTENCE] * 5)

    def questions(self, count: int) -> dict[str, Question]:
        """One question, or three that take seven rows."""
        number = self._number()
        team = choice(f"File {number}: which team should handle this?", ["roads", "waste", "noise", "parks"])
        if count == 1:
            return {"team": team}
        return {
            "team": team,
            "today": yes_no(f"File {number}: does it have to be done today?"),
            "anger": score(f"File {number}: how angry is the writer?", ["calm", "cool", "annoyed", "angry", "furious"]),
        }


@attrs.frozen(kw_only=True)
class Scenario:
    """What is asked in a round.

    Attributes:
        name: as it is printed.
        count: questions.
        same_state, same_schema: what was asked before.
    """

    name: str
    count: int
    same_state: bool = False
    same_schema: bool = False

    def asker(self, words: Words) -> Callable[[], Asked]:
        """A function that makes the requests of the rounds."""
        states, schema = [words.state(), words.state()], words.questions(self.count)
        turn = iter(range(10**9))

        def ask() -> Asked:
            state = states[next(turn) % 2 if self.same_schema else 0] if self.same_state else words.state()
            return state, schema if self.same_schema else words.questions(self.count)

        return ask

    @property
    def most(self) -> float:
        """The most that the embedded engine may take of what the best of the others takes."""
        return REUSED if self.same_state or self.same_schema else NOTHING_REUSED


SCENARIOS = (
    Scenario(name="1 new", count=1),
    Scenario(name="3 new", count=3),
    Scenario(name="3 same state", count=3, same_state=True),
    Scenario(name="1 same schema", count=1, same_schema=True),
    Scenario(name="3 both same", count=3, same_state=True, same_schema=True),
)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--engines", nargs="*", default=list(OTHERS))
    flags = parser.parse_args()
    path = models.resolve(flags.model).path
    assert path is not None
    pool = Pool()
    held: list[str] = []
    floor = Context(open_library(), path, ContextOptions(window=2048, sequences=1, threads=flags.threads))
    try:
        for scenario in SCENARIOS:
            deciders = {
                name: made
                for name in (*_variants(scenario), *flags.engines)
                if (made := _decider(name, str(path), scenario, flags.threads, pool)) is not None
            }
            held += _report(scenario, _measure(scenario, deciders, floor, flags.rounds))
    finally:
        pool.close()
        floor.close()
    print("\nheld to", *held, sep="\n  ")


def _variants(scenario: Scenario) -> Sequence[str]:
    repeated = scenario.same_state and scenario.same_schema
    return [name for name in VARIANTS if name != "computed" or repeated]


def _decider(name: str, model: str, scenario: Scenario, threads: int, pool: Pool) -> Decider | None:
    """A started Decider, None (and a line that says why) where the engine is not here."""
    options: dict[str, Any] = {"min_coverage": 0.0, **VARIANTS.get(name, {})}
    name = "embedded" if name in VARIANTS else name
    if name not in Registry().names():
        print(f"{name}: not installed")
        return None
    info = Registry().plugin(name).engine()
    if "threads" in {spec.name for spec in info.options}:
        options["threads"] = threads
    schema_first = scenario.same_schema and not scenario.same_state and "schema-first" in info.layouts
    layout = "schema-first" if schema_first else None
    try:
        return Decider(name, model, layout=layout, pool=pool, **options).start()
    except TiebreakError as error:
        print(f"{name}: {error.message}")
        return None


def _measure(
    scenario: Scenario, deciders: Mapping[str, Decider], floor: Context, rounds: int
) -> dict[str, list[float]]:
    """Milliseconds per round, by what was measured."""
    # No two alike: one engine stands behind several names, and all scenarios ask it.
    askers = {name: scenario.asker(Words(f"{scenario.name}, {name}")) for name in deciders}
    rows: dict[str, list[float]] = {}
    order = random.Random(0)
    for turn in range(WARM_UP + rounds):
        names = list(deciders)
        order.shuffle(names)
        for name in names:
            state, questions = askers[name]()
            found = _once(deciders[name], state, questions, floor if name == "embedded" else None)
            if turn >= WARM_UP:
                for what, value in found.items():
                    rows.setdefault(name if what == "total" else what, []).append(value)
    return rows


def _once(decider: Decider, state: str, questions: Mapping[str, Question], floor: Context | None) -> dict[str, float]:
    engine = decider.session.engine
    before = _decoded(engine)
    started = time.perf_counter()
    decision = decider.decide(state, questions)
    total = (time.perf_counter() - started) * 1e3
    if floor is None:
        return {"total": total}
    spent = decision.timings
    tokens = _decoded(engine) - before
    found = {
        "total": total,
        "client, all but decode": total - spent.engine["decode_ms"],
        "client, all but native": total - sum(spent.engine.values()),
        "tokens": float(tokens),
    }
    if tokens:
        found["floor"] = _bare(floor, tokens)
        found["ratio"] = total / found["floor"]
    return found


def _decoded(engine: object) -> int:
    return engine._ready().context.decoded_tokens if isinstance(engine, EmbeddedEngine) else 0


def _bare(floor: Context, tokens: int) -> float:
    """One llama_decode of so many tokens from nothing."""
    size = floor.model.vocabulary_size
    prompt = [(31 * place + 7) % size for place in range(max(2, tokens))]
    floor.drop(0)
    before = floor.decode_ms
    floor.decode([Item(0, 0, prompt, (Read(len(prompt) - 1),))])
    floor.drop(0)
    return floor.decode_ms - before


def _report(scenario: Scenario, rows: Mapping[str, Sequence[float]]) -> list[str]:
    """Print a scenario; returns its figures beside what they are held to."""
    print(f"\n{scenario.name}")
    for name, values in rows.items():
        low, high = _interval(values)
        unit = "" if name in ("ratio", "tokens") else " ms"
        print(f"  {name:24s} {statistics.median(values):9.3f}{unit}  [{low:.3f}, {high:.3f}]")
    others = {name: rows[name] for name in OTHERS if name in rows}
    client = rows["client, all but native"]
    held = [_held(scenario, "ms client", (statistics.median(client), *_interval(client)), CLIENT_MS)]
    if "ratio" in rows:
        ratio = rows["ratio"]
        held.append(_held(scenario, "of the floor", (statistics.median(ratio), *_interval(ratio)), TO_FLOOR))
    best = min(others, key=lambda name: statistics.median(others[name]), default=None)
    for ours in (name for name in VARIANTS if name in rows):
        for name, values in others.items():
            found = _quotient(rows[ours], values)
            print(f"  {ours:8s} / {name:13s} {found[0]:9.3f}  [{found[1]:.3f}, {found[2]:.3f}]")
            if name == best:
                held.append(_held(scenario, f"{ours} of the best other, {best}", found, scenario.most))
    return held


def _held(scenario: Scenario, what: str, found: tuple[float, float, float], most: float) -> str:
    value, low, high = found
    verdict = "met" if value <= most else "NOT met"
    return f"{scenario.name:14s} {value:7.3f} {what:40s} [{low:.3f}, {high:.3f}]  at most {most:g}: {verdict}"


def _interval(values: Sequence[float]) -> tuple[float, float]:
    """95 % bootstrap interval of the median."""
    dice = random.Random(1)
    medians = sorted(statistics.median(dice.choices(values, k=len(values))) for _ in range(RESAMPLES))
    return medians[RESAMPLES // 40], medians[-RESAMPLES // 40]


def _quotient(ours: Sequence[float], theirs: Sequence[float]) -> tuple[float, float, float]:
    """Median by median, with its 95 % bootstrap interval over rounds."""
    dice = random.Random(2)
    pairs = list(zip(ours, theirs, strict=True))

    def once(sample: Sequence[tuple[float, float]]) -> float:
        return statistics.median(a for a, _ in sample) / statistics.median(b for _, b in sample)

    spread = sorted(once(dice.choices(pairs, k=len(pairs))) for _ in range(RESAMPLES))
    return once(pairs), spread[RESAMPLES // 40], spread[-RESAMPLES // 40]


if __name__ == "__main__":
    main()
