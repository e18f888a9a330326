"""`tiebreak new-engine`: a complete plugin distribution to start from."""

from __future__ import annotations

import keyword
import re
import string
from collections.abc import Mapping
from pathlib import Path

import attrs
import click

from tiebreak.cli import streams
from tiebreak.cli.settings import verbose_flag
from tiebreak.errors import InvalidRequest

__all__ = ["Scaffold", "command"]

NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
TEMPLATES = Path(__file__).with_name("templates")
COMMON = {
    "pyproject.toml.in": "pyproject.toml",
    "README.md.in": "README.md",
    "test_conformance.py.in": "tests/test_conformance.py",
}


@click.command("new-engine", short_help="Write a plugin for another engine, complete and passing its tests.")
@click.argument("name")
@click.option("--dir", "directory", metavar="DIR", type=Path, help="Where to.  [default: ./tiebreak-NAME]")
@click.option(
    "--kind",
    type=click.Choice(["local", "wire"]),
    default="local",
    show_default=True,
    help="Computes in this process, or talks to a server.",
)
@verbose_flag
def command(name: str, directory: Path | None, kind: str) -> None:
    """Write a distribution tiebreak-NAME: hooks, description, layout, engine, tests, README.

    It works as it is written: install it, and `tiebreak engines` lists it, it answers, and it passes the conformance
    suite. What stands in for a model is one function (local) or one small server (wire), to be replaced by yours.
    """
    scaffold = Scaffold(name=name, kind=kind)
    root = directory or Path(f"tiebreak-{name}")
    for path in scaffold.write(root):
        streams.emit(str(path))
    streams.complain(f"next: pip install -e '{root}[test]' && tiebreak engines && pytest {root}")


@attrs.frozen(kw_only=True)
class Scaffold:
    """The files of a new plugin.

    Args:
        name: of the engine: lower-case letters, digits and single hyphens.
        kind: `local` or `wire`.

    Raises:
        InvalidRequest: the name cannot be that of an engine, a distribution and a module, or is taken.
    """

    name: str
    kind: str

    def __attrs_post_init__(self) -> None:
        from tiebreak.registry import FIRST_PARTY

        if not NAME.fullmatch(self.name) or keyword.iskeyword(self.name):
            raise InvalidRequest(
                f"{self.name!r} is no name for an engine.",
                remedy="Use lower-case letters, digits and single hyphens, a letter first: my-engine.",
            )
        if self.name in FIRST_PARTY or self.name == "conformance":
            raise InvalidRequest(f"tiebreak-{self.name} exists.", remedy="Choose another name.")

    @property
    def package(self) -> str:
        """The module to import."""
        return f"tiebreak_{self.name.replace('-', '_')}"

    def files(self) -> Mapping[str, str]:
        """Path inside the distribution -> text."""
        found = {}
        for template in (*sorted((TEMPLATES / "common").iterdir()), *sorted((TEMPLATES / self.kind).iterdir())):
            inside = COMMON.get(template.name, f"src/{self.package}/{template.name.removesuffix('.in')}")
            found[inside] = string.Template(template.read_text(encoding="utf-8")).substitute(self._words())
        found[f"src/{self.package}/py.typed"] = ""
        return found

    def write(self, root: Path) -> list[Path]:
        """Write the files.

        Raises:
            InvalidRequest: the directory exists and is not empty; nothing was written.
        """
        if root.exists() and (not root.is_dir() or any(root.iterdir())):
            raise InvalidRequest(f"{root} exists and is not an empty directory.", remedy="Name another with --dir.")
        paths = []
        for inside, text in sorted(self.files().items()):
            path = root / inside
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            paths.append(path)
        return paths

    def _words(self) -> dict[str, str]:
        wire = self.kind == "wire"
        needs = ['"tiebreak>=0.1,<0.2"', *(['"pydantic>=2.6"'] if wire else [])]
        return {
            "name": self.name,
            "package": self.package,
            "title": "".join(part.capitalize() for part in self.name.split("-")),
            "summary": "A server that decides." if wire else "A model in this process.",
            "dependencies": ", ".join(needs),
            "replace": "replace `launch` and the bodies" if wire else "replace `score` by your model",
            "more_files": WIRE_FILES.replace("PACKAGE", self.package) if wire else "",
        }


WIRE_FILES = """| `src/PACKAGE/_wire.py` | pydantic models of the server's replies |
| `src/PACKAGE/server.py` | a stand-in for the server; delete it when yours runs |
"""
