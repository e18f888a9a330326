"""`manual`: the page that lists every check; `python -m tiebreak_conformance.manual FILE` writes it."""

from __future__ import annotations

import sys
from pathlib import Path

from tiebreak_conformance.claims import TOPICS, claims_of
from tiebreak_conformance.suite import ConformanceSuite

__all__ = ["manual"]

HEAD = """# Conformance

What an engine promises when it says that it is one. This page is generated from the checks: edit those, then run
`python -m tiebreak_conformance.manual docs/conformance.md`.

Three ways to be held to it:

```console
$ pytest --pyargs tiebreak_conformance --engine=NAME [--model REF] [--option NAME=VALUE] [--card DIR]
$ pytest --pyargs tiebreak_conformance --engine=NAME --wire=record --cassette FILE   # then --wire=replay
$ tiebreak conformance NAME
```

```python
from tiebreak_conformance import ConformanceSuite, Target


class TestMyEngine(ConformanceSuite):
    target = Target(engine="myengine")
```

```python
from tiebreak_conformance import LayoutChecks, stage_target


class TestMyLayout(LayoutChecks):
    target = stage_target(layout=MyLayout())
```

A check passes, fails, or is *silent*: its claim says nothing about this engine, and the report card says why. One that
fails for a known reason is declared, `Target(known_failures={"READ-07": "issue 12"})`, and fails the run when it passes
again. A check cannot be overridden, and a run in which checks are missing, or too few of a topic say anything, fails.
"""


def manual() -> str:
    """The page, in Markdown."""
    lines = [HEAD]
    claims = [claim for claim, _ in claims_of(ConformanceSuite).values()]
    for topic in TOPICS.values():
        lines.append(f"## {topic.capitalize()}\n")
        for claim in claims:
            if claim.topic == topic:
                lines.append(f"**{claim.id}** {claim.claim}  \nWhere to look: {claim.note} *Since {claim.since}.*\n")
    return "\n".join(lines)


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(manual(), encoding="utf-8")
