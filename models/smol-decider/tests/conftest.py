"""The base and the merged model: real files, made once per run in a cache of the run's own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tiebreak.models import REGISTERED, Model, resolve
from tiebreak.references import WheelReference, parse
from tiebreak.registry import Registry
from tiebreak_smol_decider.info import INFO
from tiebreak_smol_decider.merge import BASE

Said = list[tuple[int, "int | None", str]]


@pytest.fixture(scope="session")
def base() -> Path:
    """The registered base model, fetched into the user's cache where it is not there yet."""
    path = resolve(BASE).path
    assert path is not None
    return path


@pytest.fixture(scope="session")
def said() -> Said:
    """What the progress callback was told while the model was made."""
    return []


@pytest.fixture(scope="session")
def model(base: Path, said: Said, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Model]:
    """The model as a user gets it, made in an empty cache that holds nothing but the base."""
    cache = tmp_path_factory.mktemp("cache")
    wheel = parse(REGISTERED[BASE].source)
    assert isinstance(wheel, WheelReference)
    place = cache / "models" / f"{wheel.distribution}-{wheel.version}" / wheel.member
    place.parent.mkdir(parents=True)
    shutil.copyfile(base, place)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIEBREAK_CACHE", str(cache))
        yield resolve(INFO.name, lambda: Registry().models()[0], progress=lambda *args: said.append(args))


@pytest.fixture(scope="session")
def merged(model: Model) -> Path:
    """The file of the merged model."""
    assert model.path is not None
    return model.path
