"""The registry finds plugins without importing them, loads one by name, and reports each failure by name.

A plugin is an entry point in the group `tiebreak.engines` (its name is the engine's name), `tiebreak.extensions`
(stages and observers that belong to no engine) or `tiebreak.models` (models only). Listing reads metadata; only asking
for one by name imports it. A distribution called `tiebreak-NAME` owns the engine name NAME and is looked up without a
scan of all installed metadata; any other name takes one scan per registry.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import attrs
import pluggy

from tiebreak import hookspecs
from tiebreak.errors import EngineUnavailable, TiebreakError
from tiebreak.names import unknown

if TYPE_CHECKING:
    from importlib_metadata import EntryPoint

    from tiebreak.doctor import Finding
    from tiebreak.engine import Engine, EngineInfo
    from tiebreak.models import Model, ModelInfo
    from tiebreak.session import Observer, Session

__all__ = ["DEFAULT_ENGINES", "Entry", "Plugin", "Registry"]

ENGINES, EXTENSIONS, MODELS = "tiebreak.engines", "tiebreak.extensions", "tiebreak.models"
GROUPS = (ENGINES, EXTENSIONS, MODELS)

DEFAULT_ENGINES = ("embedded", "slot")
"""Tried in this order when no engine is named: never the order in which things were installed."""

FIRST_PARTY = ("embedded", "slot", "pcdserver", "dohnuts", "jev", "transformers")

T = TypeVar("T")


@attrs.frozen(kw_only=True)
class Entry:
    """One entry point, read from metadata alone.

    Attributes:
        name, group: as the distribution declares them.
        distribution, version: who declares it.
        target: `module:attribute` that would be imported.
        problem: why it cannot be used, "" where nothing is known against it.
    """

    name: str
    group: str
    distribution: str
    version: str
    target: str
    problem: str = ""


@attrs.frozen(kw_only=True, eq=False)
class Plugin:
    """A loaded plugin: one typed method per hook, so that no caller sees pluggy or Any.

    Attributes:
        entry: where it came from.
        hooks: a plugin manager that holds this plugin and nothing else.
    """

    entry: Entry
    hooks: pluggy.PluginManager

    def engine(self) -> EngineInfo:
        """What the plugin says about its engine.

        Raises:
            EngineUnavailable: it says nothing, or something else than an EngineInfo of its own name.
        """
        from tiebreak.engine import EngineInfo

        info = self._call("tiebreak_engine")
        if not isinstance(info, EngineInfo):
            raise self._broken(f"tiebreak_engine returned {info!r}, not an EngineInfo")
        if info.name != self.entry.name:
            raise self._broken(f"it calls its engine {info.name!r}, its entry point {self.entry.name!r}")
        return info

    def load(self, info: EngineInfo, model: Model | None, options: Mapping[str, Any]) -> Engine:
        """The engine object for a model and options."""
        from tiebreak.engine import Engine

        engine = self._call("tiebreak_load", info=info, model=model, options=options)
        if not isinstance(engine, Engine):
            raise self._broken(f"tiebreak_load returned {engine!r}, not an Engine")
        return engine

    def prepare(self, info: EngineInfo, options: Mapping[str, Any], reference: str) -> None:
        """Begin what takes long and needs no model file; what cannot be begun is begun, and fails, with the engine."""
        with contextlib.suppress(TiebreakError):
            self._call("tiebreak_prepare", info=info, options=options, reference=reference)

    def stage(self, hook: str, kind: type[T], info: EngineInfo, model: Model | None, name: str) -> T | None:
        """The layout, readout or cache policy called `name`, None where the plugin has none of that name."""
        found = self._call(hook, info=info, model=model, name=name)
        if found is not None and not isinstance(found, kind):
            raise self._broken(f"{hook} returned {found!r}, not a {kind.__name__}")
        return found

    def models(self) -> Sequence[ModelInfo]:
        """The models that the plugin knows."""
        from tiebreak.models import ModelInfo

        return self._list("tiebreak_models", ModelInfo)

    def observers(self, session: Session) -> Sequence[Observer]:
        """The observers that the plugin wants around each request of a session."""
        return [observer for some in self._call("tiebreak_observers", session=session) for observer in some]

    def doctor(self) -> Sequence[Finding]:
        """What the plugin finds about its own installation."""
        from tiebreak.doctor import Finding

        return self._list("tiebreak_doctor", Finding)

    def _list(self, hook: str, kind: type[T]) -> list[T]:
        """What a hook returned, if it is a list of `kind`."""
        found: list[T] = []
        for some in self._call(hook):
            if not isinstance(some, (list, tuple)) or not all(isinstance(item, kind) for item in some):
                raise self._broken(f"{hook} returned {some!r}, not a list of {kind.__name__}")
            found.extend(some)
        return found

    def _call(self, hook: str, **arguments: Any) -> Any:
        try:
            return getattr(self.hooks.hook, hook)(**arguments)
        except (TiebreakError, KeyboardInterrupt):
            raise
        except BaseException as error:  # as in `_load`: SystemExit too
            raise self._broken(f"{hook} raised {type(error).__name__}: {error}") from error

    def _broken(self, what: str) -> EngineUnavailable:
        return _broken(self.entry, what)


class Registry:
    """Finds and loads plugins. Holds no state but caches: a fresh one sees the installation afresh."""

    def __init__(self) -> None:
        self._scanned: dict[str, list[tuple[Entry, EntryPoint]]] | None = None
        self._plugins: dict[tuple[str, str], Plugin] = {}

    def entries(self, group: str = ENGINES) -> Sequence[Entry]:
        """All entry points of a group, from metadata alone, sorted by name; nothing is imported.

        Two distributions that claim one name both get a `problem`, unless one of them owns the name.
        """
        entries = [entry for entry, _ in self._scan(group)]
        return [attrs.evolve(entry, problem=entry.problem or _clash(entry, entries)) for entry in entries]

    def names(self) -> Sequence[str]:
        """The names of the installed engines."""
        return sorted({entry.name for entry in self.entries()})

    def plugin(self, name: str, group: str = ENGINES) -> Plugin:
        """Import one plugin by name.

        Raises:
            EngineUnavailable: it is not installed (with the nearest name), claimed twice, or broken
                (with its distribution, and the cause chained).
        """
        if (group, name) not in self._plugins:
            entry, point = self._find(name, group)
            self._plugins[group, name] = _load(entry, point)
        return self._plugins[group, name]

    def add(self, module: object, name: str, group: str = ENGINES) -> Plugin:
        """Use a module (or any object with hook implementations) as a plugin without installing it.

        Args:
            module: where the hooks are.
            name: the engine's or extension's name.
            group: the entry-point group that it would stand in.

        Raises:
            EngineUnavailable: a hook is unknown or has wrong arguments.
        """
        entry = Entry(name=name, group=group, distribution="added by hand", version="0", target=repr(module))
        self._plugins[group, name] = _hooked(entry, module)
        return self._plugins[group, name]

    def default_engine(self) -> str:
        """The engine that answers when none is named.

        Raises:
            EngineUnavailable: none of the default engines is installed.
        """
        for name in DEFAULT_ENGINES:
            if _own(name) is not None:
                return name
        installed = self.names()
        raise EngineUnavailable(
            "No engine was named and no default engine is installed"
            + (f" (installed: {', '.join(installed)})." if installed else "."),
            remedy="Install one: pip install tiebreak-embedded; or name one with engine=.",
        )

    def models(self) -> tuple[dict[str, ModelInfo], list[str]]:
        """Registered models by name, and what went wrong in plugins that were asked."""
        from tiebreak.defaults import tiebreak_models

        found = {model.name: model for model in tiebreak_models()}
        problems = []
        for group in (MODELS, ENGINES):
            for entry in self.entries(group):
                try:
                    for model in self.plugin(entry.name, group).models():
                        found.setdefault(model.name, model)
                except TiebreakError as error:
                    problems.append(str(error))
        return found, problems

    def _find(self, name: str, group: str) -> tuple[Entry, EntryPoint]:
        if group == ENGINES and name in FIRST_PARTY:
            own = _own(name)
            if own is not None:
                return own
        found = [pair for pair in self._scan(group) if pair[0].name == name]
        owners = [pair for pair in found if _owns(pair[0])]
        if len(owners or found) == 1:
            entry, point = (owners or found)[0]
            if entry.problem:
                raise _broken(entry, entry.problem)
            return entry, point
        if found:
            claims = " and ".join(f"{e.distribution} {e.version}" for e, _ in found)
            raise EngineUnavailable(f"Engine name {name!r} is claimed by {claims}.", remedy="Uninstall one of them.")
        hint = f"Install it: pip install tiebreak-{name}." if name in FIRST_PARTY and group == ENGINES else ""
        noun = {ENGINES: "engine", EXTENSIONS: "extension", MODELS: "model plugin"}[group]
        raise EngineUnavailable(unknown(noun, name, [e.name for e, _ in self._scan(group)]), remedy=hint)

    def _scan(self, group: str) -> list[tuple[Entry, EntryPoint]]:
        if self._scanned is None:
            groups: dict[str, list[tuple[Entry, EntryPoint]]] = {group: [] for group in GROUPS}
            for entry, point in _declared():
                groups[entry.group].append((entry, point))
            for pairs in groups.values():
                pairs.sort(key=lambda pair: (pair[0].name, pair[0].distribution))
            self._scanned = groups
        return self._scanned[group]


def manager() -> pluggy.PluginManager:
    """A plugin manager that knows the hooks and holds nothing yet."""
    hooks = pluggy.PluginManager("tiebreak")
    hooks.add_hookspecs(hookspecs)
    return hooks


def _load(entry: Entry, point: EntryPoint) -> Plugin:
    """Import a plugin; whatever it does meanwhile, the caller gets a plugin or one typed error."""
    try:
        # What a plugin prints at import must not end up in output that somebody parses.
        with contextlib.redirect_stdout(sys.stderr):
            module = point.load()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # SystemExit and worse: a plugin cannot end the caller's program
        raise _broken(entry, f"importing {entry.target} raised {type(error).__name__}: {error}") from error
    return _hooked(entry, module)


def _hooked(entry: Entry, module: object) -> Plugin:
    hooks = manager()
    try:
        hooks.register(module, name=entry.name)
        hooks.check_pending()
    except pluggy.PluginValidationError as error:
        raise _broken(entry, str(error)) from error
    return Plugin(entry=entry, hooks=hooks)


def _broken(entry: Entry, what: str) -> EngineUnavailable:
    return EngineUnavailable(
        f"Plugin {entry.name!r} of {entry.distribution} {entry.version} is broken: {what}.",
        remedy=f"Update or uninstall {entry.distribution}; other engines are not affected.",
    )


def _own(name: str) -> tuple[Entry, EntryPoint] | None:
    """The entry point of engine NAME in the distribution `tiebreak-NAME`, without a scan."""
    import importlib_metadata

    try:
        distribution = importlib_metadata.distribution(f"tiebreak-{name}")
    except importlib_metadata.PackageNotFoundError:
        return None
    return next((pair for pair in _of(distribution) if pair[0].name == name and pair[0].group == ENGINES), None)


def _declared() -> Sequence[tuple[Entry, EntryPoint]]:
    """What all installed distributions declare in our groups."""
    import importlib_metadata

    try:
        return [
            (_entry(point, point.dist), point) for point in importlib_metadata.entry_points() if point.group in GROUPS
        ]
    except Exception:  # noqa: BLE001  one bad file anywhere stops that scan: take the distributions one by one
        found: dict[str, list[tuple[Entry, EntryPoint]]] = {}
        for number, distribution in enumerate(importlib_metadata.distributions()):
            name, _ = _identity(distribution)
            # The first on the path is the one that is imported; those without a name cannot hide each other.
            found.setdefault(name if " " not in name else f"{name} {number}", _of(distribution))
        return [pair for pairs in found.values() for pair in pairs]


def _of(distribution: Any) -> list[tuple[Entry, EntryPoint]]:
    """What one distribution declares in our groups; an unreadable list is one entry with a problem."""
    from importlib_metadata import EntryPoint

    try:
        return [(_entry(point, distribution), point) for point in distribution.entry_points if point.group in GROUPS]
    except Exception as error:  # noqa: BLE001  see `_identity`
        name, version = _identity(distribution)
        try:
            if "tiebreak." not in (distribution.read_text("entry_points.txt") or ""):
                return []
        except ValueError:  # not even text: it may or may not be ours
            pass
        entry = Entry(
            name=name.removeprefix("tiebreak-"),
            group=ENGINES,
            distribution=name,
            version=version,
            target="",
            problem=f"its entry_points.txt cannot be read: {type(error).__name__}: {error}",
        )
        return [(entry, EntryPoint(entry.name, "", ENGINES))]


def _entry(point: EntryPoint, distribution: Any) -> Entry:
    name, version = _identity(distribution)
    return Entry(name=point.name, group=point.group, distribution=name, version=version, target=point.value)


def _identity(distribution: Any) -> tuple[str, str]:
    """Name and version of a distribution, whatever state its metadata is in: a bad file is a row, not a crash."""
    try:
        metadata = distribution.metadata  # parsed anew whenever it is asked for
        return metadata["Name"] or "an unnamed distribution", metadata["Version"] or "?"
    except Exception as error:  # noqa: BLE001  metadata is whatever is on disk
        return f"a distribution with unreadable metadata ({type(error).__name__})", "?"


def _owns(entry: Entry) -> bool:
    return entry.distribution.lower().replace("_", "-") == f"tiebreak-{entry.name}"


def _clash(entry: Entry, entries: Sequence[Entry]) -> str:
    others = [e for e in entries if e.name == entry.name and e.distribution != entry.distribution]
    if not others or _owns(entry):
        return ""
    return f"the name {entry.name!r} is also claimed by {', '.join(e.distribution for e in others)}"
