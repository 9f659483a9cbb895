"""Built packages for the tests of this folder: a wheel and a source archive, made from the tree as it stands."""

from __future__ import annotations

from pathlib import Path

import pytest
from packaging_build import Built, build

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    pytest.importorskip("hatchling", reason="hatchling is not installed: make test installs it")
    return build(ROOT, tmp_path_factory.mktemp("dist"))
