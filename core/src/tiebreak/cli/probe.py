"""`Probe`: what a plugin does when it is loaded, found out in a process of its own.

A plugin may print, exit, crash or sleep while it is imported. In a child process with a deadline that is a line in a
table; in this process it would be the end of the table.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import attrs

from tiebreak.errors import EngineUnavailable, TiebreakError

if TYPE_CHECKING:
    from tiebreak.registry import Entry, Plugin

__all__ = ["Probe", "Task", "probe"]

Task = Literal["info", "models", "doctor"]

SIDE_BY_SIDE = 4
SHOWN_CHARACTERS = 200
# The parent's own path, so that the child sees the same plugins and no module of the working directory. Only `sys` is
# imported before it is set: that one cannot be shadowed.
START = "import sys; sys.path[:] = sys.argv[1].split('\\n'); from tiebreak.cli.probe import main; main()"


@attrs.frozen(kw_only=True)
class Probe:
    """What came of asking one plugin one thing.

    Attributes:
        entry: the plugin.
        answer: what it said: for `info` an object, for `models` and `doctor` a list; None where it failed.
        problem: why it failed, "" where it did not.
        printed: what it printed meanwhile, shortened.
    """

    entry: Entry
    answer: Any = None
    problem: str = ""
    printed: str = ""


def probe(entries: Sequence[Entry], task: Task, timeout: float) -> Sequence[Probe]:
    """Ask plugins, each in a process of its own, a few at a time.

    Args:
        entries: which plugins.
        task: what to ask: `tiebreak_engine`, `tiebreak_models` or `tiebreak_doctor`.
        timeout: seconds that each may take; then its process is killed.

    Returns:
        one probe per entry, in order.
    """
    found: list[Probe] = []
    for start in range(0, len(entries), SIDE_BY_SIDE):
        with contextlib.ExitStack() as stack:
            children = [stack.enter_context(_child(entry, task)) for entry in entries[start : start + SIDE_BY_SIDE]]
            found.extend(child.result(timeout) for child in children)
    return found


@attrs.frozen(kw_only=True)
class _Child:
    """A process that loads one plugin; it writes its answer to a file of its own in `folder`."""

    entry: Entry
    process: subprocess.Popen[bytes]
    folder: Path
    started: float = attrs.field(factory=time.monotonic)

    def result(self, timeout: float) -> Probe:
        try:
            status = self.process.wait(max(0.0, self.started + timeout - time.monotonic()))
        except subprocess.TimeoutExpired:
            return self._failed(f"it was not done within {timeout:g} s")
        try:
            said = json.loads((self.folder / "answer").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return self._failed(f"it ended its process ({_ending(status)})")
        return Probe(entry=self.entry, answer=said["answer"], problem=said["problem"], printed=self._printed())

    def _failed(self, why: str) -> Probe:
        printed = self._printed()
        said = f"; it printed: {printed}" if printed else ""
        entry = self.entry
        error = EngineUnavailable(
            f"Plugin {entry.name!r} of {entry.distribution} {entry.version} is broken: {why}{said}.",
            remedy=f"Update or uninstall {entry.distribution}; other engines are not affected.",
        )
        return Probe(entry=entry, problem=str(error))

    def _printed(self) -> str:
        with contextlib.suppress(OSError):
            text = " ".join((self.folder / "printed").read_text(encoding="utf-8", errors="replace").split())
            return text if len(text) <= SHOWN_CHARACTERS else f"...{text[-SHOWN_CHARACTERS:]}"
        return ""

    def end(self) -> None:
        """Kill the process and whatever it started."""
        if sys.platform != "win32":
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()
        self.process.wait()


@contextlib.contextmanager
def _child(entry: Entry, task: Task) -> Iterator[_Child]:
    with tempfile.TemporaryDirectory(prefix="tiebreak-probe-") as name:
        folder = Path(name)
        with (folder / "printed").open("wb") as printed:
            process = subprocess.Popen(
                [
                    *(sys.executable, "-c", START, "\n".join(sys.path)),
                    *(str(folder / "answer"), task, entry.group, entry.name),
                ],
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=printed,
                start_new_session=sys.platform != "win32",
            )
        child = _Child(entry=entry, process=process, folder=folder)
        try:
            yield child
        finally:
            child.end()


def _ending(status: int) -> str:
    if status >= 0:
        return f"exit status {status}"
    with contextlib.suppress(ValueError):
        return f"signal {signal.Signals(-status).name}"
    return f"signal {-status}"


def main() -> None:
    """The child: load one plugin, ask it, write down what it said; the file appears whole or not at all."""
    from tiebreak.registry import Registry

    answer_file, task, group, name = sys.argv[2:]
    said: dict[str, Any] = {"answer": None, "problem": ""}
    try:
        said["answer"] = _ask(Registry().plugin(name, group), task)
    except TiebreakError as error:
        said["problem"] = str(error)
    temporary = f"{answer_file}.part"
    Path(temporary).write_text(json.dumps(said, default=str), encoding="utf-8")
    os.replace(temporary, answer_file)


def _ask(plugin: Plugin, task: str) -> Any:
    if task == "models":
        return [attrs.asdict(model) for model in plugin.models()]
    if task == "doctor":
        return [attrs.asdict(finding) for finding in plugin.doctor()]
    info = plugin.engine()
    return {
        "summary": info.summary,
        "kinds": list(info.capabilities.kinds),
        "layouts": list(info.layouts),
        "readouts": list(info.readouts),
        "caches": list(info.caches),
        "hosted": info.capabilities.hosted,
        "default_model": info.default_model,
        "options": [
            {"name": spec.name, "type": spec.type.__name__, "default": spec.default, "help": spec.help}
            for spec in info.options
        ],
    }
