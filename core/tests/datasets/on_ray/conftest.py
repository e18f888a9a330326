"""One local Ray of two processors for all tests of this directory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import ray

STUBS = Path(__file__).parent.parent.parent / "stubs"


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Ray, whose workers find the stub as an installed plugin."""
    info = tmp_path_factory.mktemp("site") / "dist_of_stub-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: dist-of-stub\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[tiebreak.engines]\nstub = gateway_stub:Plugin\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join((str(STUBS), str(info.parent))))
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.delenv("RAY_ADDRESS", raising=False)
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
        yield
        ray.shutdown()
