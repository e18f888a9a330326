"""Writes what an engine says about itself into its page, so that no table is kept by hand.

python docs/tools/engine_tables.py [NAME...]    rewrites the tables of these engines, of all installed without a name
python docs/tools/engine_tables.py --check      changes nothing; exits 1 where a table is out of date
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

from tiebreak.engine import EngineInfo, OptionSpec
from tiebreak.registry import Registry

PAGES = Path(__file__).parent.parent / "engines"
TABLES = re.compile(r"(?<=<!-- tables: begin -->\n).*?(?=<!-- tables: end -->)", re.DOTALL)


def tables(info: EngineInfo) -> str:
    """Both tables of an engine: what it is, and its options."""
    options = _table(("option", "default", "values", "what it does"), _options(info))
    return f"\n{_table(('what', 'holds'), _facts(info))}\n{options}\n"


def _facts(info: EngineInfo) -> list[tuple[str, ...]]:
    can, limits = info.capabilities, info.limits
    sizes = (
        ("questions an exchange", limits.questions),
        ("options a question", limits.options),
        ("bytes of state", limits.state_bytes),
        ("bytes an option", limits.option_bytes),
        ("tokens", limits.window_tokens),
    )
    cache = {True: "yes", False: "no", None: "found out when it starts"}[can.prefix_cache]
    return [
        ("question kinds", ", ".join(f"`{kind}`" for kind in can.kinds)),
        ("layouts", _names(info.layouts)),
        ("readouts", _names(info.readouts)),
        ("cache policies", _names(info.caches)),
        ("stages", ", ".join(f"{stage}: {openness}" for stage, openness in info.stages.items())),
        ("evidence", {"tokens": "token log-probabilities", "distribution": "finished distributions"}[can.evidence]),
        ("coverage", "reported" if can.coverage else "hidden (`None`)"),
        ("a question alone answers as in company", "yes" if can.independent else "no"),
        ("reuses prompt prefixes", f"{cache}; what was reused is {'' if can.sees_cache else 'not '}reported"),
        ("keeps a prefix that is pinned", "yes" if can.pins else "no"),
        ("cold, warm and batched answers differ by", f"{can.tolerance:g}" if can.tolerance else "nothing"),
        ("requests at once", str(can.concurrency)),
        ("limits", ", ".join(f"{size:,} {what}" for what, size in sizes if size is not None)),
        ("default model", f"`{info.default_model}`" if info.default_model else "none"),
        ("runs", "on somebody else's machine; each call may cost money" if can.hosted else "on this machine"),
    ]


def _options(info: EngineInfo) -> list[tuple[str, ...]]:
    return [(f"`{spec.name}`", _default(spec), _values(spec), _help(spec)) for spec in info.options]


def _names(names: Sequence[str]) -> str:
    """Names, the first of which is the default."""
    first, *others = (f"`{name}`" for name in names)
    return ", ".join((f"{first} (default)", *others)) if others else first


def _default(spec: OptionSpec) -> str:
    return "" if spec.default is None else f"`{spec.default}`"


def _values(spec: OptionSpec) -> str:
    if spec.choices:
        return ", ".join(f"`{value}`" for value in spec.choices)
    kind = {str: "text", int: "integer", float: "number", bool: "true or false"}.get(spec.type, spec.type.__name__)
    if spec.minimum is not None and spec.maximum is not None:
        return f"{kind}, {spec.minimum:g} to {spec.maximum:g}"
    return kind if spec.minimum is None else f"{kind}, at least {spec.minimum:g}"


def _help(spec: OptionSpec) -> str:
    return f"{spec.help} Can change an answer." if spec.affects_answers else spec.help


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


def main(arguments: Sequence[str]) -> int:
    """Write or check the tables; the exit code says whether all were up to date."""
    registry, stale = Registry(), []
    for name in [a for a in arguments if not a.startswith("-")] or registry.names():
        page = PAGES / f"{name}.md"
        if not page.exists():
            continue
        before = page.read_text(encoding="utf-8")
        if not TABLES.search(before):
            stale.append(f"{page.name} has no place for its tables")
            continue
        wanted = tables(registry.plugin(name).engine())
        after = TABLES.sub(lambda _, text=wanted: text, before)  # type: ignore[misc]
        if after != before:
            stale.append(f"{page.name} was out of date")
            if "--check" not in arguments:
                page.write_text(after, encoding="utf-8")
        print(f"{name}: {page.name}")
    print("\n".join(stale))
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
