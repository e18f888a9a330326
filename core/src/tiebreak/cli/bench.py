"""`tiebreak bench`: measure engines on this machine; what measures is imported when a subcommand runs."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tiebreak.cli import streams
from tiebreak.cli.settings import json_flag, option_pairs, value_of, verbose_flag
from tiebreak.errors import EngineUnavailable, InvalidRequest

if TYPE_CHECKING:
    from tiebreak.bench.methods import Field
    from tiebreak.bench.results import Section
    from tiebreak.cli.listing import Listing

__all__ = ["command"]

F = TypeVar("F", bound=Callable[..., Any])

OUT = "tiebreak-bench"


@click.group("bench", short_help="Measure engines on this machine: speed, accuracy, what caches give.")
def command() -> None:
    """Measure engines on this machine, one in memory at a time, and leave the figures in results.json.

    Each subcommand puts its own section into the results.json of its --out, so that one directory can hold them all.
    Interrupt whenever you like: what was measured stays.
    """


def _list(context: click.Context, parameter: click.Parameter, given: str | None) -> tuple[str, ...]:
    """Names between commas."""
    names = tuple(name.strip() for name in given.split(",")) if given else ()
    if not all(names):
        raise click.BadParameter("there is an empty name in the list", ctx=context, param=parameter)
    return names


def field_flags(command: F) -> F:
    """Add the flags that say which methods are measured."""
    for decorate in reversed(
        (
            click.option(
                "--engines",
                "--engine",
                metavar="A,B",
                callback=_list,
                help="Engines.  [default: all that run on this machine]",
            ),
            click.option(
                "--models",
                "--model",
                metavar="M,N",
                callback=_list,
                help="Model references.  [default: each engine's own]",
            ),
            click.option(
                "--layouts", metavar="A,B", callback=_list, help="Prompt layouts.  [default: each engine's own]"
            ),
            click.option(
                "--threads",
                type=click.IntRange(min=1),
                help="Compute threads of engines that can be told.  [default: physical cores]",
            ),
            click.option(
                "--option",
                "options",
                metavar="NAME=VALUE",
                multiple=True,
                callback=option_pairs,
                help="An option of the engines that have it; may be repeated.",
            ),
            click.option("--url", metavar="URL", help="Attach to a running server of the one engine that is named."),
            click.option("--memory-override", is_flag=True, help="Load even what the memory guard would refuse."),
            click.option("--out", metavar="DIR", type=Path, default=OUT, show_default=True, help="Where results go."),
            json_flag,
            verbose_flag,
        )
    ):
        command = decorate(command)
    return command


def field_of(given: Mapping[str, Any]) -> Field:
    """The methods that the flags name.

    Raises:
        EngineUnavailable: an engine is not installed.
        InvalidRequest: an option that no engine has, or a value that it does not take.
    """
    from tiebreak.bench.machine import default_threads
    from tiebreak.bench.methods import Field
    from tiebreak.registry import Registry
    from tiebreak.settings import CORE_OPTIONS

    if given["memory_override"]:
        from tiebreak.shared import memory_limits

        memory_limits(override=True)
    registry = Registry()
    texts = dict(given["options"])
    field = Field(
        engines=given["engines"],
        models=given["models"],
        layouts=given["layouts"],
        options=texts,
        threads=given["threads"] or default_threads(),
        url=given["url"],
        registry=registry,
    )
    specs = {spec.name: (spec, info.name) for info in field.infos() for spec in (*CORE_OPTIONS, *info.options)}
    import attrs

    return attrs.evolve(field, options={name: value_of(specs[name][0], text, "") for name, text in texts.items()})


def typed() -> str:
    """The command line as it was typed, to be written beside the figures."""
    return shlex.join(["tiebreak", *sys.argv[1:]])


@command.command("run", short_help="Speed and accuracy on a set of questions.")
@field_flags
@click.option(
    "--set",
    "set_name",
    metavar="router|FILE.jsonl",
    default="router",
    show_default=True,
    help="What is asked: the 67 queries that come along, or lines of {state, question, options, answer}.",
)
@click.option(
    "--mode",
    type=click.Choice(["translated", "direct", "both"]),
    help="Ask the translation, the text as it is, or both.  [default: translated, where the set has translations]",
)
@click.option(
    "--wording",
    type=click.Choice(["short", "middle", "long", "all"]),
    help="How the router set describes its tasks.  [default: middle]",
)
@click.option("--repeat", "rounds", type=int, default=3, show_default=True, metavar="N", help="Rounds.")
@click.option(
    "--again", type=int, default=10, show_default=True, metavar="N", help="Items that are asked twice in each round."
)
@click.option(
    "--order",
    default="10",
    show_default=True,
    metavar="N|all",
    help="Items whose options are also asked in all rotations, in the first round: five options cost five times.",
)
@click.option("--resume", is_flag=True, help="Go on with the run in --out; the other flags must be the same.")
def run_command(**given: Any) -> None:
    """Ask every method the same set, in rounds, and write journal.jsonl and results.json.

    In each round every method is loaded alone, warmed up, asked the whole set and stopped; rounds begin with another
    method each, so that the machine's mood shows as an interval and not as a winner. Loads are measured with the file
    out of the page cache and in it, where the system allows.
    """
    from tiebreak.bench.run import RunPlan, run
    from tiebreak.bench.sets import read_set
    from tiebreak.cli.bench_progress import Drawn

    asked = read_set(given["set_name"])
    with streams.reserved(), Drawn() as progress:
        plan = RunPlan(
            field=field_of(given),
            set=asked,
            modes=asked.modes if given["mode"] == "both" else (given["mode"],) if given["mode"] else (),
            wordings=asked.wordings if given["wording"] == "all" else (given["wording"],) if given["wording"] else (),
            rounds=given["rounds"],
            again=given["again"],
            order_items=_count(given["order"]),
            out=given["out"],
            command=typed(),
        )
        try:
            section = run(plan, progress, resume=given["resume"])
        except KeyboardInterrupt:
            streams.complain(f"what was measured is in {given['out']}; the same command with --resume goes on.")
            raise
    from tiebreak.cli.bench_tables import run_table

    _show([section], run_table(section), given)
    if section.summaries:
        _report(given["out"])


@command.command("prefix", short_help="What prefix caches give: off and on, and whether answers change.")
@field_flags
@click.option("--repeat", "rounds", type=int, default=10, show_default=True, metavar="N", help="Requests of each kind.")
@click.option("--tokens", type=int, default=190, show_default=True, metavar="N", help="Length of a state, about.")
def prefix_command(**given: Any) -> None:
    """Ask 1 question, 3, 2 about a state seen before, and 1 that was asked before: with the prefix cache off and on."""
    from tiebreak.bench.prefix import PrefixPlan, prefix
    from tiebreak.bench.results import enter
    from tiebreak.cli.bench_progress import Drawn
    from tiebreak.cli.bench_tables import prefix_table

    with streams.reserved(), Drawn() as progress:
        plan = PrefixPlan(field=field_of(given), rounds=given["rounds"], tokens=given["tokens"], command=typed())
        section = prefix(plan, progress, lambda found: enter(given["out"], prefix=found))
    _show([section], prefix_table(section), given)


@command.command("schemas", short_help="Question sets in rotation against a small cache: the cliff.")
@field_flags
@click.option("--schemas", "most", type=int, default=8, show_default=True, metavar="K", help="Question sets at most.")
@click.option("--repeat", "rounds", type=int, default=3, show_default=True, metavar="N", help="Times around.")
def schemas_command(**given: Any) -> None:
    """Ask 1 to K question sets in rotation, and the same requests ordered, in a cache that holds a few of them.

    Where nothing else is said with --option, the cache keeps 4 checkpoints, in engines that can be told so; engines
    whose layout puts the questions first are measured in that layout.
    """
    from tiebreak.bench.results import enter
    from tiebreak.bench.schemas import SchemasPlan, schemas
    from tiebreak.cli.bench_progress import Drawn
    from tiebreak.cli.bench_tables import schemas_table

    with streams.reserved(), Drawn() as progress:
        plan = SchemasPlan(field=field_of(given), most=given["most"], rounds=given["rounds"], command=typed())
        sections = schemas(plan, progress, lambda found: enter(given["out"], schemas=found))
    _show(sections, schemas_table(sections), given)
    for section in sections:
        for advice in dict.fromkeys(point.advice for point in section.points if point.advice):
            streams.complain(f"{section.methods[0].engine} said: {streams.plain(advice)}")


@command.command("overhead", short_help="What the client costs per decision, beside other clients.")
@field_flags
@click.option("--repeat", "rounds", type=int, default=100, show_default=True, metavar="N", help="Rounds.")
def overhead_command(**given: Any) -> None:
    """Ask one running server through tiebreak, httpx, http.client, a bare socket, and ornotto where it is installed.

    The same again against a server that answers at once, where nothing but the client's own code takes time.
    """
    from tiebreak.bench.overhead import OverheadPlan, overhead
    from tiebreak.bench.results import enter
    from tiebreak.cli.bench_progress import Drawn
    from tiebreak.cli.bench_tables import overhead_table

    with streams.reserved(), Drawn() as progress:
        plan = OverheadPlan(field=field_of(given), rounds=given["rounds"], command=typed())
        section = overhead(plan, progress, lambda found: enter(given["out"], overhead=found))
    _show([section], overhead_table(section), given)


@command.command("parity", short_help="How far engines are from a reference with the same weights.")
@field_flags
@click.option("--reference", metavar="NAME", required=True, help="The engine that the others are held against.")
@click.option(
    "--set", "set_name", metavar="router|FILE.jsonl", default="router", show_default=True, help="What is asked."
)
@click.option("--mode", type=click.Choice(["translated", "direct"]), help="As for run.")
@click.option("--wording", type=click.Choice(["short", "middle", "long"]), help="As for run.")
def parity_command(**given: Any) -> None:
    """Ask the reference and every other engine the same with the same model file; compare answers and probabilities."""
    from tiebreak.bench.parity import ParityPlan, parity
    from tiebreak.bench.results import enter
    from tiebreak.bench.sets import read_set
    from tiebreak.cli.bench_progress import Drawn
    from tiebreak.cli.bench_tables import parity_table

    asked = read_set(given["set_name"])
    with streams.reserved(), Drawn() as progress:
        plan = ParityPlan(
            reference=given["reference"],
            field=field_of(given),
            set=asked,
            mode=given["mode"],
            wording=given["wording"],
            command=typed(),
        )
        sections = parity(plan, progress, lambda found: enter(given["out"], parity=found))
    _show(sections, parity_table(sections), given)


@command.command("report", short_help="Tables and plots of what was measured: report.md and report.html.")
@click.argument("directory", metavar="[DIR]", type=Path, default=OUT)
@verbose_flag
def report_command(directory: Path) -> None:
    """Write report.md and report.html beside the results.json of DIR (tiebreak-bench), of all sections that it holds.

    report.html is one file: no script, nothing from elsewhere, for wide and narrow screens, light and dark. Its plots
    need matplotlib: pip install 'tiebreak[bench]'.
    """
    from tiebreak.bench.report.writing import write_report

    for path in write_report(directory):
        streams.complain(f"written to {path}")


@command.command("compare", short_help="Two runs on the same questions: what is faster, what is more often right.")
@click.argument("a", metavar="A", type=Path)
@click.argument("b", metavar="B", type=Path)
@json_flag
@verbose_flag
def compare_command(a: Path, b: Path, *, json: bool) -> None:
    """Hold the run in B against the one in A (directories, or results.json), method by method and query by query.

    There is a verdict only where the 95 % interval leaves no doubt. TIME is B's time by A's: 2 is twice as slow.
    """
    from tiebreak.bench.compare import compare
    from tiebreak.bench.results import read
    from tiebreak.cli.bench_tables import compare_json, compare_table

    found = compare(read(a), read(b))
    if json:
        streams.emit_json(compare_json(found))
        return
    compare_table(found).show()
    for row in found.rows:
        if row.changed:
            streams.complain(f"{row.method}: {streams.plain('; '.join(row.changed))}")
    for note in found.notes:
        streams.complain(streams.plain(note))


def _report(directory: Path) -> None:
    """Write the report on a run; without matplotlib what can be written without it."""
    from tiebreak.bench.report.writing import write_markdown, write_report

    try:
        paths = write_report(directory)
    except EngineUnavailable as error:
        streams.complain(f"written to {write_markdown(directory)}; no report.html: {error}")
    else:
        streams.complain(f"written to {' and '.join(map(str, paths))}")


def _count(text: str) -> int | None:
    if text == "all":
        return None
    if not text.isdigit():
        raise InvalidRequest(f"--order is {text!r}; it is a number, or all.")
    return int(text)


def _show(sections: Sequence[Section], table: Listing, given: Mapping[str, Any]) -> None:
    """Print sections as JSON, or their table; say where the rest is."""
    if given["json"]:
        found = [section.model_dump(mode="json") for section in sections]
        streams.emit_json(found[0] if len(found) == 1 else found)
        return
    table.show()
    for section in sections:
        for skip in section.skipped:
            streams.complain(f"{skip.method} was left out: {streams.plain(skip.reason)}")
    streams.complain(f"written to {given['out'] / 'results.json'}")
