"""`draw`: the probabilities of a decision as bars, on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from tiebreak.cli.streams import emit, plain

if TYPE_CHECKING:
    from tiebreak.answers import Answer, Decision
    from tiebreak.questions import Question

__all__ = ["draw", "show"]

BAR = 30
EIGHTHS = " ▏▎▍▌▋▊▉█"


def draw(questions: Mapping[str, Question], decision: Decision) -> None:
    """Draw one bar chart per question, the winner marked, with what qualifies the figures below it."""
    charts: list[RenderableType] = []
    unicode = "utf" in (sys.stdout.encoding or "").lower()
    for name, answer in decision.answers.items():
        if len(decision.answers) > 1:
            charts.append(Text(plain(name), style="bold"))
        charts.append(Text(plain(questions[name].text), style="dim"))
        charts.append(_chart(answer, unicode))
        charts.extend(Text(f"  {note}", style="yellow") for note in _notes(answer))
    show(Group(*charts))


def show(drawn: RenderableType) -> None:
    """Write something drawn to standard output."""
    console = Console(file=sys.stdout, markup=False, highlight=False, emoji=False)
    with console.capture() as capture:
        console.print(drawn)
    emit(capture.get())


def _chart(answer: Answer, unicode: bool) -> Table:
    table = Table.grid(padding=(0, 1))
    table.add_column(width=1)
    table.add_column(overflow="fold", ratio=None)
    table.add_column(width=BAR, no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    value = ("no", "yes")[answer.value] if isinstance(answer.value, bool) else answer.value
    for name, probability in answer.probabilities.items():
        won = name == value
        style = "bold green" if won else ""
        table.add_row(
            Text(("▸" if unicode else ">") if won else " ", style=style),
            Text(plain(name), style=style),
            Text(_bar(probability, unicode), style="green" if won else "blue"),
            Text(_percent(probability), style=style),
        )
    return table


def _bar(probability: float, unicode: bool) -> str:
    if not unicode:
        return "#" * round(probability * BAR)
    full, part = divmod(round(probability * BAR * 8), 8)
    return "█" * full + (EIGHTHS[part] if part else "")


def _percent(probability: float) -> str:
    """One decimal, but never 0 or 100 % for what is neither."""
    if 0 < probability < 0.001:
        return "< 0.1 %"
    if 0.999 < probability < 1:
        return "> 99.9 %"
    return f"{probability:.1%}".replace("%", " %")


def _notes(answer: Answer) -> Iterator[str]:
    if answer.expected is not None:
        yield f"expected level {answer.expected:.2f} of 0 to {len(answer.probabilities) - 1}"
    if answer.approximate:
        yield f"approximate: {plain(answer.approximate)}"
    if answer.near_tie:
        yield "near tie: the two best are closer than the engine repeats itself"
