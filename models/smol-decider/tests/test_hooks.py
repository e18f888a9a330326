"""How the model is found: by its entry point, without loading what only merging needs."""

from __future__ import annotations

import subprocess
import sys

from tiebreak.registry import MODELS, Registry
from tiebreak.stages.decider import DeciderLayout, SchemaFirstLayout
from tiebreak.stages.readout import LettersReadout
from tiebreak_smol_decider.info import INFO


def test_the_registry_finds_it() -> None:
    registry = Registry()
    assert [entry.name for entry in registry.entries(MODELS) if entry.distribution == "tiebreak-smol-decider"] == [
        "smol-decider"
    ]
    found, problems = registry.models()
    assert found["smol-decider"] == INFO
    assert not [problem for problem in problems if "smol-decider" in problem]


def test_it_names_stages_that_the_core_has() -> None:
    assert INFO.layouts == (DeciderLayout.name, SchemaFirstLayout.name)
    assert INFO.readout == LettersReadout.name


def test_what_was_fitted_is_given_for_each_layout() -> None:
    assert INFO.temperatures_in("decider") == {"choice": 1.48, "yes_no": 1.79}
    assert INFO.temperatures_in("schema-first") == {"choice": 1.42, "yes_no": 1.61}


def test_listing_it_loads_no_numpy() -> None:
    code = (
        "import sys; from tiebreak.registry import MODELS, Registry;"
        "(info,) = Registry().plugin('smol-decider', MODELS).models();"
        "print(info.name, 'numpy' in sys.modules, 'tiebreak_smol_decider.merge' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["smol-decider", "False", "False"]
