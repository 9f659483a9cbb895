"""Building the package: a wheel and a source archive from a folder, without an index."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Built:
    wheel: Path
    sdist: Path


def build(source: Path, target: Path) -> Built:
    """Build both without an index: the builder is part of the development environment."""
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(target)], cwd=source, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    (wheel,), (sdist,) = target.glob("*.whl"), target.glob("*.tar.gz")
    return Built(wheel, sdist)
