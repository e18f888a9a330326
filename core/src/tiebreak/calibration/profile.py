"""`Profile`: what was fitted, for which model, layout and readout; its file."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from tiebreak.errors import InvalidRequest
from tiebreak.stages.readout import Reading

if TYPE_CHECKING:
    from tiebreak.session import Opened, Stages

__all__ = ["Binding", "Fitted", "Profile"]

FORMAT = "tiebreak-calibration/1"


@attrs.frozen(kw_only=True)
class Binding:
    """What a temperature was fitted for; for anything else it means nothing.

    Attributes:
        model: `sha256:` and the hash of the file; where there is no file, the engine and its name for the model.
        layout, readout: names of the stages.
    """

    model: str
    layout: str
    readout: str

    @classmethod
    def of(cls, opened: Opened, stages: Stages) -> Binding:
        """What an engine and its stages decide with.

        Raises:
            InvalidRequest: nobody can say which model a server has.
        """
        engine = opened.engine
        if engine.model_sha256:
            model = f"sha256:{engine.model_sha256}"
        elif opened.server is None or engine.info.capabilities.hosted:
            model = f"{engine.info.name}:{opened.model}"
        else:
            raise InvalidRequest(
                "Nobody can say which model this server has, and a calibration is for one model only.",
                remedy="Name its file with model.",
                engine=engine.info.name,
            )
        return cls(model=model, layout=stages.layout.name, readout=stages.readout.name)


@attrs.frozen(kw_only=True)
class Fitted:
    """The temperature of one question kind, and what it does on rows that it was not fitted on.

    Attributes:
        temperature: divisor of the log-probabilities.
        fitted_on, held_out: answers that it was fitted on, and that it was checked on.
        loss_before, loss_after: mean negative log-probability of the right answers held out, in nats.
        error_before, error_after: expected calibration error on them, 0 to 1.
    """

    temperature: float
    fitted_on: int
    held_out: int
    loss_before: float
    loss_after: float
    error_before: float
    error_after: float

    @property
    def better(self) -> bool:
        """Whether it stood the check: the right answers held out are more probable than before."""
        return self.loss_after < self.loss_before


@attrs.frozen(kw_only=True)
class Profile:
    """Temperatures for one model in one layout with one readout.

    Attributes:
        binding: what it is for.
        kinds: question kind -> what was fitted. Those that did not stand the check are kept as a record, and not used.
        engine: engine and build that it was fitted with; others may use it.
        name: what answers call it.
    """

    binding: Binding
    kinds: Mapping[str, Fitted]
    engine: str = ""
    name: str = "calibration"

    @property
    def temperature(self) -> Mapping[str, float]:
        """Question kind -> temperature, of those that stood the check."""
        return {kind: fitted.temperature for kind, fitted in self.kinds.items() if fitted.better}

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Profile:
        """Read a profile's file.

        Raises:
            InvalidRequest: it cannot be read, or is no profile.
        """
        from pydantic import ValidationError

        from tiebreak.calibration._wire import ProfileFile  # whoever uses no profile needs no pydantic

        shown = os.fspath(path)
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise InvalidRequest(
                f"The calibration {shown!r} cannot be read: {error}.", remedy="Check the path."
            ) from None
        try:
            wire = ProfileFile.model_validate_json(text)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(map(str, first["loc"])) or "the file"
            raise InvalidRequest(
                f"{shown!r} is no calibration: {where}: {first['msg']}.", remedy="Make it with `tiebreak calibrate`."
            ) from None
        kinds: dict[str, Fitted] = {kind: Fitted(**fitted.model_dump()) for kind, fitted in wire.kinds.items()}
        binding = Binding(model=wire.model, layout=wire.layout, readout=wire.readout)
        return cls(binding=binding, kinds=kinds, engine=wire.engine, name=Path(path).name)

    def as_dict(self) -> dict[str, Any]:
        """The profile as JSON-able values, as its file holds them."""
        return {
            "format": FORMAT,
            **attrs.asdict(self.binding),
            "engine": self.engine,
            "kinds": {kind: attrs.asdict(fitted) for kind, fitted in self.kinds.items()},
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the profile's file, whole or not at all; one that was there is replaced.

        Raises:
            InvalidRequest: it cannot be written there.
        """
        target = Path(path)
        try:
            with tempfile.NamedTemporaryFile(
                "w", dir=target.parent, prefix=f".{target.name}.", delete=False, encoding="utf-8"
            ) as file:
                file.write(json.dumps(self.as_dict(), indent=2, ensure_ascii=False) + "\n")
            Path(file.name).replace(target)
        except OSError as error:
            raise InvalidRequest(f"{os.fspath(path)!r} cannot be written: {error}.", remedy="Check the path.") from None

    def applied(self, reading: Reading, opened: Opened, stages: Stages) -> Reading:
        """A reading with these temperatures in place of its own, for the kinds that have one.

        Raises:
            InvalidRequest: it was fitted for something else; the message says for what.
        """
        here = Binding.of(opened, stages)
        for field in attrs.fields(Binding):
            wanted, found = getattr(self.binding, field.name), getattr(here, field.name)
            if wanted != found:
                raise InvalidRequest(
                    f"The calibration {self.name!r} is for {field.name} {wanted!r}, and this is {found!r}.",
                    remedy="Make one for this with `tiebreak calibrate`.",
                )
        source: dict[str, str] = {
            kind: f"{self.name}, fitted on {self.kinds[kind].fitted_on} answers" for kind in self.temperature
        }
        return attrs.evolve(
            reading,
            temperature={**reading.temperature, **self.temperature},
            calibrated={**reading.calibrated, **source},
        )
