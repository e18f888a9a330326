"""`Settings`: the flags that all deciding commands share."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import attrs
import click

from tiebreak.errors import InvalidRequest

if TYPE_CHECKING:
    from tiebreak._fetch import Progress
    from tiebreak.decider import Decider
    from tiebreak.engine import OptionSpec

__all__ = ["Settings", "flags", "json_flag", "option_pairs", "value_of", "verbose_flag"]

F = TypeVar("F", bound=Callable[..., Any])

_TRUE, _FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")


@attrs.frozen(kw_only=True)
class Settings:
    """Who is to decide, and how the result is shown.

    Attributes:
        engine, model, layout, readout, cache: as for `Decider`.
        url: servers to attach to; several are one fleet.
        calibration: path of a calibration's file.
        option: (name, text) of each `--option`.
        timeout: seconds for the answer.
        memory_override: load even what the memory guard would refuse.
        json, verbose: what is printed.
    """

    engine: str | None = None
    model: str | None = None
    layout: str | None = None
    readout: str | None = None
    cache: str | None = None
    url: tuple[str, ...] = ()
    calibration: str | None = None
    option: tuple[tuple[str, str], ...] = ()
    timeout: float | None = None
    memory_override: bool = False
    json: bool = False
    verbose: bool = False

    def decider(self, progress: Progress, *, once: bool = True) -> Decider:
        """The Decider that these settings describe; nothing is started yet.

        Args:
            progress: told how far a model is fetched.
            once: it is asked once or a few times, so that it need not be made for many.

        Raises:
            EngineUnavailable: the engine is not installed or its plugin is broken.
            InvalidRequest: an unknown option, or a value that it does not take.
        """
        from tiebreak.names import unknown
        from tiebreak.registry import Registry
        from tiebreak.settings import CORE_OPTIONS

        registry = Registry()
        name = self.engine or registry.default_engine()
        plugin = registry.plugin(name)
        info = plugin.engine()
        specs = {spec.name: spec for spec in (*CORE_OPTIONS, _temperature(), *info.options)}
        values: dict[str, Any] = {}
        for key, text in self.option:
            if key not in specs:
                raise InvalidRequest(unknown("option", key, specs), engine=name)
            if key in values:
                raise InvalidRequest(f"--option {key} is given twice.", remedy="Leave one.")
            values[key] = value_of(specs[key], text, name)
        if self.timeout is not None:
            if "timeout" in values:
                raise InvalidRequest("--timeout and --option timeout are the same.", remedy="Leave one.")
            values["timeout"] = self.timeout
        if once:
            values = {**info.once, **values}
            if not self.url:  # beside the imports and the search for the model that follow, which take as long
                own = {spec.name for spec in info.options}
                checked = info.check_options({k: v for k, v in values.items() if k in own})
                plugin.prepare(info, checked, self.model or info.default_model or "")
        from tiebreak.decider import Decider

        if self.memory_override:
            from tiebreak.shared import memory_limits

            memory_limits(override=True)
        return Decider(
            name,
            self.model,
            layout=self.layout,
            readout=self.readout,
            cache=self.cache,
            url=self.url[0] if len(self.url) == 1 else None,
            urls=self.url if len(self.url) > 1 else None,
            calibration=self.calibration,
            registry=registry,
            progress=progress,
            **values,
        )


def flags(command: F) -> F:
    """Add the shared flags to a command's function, which gets them as keywords for `Settings`."""
    for decorate in reversed(
        (
            click.option("--engine", metavar="NAME", help="Engine; see `tiebreak engines`."),
            click.option("--model", metavar="REF", help="GGUF file, registered name, pypi:... or hf:... reference."),
            click.option("--layout", metavar="NAME", help="Prompt layout."),
            click.option("--readout", metavar="NAME", help="How probabilities are read."),
            click.option("--cache", metavar="NAME", help="Cache policy: prefix, off, or one of the engine's own."),
            click.option(
                "--url", metavar="URL", multiple=True, help="Attach to a running server; may be repeated for several."
            ),
            click.option("--calibration", metavar="FILE", help="Temperatures that `tiebreak calibrate` fitted."),
            click.option(
                "--option",
                metavar="NAME=VALUE",
                multiple=True,
                callback=option_pairs,
                help="An option of the engine; may be repeated.",
            ),
            click.option("--timeout", metavar="SECONDS", type=float, help="Seconds for the answer.  [default: 60]"),
            click.option("--memory-override", is_flag=True, help="Load even what the memory guard would refuse."),
            json_flag,
            click.option("--verbose", is_flag=True, help="Timings, cache and receipt; on error the traceback."),
        )
    ):
        command = decorate(command)
    return command


def json_flag(command: F) -> F:
    """Add `--json` to a command's function."""
    return click.option("--json", is_flag=True, help="Print one JSON object.")(command)


def verbose_flag(command: F) -> F:
    """Add `--verbose` to a command's function, where it only concerns errors."""
    return click.option("--verbose", is_flag=True, expose_value=False, help="On error, print the traceback.")(command)


def option_pairs(
    context: click.Context, parameter: click.Parameter, given: tuple[str, ...]
) -> tuple[tuple[str, str], ...]:
    """(name, text) of each NAME=VALUE; a callback of click's."""
    pairs = []
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name:
            # The text is not repeated: somebody may have typed a key.
            raise click.BadParameter("it is not of the form NAME=VALUE", ctx=context, param=parameter)
        pairs.append((name.strip().replace("-", "_"), value))
    return tuple(pairs)


def _temperature() -> OptionSpec:
    """The option that `Decider` takes beside those with a specification; it checks the value itself."""
    from tiebreak.engine import OptionSpec

    return OptionSpec(name="temperature", type=float, help="A number from 0.01 to 100.")


def value_of(spec: OptionSpec, text: str, engine: str) -> Any:
    """Text from the command line as the type that the option wants."""
    wrong = InvalidRequest(
        f"Option {spec.name} is {text!r}, not {_ARTICLED.get(spec.type, spec.type.__name__)}.",
        remedy=spec.help,
        engine=engine,
    )
    if spec.type is str:
        return text
    if spec.type is bool:
        if text.lower() not in (*_TRUE, *_FALSE):
            raise wrong
        return text.lower() in _TRUE
    try:
        if spec.type in (int, float):
            return spec.type(text)
        value = json.loads(text)
    except ValueError:
        raise wrong from None
    return tuple(value) if spec.type is tuple and isinstance(value, list) else value


_ARTICLED: dict[type, str] = {int: "a whole number", float: "a number", bool: "true or false"}
