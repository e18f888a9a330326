"""`Settings`: what a Decider was told, checked, and how it is to be read."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from tiebreak.engine import EngineInfo, OptionSpec
from tiebreak.errors import InvalidRequest
from tiebreak.models import Model
from tiebreak.names import unknown
from tiebreak.questions import KINDS
from tiebreak.stages.readout import Reading

if TYPE_CHECKING:
    from tiebreak.calibration.profile import Profile

__all__ = ["CORE_OPTIONS", "Settings", "check_urls"]

MIN_COVERAGE = 0.02

CORE_OPTIONS = (
    OptionSpec(name="timeout", type=float, default=60.0, minimum=0.001, help="Seconds for one answer."),
    OptionSpec(
        name="strict",
        type=bool,
        default=False,
        help="Refuse bounds and low coverage instead of marking them.",
    ),
    OptionSpec(
        name="min_coverage",
        type=float,
        minimum=0,
        maximum=1,
        help="Mass on the labels below which an answer carries a warning (0 to 1); by default the model's, else 0.02.",
    ),
    OptionSpec(
        name="queue_limit",
        type=int,
        default=4096,
        minimum=0,
        help="Requests that may wait for the engine before the next is refused.",
    ),
)
"""Options that every engine has, checked like an engine's own. `temperature` is one more, a number or one per kind."""


@attrs.frozen(kw_only=True)
class Settings:
    """The options of one Decider.

    Attributes:
        core: the options that every engine has, by name.
        engine: the engine's own options with their values, and `url`.
        temperature: per question kind, None where it was left to the model.
    """

    core: Mapping[str, Any]
    engine: Mapping[str, Any]
    temperature: Mapping[str, float] | None

    @classmethod
    def of(
        cls,
        info: EngineInfo,
        options: Mapping[str, Any],
        urls: Sequence[str],
        temperature: float | Mapping[str, float] | None,
    ) -> Settings:
        """Check what was given, before anything is started.

        Raises:
            InvalidRequest: an unknown option (with the nearest), or a value that it does not take.
        """
        core = {
            spec.name: spec.default if options.get(spec.name) is None else spec.check(options[spec.name], info.name)
            for spec in CORE_OPTIONS
        }
        own = {name: value for name, value in options.items() if name not in core}
        url: str | None = None
        if urls:
            from tiebreak.transport import check_url

            url, *_ = (check_url(each, info.name) for each in urls)
        return cls(
            core=core,
            engine={**_check_options(info, own), "url": url},
            temperature=_check_temperature(temperature),
        )

    def reading(self, model: Model | None, layout: str, tolerance: float) -> Reading:
        """How evidence is read: with the temperatures given, else those fitted for the model in this layout."""
        info = model.info if model else None
        chosen: Mapping[str, float] = self.temperature or {}
        calibrated: Mapping[str, str] = {}
        if self.temperature is None and info is not None:
            chosen = info.temperatures_in(layout)
            calibrated = dict.fromkeys(chosen, f"model card of {info.name}")
        least = self.core["min_coverage"]
        if least is None:
            least = info.min_coverage if info is not None and info.min_coverage is not None else MIN_COVERAGE
        return Reading(
            temperature={**dict.fromkeys(KINDS, 1.0), **chosen},
            calibrated=calibrated,
            tolerance=tolerance,
            min_coverage=least,
            strict=self.core["strict"],
        )


def check_urls(url: str | None, urls: Sequence[str] | None) -> tuple[str, ...]:
    """The servers that a Decider is to attach to; none where it starts its own.

    Raises:
        InvalidRequest: both arguments were given, or `urls` is not a list of different URLs.
    """
    if urls is None:
        return () if url is None else (url,)
    if url is not None:
        raise InvalidRequest("Both url and urls were given.", remedy="Put all servers into urls.")
    if isinstance(urls, str) or not urls or not all(isinstance(each, str) for each in urls):
        raise InvalidRequest(f"urls is {urls!r}; it is a list of at least one URL.")
    bare = tuple(each.rstrip("/") for each in urls)
    twice = next((each for each in bare if bare.count(each) > 1), None)
    if twice is not None:
        raise InvalidRequest("A server is in urls twice.", remedy="Leave one.")
    return bare


def check_calibration(
    given: str | os.PathLike[str] | Profile | None, temperature: float | Mapping[str, float] | None
) -> Profile | None:
    """The profile that a Decider reads with; none where none was given.

    Raises:
        InvalidRequest: a temperature was given, too, or the file is no profile.
    """
    if given is None:
        return None
    if temperature is not None:
        raise InvalidRequest("Both temperature and calibration were given.", remedy="Leave one.")
    from tiebreak.calibration.profile import Profile

    return given if isinstance(given, Profile) else Profile.load(given)


def _check_options(info: EngineInfo, given: Mapping[str, Any]) -> dict[str, Any]:
    known = {spec.name for spec in (*info.options, *CORE_OPTIONS)}
    for name in given:
        if name not in known:
            raise InvalidRequest(unknown("option", name, known), engine=info.name)
    return dict(info.check_options(given))


def _check_temperature(given: float | Mapping[str, float] | None) -> dict[str, float] | None:
    if given is None:
        return None
    per_kind = dict(given) if isinstance(given, Mapping) else dict.fromkeys(KINDS, given)
    for kind, value in per_kind.items():
        if kind not in KINDS:
            raise InvalidRequest(unknown("question kind", str(kind), KINDS))
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0.01 <= value <= 100:
            raise InvalidRequest(f"The temperature for {kind} is {value!r}; it is a number from 0.01 to 100.")
    return {kind: float(value) for kind, value in per_kind.items()}
