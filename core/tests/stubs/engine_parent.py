"""A program that starts an engine, prints its process id, and then ends as it is told to."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
import time
import urllib.request
from pathlib import Path

from tiebreak.process import Command, EngineProcess, ProcessOptions, Readiness, stop_all

STUB = str(Path(__file__).with_name("stub_engine.py"))


def probe(url: str, timeout: float) -> Readiness:
    try:
        with urllib.request.urlopen(url, timeout=timeout):
            return Readiness(state="ready")
    except OSError as error:
        return Readiness(state="loading", text=str(error))


def engine(death_signal: bool = True) -> EngineProcess:
    return EngineProcess(
        "stub",
        Command(argv=(sys.executable, "-S", STUB, "--port", "{port}")),
        probe,
        options=ProcessOptions(grace=2, death_signal=death_signal),
    )


def say(**fields: object) -> None:
    print(json.dumps(fields), flush=True)


def serve_in_child(leave: str) -> None:
    process = engine()
    process.start()
    say(pid=process.pid, owner=os.getpid())
    if leave == "wait":
        time.sleep(600)


def fork_and_keep_child(process: EngineProcess) -> None:
    """A forked child outlives its parent and holds on to everything that it inherited."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        process.stop()  # the copy has nothing to stop
        stop_all()
        os.write(writing, b"!")
        time.sleep(600)
    os.read(reading, 1)
    say(pid=process.pid, owner=os.getpid(), child=child, url=process.ensure())


def main() -> None:
    ending = sys.argv[1]
    if ending.startswith("child-"):
        context = multiprocessing.get_context("fork")
        child = context.Process(target=serve_in_child, args=(ending.removeprefix("child-"),))
        child.start()
        child.join()
        time.sleep(600)
    process = engine(death_signal=ending != "unbound")
    process.start()
    if ending == "forked":
        fork_and_keep_child(process)
    else:
        say(pid=process.pid, owner=os.getpid())
    if ending == "exception":
        raise RuntimeError("on purpose")
    if ending == "sys.exit":
        sys.exit(3)
    if ending == "os._exit":
        os._exit(4)
    if ending != "return":
        signal.pause()


if __name__ == "__main__":
    main()
