"""The profiles of dohnuts.cpp as data: what each was trained for, and what has to be known to use it safely."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from tiebreak.errors import InvalidRequest
from tiebreak.models import Model
from tiebreak.names import unknown

__all__ = ["PROFILES", "Chosen", "Profile", "choose"]

ENGINE = "dohnuts"
UNCUT = 1_000_000  # tokens: far beyond the window, so that the window's own check comes first


@attrs.frozen(kw_only=True)
class Profile:
    """One way of laying out and reading a decision.

    Attributes:
        name: as the metadata spells it.
        reuses: the state comes first, and requests of several rows may take it from a checkpoint.
        head: it needs a file with a trained head.
        options: most options of one question.
        levels: most levels of one score, where that is less.
        independent: a question does not see the questions before it in the same exchange.
        describes_yes_no: it reads what yes and no mean.
        cuts: metadata key -> the program's default for it, in tokens: beyond it the program cuts the text
            and answers as if nothing had happened. Written as `UNCUT` here, which makes it refuse instead.
    """

    name: str
    reuses: bool = False
    head: bool = False
    options: int = 255
    levels: int = 255
    independent: bool = True
    describes_yes_no: bool = True
    cuts: Mapping[str, int] = attrs.field(factory=dict)


PROFILES: Mapping[str, Profile] = {
    profile.name: profile
    for profile in (
        Profile(name="decider", reuses=True),
        Profile(name="kev", reuses=True, head=True),
        Profile(name="thisthat", reuses=True, independent=False, cuts={"max_state_tokens": 1536}),
        Profile(name="tev1", options=24),
        Profile(name="jet", levels=10, describes_yes_no=False, cuts={"max_state_tokens": 4096}),
        Profile(name="jpt"),
        Profile(
            name="neohorsejev",
            reuses=True,
            head=True,
            cuts={"max_state_tokens": 2048, "max_branch_tokens": 8192},
        ),
        Profile(name="dohnuts", head=True, options=128),
    )
}


@attrs.frozen(kw_only=True)
class Chosen:
    """A profile and the metadata that it is started with."""

    profile: Profile
    metadata: Mapping[str, Any]

    @property
    def temperatures(self) -> Mapping[str, Any]:
        """Temperatures in the metadata that are not 1: the program applies them itself."""
        found = {key: value for key, value in self.metadata.items() if key in _TEMPERATURES}
        return {key: value for key, value in found.items() if value != 1}


_TEMPERATURES = ("temperature", "temperatures", "t_choice", "t_score", "t_noul")


def choose(named: str | None, model: Model | None) -> Chosen:
    """The profile that was named, or the first that the model was trained for, else `decider`.

    Args:
        named: a profile's name, or the path of a metadata file.
        model: the model, for what is registered about it.

    Raises:
        InvalidRequest: no such profile or file, a file that is not a JSON object, a temperature that is not a
            positive number, or temperatures both in the file and on the model's card.
    """
    info = model.info if model else None
    trained = info.layouts if info else ()
    if named is None or named in PROFILES:
        name = named or next((layout for layout in trained if layout in PROFILES), "decider")
        return _uncut(PROFILES[name], {"profile": name})
    path = Path(named).expanduser()
    if not path.is_file():
        raise InvalidRequest(
            unknown("profile", named, PROFILES), remedy="Or name a metadata file (JSON).", engine=ENGINE
        )
    chosen = _read(path)
    if chosen.temperatures and info and info.temperatures and chosen.profile.name in trained:
        raise InvalidRequest(
            f"{path} sets {', '.join(chosen.temperatures)}, and the model's card has temperatures of its own: they "
            "would be applied twice.",
            remedy=f"Take them out of the file, or name the profile: profile={chosen.profile.name!r}.",
            engine=ENGINE,
        )
    return chosen


def _read(path: Path) -> Chosen:
    try:
        metadata = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise InvalidRequest(f"The profile {path} is not JSON: {error}", engine=ENGINE) from None
    if not isinstance(metadata, dict):
        raise InvalidRequest(f"The profile {path} is not a JSON object.", engine=ENGINE)
    name = metadata.get("profile", "dohnuts")  # the program's own default
    if name not in PROFILES:
        raise InvalidRequest(unknown("profile", str(name), PROFILES), engine=ENGINE)
    for key in _TEMPERATURES:
        value = metadata.get(key)
        for each in value.values() if isinstance(value, dict) else [1.0 if value is None else value]:
            # The program takes 0 and answers null.
            if isinstance(each, bool) or not isinstance(each, (int, float)) or not each > 0:
                raise InvalidRequest(f"{path}: {key} is {value!r}, not a positive number.", engine=ENGINE)
    return _uncut(PROFILES[name], {**metadata, "profile": name})


def _uncut(profile: Profile, metadata: Mapping[str, Any]) -> Chosen:
    return Chosen(profile=profile, metadata={**metadata, **dict.fromkeys(profile.cuts, UNCUT)})
